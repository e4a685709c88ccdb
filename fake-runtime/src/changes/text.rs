//! A change in words.

use serde_json::Value;

use super::Change;

pub(super) fn text(change: &Change) -> String {
    let Change {
        what,
        key,
        before,
        after,
    } = change;
    // Of something that is gone, what it was is what there is to say.
    let Some(now) = after.as_ref().or(before.as_ref()) else {
        return what.clone();
    };
    let was = before.as_ref().filter(|_| after.is_some());
    match what.as_str() {
        "mount" => format!("mount {key} {}{}", mount(now), otherwise(was, mount)),
        "env" => format!("env {key}={}{}", value(now), otherwise(was, value)),
        "device" => format!("device {key} {}{}", device(now), otherwise(was, device)),
        "device rule" => format!("device rule {}", rule(now)),
        "annotation" => format!("annotation {key}={}{}", plain(now), otherwise(was, plain)),
        _ => format!("{what} {}{}", plain(now), otherwise(was, plain)),
    }
}

fn otherwise(was: Option<&Value>, describe: fn(&Value) -> String) -> String {
    was.map(|was| format!(", was {}", describe(was)))
        .unwrap_or_default()
}

fn mount(mount: &Value) -> String {
    let options: Vec<_> = mount["options"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let kind = mount["type"]
        .as_str()
        .map(|kind| format!("{kind}, "))
        .unwrap_or_default();
    let source = mount["source"].as_str().unwrap_or("nowhere");
    format!("from {source} ({kind}{})", options.join(" "))
}

fn value(variable: &Value) -> String {
    let variable = variable.as_str().unwrap_or_default();
    variable
        .split_once('=')
        .map_or("", |(_, value)| value)
        .to_owned()
}

fn device(device: &Value) -> String {
    let number = |field: &str| device[field].as_i64();
    let mut parts = vec![format!(
        "{} {}",
        device["type"].as_str().unwrap_or("?"),
        numbers(device)
    )];
    parts.extend(number("fileMode").map(|mode| format!("mode {mode:04o}")));
    if let (Some(uid), Some(gid)) = (number("uid"), number("gid")) {
        parts.push(format!("owner {uid}:{gid}"));
    }
    format!("({})", parts.join(", "))
}

/// `major:minor`; a zero is not written into a spec's device.
fn numbers(device: &Value) -> String {
    let number = |field: &str| device[field].as_i64().unwrap_or_default();
    format!("{}:{}", number("major"), number("minor"))
}

fn rule(rule: &Value) -> String {
    let verb = if rule["allow"].as_bool().unwrap_or_default() {
        "allow"
    } else {
        "deny"
    };
    let kind = rule["type"].as_str().unwrap_or("a");
    let number = |field: &str| {
        rule[field]
            .as_i64()
            .map_or("*".to_owned(), |it| it.to_string())
    };
    let access = rule["access"].as_str().unwrap_or_default();
    format!(
        "{verb} {kind} {}:{} {access}",
        number("major"),
        number("minor")
    )
}

/// Text without quotes, anything else as JSON.
fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), ToOwned::to_owned)
}
