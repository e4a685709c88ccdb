//! Orders that containerd does not determine.

use std::collections::HashSet;

use nri_proto::api::CreateContainerRequest;
use serde_json::Value;

/// Brings namespaces into one order: containerd shows them in that of a Go map once a plugin changed them.
pub(super) fn settle_namespaces(request: &mut CreateContainerRequest) {
    let container = request.container.as_mut();
    if let Some(linux) = container.and_then(|container| container.linux.as_mut()) {
        linux.namespaces.sort_by(|a, b| a.r#type.cmp(&b.r#type));
    }
}

/// How many mounts Go's sort still leaves in their order where they compare equal.
const STABLE: usize = 12;

/// Brings the mounts of two outcomes into one order where one destination is there twice among more
/// mounts than Go sorts stably.
pub(super) fn settle_mounts(expected: &mut Value, is: &mut Value) {
    let mounts = |outcome: &Value| Some(outcome["spec"]["mounts"].as_array()?.clone());
    let (Some(a), Some(b)) = (mounts(expected), mounts(is)) else {
        return;
    };
    if a.len() > STABLE && twice(&a) {
        for (outcome, mut mounts) in [(expected, a), (is, b)] {
            mounts.sort_by_key(|mount| (mount["destination"].to_string(), mount.to_string()));
            outcome["spec"]["mounts"] = Value::Array(mounts);
        }
    }
}

fn twice(mounts: &[Value]) -> bool {
    let mut seen = HashSet::new();
    !mounts
        .iter()
        .all(|mount| seen.insert(mount["destination"].as_str()))
}
