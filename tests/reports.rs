//! `reports.md` beside this file keeps its word: every test that it names is there, and every test that is named after
//! a report is in it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use fake_runtime::profile;

/// A line of the table.
struct Row {
    /// What the tests' names begin with, one for each report: `containerd_nri_114_`, or `nri_114_`.
    prefixes: Vec<String>,
    /// Paths and names.
    tests: Vec<(String, String)>,
    /// The last cell as it stands.
    held_by: String,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn rows() -> Vec<Row> {
    let table = fs::read_to_string(root().join("tests/reports.md")).unwrap();
    let cells = table.lines().filter_map(|line| {
        let line = line.strip_prefix("| ")?.strip_suffix(" |")?;
        let cells: Vec<_> = line.split(" | ").collect();
        cells[0].contains('#').then_some(cells)
    });
    cells.map(|cells| row(&cells)).collect()
}

fn row(cells: &[&str]) -> Row {
    let [reports, _, held_by] = cells else {
        panic!("three cells: {cells:?}")
    };
    let mut repository = String::new();
    let prefixes = reports.split(", ").map(|report| {
        let (of, number) = report.split_once('#').unwrap();
        if let Some((_, name)) = of.split_once('/') {
            repository = name.replace('-', "_");
        }
        format!("{repository}_{number}_")
    });
    let prefixes = prefixes.collect();
    let quoted = held_by.split('`').skip(1).step_by(2);
    let tests = quoted.filter_map(|quoted| quoted.split_once("::"));
    Row {
        prefixes,
        tests: tests
            .map(|(path, name)| (path.to_owned(), name.to_owned()))
            .collect(),
        held_by: (*held_by).to_owned(),
    }
}

/// The tests in a file, by the attribute above each.
fn tests_in(source: &str) -> BTreeSet<&str> {
    let mut is_test = false;
    let mut tests = BTreeSet::new();
    for line in source.lines().map(str::trim) {
        let function = line.strip_prefix("async ").unwrap_or(line);
        if let Some(function) = function.strip_prefix("fn ") {
            let name = function.split('(').next().unwrap_or_default();
            if is_test {
                tests.insert(name);
            }
        }
        is_test = match line.starts_with("#[") {
            true => is_test || line.contains("test"),
            false => false,
        };
    }
    tests
}

/// Every source file below `directory`.
fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn every_report_names_tests_that_are_there_or_says_why_it_has_none() {
    for row in rows() {
        let report = &row.prefixes[0];
        let says_why = row.held_by.starts_with("not tested: ");
        assert!(says_why || !row.tests.is_empty(), "{report}");
        for (path, name) in &row.tests {
            let source = fs::read_to_string(root().join(path));
            let source = source.unwrap_or_else(|error| panic!("{path}: {error}"));
            assert!(tests_in(&source).contains(name.as_str()), "{path}::{name}");
            let carries = |prefix: &String| name.contains(prefix);
            assert!(row.prefixes.iter().any(carries), "{report}: {name}");
        }
    }
}

#[test]
fn every_test_that_is_named_after_a_report_is_in_the_table() {
    let rows = rows();
    let mut listed = BTreeSet::new();
    for (path, name) in rows.iter().flat_map(|row| &row.tests) {
        assert!(listed.insert((root().join(path), name.clone())), "{name}");
    }
    let mut paths = Vec::new();
    for directory in ["src", "tests", "proto", "fake-runtime", "mock-node"] {
        sources(&root().join(directory), &mut paths);
    }
    for path in paths {
        let source = fs::read_to_string(&path).unwrap();
        for name in tests_in(&source) {
            let mut prefixes = rows.iter().flat_map(|row| &row.prefixes);
            assert!(
                !prefixes.any(|prefix| name.contains(prefix))
                    || listed.contains(&(path.clone(), name.to_owned())),
                "{}::{name}",
                path.display()
            );
        }
    }
}

// containerd/nri#213: nobody could tell which version fits.
#[test]
fn containerd_nri_213_the_readme_names_the_versions_that_are_tested() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let (_, section) = readme.split_once("## What it runs on\n").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let cells = section.lines().filter_map(|line| line.split('|').nth(1));
    let named: BTreeSet<_> = cells
        .flat_map(|cell| cell.split([' ', ',']))
        .filter(|word| word.starts_with(|first: char| first.is_ascii_digit()))
        .filter(|word| !word.ends_with(".x"))
        .map(str::to_owned)
        .collect();
    // Of releases, that is: the main branch is none.
    let played = profile::ALL
        .iter()
        .filter(|profile| profile.name != "HEAD")
        .map(|profile| format!("{}.{}", profile.series.major, profile.series.minor))
        .collect();
    assert_eq!(named, played);
}
