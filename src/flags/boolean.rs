//! The words that stand for true and false on a command line, as Go and Kubernetes have them.

/// Reads one of `1 t T true True TRUE` or `0 f F false False FALSE`.
pub(crate) fn parse(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "true" | "True" | "TRUE" => Some(true),
        "0" | "f" | "F" | "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_listed_spellings_are_booleans() {
        for text in ["1", "t", "T", "true", "True", "TRUE"] {
            assert_eq!(parse(text), Some(true), "{text}");
        }
        for text in ["0", "f", "F", "false", "False", "FALSE"] {
            assert_eq!(parse(text), Some(false), "{text}");
        }
        for text in ["", " true", "yes", "tRUE", "on", "2"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
