//! JUnit's XML, which every CI shows.

use std::fmt::Write as _;

/// One result.
pub(super) struct Case {
    /// What it belongs to.
    pub(super) class: String,
    /// What was looked at.
    pub(super) name: String,
    pub(super) outcome: Outcome,
}

pub(super) enum Outcome {
    Passed,
    /// With what was seen.
    Failed(String),
    /// With why.
    Skipped(String),
}

/// A whole document.
pub(super) fn document(suite: &str, cases: &[Case]) -> String {
    let count =
        |wanted: fn(&Outcome) -> bool| cases.iter().filter(|it| wanted(&it.outcome)).count();
    let mut xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned();
    // Writing to a String cannot fail.
    let _ = writeln!(
        xml,
        "<testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" skipped=\"{}\">",
        escaped(suite),
        cases.len(),
        count(|it| matches!(it, Outcome::Failed(_))),
        count(|it| matches!(it, Outcome::Skipped(_))),
    );
    for Case {
        class,
        name,
        outcome,
    } in cases
    {
        let head = format!(
            "  <testcase classname=\"{}\" name=\"{}\"",
            escaped(class),
            escaped(name)
        );
        let _ = match outcome {
            Outcome::Passed => writeln!(xml, "{head}/>"),
            Outcome::Failed(seen) => writeln!(
                xml,
                "{head}>\n    <failure message=\"{}\"/>\n  </testcase>",
                escaped(seen)
            ),
            Outcome::Skipped(why) => writeln!(
                xml,
                "{head}>\n    <skipped message=\"{}\"/>\n  </testcase>",
                escaped(why)
            ),
        };
    }
    xml.push_str("</testsuite>\n");
    xml
}

/// As it may stand in an attribute. XML has no way to write most control characters.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' => escaped.push_str("&#10;"),
            '\t' => escaped.push_str("&#9;"),
            c if c.is_control() => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_plugin_says_cannot_break_the_document() {
        let case = |outcome| Case {
            class: "check".into(),
            name: "a<b".into(),
            outcome,
        };
        let cases = [
            case(Outcome::Passed),
            case(Outcome::Failed("\"no\" & \u{1}\n".into())),
            case(Outcome::Skipped("why".into())),
        ];
        assert_eq!(
            document("s", &cases),
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <testsuite name=\"s\" tests=\"3\" failures=\"1\" skipped=\"1\">\n\
             \x20 <testcase classname=\"check\" name=\"a&lt;b\"/>\n\
             \x20 <testcase classname=\"check\" name=\"a&lt;b\">\n\
             \x20   <failure message=\"&quot;no&quot; &amp; \u{fffd}&#10;\"/>\n  </testcase>\n\
             \x20 <testcase classname=\"check\" name=\"a&lt;b\">\n\
             \x20   <skipped message=\"why\"/>\n  </testcase>\n\
             </testsuite>\n"
        );
    }
}
