//! A container's variables: references to other places resolved, and `$(NAME)` expanded.

use super::Identity;
use crate::pod::manifest::{Container, EnvSource, Pod};
use crate::pod::node::Node;

/// The variables of a container, in order; a name that stands twice stays twice. Whatever only a cluster knows stands there as `<where it is>`, since
/// plugins mostly care whether a key is set.
pub(super) fn of(
    pod: &Pod,
    identity: &Identity,
    node: &Node,
    container: &Container,
) -> Vec<(String, String)> {
    let mut env: Vec<(String, String)> = Vec::with_capacity(container.env.len());
    for variable in &container.env {
        let value = match &variable.value_from {
            Some(source) => resolve(source, pod, identity, node),
            None => expand(&variable.value, &env),
        };
        env.push((variable.name.clone(), value));
    }
    env
}

/// `$(NAME)` is the variable's value, `$$` a dollar. A name that is not set stays as it is written.
pub(super) fn expand(text: &str, env: &[(String, String)]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(dollar) = rest.find('$') {
        let (before, from) = rest.split_at(dollar);
        out.push_str(before);
        let reference = from
            .strip_prefix("$(")
            .and_then(|inside| inside.split_once(')'));
        rest = match reference {
            Some((name, after)) => {
                match env.iter().rev().find(|(key, _)| key == name) {
                    Some((_, value)) => out.push_str(value),
                    None => out.push_str(&format!("$({name})")),
                }
                after
            }
            None => {
                out.push('$');
                from.strip_prefix("$$").unwrap_or(&from[1..])
            }
        };
    }
    out + rest
}

fn resolve(source: &EnvSource, pod: &Pod, identity: &Identity, node: &Node) -> String {
    if let Some(field) = &source.field_ref {
        let path = &field.field_path;
        return field_value(path, pod, identity, node).unwrap_or_else(|| format!("<{path}>"));
    }
    if let Some(field) = &source.resource_field_ref {
        return format!("<{}>", field.resource);
    }
    let (kind, reference) = match (&source.config_map_key_ref, &source.secret_key_ref) {
        (Some(reference), _) => ("configmap", reference),
        (None, Some(reference)) => ("secret", reference),
        (None, None) => return String::new(),
    };
    format!("<{kind} {}/{}>", reference.name, reference.key)
}

fn field_value(path: &str, pod: &Pod, identity: &Identity, node: &Node) -> Option<String> {
    let keyed = |prefix: &str| {
        path.strip_prefix(prefix)?
            .strip_prefix("['")?
            .strip_suffix("']")
    };
    let metadata = &pod.metadata;
    if let Some(key) = keyed("metadata.labels") {
        return Some(metadata.labels.get(key).cloned().unwrap_or_default());
    }
    if let Some(key) = keyed("metadata.annotations") {
        return Some(metadata.annotations.get(key).cloned().unwrap_or_default());
    }
    match path {
        "metadata.name" => Some(identity.name.clone()),
        "metadata.namespace" => Some(identity.namespace.clone()),
        "metadata.uid" => Some(identity.uid.clone()),
        "spec.nodeName" => Some(node.name.clone()),
        "spec.serviceAccountName" => Some(match pod.spec.service_account_name.as_str() {
            "" => "default".to_owned(),
            name => name.to_owned(),
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_expanded_and_doubled_dollars_are_not() {
        let env = [("A".to_owned(), "1".to_owned())];
        for (text, expanded) in [
            ("$(A)", "1"),
            ("x$(A)y$(A)", "x1y1"),
            ("$$(A)", "$(A)"),
            ("$(B)", "$(B)"),
            ("$A $( $", "$A $( $"),
            ("$$$$", "$$"),
            ("", ""),
        ] {
            assert_eq!(expand(text, &env), expanded, "{text}");
        }
    }
}
