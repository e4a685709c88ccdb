//! Cases with their expected answer, replayed against a plugin over a real socket.

mod case;
mod compare;
mod play;
mod player;

pub use case::{Case, Expect, Lock, Placeholders};
pub use compare::difference;
pub use play::{Mismatch, PlayError, Verdict, play};
pub use player::Player;
