//! Why CreateContainer failed, in the runtime's words.
//!
//! The texts are part of what a plugin's author sees of a mistake, so each is exactly the message that the
//! CRI call of that runtime returns.

mod subject;

use std::fmt;

pub use subject::Subject;

use crate::oci::Spec;
use crate::profile::Profile;

/// Why CreateContainer failed, as the CRI call tells it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{text}")]
pub struct CreateError {
    text: Box<str>,
    /// What went wrong.
    pub reason: Reason,
}

/// What went wrong, without what the runtime writes around it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Reason {
    /// Two plugins, or one twice, set the same thing.
    #[error(
        "plugins {} and {} both tried to set {subject}",
        Quoted(second),
        Quoted(first)
    )]
    Conflict {
        /// The plugin that came too late, as `IDX-NAME`.
        second: String,
        /// The plugin that had it.
        first: String,
        /// What both set.
        subject: Subject,
    },

    /// A plugin answered with an error.
    #[error("rpc error: code = {code} desc = {message}")]
    Plugin {
        /// The name of the gRPC code: `Unknown`, `Unimplemented`.
        code: String,
        /// What the plugin said, verbatim.
        message: String,
    },

    /// A plugin asked for a change of the container in creation, or two for one of the same container. In containerd's
    /// words.
    #[error("{0}")]
    Updates(String),

    /// A validator was too slow, died, or has gone since the last request.
    #[error("validator plugin {plugin} failed: {why}")]
    ValidatorFailed {
        /// The validator, as `IDX-NAME`.
        plugin: String,
        /// What became of the call.
        why: String,
    },

    /// A validator does not want the container as the plugins adjusted it.
    #[error(
        "validator {} rejected container adjustment, reason: {reason}",
        Quoted(plugin)
    )]
    Rejected {
        /// The validator, as `IDX-NAME`.
        plugin: String,
        /// What the validator said.
        reason: String,
    },

    /// CDI names that no spec file defines, well-formed or not.
    #[error("CDI device injection failed: unresolvable CDI devices {}", .0.join(", "))]
    UnresolvableCdi(Vec<String>),

    /// A CDI device node without numbers of its own is not on the host. Known from CDI's source only.
    #[error(
        "CDI device injection failed: failed to inject devices: failed to stat CDI host device {}: \
         no such file or directory",
        Quoted(.0)
    )]
    NoHostDevice(String),

    /// A namespace of a type that this version does not know.
    #[error("unrecognized namespace {}", Quoted(.0))]
    Namespace(String),

    /// A memory limit below what the runtime thinks a container needs.
    #[error(
        "failed to adjust resources in OCI Spec: set memory limit {limit} too low; should be at least {least} bytes"
    )]
    TooLittleMemory {
        /// The limit, in bytes.
        limit: i64,
        /// The least that is allowed, in bytes.
        least: i64,
    },

    /// A block I/O class. None is ever configured here.
    #[error(
        "failed to adjust BlockIO class in OCI Spec: no OCI BlockIO parameters for class {}",
        Quoted(.0)
    )]
    BlockIoClass(String),

    /// A mount's source does not lie on a mount of the host that propagates as asked.
    #[error(
        "failed to adjust mounts in OCI Spec: path {} mount propagation is {}, not {}",
        Quoted(source_path),
        Quoted(is),
        Quoted(wanted)
    )]
    Propagation {
        /// The mount's source.
        source_path: String,
        /// How the host's mount propagates, empty for not at all.
        is: String,
        /// How it would have to.
        wanted: &'static str,
    },

    /// A mount's source on no mount of the host: a relative path.
    #[error(
        "failed to adjust mounts in OCI Spec: failed to get mount info for {}",
        Quoted(.0)
    )]
    MountInfo(String),

    /// The OCI runtime refuses the spec, where the runtime calls it in CreateContainer.
    #[error("{error}")]
    OciRuntime {
        /// What it writes to its log.
        error: String,
        /// What it was given.
        spec: Box<Spec>,
    },

    /// The runtime itself died of the adjustment. There is no message: the call's connection breaks.
    #[error("died: {0}")]
    RuntimeDied(&'static str),
}

impl Reason {
    /// The same, as the CRI client of this runtime is told about the container.
    #[must_use]
    pub fn told(self, profile: &Profile, container_id: &str) -> CreateError {
        let words = profile.errors;
        let before = match &self {
            Self::Plugin { message, .. } if !words.plugin_status => {
                let text = message.as_str().into();
                return CreateError { text, reason: self };
            }
            Self::Conflict { .. }
            | Self::Plugin { .. }
            | Self::ValidatorFailed { .. }
            | Self::Updates(_)
            | Self::Rejected { .. } => words.asking.to_owned(),
            Self::OciRuntime { .. } => words.oci_runtime.to_owned(),
            Self::RuntimeDied(_) => format!("{} ", profile.runtime),
            _ => words.adjusting.replace("{id}", container_id),
        };
        CreateError {
            text: format!("{before}{self}").into(),
            reason: self,
        }
    }
}

/// A text as Go's `%q` writes it.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"")?;
        for c in self.0.chars() {
            match c {
                '"' | '\\' => write!(f, "\\{c}")?,
                '\u{7}' => f.write_str("\\a")?,
                '\u{8}' => f.write_str("\\b")?,
                '\u{c}' => f.write_str("\\f")?,
                '\n' => f.write_str("\\n")?,
                '\r' => f.write_str("\\r")?,
                '\t' => f.write_str("\\t")?,
                '\u{b}' => f.write_str("\\v")?,
                c if c.is_ascii_control() => write!(f, "\\x{:02x}", u32::from(c))?,
                c if !c.is_ascii() && (c.is_control() || c.is_whitespace()) => {
                    write!(f, "\\u{:04x}", u32::from(c))?;
                }
                c => write!(f, "{c}")?,
            }
        }
        f.write_str("\"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_quoted_as_go_does() {
        for (name, quoted) in [
            ("é✓ x", r#""é✓ x""#),
            ("a\"b\\c", r#""a\"b\\c""#),
            ("\u{7}\u{8}\u{c}\n\r\t\u{b}", r#""\a\b\f\n\r\t\v""#),
            ("\u{1}\u{7f}\u{a0}", r#""\x01\x7f\u00a0""#),
        ] {
            assert_eq!(Quoted(name).to_string(), quoted);
        }
    }

    fn told(profile: &str) -> String {
        let reason = Reason::Plugin {
            code: "Unknown".into(),
            message: "says: \"no\"\nline two".into(),
        };
        reason
            .told(Profile::find(profile).unwrap(), "id")
            .to_string()
    }

    #[test]
    fn a_plugins_own_words_are_passed_on_unquoted() {
        assert_eq!(
            told("containerd-2.1"),
            "failed to create containerd container: failed to get NRI adjustment for container: \
             rpc error: code = Unknown desc = says: \"no\"\nline two",
        );
    }

    #[test]
    fn cri_o_passes_on_a_plugins_words_and_nothing_else() {
        assert_eq!(told("cri-o-1.37"), "says: \"no\"\nline two");
    }
}
