//! The plugin's process on a real mount that hangs: for ever, for a while, and in one node alone.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, Instant};

use fuse_mount::{Entry, LISTING, Mount};
use nri_proto::api::{CreateContainerRequest, CreateContainerResponse, PodSandbox, plugin};
use prost::Message;
use rustix::process::Signal;
use tempfile::TempDir;
use tokio::task::JoinSet;

use crate::plugin::{Plugin, annotated_pod, container, soon, until};
use crate::raw_runtime::{Connection, RawRuntime};

/// What the runtime gives a request, and what is left of it for the decision.
const TIMEOUT: Duration = Duration::from_secs(2);
const BUDGET: Duration = Duration::from_millis(1600);

/// A registered plugin whose devices lie on a mount that hangs when told to, and all else on the test's own disk.
struct Node {
    mount: Mount,
    plugin: Plugin,
    connection: Connection,
    _overlay: TempDir,
}

impl Node {
    async fn start() -> Self {
        let mount = Mount::new([
            ("nvidia0", Entry::CharDevice(195, 0)),
            ("nvidia1", Entry::CharDevice(195, 1)),
        ]);
        let overlay = tempfile::tempdir().unwrap();
        let at = |path: &str| overlay.path().join(path);
        fs::create_dir_all(at("driver/config")).unwrap();
        fs::create_dir(at("imex")).unwrap();
        symlink("/dev/null", at("imex/channel0")).unwrap();
        let flag = |name: &str, path: &Path| format!("--{name}={}", path.display());
        let flags = [
            flag("overlay-host-path", overlay.path()),
            flag("imex-channel-host-path", &at("imex")),
            flag("device-host-path", mount.path()),
            "--feature-gates=RealDriverGuard=false".to_owned(),
        ];
        let runtime = RawRuntime::listen();
        let plugin = Plugin::start(runtime.socket_path(), &flags.each_ref().map(|it| &**it)).await;
        let mut connection = runtime.accept().await;
        connection.register().await;
        Self {
            mount,
            plugin,
            connection,
            _overlay: overlay,
        }
    }

    /// How many devices a container of `pod` is given, as if the runtime waited for ever.
    fn devices(&self, pod: PodSandbox) -> impl Future<Output = usize> + use<> {
        let request = CreateContainerRequest {
            pod: Some(pod),
            container: Some(container("c")),
        };
        let caller = self.connection.caller.clone();
        async move {
            let payload = request.encode_to_vec();
            let calling = caller.call(plugin::SERVICE, plugin::CREATE_CONTAINER, payload);
            let answer = soon("an answer", calling).await.unwrap();
            let answer = CreateContainerResponse::decode(answer).unwrap();
            let adjust = answer.adjust.unwrap_or_default();
            adjust.linux.unwrap_or_default().devices.len()
        }
    }

    fn threads(&self) -> usize {
        let tasks = format!("/proc/{}/task", self.plugin.pid());
        fs::read_dir(tasks).unwrap().count()
    }
}

/// A pod that asks for IMEX channels alone.
fn imex_pod() -> PodSandbox {
    PodSandbox {
        annotations: [("nvml-mock.nvidia.com/imex-channels".into(), "true".into())].into(),
        ..annotated_pod()
    }
}

#[tokio::test]
#[ignore = "needs root and FUSE: ci/test has them"]
async fn on_a_hung_mount_a_thousand_containers_are_each_in_time_and_take_a_handful_of_threads() {
    let node = Node::start().await;
    let before = node.threads();
    node.mount.hang(LISTING);
    let begun = Instant::now();
    let mut asking = JoinSet::new();
    for _ in 0..4 {
        asking.spawn(node.devices(annotated_pod()));
    }
    // These need no disk, or another.
    assert_eq!(node.devices(PodSandbox::default()).await, 0);
    assert_eq!(node.devices(imex_pod()).await, 1);
    assert!(begun.elapsed() < BUDGET, "{:?}", begun.elapsed());
    assert_eq!(asking.join_all().await, [0; 4]);
    let took = begun.elapsed();
    assert!((BUDGET..TIMEOUT).contains(&took), "{took:?}");

    let mut asking = JoinSet::new();
    for _ in 0..1000 {
        asking.spawn(node.devices(annotated_pod()));
    }
    assert_eq!(asking.join_all().await, [0; 1000]);
    let threads = node.threads();
    assert!(threads <= before + 2, "{threads} threads, {before} before");

    node.mount.release();
    node.plugin.until("/healthz", 200).await;
    assert_eq!(node.devices(annotated_pod()).await, 2);
}

#[tokio::test]
#[ignore = "needs root and FUSE: ci/test has them"]
async fn a_mount_that_hangs_for_a_while_costs_time_and_no_device() {
    let node = Node::start().await;
    node.mount.hang(LISTING);
    let asking: Vec<_> = (0..3)
        .map(|_| tokio::spawn(node.devices(annotated_pod())))
        .collect();
    node.plugin.until("/metrics", 200).await;
    tokio::time::sleep(BUDGET / 4).await;
    node.mount.release();
    for devices in asking {
        assert_eq!(devices.await.unwrap(), 2);
    }
}

#[tokio::test]
#[ignore = "needs root and FUSE: ci/test has them"]
async fn a_node_that_hangs_turns_off_nothing_that_lies_elsewhere() {
    let node = Node::start().await;
    node.mount.hang("nvidia1");
    for _ in 0..6 {
        let hung = tokio::spawn(node.devices(annotated_pod()));
        assert_eq!(node.devices(imex_pod()).await, 1);
        assert_eq!(hung.await.unwrap(), 0);
    }
    node.mount.release();
    assert_eq!(node.devices(annotated_pod()).await, 2);
}

#[tokio::test]
#[ignore = "needs root and FUSE: ci/test has them"]
async fn readyz_tells_of_a_hung_mount_until_it_can_be_read_again() {
    let node = Node::start().await;
    node.plugin.until("/readyz", 200).await;
    node.mount.hang(LISTING);
    assert_eq!(node.devices(annotated_pod()).await, 0);
    let (status, body) = node.plugin.get("/readyz").await;
    assert_eq!(status, 503);
    let told = "not injecting new containers: the host's file system does not answer";
    assert!(body.contains(told), "{body}");
    node.mount.release();
    // No container is asked about: it is read again for who asks this.
    node.plugin.until("/readyz", 200).await;
}

#[tokio::test]
#[ignore = "needs root and FUSE: ci/test has them"]
async fn sigterm_is_heard_although_requests_hang() {
    let mut node = Node::start().await;
    node.mount.hang(LISTING);
    let mut asking = JoinSet::new();
    for _ in 0..4 {
        asking.spawn(node.devices(annotated_pod()));
    }
    let metric = "nri_plugin_requests_in_flight";
    let in_flight = async { while node.plugin.metric(metric).await.as_deref() != Some("1") {} };
    soon("a request in flight", in_flight).await;
    let begun = Instant::now();
    node.plugin.signal(Signal::TERM);
    assert_eq!(asking.join_all().await, [0; 4]);
    node.plugin.logged("stopped").await;
    assert!(begun.elapsed() < TIMEOUT, "{:?}", begun.elapsed());
    // The kernel keeps the process for as long as a file system has one of its calls.
    node.mount.release();
    node.plugin.stopped().await;
}

#[tokio::test]
#[ignore = "needs root and FUSE: ci/test has them"]
async fn sigterm_is_heard_although_the_socket_lies_on_a_hung_mount() {
    let mount = Mount::new([("nri.sock", Entry::File)]);
    mount.hang("nri.sock");
    let mut plugin = Plugin::start(&mount.path().join("nri.sock"), &[]).await;
    until("the socket is looked for", || mount.held() > 0).await;
    plugin.signal(Signal::TERM);
    plugin.logged("stopped").await;
    // As above.
    mount.release();
    plugin.stopped().await;
}
