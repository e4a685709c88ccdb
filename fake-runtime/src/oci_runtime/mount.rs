//! Mounts that runc refuses.

use crate::host::Host;
use crate::oci::Mount;

const READ_ONLY: u64 = 1;
const BIND: u64 = 1 << 12;
const RECURSIVE: u64 = 1 << 14;

/// The options that set a flag of mount(2).
const SET: &[(&str, u64)] = &[
    ("ro", READ_ONLY),
    ("nosuid", 1 << 1),
    ("nodev", 1 << 2),
    ("noexec", 1 << 3),
    ("sync", 1 << 4),
    ("remount", 1 << 5),
    ("mand", 1 << 6),
    ("dirsync", 1 << 7),
    ("nosymfollow", 1 << 8),
    ("noatime", 1 << 10),
    ("nodiratime", 1 << 11),
    ("bind", BIND),
    ("rbind", BIND | RECURSIVE),
    ("silent", 1 << 15),
    ("relatime", 1 << 21),
    ("iversion", 1 << 23),
    ("strictatime", 1 << 24),
    ("lazytime", 1 << 25),
];

/// The options that clear one.
const CLEAR: &[(&str, u64)] = &[
    ("rw", READ_ONLY),
    ("suid", 1 << 1),
    ("dev", 1 << 2),
    ("exec", 1 << 3),
    ("async", 1 << 4),
    ("nomand", 1 << 6),
    ("symfollow", 1 << 8),
    ("atime", 1 << 10),
    ("diratime", 1 << 11),
    ("loud", 1 << 15),
    ("norelatime", 1 << 21),
    ("noiversion", 1 << 23),
    ("nostrictatime", 1 << 24),
    ("nolazytime", 1 << 25),
];

/// The options that set a propagation.
const PROPAGATION: &[(&str, u64)] = &[
    ("unbindable", 1 << 17),
    ("private", 1 << 18),
    ("slave", 1 << 19),
    ("shared", 1 << 20),
    ("runbindable", 1 << 17 | RECURSIVE),
    ("rprivate", 1 << 18 | RECURSIVE),
    ("rslave", 1 << 19 | RECURSIVE),
    ("rshared", 1 << 20 | RECURSIVE),
];

/// The options that say something else than a flag, and nothing to the file system.
const OTHERS: &[&str] = &["defaults", "tmpcopyup", "idmap", "ridmap"];

/// What runc understands of a mount's options.
#[derive(Default)]
struct Options<'a> {
    flags: u64,
    cleared: u64,
    propagation: Vec<String>,
    /// What is left for the file system.
    data: Vec<&'a str>,
}

impl<'a> Options<'a> {
    fn of(mount: &'a Mount) -> Self {
        let mut read = Self::default();
        let known = |table: &[(&str, u64)], option: &str| {
            let mut entries = table.iter();
            Some(entries.find(|(name, _)| *name == option)?.1)
        };
        for option in mount.options().iter().flatten() {
            if let Some(flag) = known(SET, option) {
                read.flags |= flag;
                read.cleared &= !flag;
            } else if let Some(flag) = known(CLEAR, option) {
                read.flags &= !flag;
                read.cleared |= flag;
            } else if let Some(flag) = known(PROPAGATION, option) {
                read.propagation.push(flag.to_string());
            } else if !OTHERS.contains(&option.as_str()) && !is_recursive(option) {
                read.data.push(option);
            }
        }
        read
    }
}

/// Whether it is one of `rro`, `rnosuid` and the like, which hold for a whole tree.
fn is_recursive(option: &str) -> bool {
    let flag = option.strip_prefix('r').unwrap_or_default();
    let mut attributes = SET.iter().chain(CLEAR);
    attributes.any(|(name, value)| *name == flag && value & BIND == 0)
}

/// A bind mount with options for a file system.
pub(super) fn options(mounts: &[Mount]) -> Option<String> {
    mounts.iter().find_map(|mount| {
        let options = Options::of(mount);
        let refused = options.flags & BIND != 0 && !options.data.is_empty();
        refused.then(|| {
            format!(
                "invalid mount &{{Source:{} Destination:{} Device:bind Flags:{} ClearedFlags:{} \
                 PropagationFlags:[{}] Data:{} Relabel: RecAttr:<nil> Extensions:0 IDMapping:<nil>}}: bind mounts \
                 cannot have any filesystem-specific options applied",
                source(mount),
                mount.destination().display(),
                options.flags,
                options.cleared,
                options.propagation.join(" "),
                options.data.join(","),
            )
        })
    })
}

/// A bind mount of something that the host does not have.
pub(super) fn sources(mounts: &[Mount], host: &Host) -> Option<String> {
    let mut binds = mounts.iter().filter(|it| Options::of(it).flags & BIND != 0);
    let missing = binds.find(|mount| host.lacks(&source(mount)))?;
    Some(format!(
        "unable to start container process: error during container init: failed to fulfil mount request: open {}: \
         no such file or directory",
        source(missing)
    ))
}

fn source(mount: &Mount) -> String {
    let source = mount.source().as_deref();
    source.map_or_else(String::new, |path| path.to_string_lossy().into_owned())
}
