//! What a plugin is made of.

use crate::connect::{Identity, Origin};
use crate::handlers::Handlers;
use crate::life::Life;
use crate::limits::Limits;
use crate::updater::Updater;

pub(crate) struct Plugin {
    pub(crate) origin: Origin,
    pub(crate) identity: Identity,
    pub(crate) handlers: Handlers,
    pub(crate) limits: Limits,
    pub(crate) observe: Box<dyn Fn(Life<'_>) + Send + Sync>,
    /// It ends with its first connection.
    pub(crate) once: bool,
    pub(crate) updater: Updater,
}
