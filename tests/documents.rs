//! What the documents say, held to what is so.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use fake_runtime::profile::Profile;
use nri_plugin::metrics::Metrics;
use nri_proto::api::Event;

const README: &str = include_str!("../README.md");

/// The rows of the table that has these words in its first line, without the line below that.
fn table(head: &str) -> Vec<Vec<&'static str>> {
    let cells = |line: &'static str| line.trim_matches('|').split('|').map(str::trim).collect();
    let lines = README.lines().skip_while(|line| *line != head);
    let lines = lines.take_while(|line| line.starts_with('|'));
    let mut rows: Vec<Vec<_>> = lines.map(cells).collect();
    rows.remove(1);
    rows
}

/// An event's method.
fn method(event: Event) -> String {
    let words = event.as_str_name().split('_');
    words
        .map(|word| word[..1].to_owned() + &word[1..].to_lowercase())
        .collect()
}

#[test]
fn the_table_of_calls_has_every_call_and_says_which_versions_make_it() {
    let rows = table("| call | 1.7 | 2.1 | 2.2 | 2.3 |");
    let versions: Vec<_> = rows[0][1..]
        .iter()
        .map(|it| Profile::find(it).unwrap())
        .collect();
    let events = (1..Event::Last as i32).map(|number| Event::try_from(number).unwrap());
    for event in events {
        let method = method(event);
        let of_event = |row: &&Vec<&str>| row[0].split(", ").any(|call| call == method);
        let of_event: Vec<_> = rows.iter().filter(of_event).collect();
        let [row] = of_event[..] else {
            panic!("{method} stands in {} rows", of_event.len())
        };
        for (profile, cell) in versions.iter().zip(&row[1..]) {
            let is_sent = profile.events & (1 << (event as i32 - 1)) != 0;
            assert_eq!(*cell != "not sent", is_sent, "{method} {}", profile.name);
            assert!(
                !cell.ends_with("as calls of their own") || profile.lifecycle_calls,
                "{method} {}",
                profile.name
            );
        }
    }
}

/// The commands of the block below a heading.
fn commands(heading: &str) -> impl Iterator<Item = &'static str> {
    let lines = README.lines().skip_while(move |line| *line != heading);
    let block = lines.skip_while(|line| *line != "```console").skip(1);
    let block = block.take_while(|line| *line != "```");
    block.filter_map(|line| line.strip_prefix("$ "))
}

#[test]
fn every_command_for_a_laptop_does_what_it_says() {
    let project = Path::new(env!("CARGO_MANIFEST_DIR"));
    let elsewhere = tempfile::tempdir().unwrap();
    let built = Path::new(env!("CARGO_BIN_EXE_nri-plugin"))
        .ancestors()
        .nth(2)
        .unwrap();
    symlink(built, elsewhere.path().join("target")).unwrap();
    let mut count = 0;
    for command in commands("## Without a cluster") {
        let dir = match command {
            "cargo build" => project,
            _ => elsewhere.path(),
        };
        // There is no cluster.
        let command = command.replace("kubectl get pod NAME -o yaml", "cat pod.yaml");
        let output = Command::new("bash")
            .args(["-o", "pipefail", "-c", &command])
            .current_dir(dir)
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command}: {stderr}");
        count += 1;
    }
    assert_eq!(count, 7);
}

/// The text of each file of the plugin, without its tests.
fn sources(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut texts = Vec::new();
    for path in entries {
        if path.is_dir() {
            texts.extend(sources(&path));
        } else if path.file_stem().is_some_and(|stem| stem != "tests") {
            let text = fs::read_to_string(path).unwrap();
            let code = text.split("mod tests {").next();
            texts.push(code.unwrap_or_default().to_owned());
        }
    }
    texts
}

/// The text literals of a piece of code.
fn literals(code: &str) -> impl Iterator<Item = &str> {
    code.split('"').skip(1).step_by(2)
}

/// Whether the literal is a message, and none of the small change around it.
fn is_prose(literal: &&str) -> bool {
    literal.starts_with(char::is_alphabetic) && literal.contains(' ') && !literal.contains('{')
}

#[test]
fn operations_has_every_warning_and_every_metric() {
    const OPERATIONS: &str = include_str!("../docs/operations.md");
    let mut messages = Vec::new();
    for code in sources(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src"))) {
        for macros in ["tracing::warn!(", "tracing::error!("] {
            let calls = code.split(macros).skip(1);
            let calls = calls.filter_map(|rest| rest.split(");").next());
            messages
                .extend(calls.filter_map(|call| literals(call).find(is_prose).map(str::to_owned)));
        }
        // By their first argument.
        let calls = code.split("warn_because(\"").skip(1);
        messages.extend(calls.filter_map(|rest| rest.split('"').next().map(str::to_owned)));
        let kinds = code.split("fn message(&self)").skip(1);
        let kinds = kinds.filter_map(|rest| rest.split("\n    }\n").next());
        messages.extend(kinds.flat_map(literals).map(str::to_owned));
    }
    messages.retain(|message| is_prose(&message.as_str()));
    assert!(messages.len() > 25, "{messages:?}");
    for message in messages {
        assert!(
            OPERATIONS.contains(&format!("| `{message}` |")),
            "{message}"
        );
    }
    let metrics = Metrics::default().text();
    for line in metrics.lines() {
        if let Some(metric) = line.strip_prefix("# TYPE ") {
            let name = metric.split(' ').next().unwrap();
            assert!(OPERATIONS.contains(&format!("| `{name}` |")), "{name}");
        }
    }
}
