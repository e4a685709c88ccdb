//! What a plugin is told of itself.

use nri_proto::fields::Malformed;

use crate::connect::Identity;
use crate::error::Error;

/// What happens in a plugin's life, for its log and its metrics.
#[derive(Debug)]
#[non_exhaustive]
pub enum Life<'a> {
    /// There is a connection, and the plugin asks to be registered on it.
    Registering(&'a Identity),
    /// The runtime has accepted the registration.
    Accepted,
    /// A Configure or Synchronize that cannot be decoded. It is taken for an empty one: an error would be the end
    /// of the registration.
    Undecodable {
        /// The method's name.
        method: &'static str,
        /// What is wrong with it.
        error: Malformed,
    },
    /// The runtime says that it shuts down. It closes the connection next.
    ShuttingDown,
    /// The plugin is not, or no longer, registered.
    Unregistered {
        /// Why.
        error: &'a Error,
        /// It was, until now.
        was_registered: bool,
        /// The attempt before this one failed in the same way.
        repeated: bool,
    },
}
