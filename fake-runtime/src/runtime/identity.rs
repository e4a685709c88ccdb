//! What a plugin may call itself.

/// Why a plugin may not register as it did: what the plugin is answered, as containerd words it.
pub(super) fn check(name: &str, index: &str, strict_names: bool) -> Result<(), String> {
    if name.is_empty() {
        return Err("invalid plugin name: name is empty".to_owned());
    }
    if let Some(wrong) = name.chars().find(|c| strict_names && !is_name_char(*c)) {
        return Err(format!(
            "invalid plugin name {name:?}: contains invalid character '{wrong}'"
        ));
    }
    if index.len() != 2 {
        return Err(format!("invalid plugin index {index:?}, must be 2 digits"));
    }
    if !index.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!("invalid plugin index {index:?} (not [0-9][0-9])"));
    }
    Ok(())
}

fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '+' | '-')
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn names_and_indices_are_judged_as_containerd_2_3_judged_them() {
        for (name, index, answer) in [
            ("x.y-Z_9", "10", Ok(())),
            ("", "10", Err("invalid plugin name: name is empty")),
            (
                "a b",
                "10",
                Err("invalid plugin name \"a b\": contains invalid character ' '"),
            ),
            (
                "a/b",
                "10",
                Err("invalid plugin name \"a/b\": contains invalid character '/'"),
            ),
            (
                "ok",
                "1",
                Err("invalid plugin index \"1\", must be 2 digits"),
            ),
            (
                "ok",
                "100",
                Err("invalid plugin index \"100\", must be 2 digits"),
            ),
            (
                "ok",
                "xx",
                Err("invalid plugin index \"xx\" (not [0-9][0-9])"),
            ),
        ] {
            assert_eq!(
                check(name, index, true),
                answer.map_err(str::to_owned),
                "{name:?} {index:?}"
            );
        }
    }

    #[test]
    fn older_versions_take_any_name_that_is_not_empty() {
        assert_eq!(check("a/b", "10", false), Ok(()));
        assert!(check("", "10", false).is_err());
    }
}
