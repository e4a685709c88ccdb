//! Names that are partly made up: by the API server, by controllers, and here.

use crate::pod::manifest::{HASH, MINUTES, SUFFIX};

/// Whether a recorded text is one of ours but for what is made up, which no manifest tells.
pub(super) fn is_alike(made: &str, recorded: &str) -> bool {
    if made == recorded {
        return true;
    }
    let next = [SUFFIX, HASH, MINUTES]
        .into_iter()
        .filter_map(|made_up| Some((made.find(made_up)?, made_up)))
        .min();
    let Some((start, made_up)) = next else {
        return false;
    };
    let (before, after) = (&made[..start], &made[start + made_up.len()..]);
    let Some(rest) = recorded.strip_prefix(before) else {
        return false;
    };
    let is_made_up = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let end = rest.find(|c| !is_made_up(c)).unwrap_or(rest.len());
    let plausible = match made_up {
        SUFFIX => end == SUFFIX.len(),
        _ => end > 0,
    };
    plausible && is_alike(after, &rest[end..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_up_may_be_anything_of_its_kind() {
        let deployment = format!("web-{HASH}-{SUFFIX}");
        for (recorded, alike) in [
            ("web-857d49d666-l2fw7", true),
            ("web-857d49d666-l2fw", false),
            ("web-l2fw7", false),
            ("db-857d49d666-l2fw7", false),
            ("web-857d49d666-l2fw7-x", false),
        ] {
            assert_eq!(is_alike(&deployment, recorded), alike, "{recorded}");
        }
        assert!(is_alike("a", "a"));
        assert!(!is_alike("a", "b"));
    }
}
