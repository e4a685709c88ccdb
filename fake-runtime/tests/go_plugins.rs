//! The reference: plugins on the NRI project's own Go stub keep to what containerd expects, and those of them with
//! something wrong fail for that. `ci/go-plugins/build` builds them.

#![expect(clippy::unwrap_used, reason = "a test has nothing better to do")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use fake_runtime::FakeRuntime;
use fake_runtime::check::{Check, Group, Outcome, Subject};
use fake_runtime::launch::Launch;
use fake_runtime::profile::Profile;
use fake_runtime::runtime::Received;

/// The newest release of each line that has a profile.
const VERSIONS: [&str; 4] = ["1.7", "2.1", "2.2", "2.3"];

/// One plugin for each handler that the stub has.
const HANDLERS: [&str; 14] = [
    "configure",
    "synchronize",
    "run-pod-sandbox",
    "stop-pod-sandbox",
    "remove-pod-sandbox",
    "create-container",
    "post-create-container",
    "start-container",
    "post-start-container",
    "update-container",
    "post-update-container",
    "stop-container",
    "remove-container",
    "every-handler",
];

/// What a plugin does wrong, the checks of conformance that it fails, and what is said of the first.
const WRONG: [(&str, &[Check], &str); 7] = [
    (
        "wrong-registration",
        &[Check::Registration],
        "invalid plugin index \"100\", must be 2 digits",
    ),
    (
        "wrong-synchronize",
        &[Check::Registration],
        "failed to synchronize plugin: rpc error: code = Unknown desc = too much to remember",
    ),
    ("wrong-ends", &[Check::Answers], "exit status: 3"),
    (
        "wrong-panics",
        &[Check::Answers],
        "exit status: 2: panic: runtime error: invalid memory address or nil pointer dereference",
    ),
    ("wrong-late", &[Check::Deadline], "in time"),
    ("wrong-twice", &[Check::Duplicates], "TWICE"),
    (
        "wrong-close",
        &[Check::Close],
        "exit status: 2: panic: no connection any more",
    ),
];

fn binary(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    let path = root
        .expect("a workspace")
        .join("target/go-plugins")
        .join(name);
    assert!(
        path.exists(),
        "{} is missing: ci/go-plugins/build",
        path.display()
    );
    path
}

fn plugin(suite: &str, kind: &str) -> Subject {
    Subject::new(binary(suite)).args(["-as", kind, "-nri-socket", "{socket}"])
}

/// What fails of a group, and what was seen.
async fn failures(group: Group, subject: &Subject) -> Vec<(Check, String)> {
    let mut failures = Vec::new();
    for check in Check::ALL
        .into_iter()
        .filter(|check| check.group() == group)
    {
        let mut subject = subject.clone();
        if check == Check::SplitSynchronize {
            // A busy machine takes its time over an inventory of many megabytes.
            subject = subject
                .request_timeout(Duration::from_secs(20))
                .patience(Duration::from_secs(60));
        }
        if let Outcome::Failed(seen) = check.run(&subject).await {
            failures.push((check, seen));
            if check == Check::Registration {
                break;
            }
        }
    }
    failures
}

/// Every handler on one version.
async fn all_pass(suite: &str, version: &str, but: &[Check]) {
    for kind in HANDLERS {
        let subject = plugin(suite, kind).profile(Profile::find(version).unwrap());
        let failed = failures(Group::Conformance, &subject).await;
        let checks: Vec<Check> = failed.iter().map(|(check, _)| *check).collect();
        assert_eq!(checks, but, "{suite}/{kind} on {version}: {failed:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "ci/go-plugins/build"]
async fn a_plugin_on_the_newest_stub_conforms_on_every_version() {
    let versions = VERSIONS.map(|version| tokio::spawn(all_pass("sid", version, &[])));
    for version in versions {
        version.await.unwrap();
    }
}

// NRI 0.6.1 is older than inventories in parts, and containerd 2.x drops its plugins over them.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "ci/go-plugins/build"]
async fn a_plugin_on_the_oldest_stub_conforms_on_every_version_but_for_an_inventory_in_parts() {
    let versions = VERSIONS.map(|version| {
        let but: &[Check] = if version == "1.7" {
            &[]
        } else {
            &[Check::SplitSynchronize]
        };
        tokio::spawn(all_pass("trixie", version, but))
    });
    for version in versions {
        version.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "ci/go-plugins/build"]
async fn a_plugin_with_something_wrong_fails_for_that_on_every_version() {
    let versions = VERSIONS.map(|version| {
        tokio::spawn(async move {
            for (kind, expected, said) in WRONG {
                let subject = plugin("sid", kind).profile(Profile::find(version).unwrap());
                let failed = failures(Group::Conformance, &subject).await;
                let checks: Vec<Check> = failed.iter().map(|(check, _)| *check).collect();
                assert_eq!(checks, expected, "{kind} on {version}: {failed:?}");
                let seen = &failed[0].1;
                assert!(seen.contains(said), "{kind} on {version}: {seen}");
            }
        })
    });
    for version in versions {
        version.await.unwrap();
    }
}

#[tokio::test]
#[ignore = "ci/go-plugins/build"]
async fn a_plugin_that_the_runtime_starts_is_connected_named_and_configured() {
    for (version, parts) in [("1.7", 0), ("2.1", 1)] {
        let profile = Profile::find(version).unwrap();
        let runtime = FakeRuntime::builder()
            .profile(profile)
            .start()
            .await
            .unwrap();
        let plugin = Launch::new(binary("sid"))
            .args(["-as", "configure"])
            .config("text of the file");
        let _process = plugin.start(&runtime).unwrap();
        let registered = runtime.plugin_registered().await.unwrap();
        assert_eq!(registered.to_string(), "10-sid");
        let synchronized = runtime.received_one("a synchronization", |it| match it {
            Received::Synchronized { parts, .. } => Some(*parts),
            _ => None,
        });
        assert_eq!(synchronized.await.unwrap(), parts, "on {version}");
    }
}

#[test]
#[ignore = "ci/go-plugins/build"]
fn the_example_in_go_passes_its_own_tests() {
    let output = Command::new(binary("sid.test"))
        .env("FAKE_RUNTIME", env!("CARGO_BIN_EXE_fake-runtime"))
        .env("PLUGIN", binary("sid"))
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
}
