//! Pod manifests.

use fake_runtime::pod::manifest::parse;
use fake_runtime::pod::{Simulation, requests};
use fake_runtime::profile;
use nri_proto::api::CreateContainerRequest;
use prost::Message as _;

use crate::assert_one_line;

/// A manifest, behind a byte that chooses the containerd.
pub fn manifest(data: &[u8]) {
    let Some((version, text)) = data.split_first() else {
        return;
    };
    let Ok(text) = str::from_utf8(text) else {
        return;
    };
    let pods = match parse(text) {
        Ok(pods) => pods,
        Err(error) => return assert_one_line(error),
    };
    assert!(!pods.is_empty());
    let simulation = Simulation {
        profile: &profile::ALL[usize::from(*version) % profile::ALL.len()],
        ..Simulation::default()
    };
    for pod in &pods {
        // A refusal is in containerd's words, control characters included.
        let Ok(asked) = requests(pod, &simulation) else {
            continue;
        };
        assert_eq!(asked.len(), pod.images().count());
        for request in asked {
            let json = serde_json::to_string(&request).expect("it has a JSON form");
            assert_eq!(
                serde_json::from_str::<CreateContainerRequest>(&json).ok(),
                Some(request.clone())
            );
            assert_eq!(
                CreateContainerRequest::decode(&*request.encode_to_vec()),
                Ok(request)
            );
        }
    }
}
