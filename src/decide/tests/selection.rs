//! Who is touched, and with what.

use super::*;

fn selected(args: &[&str], pod: &Pod, container: &Container) -> Selection {
    select(&config(args), Some(pod), Some(container))
}

fn left_alone(reason: Reason) -> Selection {
    Selection::LeaveAlone {
        reason,
        warning: None,
    }
}

fn inject(gpu: Option<Gpu>, infiniband: bool, imex: bool) -> Selection {
    Selection::Inject(Surfaces {
        gpu,
        infiniband,
        imex,
    })
}

#[test]
fn a_pod_that_opts_out_in_any_ascii_case_is_left_alone() {
    for value in ["false", "False", "FALSE", "fAlSe"] {
        let pod = annotated([(OPT_OUT, value), (DEVICES, "true")]);
        assert_eq!(
            selected(&[], &pod, &allocated()),
            left_alone(Reason::OptOut),
            "{value}"
        );
    }
}

#[test]
fn no_other_value_opts_out() {
    for value in ["", "true", "false ", " false", "0", "no", "fal\u{17f}e"] {
        let pod = annotated([(OPT_OUT, value), (DEVICES, "true")]);
        let expected = inject(Some(Gpu::Management), false, false);
        assert_eq!(selected(&[], &pod, &container(&[])), expected, "{value:?}");
    }
}

#[test]
fn an_excluded_namespace_is_left_alone_by_its_exact_name() {
    let in_namespace = |namespace: &str| Pod {
        namespace: namespace.to_owned(),
        ..pod(&[DEVICES])
    };
    let args = ["--excluded-namespaces=mock, kube-system"];
    for namespace in ["mock", "kube-system"] {
        let selection = selected(&args, &in_namespace(namespace), &container(&[]));
        assert_eq!(
            selection,
            left_alone(Reason::ExcludedNamespace),
            "{namespace}"
        );
    }
    for namespace in ["Mock", "mock-2", " kube-system", ""] {
        let selection = selected(&args, &in_namespace(namespace), &container(&[]));
        assert_eq!(
            selection,
            inject(Some(Gpu::Management), false, false),
            "{namespace}"
        );
    }
}

#[test]
fn opting_out_is_told_before_the_namespace() {
    let pod = Pod {
        namespace: "kube-system".to_owned(),
        ..annotated([(OPT_OUT, "false")])
    };
    assert_eq!(
        selected(&[], &pod, &container(&[])),
        left_alone(Reason::OptOut)
    );
}

#[test]
fn each_surface_is_selected_by_itself() {
    for (annotation, expected) in [
        (DEVICES, inject(Some(Gpu::Management), false, false)),
        (INFINIBAND, inject(None, true, false)),
        (IMEX, inject(None, false, true)),
    ] {
        assert_eq!(
            selected(&[], &pod(&[annotation]), &container(&[])),
            expected
        );
    }
    let all = pod(&[DEVICES, INFINIBAND, IMEX]);
    assert_eq!(
        selected(&[], &all, &container(&[])),
        inject(Some(Gpu::Management), true, true)
    );
}

#[test]
fn an_annotation_asks_only_when_it_says_true() {
    for value in ["true", "True", "TRUE"] {
        let pod = annotated([(INFINIBAND, value)]);
        assert_eq!(
            selected(&[], &pod, &container(&[])),
            inject(None, true, false),
            "{value}"
        );
    }
    for value in ["", "true ", " true", "1", "yes", "false", "t"] {
        let pod = annotated([(DEVICES, value), (INFINIBAND, value), (IMEX, value)]);
        let expected = left_alone(Reason::NothingSelected);
        assert_eq!(selected(&[], &pod, &container(&[])), expected, "{value:?}");
    }
}

#[test]
fn the_annotations_are_those_of_the_flags() {
    let args = [
        "--device-annotation=d",
        "--infiniband-annotation=i",
        "--imex-channel-annotation=x",
        "--opt-out-annotation=o",
    ];
    let all = inject(Some(Gpu::Management), true, true);
    assert_eq!(
        selected(&args, &pod(&["d", "i", "x"]), &container(&[])),
        all
    );
    let theirs = pod(&[DEVICES, INFINIBAND, IMEX]);
    assert_eq!(
        selected(&args, &theirs, &container(&[])),
        left_alone(Reason::NothingSelected)
    );
    let out = annotated([("o", "false"), ("d", "true")]);
    assert_eq!(
        selected(&args, &out, &container(&[])),
        left_alone(Reason::OptOut)
    );
}

#[test]
fn an_allocation_wins_over_the_devices_annotation() {
    let expected = inject(Some(Gpu::Allocated), false, false);
    assert_eq!(selected(&[], &pod(&[DEVICES]), &allocated()), expected);
    assert_eq!(selected(&[], &pod(&[]), &allocated()), expected);
}

#[test]
fn infiniband_devices_are_no_evidence_of_anything() {
    let inherited = Container {
        devices: vec![device("/dev/infiniband/uverbs0", 231, 192)],
        ..container(&[])
    };
    let selection = selected(&[], &pod(&[]), &inherited);
    assert_eq!(selection, left_alone(Reason::NothingSelected));
}

#[test]
fn a_container_that_has_the_overlay_is_left_alone_however_the_mount_is_spelled() {
    for destination in [
        "/opt/nvml-mock",
        "/opt//nvml-mock/",
        "/opt/./nvml-mock",
        "/opt/x/../nvml-mock",
    ] {
        let mounted = Container {
            mounts: vec![mount("/proc"), mount(destination)],
            ..container(&[])
        };
        for annotation in [DEVICES, INFINIBAND, IMEX] {
            let selection = selected(
                &["--overlay-mount-path=/opt/nvml-mock/"],
                &pod(&[annotation]),
                &mounted,
            );
            assert_eq!(
                selection,
                left_alone(Reason::OverlayAlreadyMounted),
                "{destination}"
            );
        }
    }
    for destination in [
        "/opt",
        "/opt/nvml-mock/driver",
        "opt/nvml-mock",
        "/opt/nvml-mock ",
        "",
    ] {
        let mounted = Container {
            mounts: vec![mount(destination)],
            ..container(&[])
        };
        let selection = selected(&[], &pod(&[IMEX]), &mounted);
        assert_eq!(selection, inject(None, false, true), "{destination:?}");
    }
}

#[test]
fn an_absent_message_says_nothing() {
    let config = config(&[]);
    let nothing = left_alone(Reason::NothingSelected);
    assert_eq!(select(&config, None, None), nothing);
    assert_eq!(select(&config, None, Some(&container(&[]))), nothing);
    assert_eq!(
        select(&config, None, Some(&allocated())),
        inject(Some(Gpu::Allocated), false, false)
    );
    let selection = select(&config, Some(&pod(&[DEVICES])), None);
    assert_eq!(selection, inject(Some(Gpu::Management), false, false));
    let decision = adjust(&config, &selection, None, &Tree::staged(), RUNTIME);
    assert_eq!(adjustment(decision).devices.len(), 1);
}

#[test]
fn a_container_that_is_left_alone_stays_so_with_its_reason() {
    let decision = decide(&[], &Tree::staged(), &pod(&[]), &container(&[]));
    assert_eq!(
        decision.outcome,
        Outcome::Unmodified(Reason::NothingSelected)
    );
    assert_eq!(decision.warnings, []);
}

#[test]
fn behind_a_closed_gate_only_who_would_be_adjusted_is_told_of_it() {
    let reason = || "node agent is staging".to_owned();
    let outcome = |selection: Selection| selection.behind_closed_gate(reason()).outcome;
    assert_eq!(
        outcome(inject(None, false, true)),
        Outcome::Gated { reason: reason() }
    );
    assert_eq!(
        outcome(left_alone(Reason::OptOut)),
        Outcome::Unmodified(Reason::OptOut)
    );
}

#[test]
fn every_reason_has_the_text_that_people_search_for() {
    for (reason, text) in [
        (Reason::OptOut, "opt-out annotation"),
        (Reason::ExcludedNamespace, "excluded namespace"),
        (
            Reason::ComputeDomainStagingOff,
            "compute domain staging off",
        ),
        (
            Reason::NothingSelected,
            "no GPU allocation and no opt-in annotation",
        ),
        (Reason::OverlayAlreadyMounted, "overlay already mounted"),
        (Reason::AlreadyAdjusted, "already adjusted"),
        (Reason::OverlayNotStaged, "overlay not staged"),
        (Reason::NothingToAdd, "nothing to add"),
    ] {
        assert_eq!(reason.as_str(), text);
    }
}

#[test]
fn surfaces_are_told_by_name_and_by_cause() {
    let all = Surfaces {
        gpu: Some(Gpu::Allocated),
        infiniband: true,
        imex: true,
    };
    assert_eq!(
        all.names().collect::<Vec<_>>(),
        ["gpu", "infiniband", "imex"]
    );
    assert_eq!(
        all.to_string(),
        "GPU allocation, infiniband annotation, imex-channels annotation"
    );
    let management = Surfaces {
        gpu: Some(Gpu::Management),
        ..Surfaces::default()
    };
    assert_eq!(management.to_string(), "devices annotation");
}
