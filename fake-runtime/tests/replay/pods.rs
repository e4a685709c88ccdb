//! Pods.

use std::path::Path;

use fake_runtime::api::{CdiDevice, ContainerAdjustment};
use tempfile::TempDir;

use crate::tool::{hello, pod, replayed, write};

/// A directory with a Pod in it.
fn dir() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "pod.yaml", &pod("pod"));
    dir
}

/// Replays the Pod to a plugin that sets HELLO, and returns the exit status and what was printed.
async fn replay(dir: &Path, value: &str, args: &[&str]) -> (i32, String) {
    replayed(dir, hello(value), &[&["pod.yaml"], args].concat()).await
}

#[tokio::test]
async fn what_changed_is_printed_for_people() {
    let (status, printed) = replay(dir().path(), "world", &[]).await;
    let lines: Vec<_> = printed.lines().collect();
    assert_eq!(status, 0);
    assert_eq!(lines[0], "default/pod/main");
    assert!(
        lines[1].starts_with("  10-hello adjusted 1 variable in "),
        "{printed}"
    );
    assert_eq!(lines[2], "  + env HELLO=world");
}

#[tokio::test]
async fn and_for_scripts() {
    let (status, printed) = replay(dir().path(), "world", &["--output", "json"]).await;
    let line: serde_json::Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(status, 0);
    assert_eq!(line["container"], "default/pod/main");
    assert_eq!(line["asked"][0]["adjust"]["env"][0]["value"], "world");
    assert_eq!(line["changes"][0]["after"], "HELLO=world");
}

#[tokio::test]
async fn a_run_is_compared_with_an_earlier_one() {
    let dir = dir();
    let expect = ["--expect", "goldens"];
    let (status, printed) = replay(dir.path(), "world", &expect).await;
    assert_eq!(status, 1);
    assert!(
        printed.starts_with("pod.yaml: there is no goldens/pod.yaml.txt"),
        "{printed}"
    );

    let update = ["--expect", "goldens", "--update"];
    assert_eq!(
        replay(dir.path(), "world", &update).await,
        (0, "1 written\n".to_owned())
    );

    let same = (0, "1 as expected, 0 different\n".to_owned());
    assert_eq!(replay(dir.path(), "world", &expect).await, same);

    let (status, printed) = replay(dir.path(), "there", &expect).await;
    assert_eq!(status, 1);
    assert!(
        printed.contains("\n-  + env HELLO=world\n+  + env HELLO=there\n"),
        "{printed}"
    );
    assert!(
        printed.ends_with("0 as expected, 1 different\n"),
        "{printed}"
    );
}

#[tokio::test]
async fn a_cdi_device_is_what_the_specifications_of_the_directory_say() {
    let dir = dir();
    std::fs::create_dir(dir.path().join("cdi")).unwrap();
    let specification = "{cdiVersion: 0.6.0, kind: example.com/gpu, devices: [{name: all, containerEdits: \
                         {env: [FOUND=yes], deviceNodes: [{path: /dev/null}]}}]}";
    write(dir.path(), "cdi/example.yaml", specification);
    let device = CdiDevice {
        name: "example.com/gpu=all".into(),
    };
    let named = ContainerAdjustment {
        cdi_devices: vec![device],
        ..Default::default()
    };
    let (status, printed) = replayed(dir.path(), named, &["pod.yaml", "--cdi-dir", "cdi"]).await;
    assert_eq!(status, 0, "{printed}");
    assert!(printed.contains("\n  + env FOUND=yes\n"), "{printed}");
    assert!(
        printed.contains("\n  + device /dev/null (c 1:3)\n"),
        "{printed}"
    );
}
