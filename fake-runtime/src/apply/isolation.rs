//! `linux.namespaces`, `linux.sysctl` and `linux.netDevices`.

use indexmap::IndexMap;
use nri_proto::api;
use oci_spec::runtime::LinuxNamespaceType;

use crate::collect::removal;
use crate::create_error::Reason;
use crate::oci::{Linux, LinuxNamespace, NetDevice};

/// Sets, adds or removes namespaces.
pub(super) fn namespaces(
    time: bool,
    ours: &mut Vec<LinuxNamespace>,
    theirs: &[api::LinuxNamespace],
) -> Result<(), Reason> {
    for namespace in theirs {
        let marked = removal(&namespace.r#type);
        let kind = marked.unwrap_or(&namespace.r#type);
        let kind = namespace_type(kind, time).ok_or_else(|| Reason::Namespace(kind.to_owned()))?;
        let place = ours.iter().position(|other| other.typ() == kind);
        if marked.is_some() {
            if let Some(at) = place {
                ours.remove(at);
            }
            continue;
        }
        let mut set = LinuxNamespace::default();
        let path = Some(&namespace.path).filter(|path| !path.is_empty());
        set.set_typ(kind).set_path(path.map(Into::into));
        match place {
            Some(at) => ours[at] = set,
            None => ours.push(set),
        }
    }
    Ok(())
}

fn namespace_type(kind: &str, time: bool) -> Option<LinuxNamespaceType> {
    Some(match kind {
        "network" => LinuxNamespaceType::Network,
        "pid" => LinuxNamespaceType::Pid,
        "mount" => LinuxNamespaceType::Mount,
        "ipc" => LinuxNamespaceType::Ipc,
        "uts" => LinuxNamespaceType::Uts,
        "user" => LinuxNamespaceType::User,
        "cgroup" => LinuxNamespaceType::Cgroup,
        "time" if time => LinuxNamespaceType::Time,
        _ => return None,
    })
}

/// Sets or removes kernel parameters.
pub(super) fn sysctl(linux: &mut Linux, theirs: &IndexMap<String, String>) {
    for (key, value) in theirs {
        match removal(key) {
            Some(key) => drop(linux.sysctl.remove(key)),
            None => drop(linux.sysctl.insert(key.clone(), value.clone())),
        }
    }
}

/// Moves network interfaces in, or no longer.
pub(super) fn net_devices(linux: &mut Linux, theirs: &IndexMap<String, api::LinuxNetDevice>) {
    for (key, device) in theirs {
        let name = device.name.clone();
        match removal(key) {
            Some(key) => drop(linux.net_devices.remove(key)),
            None => drop(linux.net_devices.insert(key.clone(), NetDevice { name })),
        }
    }
}
