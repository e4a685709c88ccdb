//! What CRI-O does with an adjustment in another way than the containerd with the same NRI library.

use fake_runtime::create::{Answer, CreateError, Reason, create};
use fake_runtime::oci::Spec;
use fake_runtime::profile::Profile;
use nri_proto::api::{Container, CreateContainerRequest};
use serde_json::{Value, json};

use crate::data;

const ALL: [&str; 4] = ["cri-o-1.31", "cri-o-1.33", "cri-o-1.34", "cri-o-1.37"];

fn play(profile: &str, adjustment: &Value) -> Result<Value, CreateError> {
    let spec = json!({
        "process": {"user": {"uid": 0, "gid": 0}, "env": ["PATH=/default", "TERM=xterm", "PATH=/image"]},
        "linux": {"resources": {"hugepageLimits": [{"pageSize": "2MB", "limit": 4}]}},
    });
    let spec: Spec = serde_json::from_value(spec).unwrap();
    let request = CreateContainerRequest {
        container: Some(Container {
            id: "abc".to_owned(),
            ..Default::default()
        }),
        ..Default::default()
    };
    let answer = Answer::Adjust(serde_json::from_value(adjustment.clone()).unwrap());
    let answers = [("10-first".to_owned(), answer)];
    let profile = Profile::find(profile).unwrap();
    let outcome = create(profile, request, spec, &answers, &data::host());
    let (_, spec) = outcome.result?;
    Ok(serde_json::to_value(spec).unwrap())
}

/// The text of the refusal in each version, or nothing.
fn refused(adjustment: &Value) -> Vec<Option<String>> {
    let refused = |profile| Some(play(profile, adjustment).err()?.to_string());
    ALL.map(refused).to_vec()
}

fn every(text: &str) -> Vec<Option<String>> {
    vec![Some(text.to_owned()); ALL.len()]
}

#[test]
fn cdi_devices_are_ignored_before_1_34() {
    let adjustment = json!({"CDI_devices": [{"name": "nobody.example/has=this"}]});
    let unresolvable = "failed to adjust container abc: CDI device injection failed: unresolvable CDI devices \
                        nobody.example/has=this";
    let unresolvable = Some(unresolvable.to_owned());
    assert_eq!(
        refused(&adjustment),
        [None, None, unresolvable.clone(), unresolvable]
    );
}

#[test]
fn a_memory_limit_below_12_mib_is_refused() {
    let limit =
        |value: i64| json!({"linux": {"resources": {"memory": {"limit": {"value": value}}}}});
    for value in [-1, 1000, 12_582_911] {
        let text = format!(
            "failed to adjust container abc: failed to adjust resources in OCI Spec: set memory limit {value} too \
             low; should be at least 12582912 bytes"
        );
        assert_eq!(refused(&limit(value)), every(&text));
    }
    assert_eq!(refused(&limit(12_582_912)), [None, None, None, None]);
}

#[test]
fn huge_pages_reach_the_spec() {
    let limits = json!([{"page_size": "2MB", "limit": "8"}, {"page_size": "1GB", "limit": "1"}]);
    let adjustment = json!({"linux": {"resources": {"hugepage_limits": limits}}});
    for profile in ALL {
        let spec = play(profile, &adjustment).unwrap();
        assert_eq!(
            spec["linux"]["resources"]["hugepageLimits"],
            json!([{"pageSize": "2MB", "limit": 8}, {"pageSize": "1GB", "limit": 1}]),
            "{profile}"
        );
    }
}

#[test]
fn a_block_io_class_that_is_not_configured_is_ignored() {
    let class = json!({"linux": {"resources": {"blockio_class": {"value": "nosuch"}}}});
    assert_eq!(refused(&class), [None, None, None, None]);
}

#[test]
fn a_plugins_path_is_lost_because_the_container_has_it_twice() {
    let path = json!({"env": [{"key": "PATH", "value": "/plugin"}]});
    for profile in ALL {
        let spec = play(profile, &path).unwrap();
        assert_eq!(
            spec["process"]["env"],
            json!(["PATH=/image", "TERM=xterm"]),
            "{profile}"
        );
    }
}

#[test]
fn what_the_oci_runtime_refuses_fails_the_creation() {
    let bind = |source: &str, option: &str| {
        let mount = json!({"destination": "/x", "type": "bind", "source": source, "options": ["rbind", option]});
        json!({"mounts": [mount]})
    };
    let device =
        json!({"linux": {"devices": [{"path": "/dev/x", "type": "x", "major": 1, "minor": 1}]}});
    for (adjustment, refusal) in [
        (device, r#"invalid device type \"x\""#),
        (
            bind("/srv", "bogus"),
            "invalid mount &{Source:/srv Destination:/x Device:bind Flags:20480 ClearedFlags:0 PropagationFlags:[] \
             Data:bogus Relabel: RecAttr:<nil> Extensions:0 IDMapping:<nil>}: bind mounts cannot have any \
             filesystem-specific options applied",
        ),
        (
            bind("/does/not/exist/either", "ro"),
            "unable to start container process: error during container init: failed to fulfil mount request: open \
             /does/not/exist/either: no such file or directory",
        ),
    ] {
        let text = format!(
            "container create failed: time=\"1970-01-01T00:00:00Z\" level=error msg=\"runc create failed: {refusal}\"\n"
        );
        assert_eq!(refused(&adjustment), every(&text));
    }
}

#[test]
fn a_container_that_the_oci_runtime_refuses_is_shown_as_it_was_given_to_it() {
    let missing = json!({"mounts": [{"destination": "/x", "source": "/does/not/exist", "options": ["bind"]}]});
    let refused = play("cri-o-1.37", &missing).unwrap_err();
    let Reason::OciRuntime { spec, .. } = refused.reason else {
        panic!("{refused}");
    };
    assert_eq!(spec.mounts.len(), 1);
}
