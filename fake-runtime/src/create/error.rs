//! Why CreateContainer failed, in containerd's words.
//!
//! The texts are part of what a plugin's author sees of a mistake, so each is exactly the message that the
//! CRI call of that containerd returns; its gRPC code is always UNKNOWN.

use std::fmt;

use crate::collect::Subject;

/// How every message begins that comes of asking the plugins.
const ASKING: &str =
    "failed to create containerd container: failed to get NRI adjustment for container";
/// How every message begins that comes of changing the spec.
const ADJUSTING: &str =
    "failed to create containerd container: failed to NRI-adjust container Spec";

/// Why CreateContainer failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CreateError {
    /// Two plugins, or one twice, set the same thing.
    #[error(
        "{ASKING}: plugins {} and {} both tried to set {subject}",
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
    #[error("{ASKING}: rpc error: code = {code} desc = {message}")]
    Plugin {
        /// The name of the gRPC code: `Unknown`, `Unimplemented`.
        code: String,
        /// What the plugin said, verbatim.
        message: String,
    },

    /// A validator was too slow, died, or has gone since the last request.
    #[error("{ASKING}: validator plugin {plugin} failed: {why}")]
    ValidatorFailed {
        /// The validator, as `IDX-NAME`.
        plugin: String,
        /// What became of the call.
        why: String,
    },

    /// A validator does not want the container as the plugins adjusted it.
    #[error(
        "{ASKING}: validator {} rejected container adjustment, reason: {reason}",
        Quoted(plugin)
    )]
    Rejected {
        /// The validator, as `IDX-NAME`.
        plugin: String,
        /// What the validator said.
        reason: String,
    },

    /// CDI names that no spec file defines, well-formed or not.
    #[error(
        "{ADJUSTING}: CDI device injection failed: unresolvable CDI devices {}",
        .0.join(", ")
    )]
    UnresolvableCdi(Vec<String>),

    /// A CDI device node without numbers of its own is not on the host. Known from CDI's source only.
    #[error(
        "{ADJUSTING}: CDI device injection failed: failed to inject devices: failed to stat CDI host device {}: \
         no such file or directory",
        Quoted(.0)
    )]
    NoHostDevice(String),

    /// A namespace of a type that this version does not know.
    #[error("{ADJUSTING}: unrecognized namespace {}", Quoted(.0))]
    Namespace(String),

    /// A block I/O class. None is ever configured here.
    #[error(
        "{ADJUSTING}: failed to adjust BlockIO class in OCI Spec: no OCI BlockIO parameters for class {}",
        Quoted(.0)
    )]
    BlockIoClass(String),

    /// A mount's source does not lie on a mount of the host that propagates as asked.
    #[error(
        "{ADJUSTING}: failed to adjust mounts in OCI Spec: path {} mount propagation is {}, not {}",
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
        "{ADJUSTING}: failed to adjust mounts in OCI Spec: failed to get mount info for {}",
        Quoted(.0)
    )]
    MountInfo(String),

    /// containerd itself died of the adjustment. There is no message: the call's connection breaks.
    #[error("containerd died: {0}")]
    RuntimeDied(&'static str),
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

    #[test]
    fn a_plugins_own_words_are_passed_on_unquoted() {
        let error = CreateError::Plugin {
            code: "Unknown".into(),
            message: "says: \"no\"\nline two".into(),
        };
        assert_eq!(
            error.to_string(),
            "failed to create containerd container: failed to get NRI adjustment for container: \
             rpc error: code = Unknown desc = says: \"no\"\nline two",
        );
    }
}
