//! Field by field, what is recorded and what is made.

use nri_proto::api::{CreateContainerRequest, Hooks};
use serde_json::{Value, json};

use super::recorded::Asked;
use crate::pod::manifest::SUFFIX;

/// The kubelet's time, and what it counts.
const SEEN: &str = "kubernetes.io/config.seen";
const RESTARTS: &str = "io.kubernetes.container.restartCount";

/// What differs in what the kubelet asks for. The order of variables is random, and not compared.
pub(super) fn cri(made: &Asked, recorded: &Asked) -> Vec<String> {
    let restarts = recorded.container.annotations.get(RESTARTS);
    let plain = |asked: &Asked| {
        let mut sandbox = asked.sandbox.clone();
        if let Some(seen) = sandbox.annotations.get_mut(SEEN) {
            "(time)".clone_into(seen);
        }
        let mut container = asked.container.clone();
        if let Some(restarts) = restarts {
            container
                .annotations
                .insert(RESTARTS.to_owned(), restarts.clone());
        }
        container.env.sort();
        // Which ones they are was taken from the recording.
        container.devices.clear();
        // Which container that is, is told by its id.
        if let Some(target) = &mut container.sees_processes_of {
            "(id)".clone_into(target);
        }
        for mount in &mut container.mounts {
            mount.host_path = if mount.image.is_empty() {
                without_random(&mount.host_path)
            } else {
                String::new()
            };
        }
        container.user = Default::default();
        container.seccomp = None;
        json!({ "pod": sandbox, "container": container })
    };
    let name = &recorded.container.name;
    named(name, &plain(made), &plain(recorded))
}

/// How requests are compared.
pub(super) struct Nri<'a> {
    /// Those that the base spec adds, which is the machine's configuration.
    pub(super) hooks: &'a Value,
    /// What was made was made from the manifest: in another order, and at another time.
    pub(super) from_manifest: bool,
    /// The container sees the processes of another, whose process id is told nowhere else.
    pub(super) targeted: bool,
}

impl Nri<'_> {
    /// What differs in what containerd asks plugins.
    pub(super) fn differences(
        &self,
        made: &CreateContainerRequest,
        recorded: &CreateContainerRequest,
    ) -> Vec<String> {
        let mut recorded = with_ids_of(made, recorded);
        let mut made = made.clone();
        if let Some(made) = &mut made.container {
            let of_base_spec = serde_json::from_value::<Hooks>(self.hooks.clone());
            made.hooks = Some(of_base_spec.unwrap_or_default());
        }
        if let Some(pod) = &mut recorded.pod {
            pod.ips.clear();
            for own in &mut pod.linux.get_or_insert_default().namespaces {
                if own.path.starts_with("/var/run/netns/") {
                    own.path = format!("/var/run/netns/cni-{}", &pod.id[..8]);
                }
            }
        }
        let name = recorded.container.as_ref().map(|it| it.name.clone());
        self.make_plain(&mut made);
        self.make_plain(&mut recorded);
        named(&name.unwrap_or_default(), &json!(made), &json!(recorded))
    }

    fn make_plain(&self, request: &mut CreateContainerRequest) {
        let (Some(container), Some(pod)) = (&mut request.container, &mut request.pod) else {
            return;
        };
        // node.json has the image's labels of this kind by their prefix only.
        container
            .labels
            .retain(|key, _| !key.starts_with("org.opencontainers.image."));
        for mount in &mut container.mounts {
            mount.source = without_random(&mount.source);
        }
        if self.from_manifest {
            container.env.sort();
            container.annotations.remove(RESTARTS);
            pod.annotations.remove(SEEN);
        }
        let namespaces = &mut container.linux.get_or_insert_default().namespaces;
        if let Some(processes) = namespaces.iter_mut().find(|it| it.r#type == "pid")
            && self.targeted
            && processes.path.starts_with("/proc/")
        {
            "/proc/(target)/ns/pid".clone_into(&mut processes.path);
        }
    }
}

/// Our ids in place of containerd's, which are random.
fn with_ids_of(
    made: &CreateContainerRequest,
    recorded: &CreateContainerRequest,
) -> CreateContainerRequest {
    let (Some(ours), Some(theirs)) = (&made.container, &recorded.container) else {
        return recorded.clone();
    };
    let text = json!(recorded).to_string();
    let text = text.replace(&theirs.id, &ours.id);
    let text = text.replace(&theirs.pod_sandbox_id, &ours.pod_sandbox_id);
    serde_json::from_str(&text).unwrap_or_else(|_| recorded.clone())
}

/// A path without what is made up in it for every start: the name of a termination log, of a token's volume, of a
/// directory for a volume of an image.
fn without_random(path: &str) -> String {
    let random = |part: &str, length: usize| {
        part.len() == length && part.chars().all(|c| c.is_ascii_hexdigit())
    };
    let mut parts: Vec<&str> = path.split('/').collect();
    let last = parts.len() - 1;
    let token = format!("kube-api-access-{SUFFIX}");
    if path.contains("/containers/") && random(parts[last], 8)
        || path.contains("/volumes/") && random(parts[last], 64)
    {
        parts[last] = "(random)";
    } else if parts[last].len() == token.len() && parts[last].starts_with("kube-api-access-") {
        parts[last] = &token;
    }
    parts.join("/")
}

fn named(container: &str, made: &Value, recorded: &Value) -> Vec<String> {
    let mut differences = Vec::new();
    walk(container.to_owned(), made, recorded, &mut differences);
    differences
}

fn walk(path: String, made: &Value, recorded: &Value, differences: &mut Vec<String>) {
    match (made, recorded) {
        (Value::Object(ours), Value::Object(theirs)) => {
            let further = theirs.keys().filter(|key| !ours.contains_key(*key));
            for key in ours.keys().chain(further) {
                walk(
                    format!("{path}.{key}"),
                    &made[key],
                    &recorded[key],
                    differences,
                );
            }
        }
        (Value::Array(ours), Value::Array(theirs)) => {
            // Where an item is missing, all behind it would differ: show the lists by what is in one alone.
            if ours.len() == theirs.len() {
                for (index, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
                    walk(format!("{path}[{index}]"), ours, theirs, differences);
                }
                return;
            }
            let before = differences.len();
            let missing = theirs.iter().filter(|item| !ours.contains(item));
            differences.extend(missing.map(|it| format!("{path}: recorded alone {it}")));
            let further = ours.iter().filter(|item| !theirs.contains(item));
            differences.extend(further.map(|it| format!("{path}: made alone {it}")));
            if differences.len() == before {
                differences.push(format!("{path}: recorded {recorded}, made {made}"));
            }
        }
        _ if made == recorded => {}
        _ => differences.push(format!("{path}: recorded {recorded}, made {made}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn differences(made: Value, recorded: Value) -> Vec<String> {
        named("c", &made, &recorded)
    }

    #[test]
    fn every_field_that_differs_is_named() {
        assert_eq!(
            differences(
                json!({"a": 1, "b": {"c": "x"}, "d": [1, 2], "e": 0}),
                json!({"a": 2, "b": {"c": "y"}, "d": [1], "f": 0}),
            ),
            [
                "c.a: recorded 2, made 1",
                "c.b.c: recorded \"y\", made \"x\"",
                "c.d: made alone 2",
                "c.e: recorded null, made 0",
                "c.f: recorded 0, made null",
            ]
        );
        assert_eq!(differences(json!({"a": [1]}), json!({"a": [1]})), [""; 0]);
    }

    #[test]
    fn only_what_is_made_up_is_taken_out_of_a_path() {
        for (path, plain) in [
            (
                "/pods/u/containers/main/ee73b045",
                "/pods/u/containers/main/(random)",
            ),
            (
                "/pods/u/volumes/x/kube-api-access-q7xk2",
                "/pods/u/volumes/x/kube-api-access-abcde",
            ),
            ("/pods/u/volumes/x/e", "/pods/u/volumes/x/e"),
            ("/", "/"),
            ("proc", "proc"),
        ] {
            assert_eq!(without_random(path), plain);
        }
    }
}
