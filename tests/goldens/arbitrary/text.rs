//! Strings.

use proptest::prelude::*;
use proptest::sample::select;

/// One of these, mostly; or anything, in any script, of any length.
pub(crate) fn text_or(known: &'static [&'static str]) -> impl Strategy<Value = String> {
    prop_oneof![
        15 => select(known).prop_map(String::from),
        2 => text(),
    ]
}

/// Anything, in any script, sometimes long.
pub(crate) fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => ".{0,12}",
        2 => select(&["", " ", "=", "/", "-", "\0", "\u{feff}", "🚀", "a\nb", "ſ"][..]).prop_map(String::from),
        1 => (".{1,4}", 100..3000_usize).prop_map(|(part, times)| part.repeat(times)),
    ]
}
