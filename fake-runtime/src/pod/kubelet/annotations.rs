//! What the kubelet writes beside a pod and its containers.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::Source;
use crate::pod::manifest::{Container, Pod};

/// When the kubelet saw the Pod: a real one has the time.
pub(in crate::pod) const SEEN: &str = "2026-01-01T00:00:00.000000000Z";

const CONFIG: &str = "kubernetes.io/config";

pub(super) fn of_pod(pod: &Pod, uid: &str, source: Source) -> BTreeMap<String, String> {
    let mut annotations = pod.metadata.annotations.clone();
    annotations.insert(format!("{CONFIG}.seen"), SEEN.to_owned());
    let name = match source {
        Source::Api => "api",
        Source::File => "file",
    };
    annotations.insert(format!("{CONFIG}.source"), name.to_owned());
    if source == Source::File {
        annotations.insert(format!("{CONFIG}.hash"), uid.to_owned());
    }
    annotations
}

/// Where a container leaves its last words.
pub(super) fn termination_message_path(container: &Container) -> &str {
    match container.termination_message_path.as_str() {
        "" => "/dev/termination-log",
        path => path,
    }
}

pub(super) fn of_container(pod: &Pod, container: &Container) -> BTreeMap<String, String> {
    let policy = match container.termination_message_policy.as_str() {
        "" => "File",
        policy => policy,
    };
    let grace = pod.spec.termination_grace_period_seconds.unwrap_or(30);
    let mut all = vec![
        ("container.hash", hash(container)),
        ("container.restartCount", "0".to_owned()),
        (
            "container.terminationMessagePath",
            termination_message_path(container).to_owned(),
        ),
        ("container.terminationMessagePolicy", policy.to_owned()),
        ("pod.terminationGracePeriod", grace.to_string()),
    ];
    if let Some(handler) = &container.lifecycle.pre_stop {
        all.push(("container.preStopHandler", pre_stop(handler)));
    }
    if !container.ports.is_empty() {
        let host_network = pod.spec.host_network;
        let ports = container.ports.iter().map(|it| port(it, host_network));
        let list: Vec<_> = ports.collect();
        all.push(("container.ports", format!("[{}]", list.join(","))));
    }
    all.into_iter()
        .map(|(key, value)| (format!("io.kubernetes.{key}"), value))
        .collect()
}

/// By which the kubelet knows that the manifest is another: FNV-1a of name and image, written as Go prints bytes.
fn hash(container: &Container) -> String {
    let picked = in_order(
        &json!({"image": container.image, "name": container.name}),
        &["image", "name"],
    );
    let bytes: Vec<_> = picked.bytes().map(|byte| byte.to_string()).collect();
    let printed = format!("([]uint8)[{}]", bytes.join(" "));
    let hash = printed.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    format!("{hash:x}")
}

/// A port with the API server's defaults, as Go writes it.
fn port(port: &Value, host_network: bool) -> String {
    let mut port = port.clone();
    if port["protocol"].is_null() {
        port["protocol"] = "TCP".into();
    }
    if host_network && port["hostPort"].is_null() {
        port["hostPort"] = port["containerPort"].clone();
    }
    in_order(
        &port,
        &["name", "hostPort", "containerPort", "protocol", "hostIP"],
    )
}

/// A handler with the API server's defaults, as Go writes it.
fn pre_stop(handler: &Value) -> String {
    let mut handler = handler.clone();
    if let Some(get) = handler.get_mut("httpGet") {
        for (field, default) in [("path", "/"), ("scheme", "HTTP")] {
            if get[field].is_null() {
                get[field] = default.into();
            }
        }
    }
    in_order(&handler, &["exec", "httpGet", "tcpSocket", "sleep"])
}

/// JSON as Go writes a struct: its fields in their order, those that are empty left out.
fn in_order(object: &Value, fields: &[&str]) -> String {
    let nested: &[&str] = &[
        "path",
        "port",
        "host",
        "scheme",
        "httpHeaders",
        "name",
        "value",
        "command",
        "seconds",
    ];
    let nothing = Map::new();
    let object = object.as_object().unwrap_or(&nothing);
    let mut out = "{".to_owned();
    for field in fields {
        let value = match object.get(*field) {
            None | Some(Value::Null) => continue,
            Some(Value::String(text)) if text.is_empty() => continue,
            Some(value @ Value::Object(_)) => in_order(value, nested),
            Some(Value::Array(items)) => {
                let item = |item: &Value| match item {
                    Value::Object(_) => in_order(item, nested),
                    plain => go(plain),
                };
                let items: Vec<_> = items.iter().map(item).collect();
                format!("[{}]", items.join(","))
            }
            Some(plain) => go(plain),
        };
        let comma = if out.len() > 1 { "," } else { "" };
        // A String takes all that is written to it.
        let _ = write!(out, "{comma}\"{field}\":{value}");
    }
    out + "}"
}

/// A plain value as Go writes it, safe within HTML.
fn go(value: &Value) -> String {
    let json = value.to_string();
    json.replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_container_is_hashed_as_the_kubelet_does() {
        let container = Container {
            name: "main".to_owned(),
            image: "localhost/busybox:e2e".to_owned(),
            ..Default::default()
        };
        assert_eq!(hash(&container), "a5c42aa9");
    }

    #[test]
    fn ports_and_handlers_have_the_defaults_of_the_api_server() {
        assert_eq!(
            port(&json!({"containerPort": 80, "name": "web"}), true),
            r#"{"name":"web","hostPort":80,"containerPort":80,"protocol":"TCP"}"#
        );
        assert_eq!(
            pre_stop(&json!({"exec": {"command": ["sh", "-c", "a && b"]}})),
            r#"{"exec":{"command":["sh","-c","a \u0026\u0026 b"]}}"#
        );
        assert_eq!(
            pre_stop(&json!({"httpGet": {"port": 80}})),
            r#"{"httpGet":{"path":"/","port":80,"scheme":"HTTP"}}"#
        );
    }
}
