//! What the profiles say of versions, held against what was recorded of them.

use fake_runtime::profile::{Profile, REGISTRATION_TIMEOUT_MS, REQUEST_TIMEOUT_MS};
use fake_runtime::sent;
use nri_proto::api::ConfigureRequest;
use serde_json::Value;

use crate::data;

const RECORDED: [&str; 7] = [
    "containerd-1.7.24",
    "containerd-2.1.9",
    "containerd-2.2.7",
    "containerd-2.3.4",
    "crio-1.31.13",
    "crio-1.34.11",
    "crio-1.37.0",
];

/// The requests of one kind that the runtime sent.
fn requests(version: &str, rpc: &str) -> Vec<Value> {
    let rows = data::rows(&format!("recorded/requests-{version}.jsonl.gz"));
    let rows = rows.into_iter().filter(|row| row["rpc"] == rpc);
    rows.map(|row| row["request"].clone()).collect()
}

/// Whether any request that creates a container has something at this place.
fn sends(version: &str, at: &str) -> bool {
    let requests = requests(version, "CreateContainer");
    assert!(requests.len() >= 23, "{version}");
    requests.iter().any(|request| request.pointer(at).is_some())
}

#[test]
fn configure_tells_what_the_profile_says() {
    for version in RECORDED {
        let profile = Profile::find(version).unwrap();
        for recorded in requests(version, "Configure") {
            let recorded: ConfigureRequest = serde_json::from_value(recorded).unwrap();
            let mut expected = ConfigureRequest {
                runtime_name: profile.runtime.to_owned(),
                runtime_version: profile.runtime_version.to_owned(),
                ..ConfigureRequest::default()
            };
            if profile.configure.timeouts {
                expected.request_timeout = REQUEST_TIMEOUT_MS;
                expected.registration_timeout = REGISTRATION_TIMEOUT_MS;
            }
            if profile.configure.nri_version {
                expected.nri_version = profile.nri_version.to_owned();
            }
            assert_eq!(recorded, expected);
        }
    }
}

#[test]
fn requests_carry_what_the_profile_says() {
    for version in RECORDED {
        let says = Profile::find(version).unwrap().requests;
        for (at, says) in [
            ("/container/linux/seccomp_profile", says.seccomp_profile),
            ("/container/linux/seccomp_policy", says.seccomp_policy),
            ("/container/CDI_devices", says.cdi_devices),
            ("/container/user", says.user),
            ("/container/rlimits", says.rlimits),
            ("/container/image", says.image),
            ("/pod/labels/oci_runtime_type", says.runtime_type_label),
        ] {
            assert_eq!(sends(version, at), says, "{version}, {at}");
        }
    }
}

#[test]
fn synchronize_tells_times_where_the_profile_says_so() {
    for version in RECORDED {
        let synchronized = requests(version, "Synchronize");
        let containers = synchronized
            .iter()
            .filter_map(|r| r["containers"].as_array());
        let timed = containers.flatten().any(|c| c.get("created_at").is_some());
        let profile = Profile::find(version).unwrap();
        assert_eq!(timed, profile.requests.container_times, "{version}");
    }
}

#[test]
fn an_event_mask_is_accepted_where_it_was() {
    for version in ["2.2.7", "2.3.4"] {
        let known = Profile::find(version).unwrap().events;
        let mut masks = 0;
        for row in data::rows(&format!("recorded/facts-{version}.jsonl.gz")) {
            let fact = row["fact"].as_str().unwrap();
            if let Some(mask) = fact.strip_prefix("event mask 0x") {
                let mask = i32::from_str_radix(mask, 16).unwrap();
                assert_eq!(mask & !known == 0, row["alive"], "{version}, {fact}");
                masks += 1;
            }
        }
        assert_eq!(masks, 8);
    }
}

#[test]
fn every_recorded_request_is_one_that_its_profile_sends() {
    for version in RECORDED {
        let profile = Profile::find(version).unwrap();
        for row in data::rows(&format!("recorded/requests-{version}.jsonl.gz")) {
            assert!(sent::is_row(&row));
            if let Err(failure) = sent::check(&row, profile) {
                panic!("{version}, {}: {failure}", row["container"]);
            }
        }
    }
}

#[test]
fn a_request_that_another_runtime_sends_is_told_with_the_field_that_gives_it_away() {
    let rows = data::rows("recorded/requests-crio-1.37.0.jsonl.gz");
    let row = rows.iter().find(|row| row["container"] == "plain").unwrap();
    for (profile, field) in [
        ("containerd-2.3", "linux.resources.pids"),
        ("cri-o-1.34", "user"),
        ("cri-o-1.31", "linux.resources.pids"),
    ] {
        let failure = sent::check(row, Profile::find(profile).unwrap()).unwrap_err();
        assert_eq!(
            failure.to_string(),
            format!("CreateContainer: {profile} should not send {field} as here")
        );
    }
}
