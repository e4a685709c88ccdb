//! The tool among other programs: names that hold more than a name should.

#![expect(clippy::unwrap_used, reason = "a test has nothing better to do")]

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn run(dir: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_mock-node"))
        .current_dir(dir)
        .args(args)
        .output()
        .unwrap()
}

#[test]
fn an_error_is_one_line_whatever_it_quotes() {
    let dir = tempfile::tempdir().unwrap();
    for args in [
        &["explain", "no\nsuch\u{1b}[31m"][..],
        &["vectors", "no\nsuch", "--plugin", "/bin/true"],
    ] {
        let output = run(dir.path(), args);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        let line = stderr.strip_suffix('\n').unwrap();
        assert!(!line.contains(char::is_control), "{line:?}");
    }
}

#[test]
fn cases_without_a_plugin_are_wrong_usage() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(
        dir.path().join("cases"),
        r#"{"id": "a", "flags": [], "expect": {"error": true}}"#,
    )
    .unwrap();
    let output = run(dir.path(), &["vectors", "cases"]);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    let expected = "error: there are cases among the rows: give --plugin\n\nUsage: mock-node ";
    assert!(stderr.starts_with(expected), "{stderr}");
}

#[test]
fn a_container_takes_its_lines_and_no_more_whatever_its_name() {
    let dir = tempfile::tempdir().unwrap();
    let request = r#"{"pod": {"name": "p"}, "container": {"name": "a\nb"}}"#;
    fs::write(dir.path().join("request.json"), request).unwrap();
    let output = run(dir.path(), &["explain", "request.json"]);
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert_eq!(stdout.lines().next(), Some(r"/p/a\nb"));
}

const POD: &str = "
kind: Pod
metadata: {name: p, annotations: {nvml-mock.nvidia.com/devices: 'yes'}}
spec: {containers: [{name: main, image: busybox}]}
";

/// What `explain` prints of a manifest on stdin, and what it says beside it.
fn explain(manifest: &str, args: &[&str]) -> (String, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_mock-node"))
        .args([&["explain", "-"], args].concat())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(manifest.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr))
}

#[test]
fn the_last_line_says_what_a_container_gets_or_the_one_thing_to_change() {
    for (from, to, verdict) in [
        (
            "",
            "",
            "default/p/main gets nothing, no GPU allocation and no opt-in annotation: nvml-mock.nvidia.com/devices is \"yes\", make it \"true\"",
        ),
        (
            "devices: 'yes'",
            "x: ''",
            "default/p/main gets nothing, no GPU allocation and no opt-in annotation: annotate the Pod with nvml-mock.nvidia.com/devices: \"true\"",
        ),
        (
            "devices: 'yes'",
            "inject: 'false'",
            "default/p/main gets nothing, opt-out annotation: take the annotation nvml-mock.nvidia.com/inject away",
        ),
        (
            "name: p",
            "name: p, namespace: kube-system",
            "kube-system/p/main gets nothing, excluded namespace: run it in another namespace, or leave \"kube-system\" out of --excluded-namespaces",
        ),
    ] {
        let manifest = POD.replace(from, to);
        let manifest = if from.is_empty() { POD } else { &manifest };
        let (whole, said) = explain(manifest, &[]);
        assert_eq!(whole.lines().last(), Some(verdict), "{said}");
        assert_eq!(
            explain(manifest, &["--brief"]),
            (format!("{verdict}\n"), said)
        );
    }
}

#[test]
fn what_a_workload_starts_is_explained_and_what_is_passed_over_is_named() {
    let manifest = "
kind: Deployment
metadata: {name: web}
spec: {template: {spec: {containers: [{name: main, imagee: x}]}}}
---
kind: Ingress
metadata: {name: i}
";
    let (out, said) = explain(manifest, &["--brief"]);
    assert!(out.starts_with("default/web-"), "{out}");
    assert!(
        said.contains("spec.template.spec.containers[0].imagee is no field: image is"),
        "{said}"
    );
    assert!(said.contains("-: passed over: Ingress/i"), "{said}");
}

#[test]
fn an_unquoted_annotation_is_refused_with_its_line_and_the_mend() {
    let (_, said) = explain(&POD.replace("'yes'", "true"), &[]);
    assert_eq!(
        said,
        "mock-node: -: line 3: metadata.annotations[\"nvml-mock.nvidia.com/devices\"] is a boolean where a text is \
         needed: quote it, \"true\"\n"
    );
}

#[test]
fn what_a_resource_claim_brings_is_unknown_and_not_nothing() {
    let pod = "
kind: Pod
metadata: {name: p}
spec:
  resourceClaims: [{name: gpu, resourceClaimTemplateName: one}]
  containers: [{name: main, image: busybox, resources: {claims: [{name: gpu}]}}]
";
    let (out, _) = explain(pod, &["--brief"]);
    assert!(
        out.starts_with("default/p/main is unknown: what its DRA driver gives it"),
        "{out}"
    );
    assert!(out.contains("--cdi k8s.gpu.nvidia.com/claim="), "{out}");
    let (out, _) = explain(pod, &["--brief", "--cdi", "k8s.gpu.nvidia.com/claim=1-gpu"]);
    assert!(out.starts_with("default/p/main gets "), "{out}");
}

#[test]
fn cdi_mode_resolves_its_device_in_the_directory_of_its_spec() {
    let dir = tempfile::tempdir().unwrap();
    let spec = dir.path().join("mock.yaml");
    let edits = "containerEdits: {env: [FROM_CDI=yes]}";
    fs::write(
        &spec,
        format!("kind: nvml-mock.nvidia.com/gpu\ndevices: [{{name: all, {edits}}}]\n"),
    )
    .unwrap();
    let pod = POD.replace("'yes'", "'true'");
    let path = format!("--cdi-spec-host-path={}", spec.display());
    let flags = ["--device-injection-mode=cdi", &path];
    let (out, said) = explain(&pod, &flags);
    assert!(out.contains("+ env FROM_CDI=yes"), "{out}{said}");
    // Elsewhere there is no such device.
    let empty = tempfile::tempdir().unwrap();
    let elsewhere = ["--brief", "--cdi-dir", empty.path().to_str().unwrap()];
    let (out, _) = explain(&pod, &[&elsewhere[..], &flags].concat());
    assert!(
        out.contains("is refused, as the node has no CDI device nvml-mock.nvidia.com/gpu=all"),
        "{out}"
    );
}

#[test]
fn files_and_options_come_in_any_order_and_the_plugins_flags_behind_them() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["a", "b", "c"] {
        let pod = POD
            .replace("name: p", &format!("name: {name}"))
            .replace("'yes'", "'true'");
        fs::write(dir.path().join(format!("{name}.yaml")), pod).unwrap();
    }
    let args = [
        "explain",
        "a.yaml",
        "b.yaml",
        "--gpus",
        "1",
        "c.yaml",
        "--brief",
        "--excluded-namespaces=default",
    ];
    let output = run(dir.path(), &args);
    let stdout = String::from_utf8(output.stdout).unwrap();
    let names: Vec<_> = stdout
        .lines()
        .map(|line| line.split(' ').next().unwrap())
        .collect();
    assert_eq!(
        names,
        ["default/a/main", "default/b/main", "default/c/main"]
    );
    assert!(stdout.contains("excluded namespace"), "{stdout}");
}
