//! Text of others on one line.

use std::error::Error;

/// `text` with its control characters spelled out, so that whatever it quotes it stays on its line and tells a
/// terminal nothing.
pub(crate) fn on_one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() {
            line.extend(character.escape_default());
        } else {
            line.push(character);
        }
    }
    line
}

/// An error as a program's last line: what it quotes may be several lines, such as a path or the words of whoever is
/// at the other end.
pub(crate) fn last_line(error: &dyn Error) -> String {
    on_one_line(&error.to_string().lines().collect::<Vec<_>>().join("; "))
}
