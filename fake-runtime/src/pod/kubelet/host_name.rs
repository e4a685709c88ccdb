//! The host name inside a Pod.

use super::Identity;
use crate::pod::manifest::Pod;

/// The longest that a name within a domain may be.
const LONGEST: usize = 63;

/// Empty is the node's.
pub(super) fn of(pod: &Pod, identity: &Identity, cluster_domain: &str) -> String {
    let spec = &pod.spec;
    if spec.host_network {
        return String::new();
    }
    if !spec.hostname_override.is_empty() {
        return spec.hostname_override.clone();
    }
    let name = match spec.hostname.as_str() {
        "" => &identity.name,
        name => name,
    };
    let name = cut(name);
    match spec.subdomain.as_str() {
        subdomain if !subdomain.is_empty() && spec.set_hostname_as_fqdn => {
            let namespace = &identity.namespace;
            format!("{name}.{subdomain}.{namespace}.svc.{cluster_domain}")
        }
        _ => name.to_owned(),
    }
}

fn cut(name: &str) -> &str {
    match name.char_indices().nth(LONGEST) {
        Some((end, _)) => name[..end].trim_end_matches(['-', '.']),
        None => name,
    }
}

#[cfg(test)]
mod tests {
    use super::cut;

    #[test]
    fn a_long_name_is_cut_and_freed_of_what_no_name_ends_in() {
        assert_eq!(cut("short-"), "short-");
        let long = format!("{}--bb", "a".repeat(61));
        assert_eq!(cut(&long), "a".repeat(61));
    }
}
