//! How many instructions a container costs the released program. A clock on a shared machine tells more of the machine;
//! these are the same on each, and what keeps the program fast.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::time::Duration;

use fake_runtime::pod::{Simulation, manifest, requests};
use fake_runtime::process::PluginCommand;
use fake_runtime::runtime::FakeRuntime;
use mock_node::staging::{Devices, Overlay};
use rustix::process::{Pid, Signal, kill_process};

/// By so many per cent a count may differ: what is hashed is hashed differently each time.
const TOLERANCE: u64 = 3;

/// Of one count, and twice as many of the other: what starting takes is in both.
const CONTAINERS: u64 = 300;

/// The program as it is released, which `ci/image/build` leaves here.
fn released() -> PathBuf {
    let target = format!("target/{}-unknown-linux-gnu", std::env::consts::ARCH);
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join(target);
    program.join("release/nri-plugin")
}

/// How many instructions the program takes for its whole life, with so many containers in it.
async fn instructions(flags: &[&str], pod: &str, containers: u64) -> u64 {
    // Each look takes more for a longer path.
    let node = tempfile::tempdir_in("/tmp").unwrap();
    let overlay = Overlay {
        gpus: 6,
        ..Overlay::default()
    };
    overlay.stage(node.path(), Devices::Links).unwrap();
    let patience = Duration::from_secs(60);
    let runtime = FakeRuntime::builder().request_timeout(patience);
    let runtime = runtime.start().await.unwrap();
    let socket = format!("--socket-path={}", runtime.socket_path().display());
    let mut plugin = PluginCommand::new("valgrind")
        .args([
            "--tool=cachegrind",
            "--cache-sim=no",
            "--cachegrind-out-file=/dev/null",
        ])
        .args([released().as_os_str()])
        .args([&socket, "--health-addr="])
        .args(Overlay::plugin_flags(node.path()))
        .args(flags)
        .spawn()
        .unwrap();
    runtime.plugin_registered().await.unwrap();

    let pods = manifest::parse(pod).unwrap();
    let request = requests(&pods[0], &Simulation::default())
        .unwrap()
        .remove(0);
    for _ in 0..containers {
        let (pod, container) = (request.pod.clone(), request.container.clone());
        // What the fake makes of the answer does not matter: it knows no CDI device.
        let _ = runtime.create_container(pod, container).await;
    }
    let pid = Pid::from_raw(plugin.id().unwrap().try_into().unwrap()).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
    let stderr = plugin.exited().await.unwrap().stderr;
    let refs = stderr.lines().find_map(|line| line.split_once("refs:"));
    let refs = refs.unwrap_or_else(|| panic!("{stderr}")).1;
    refs.trim().replace(',', "").parse().unwrap()
}

async fn costs(flags: &[&str], pod: &str, expected: u64) {
    let once = instructions(flags, pod, CONTAINERS).await;
    let twice = instructions(flags, pod, 2 * CONTAINERS).await;
    let cost = (twice - once) / CONTAINERS;
    assert!(
        cost.abs_diff(expected) * 100 <= expected * TOLERANCE,
        "a container costs {cost} instructions, where it cost {expected} as built by rustc 1.95: write the new count \
         here if it is meant"
    );
}

const RAW: &str = "{kind: Pod, metadata: {name: raw, annotations: {nvml-mock.nvidia.com/devices: 'true'}}, \
                   spec: {containers: [{name: main, image: busybox}]}}";
const ALLOCATED: &str = "{kind: Pod, metadata: {name: allocated}, spec: {containers: [{name: main, \
                         image: busybox, resources: {limits: {nvidia.com/gpu: 1}}}]}}";
const SKIPPED: &str = "{kind: Pod, metadata: {name: skipped}, \
                       spec: {containers: [{name: main, image: busybox}]}}";

#[tokio::test]
#[ignore = "needs valgrind and the image's program: ci/test has them"]
async fn all_mock_gpus() {
    costs(&[], RAW, 151_700).await;
}

#[tokio::test]
#[ignore = "needs valgrind and the image's program: ci/test has them"]
async fn a_cdi_name() {
    costs(&["--device-injection-mode=cdi"], RAW, 114_800).await;
}

#[tokio::test]
#[ignore = "needs valgrind and the image's program: ci/test has them"]
async fn an_allocated_gpu() {
    costs(&[], ALLOCATED, 129_100).await;
}

#[tokio::test]
#[ignore = "needs valgrind and the image's program: ci/test has them"]
async fn a_container_that_is_left_alone() {
    costs(&[], SKIPPED, 60_300).await;
}
