//! What real runtimes made of adjustments, in full: the OCI spec before and after, or the error.

use fake_runtime::applied;
use fake_runtime::oci::Spec;

use crate::data;

/// Checks the rows of a file and says how many there are.
fn rows_that_pass(file: &str) -> usize {
    let host = data::host();
    let rows = data::rows(&format!("applied/{file}.jsonl.gz"));
    for row in &rows {
        assert!(applied::is_row(row), "{file}: {row}");
        if let Err(failure) = applied::check(row, &host) {
            panic!("{file}, {}:\n{failure}", row["case"]);
        }
    }
    rows.len()
}

#[test]
fn random_adjustments_give_the_recorded_spec_or_error() {
    for version in ["1.7.24", "2.1.9", "2.2.7", "2.3.4"] {
        assert_eq!(rows_that_pass(&format!("random-applied-{version}")), 250);
    }
}

#[test]
fn two_plugins_see_and_give_what_was_recorded() {
    for version in ["1.7.24", "2.1.9", "2.2.7", "2.3.4"] {
        assert_eq!(rows_that_pass(&format!("two-plugins-{version}")), 66);
    }
}

#[test]
fn three_plugins_see_and_give_what_was_recorded() {
    for version in ["2.2.7", "2.3.4"] {
        assert_eq!(rows_that_pass(&format!("three-plugins-{version}")), 7);
    }
}

#[test]
fn the_newer_fields_do_what_was_recorded() {
    for version in ["2.2.7", "2.3.4"] {
        assert_eq!(rows_that_pass(&format!("new-fields-{version}")), 29);
    }
}

#[test]
fn cri_o_makes_of_adjustments_what_was_recorded() {
    assert_eq!(rows_that_pass("hand-crio-1.31.13"), 71);
    assert_eq!(rows_that_pass("hand-crio-1.37.0"), 71);
    assert_eq!(rows_that_pass("random-crio-1.37.0"), 125);
}

#[test]
fn no_recorded_spec_loses_anything_in_our_types() {
    let mut specs = 0;
    for file in data::files("applied") {
        for row in data::rows(&file) {
            for moment in ["before", "after"] {
                if let Some(recorded) = row[moment].get("spec") {
                    let spec: Spec = serde_json::from_value(recorded.clone()).unwrap();
                    assert_eq!(serde_json::to_value(spec).unwrap(), *recorded, "{file}");
                    specs += 1;
                }
            }
        }
    }
    assert_eq!(specs, 2982);
}

/// The four of 2982 with a device of type `x` or a seccomp action of `""`, and no others.
#[test]
fn nearly_every_recorded_spec_fits_the_crates_types() {
    let mut misfits = Vec::new();
    for file in data::files("applied") {
        for row in data::rows(&file) {
            for moment in ["before", "after"] {
                if let Some(recorded) = row[moment].get("spec") {
                    let spec: Spec = serde_json::from_value(recorded.clone()).unwrap();
                    if spec.typed().is_err() {
                        misfits.push(row["case"].clone());
                    }
                }
            }
        }
    }
    assert_eq!(
        misfits,
        [
            "device-badtype",
            "device-badtype",
            "seccomp-empty",
            "seccomp-empty"
        ]
    );
}
