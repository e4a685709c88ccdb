//! What differs between versions, in small: one adjustment, the versions side by side.
//!
//! The recordings in this directory's other modules have no rows of 2.2.0 and of the main branch; the facts
//! about those are the rules that were measured on them.

use fake_runtime::create::{Answer, Outcome, Reason, create};
use fake_runtime::oci::Spec;
use fake_runtime::profile::Profile;
use nri_proto::api::CreateContainerRequest;
use serde_json::{Value, json};

use crate::data;

const ALL: [&str; 6] = ["1.7", "2.1", "2.2.0", "2.2", "2.3", "HEAD"];

fn spec() -> Spec {
    let spec = json!({
        "process": {"user": {"uid": 1000, "gid": 0}, "env": ["A=image", "B=1"]},
        "mounts": [{"destination": "/data", "source": "/srv"}],
        "annotations": {"note": "n"},
        "linux": {"namespaces": [{"type": "pid"}]},
    });
    serde_json::from_value(spec).unwrap()
}

/// Plays a container whose plugins answer with these adjustments.
fn play(version: &str, adjustments: &[Value]) -> Outcome {
    let names = ["10-first", "20-second", "30-third"];
    let answers: Vec<_> = names
        .iter()
        .zip(adjustments)
        .map(|(name, adjustment)| {
            let adjustment = serde_json::from_value(adjustment.clone()).unwrap();
            ((*name).to_owned(), Answer::Adjust(adjustment))
        })
        .collect();
    let profile = Profile::find(version).unwrap();
    let request = CreateContainerRequest::default();
    create(profile, request, spec(), &answers, &data::host())
}

/// What is at a place of the spec afterwards, in each version.
fn after(adjustment: &Value, at: &str) -> Vec<Value> {
    let after = |version| match play(version, std::slice::from_ref(adjustment)).result {
        Ok((_, spec)) => {
            let spec = serde_json::to_value(spec).unwrap();
            spec.pointer(at).cloned().unwrap_or_default()
        }
        Err(error) if matches!(error.reason, Reason::RuntimeDied(_)) => "died".into(),
        Err(error) => error.to_string().into(),
    };
    ALL.map(after).to_vec()
}

#[test]
fn containerd_12650_containerd_1_7_ignores_cdi_devices_in_silence() {
    let adjustment = json!({"CDI_devices": [{"name": "nobody.example/has=this"}]});
    let unresolvable = "failed to create containerd container: failed to NRI-adjust container Spec: CDI device \
                        injection failed: unresolvable CDI devices nobody.example/has=this";
    let mounts = after(&adjustment, "/mounts/0/source");
    assert_eq!(mounts[0], "/srv");
    assert!(mounts[1..].iter().all(|error| error == unresolvable));
}

#[test]
fn a_mount_can_be_removed_since_2_1() {
    let removed = after(&json!({"mounts": [{"destination": "-/data"}]}), "/mounts");
    assert!(removed[0].is_array());
    assert!(removed[1..].iter().all(Value::is_null));
}

#[test]
fn args_are_honoured_since_2_2() {
    let args = after(&json!({"args": ["/bin/a"]}), "/process/args/0");
    assert_eq!(
        args,
        [
            json!(null),
            json!(null),
            json!("/bin/a"),
            json!("/bin/a"),
            json!("/bin/a"),
            json!("/bin/a")
        ]
    );
}

#[test]
fn setting_a_sysctl_kills_2_2_and_works_since_2_3() {
    let sysctl = after(&json!({"linux": {"sysctl": {"k": "1"}}}), "/linux/sysctl/k");
    assert_eq!(
        sysctl,
        [
            json!(null),
            json!(null),
            json!(null),
            json!("died"),
            json!("1"),
            json!("1")
        ]
    );
}

#[test]
fn removing_a_sysctl_removes_the_annotation_of_that_name() {
    let note = after(
        &json!({"linux": {"sysctl": {"-note": ""}}}),
        "/annotations/note",
    );
    assert_eq!(
        note,
        [
            json!("n"),
            json!("n"),
            json!("n"),
            json!(null),
            json!(null),
            json!(null)
        ]
    );
}

#[test]
fn an_errno_in_a_seccomp_policy_kills_2_2_and_works_since_2_3() {
    let policy =
        json!({"syscalls": [{"names": ["read"], "action": "A", "errno_ret": {"value": 38}}]});
    let errno = after(
        &json!({"linux": {"seccomp_policy": policy}}),
        "/linux/seccomp/syscalls/0/errnoRet",
    );
    assert_eq!(
        errno,
        [
            json!(null),
            json!(null),
            json!("died"),
            json!("died"),
            json!(38),
            json!(38)
        ]
    );
}

#[test]
fn only_the_main_branch_knows_time_namespaces() {
    let added = after(
        &json!({"linux": {"namespaces": [{"type": "time"}]}}),
        "/linux/namespaces/1/type",
    );
    let unknown = "failed to create containerd container: failed to NRI-adjust container Spec: unrecognized \
                   namespace \"time\"";
    assert_eq!(
        added,
        [
            json!(null),
            json!(null),
            json!(unknown),
            json!(unknown),
            json!(unknown),
            json!("time")
        ]
    );
}

#[test]
fn a_negative_pids_limit_sets_nothing_since_2_2_1() {
    let limit = after(
        &json!({"linux": {"resources": {"pids": {"limit": "-1"}}}}),
        "/linux/resources/pids",
    );
    let set = json!({"limit": -1});
    assert_eq!(
        limit,
        [
            json!(null),
            set.clone(),
            set,
            json!({}),
            json!({}),
            json!({})
        ]
    );
}

#[test]
fn a_memory_policy_is_honoured_since_2_3() {
    let mode = after(
        &json!({"linux": {"memory_policy": {"mode": "MPOL_BIND", "nodes": "0"}}}),
        "/linux/memoryPolicy/mode",
    );
    assert_eq!(
        mode,
        [
            json!(null),
            json!(null),
            json!(null),
            json!(null),
            json!("MPOL_BIND"),
            json!("MPOL_BIND")
        ]
    );
}

#[test]
fn a_cdi_device_gets_the_mode_of_the_hosts_node_since_2_2_1() {
    let mode = after(
        &json!({"CDI_devices": [{"name": "nvidia.com/gpu=1"}]}),
        "/linux/devices/1/fileMode",
    );
    assert_eq!(
        mode,
        [
            json!(null),
            json!(null),
            json!(null),
            json!(0o640),
            json!(0o640),
            json!(0o640)
        ]
    );
}

#[test]
fn a_variable_of_a_cdi_device_is_appended_until_the_main_branch_replaces_it() {
    let env = after(
        &json!({"CDI_devices": [{"name": "vendor.example/dev=e"}]}),
        "/process/env",
    );
    let cdi = [
        "VENDOR_ANY=1",
        "PATH=/vendor/bin:/bin",
        "LD_PRELOAD=/vendor/x.so",
    ];
    let appended = json!([
        "A=image",
        "B=1",
        cdi[0],
        cdi[1],
        cdi[2],
        "A=cdi",
        "VENDOR=a=b"
    ]);
    let replaced = json!(["A=cdi", "B=1", cdi[0], cdi[1], cdi[2], "VENDOR=a=b"]);
    assert_eq!(
        env[1..5],
        [
            appended.clone(),
            appended.clone(),
            appended.clone(),
            appended
        ]
    );
    assert_eq!(env[5], replaced);
}

#[test]
fn a_conflict_is_worded_by_field_names_since_2_2() {
    let limit = json!({"linux": {"resources": {"memory": {"limit": {"value": "1"}}}}});
    let subject = |version| {
        let error = play(version, &[limit.clone(), limit.clone()])
            .result
            .unwrap_err();
        let text = error.to_string();
        let (_, subject) = text
            .split_once("plugins \"20-second\" and \"10-first\" both tried to set ")
            .unwrap();
        subject.to_owned()
    };
    // A field without a key ends in a blank.
    assert_eq!(
        ALL.map(subject),
        [
            "memory limit",
            "memory limit",
            "MemLimit ",
            "MemLimit ",
            "MemLimit ",
            "MemLimit "
        ]
    );
}

#[test]
fn a_variable_that_a_plugin_removed_is_reserved_for_it_since_2_2() {
    let set = json!({"env": [{"key": "X", "value": "1"}]});
    let remove = json!({"env": [{"key": "-X"}]});
    let conflict = |version| {
        let outcome = play(version, &[set.clone(), remove.clone(), set.clone()]);
        let refused = outcome.result.err().map(|error| error.reason);
        matches!(refused, Some(Reason::Conflict { first, .. }) if first == "20-second")
    };
    assert_eq!(ALL.map(conflict), [false, false, true, true, true, true]);
}

#[test]
fn the_next_plugin_sees_the_container_as_adjusted() {
    let set = json!({"env": [{"key": "X", "value": "1"}]});
    for version in ALL {
        let outcome = play(version, &[set.clone(), json!({})]);
        let seen = outcome
            .requests
            .into_iter()
            .map(|request| request.container);
        let env: Vec<_> = seen.map(|c| c.unwrap_or_default().env).collect();
        assert_eq!(env, [vec![], vec!["X=1".to_owned()]]);
    }
}

#[test]
fn nobody_is_asked_after_a_plugin_that_answers_with_an_error() {
    let answers = [
        (
            "10-first".to_owned(),
            Answer::Error {
                code: "Unknown".into(),
                message: "no".into(),
            },
        ),
        ("20-second".to_owned(), Answer::Lost("it was slow".into())),
    ];
    let request = CreateContainerRequest::default();
    let outcome = create(Default::default(), request, spec(), &answers, &data::host());
    assert_eq!(outcome.requests.len(), 1);
    assert!(outcome.result.is_err());
}

#[test]
fn a_plugin_that_was_lost_changes_nothing() {
    let answers = [("10-first".to_owned(), Answer::Lost("it was slow".into()))];
    let request = CreateContainerRequest::default();
    let outcome = create(Default::default(), request, spec(), &answers, &data::host());
    let (_, after) = outcome.result.unwrap();
    assert_eq!(
        (after.process, after.mounts),
        (spec().process, spec().mounts)
    );
}
