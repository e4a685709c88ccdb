//! The same pods on CRI-O.

use fake_runtime::pod::Node;
use fake_runtime::pod::cri_o::CriO;
use fake_runtime::profile::Profile;
use nri_proto::api::CreateContainerRequest;
use serde_json::Value;

use crate::{IMAGE_ENV, asked, host, node, recorded, with_ids_of};

/// Without what nobody but that node knows, and what this recording was not asked for: a seccomp profile, stdin and
/// SELinux labels.
fn comparable(request: &Value) -> Value {
    let mut request = request.clone();
    let annotations = request["container"]["annotations"].as_object_mut().unwrap();
    for key in [
        "Created",
        "ImageRef",
        "ImageRepoDigests",
        "MountPoint",
        "SeccompProfilePath",
        "Stdin",
    ] {
        annotations.remove(&format!("io.kubernetes.cri-o.{key}"));
    }
    let text = request.to_string();
    let text = text.replace(
        "\\\"selinux_relabel\\\":true",
        "\\\"selinux_relabel\\\":false",
    );
    serde_json::from_str(&without_pins(&text)).unwrap()
}

/// The files that hold namespaces have random names.
fn without_pins(text: &str) -> String {
    let mut parts = text.split("ns/");
    let mut settled = parts.next().unwrap().to_owned();
    for part in parts {
        settled.push_str("ns/");
        let pin = part
            .get(..36)
            .filter(|pin| pin.bytes().filter(|it| *it == b'-').count() == 4);
        settled.push_str(match pin {
            Some(_) => &part[36..],
            None => part,
        });
    }
    settled
}

#[test]
fn every_request_recorded_on_cri_o_is_what_its_pod_makes() {
    let image_env = IMAGE_ENV.map(str::to_owned);
    let mut compared = 0;
    for version in ["crio-1.31.13", "crio-1.34.11", "crio-1.37.0"] {
        let profile = Profile::find(version).unwrap();
        // Those that containerd was asked for too.
        let recorded = recorded(version).into_iter().take(23);
        for (name, recorded) in recorded {
            let node = Node {
                cdi: Some(host()),
                ..node(&recorded)
            };
            let (mut sandbox, mut container) = asked::for_container(&name);
            // Asked for there otherwise than of containerd.
            sandbox.cgroup_parent.clear();
            container.resources.oom_score_adj = container.resources.oom_score_adj.map(|_| 500);
            let cri_o = CriO {
                profile,
                node: &node,
            };
            let played: CreateContainerRequest = cri_o
                .create_container(&sandbox, &container, &image_env)
                .unwrap();
            let expected = comparable(&with_ids_of(&played, &recorded));
            let got = comparable(&serde_json::to_value(&played).unwrap());
            assert_eq!(
                format!("{got:#}"),
                format!("{expected:#}"),
                "{name} on {version}"
            );
            compared += 1;
        }
    }
    assert_eq!(compared, 3 * 23);
}
