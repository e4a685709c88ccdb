//! `$(NAME)` in values, commands and paths.

/// Where names are looked up.
pub(super) trait Variables {
    /// The value of a variable, if it is set.
    fn value(&self, name: &str) -> Option<&str>;
}

/// `$(NAME)` is the variable's value, `$$` a dollar. A name that is not set stays as it is written.
pub(super) fn expand(text: &str, variables: &impl Variables) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(dollar) = rest.find('$') {
        let (before, from) = rest.split_at(dollar);
        out.push_str(before);
        let reference = from
            .strip_prefix("$(")
            .and_then(|inside| inside.split_once(')'));
        rest = match reference {
            Some((name, after)) => {
                match variables.value(name) {
                    Some(value) => out.push_str(value),
                    None => out.push_str(&format!("$({name})")),
                }
                after
            }
            None => {
                out.push('$');
                from.strip_prefix("$$").unwrap_or(&from[1..])
            }
        };
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    struct One;

    impl Variables for One {
        fn value(&self, name: &str) -> Option<&str> {
            (name == "A").then_some("1")
        }
    }

    #[test]
    fn references_are_expanded_and_doubled_dollars_are_not() {
        for (text, expanded) in [
            ("$(A)", "1"),
            ("x$(A)y$(A)", "x1y1"),
            ("$$(A)", "$(A)"),
            ("$(B)", "$(B)"),
            ("$A $( $", "$A $( $"),
            ("$$$$", "$$"),
            ("$($(A))", "$($(A))"),
            ("$()", "$()"),
            ("", ""),
        ] {
            assert_eq!(expand(text, &One), expanded, "{text}");
        }
    }
}
