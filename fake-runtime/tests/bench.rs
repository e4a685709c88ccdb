//! `fake-runtime bench`, with the tool's own floor as the plugin that is measured.

#![expect(clippy::unwrap_used, reason = "a test has nothing better to do")]

use std::process::{Command, Output};

const TOOL: &str = env!("CARGO_BIN_EXE_fake-runtime");

fn bench(args: &[&str]) -> Output {
    Command::new(TOOL)
        .args(["bench", "--requests", "500"])
        .args(args)
        .output()
        .unwrap()
}

fn floor(options: &[&str]) -> Output {
    let plugin = ["--plugin", TOOL];
    bench(&[&plugin, options, &["--", "floor", "{socket}"]].concat())
}

#[test]
fn plugin_and_floor_are_measured_in_the_same_run() {
    let output = floor(&["--output", "json"]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{error}");
    let costs: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    for who in ["plugin", "floor"] {
        let cost = |what: &str| costs[who][what].as_f64().unwrap();
        assert_eq!(cost("requests"), 500.0);
        let ranks = ["p50_us", "p90_us", "p99_us", "p999_us", "max_us"].map(cost);
        assert!(ranks[0] > 0.0 && ranks.is_sorted(), "{costs}");
        assert!(cost("per_second") > 0.0 && cost("cpu_us") > 0.0, "{costs}");
        assert!(
            cost("peak_rss_kib") >= cost("rss_kib") && cost("rss_kib") > 0.0,
            "{costs}"
        );
    }
}

#[test]
fn a_plugin_that_ends_is_an_error_and_no_measurement() {
    let output = bench(&["--plugin", "/bin/false"]);
    assert_eq!(output.status.code(), Some(1));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(
        error.starts_with("fake-runtime: /bin/false: it ended, exit status: 1"),
        "{error}"
    );
    assert!(output.stdout.is_empty());
}
