//! What the runtime would refuse if it came twice, and inputs of every size.

use super::*;

#[test]
fn a_second_pass_changes_nothing() {
    let tree = Tree::staged()
        .with_topology()
        .file("/var/run/cdi/nvml-mock-nri.yaml");
    let env = ["PATH=/bin", "LD_PRELOAD=", "MOCK_IB=off", "PATH=/usr/bin"];
    for mode in ["--device-injection-mode=raw", "--device-injection-mode=cdi"] {
        let args = [mode, "--node-name=n1"];
        for annotations in [
            &[DEVICES][..],
            &[INFINIBAND],
            &[IMEX],
            &[DEVICES, INFINIBAND, IMEX],
        ] {
            for container in [
                container(&env),
                Container {
                    env: container(&env).env,
                    ..allocated()
                },
            ] {
                let pod = pod(annotations);
                let first = adjustment(decide(&args, &tree, &pod, &container));
                let second = decide(&args, &tree, &pod, &applied(container, &first));
                assert!(
                    matches!(second.outcome, Outcome::Unmodified(_)),
                    "{annotations:?} {second:?}"
                );
                assert_eq!(second.warnings, []);
            }
        }
    }
}

#[test]
fn of_two_mounts_at_one_place_the_first_stays() {
    let args = [
        "--compute-domain-staging",
        "--node-name=n1",
        "--topology-mount-path=/usr/bin/../bin/nvidia-imex.real",
    ];
    let tree = Tree::staged()
        .with_topology()
        .file("/var/lib/nvml-mock/driver/usr/bin/nvidia-imex.real");
    let label = (
        "resource.nvidia.com/computeDomain".to_owned(),
        "uid".to_owned(),
    );
    let pod = Pod {
        labels: [label].into(),
        ..pod(&[])
    };
    let daemon = Container {
        name: "compute-domain-daemon".to_owned(),
        ..Container::default()
    };
    let decision = decide(&args, &tree, &pod, &daemon);
    let names = vec!["/usr/bin/nvidia-imex.real".to_owned()];
    assert_eq!(decision.warnings, [Warning::RepeatedInAdjustment { names }]);
    let mounts = adjustment(decision).mounts;
    assert_eq!(mounts.len(), 1);
    assert!(
        mounts[0]
            .source
            .ends_with("/driver/usr/bin/nvidia-imex.real")
    );
}

#[test]
fn of_everything_that_is_added_twice_the_first_stays() {
    let mount = |source: &str| BindMount {
        source: source.to_owned(),
        destination: "/m".to_owned(),
        options: &[],
    };
    let node = |major| DeviceNode {
        path: "/dev/d".to_owned(),
        major,
        minor: 0,
        file_mode: 0,
        uid: 0,
        gid: 0,
    };
    let variable = |value: &str| ("K".to_owned(), value.to_owned());
    let mut twice = Adjustment {
        mounts: vec![mount("/1"), mount("/2")],
        env: vec![variable("1"), variable("2")],
        devices: vec![node(1), node(2)],
        device_grants: vec![],
        cdi_devices: vec!["v/c=d".to_owned(), "v/c=d".to_owned()],
    };
    assert_eq!(twice.drop_repeated(), ["/m", "K", "/dev/d", "v/c=d"]);
    assert_eq!(
        twice,
        Adjustment {
            mounts: vec![mount("/1")],
            env: vec![variable("1")],
            devices: vec![node(1)],
            device_grants: vec![],
            cdi_devices: vec!["v/c=d".to_owned()],
        }
    );
    assert_eq!(twice.drop_repeated(), [] as [&str; 0]);
}

/// Anything that looked at each item of one list for each of another would not end within a test's patience.
#[test]
fn huge_lists_are_decided() {
    const MANY: i64 = 200_000;
    let tree = (0..2048).fold(Tree::staged(), |tree, minor| {
        let channels = "/var/lib/nvml-mock/driver/dev/nvidia-caps-imex-channels";
        tree.char_device(&format!("{channels}/channel{minor}"), 234, minor)
    });
    let huge = Container {
        name: "main".to_owned(),
        env: (0..MANY).map(|n| format!("PATH=/{n}")).collect(),
        mounts: (0..MANY).map(|n| mount(&format!("/m//{n}"))).collect(),
        devices: (0..MANY)
            .map(|n| device(&format!("/dev/nvidia{n}"), 195, n))
            .collect(),
        device_rules: (0..MANY)
            .map(|n| DeviceRule {
                allow: true,
                kind: "c".to_owned(),
                major: Some(196),
                minor: Some(n),
                access: "rwm".to_owned(),
            })
            .collect(),
        cdi_devices: (0..MANY)
            .map(|n| format!("nvml-mock.nvidia.com/gpu={n}"))
            .collect(),
        user_namespace: false,
    };
    let adjustment = adjustment(decide(&[], &tree, &pod(&[DEVICES, IMEX]), &huge));
    assert_eq!(adjustment.devices.len(), 2049);
    let path = (
        "PATH".to_owned(),
        "/opt/nvml-mock/driver/usr/bin:/199999".to_owned(),
    );
    assert_eq!(adjustment.env[0], path);
}

#[test]
fn odd_text_is_text_like_any_other() {
    let odd = [
        "",
        "=",
        "==",
        "\0",
        "🚀=ü",
        "PATH",
        "PATH=\u{202e}",
        "LD_PRELOAD=:",
        "\n=\n",
    ];
    let strings = || odd.map(str::to_owned).to_vec();
    let container = Container {
        name: "\0".to_owned(),
        env: strings(),
        mounts: odd
            .map(|text| Mount {
                destination: text.to_owned(),
                source: text.to_owned(),
                kind: text.to_owned(),
                options: vec![text.to_owned()],
            })
            .to_vec(),
        devices: odd.map(|path| device(path, i64::MIN, i64::MAX)).to_vec(),
        device_rules: odd
            .map(|access| DeviceRule {
                allow: true,
                kind: access.to_owned(),
                major: Some(i64::MIN),
                minor: None,
                access: access.to_owned(),
            })
            .to_vec(),
        cdi_devices: strings(),
        user_namespace: false,
    };
    let adjustment = adjustment(decide(&[], &Tree::staged(), &pod(&[DEVICES]), &container));
    let first = [
        ("PATH", "/opt/nvml-mock/driver/usr/bin:\u{202e}"),
        ("LD_PRELOAD", ":"),
    ];
    assert_eq!(
        adjustment.env[0],
        (first[0].0.to_owned(), first[0].1.to_owned())
    );
    assert!(adjustment.env[1].0 == first[1].0 && adjustment.env[1].1.starts_with("::/opt"));
}
