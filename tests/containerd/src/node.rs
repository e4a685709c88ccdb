//! One node: containerd in a container, with its sockets and its mock driver on the host.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use fake_runtime::tree::{Entry, Kind, make_tree};
use mock_node::staging::{Devices, Overlay};
use tempfile::TempDir;
use testcontainers::core::{ExecCommand, Mount, WaitFor};
use testcontainers::runners::AsyncRunner;
use testcontainers::{ContainerAsync, GenericImage, ImageExt};
use tokio::sync::OnceCell;

use crate::cri::{Cri, v1};
use crate::engine;
use crate::log::Log;
use crate::parity::Parity;
use crate::pod::{Container, Pod};
use crate::spec::PodSpec;
use crate::surfaces::DEVICES;

/// The image of containerd; its tags are Debian suites.
const IMAGE: &str = "nri-plugin/containerd";

/// What containerd runs a pod's first process from.
pub(crate) const PAUSE_IMAGE: &str = "localhost/pause:e2e";

/// The containerd versions that there are images of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Containerd {
    /// The last of the 1.x line, from Debian trixie.
    V1_7,
    /// The newest that Debian has.
    V2,
}

impl Containerd {
    fn image(self) -> GenericImage {
        let tag = match self {
            Self::V1_7 => "trixie",
            Self::V2 => "sid",
        };
        engine::require(&format!("{IMAGE}:{tag}"), "ci/containerd/build");
        GenericImage::new(IMAGE, tag).with_wait_for(WaitFor::message_on_stdout("node ready"))
    }
}

/// A running containerd. Dropping it removes the container and everything in it; when the test is
/// failing, what containerd said is printed first.
pub struct Node {
    container: ContainerAsync<GenericImage>,
    cri: Cri,
    log: Log,
    /// From the first plugin on that is started beside the node.
    parity: Arc<OnceCell<Parity>>,
    /// Mounted at `/node` in the container. Last, because the container must be gone before it.
    directory: TempDir,
}

impl Node {
    /// The device in the mock driver that can be opened: FUSE's, by which every kernel with Docker
    /// answers, and which no container is given by default. NVIDIA's numbers have no driver here.
    pub const OPENABLE: &str = "nvidia-openable";

    /// Starts containerd on a node with a whole mock driver.
    ///
    /// # Panics
    ///
    /// As [`Node::start_with`].
    pub async fn start(containerd: Containerd) -> Self {
        Self::start_with(containerd, Overlay::default()).await
    }

    /// Starts containerd on a node with this mock driver, and waits until it has the images that pods
    /// run.
    ///
    /// # Panics
    ///
    /// When the mock driver cannot be staged, or Docker does not start the node.
    pub async fn start_with(containerd: Containerd, overlay: Overlay) -> Self {
        engine::sweep();
        let directory = tempfile::Builder::new()
            .prefix(&engine::directory_prefix())
            .tempdir_in("/tmp")
            .expect("a temporary directory");
        let tree = directory.path().join("overlay");
        let openable = format!("driver/dev/{}", Self::OPENABLE);
        let openable = Entry::new(
            openable,
            Kind::Char {
                major: 10,
                minor: 229,
            },
        )
        .mode(0o666);
        overlay
            .stage(&tree, Devices::Nodes)
            .and_then(|()| Ok(make_tree(&tree, [&openable])?))
            .expect("a mock driver is staged (making device nodes takes root)");
        let container = containerd
            .image()
            .with_label(engine::OWNER_LABEL, std::process::id().to_string())
            .with_mount(bind(directory.path(), "/node"))
            // At its own path: the plugin names its files to containerd by the path it knows.
            .with_mount(bind(&tree, &tree))
            // Everything but the capability that a Docker inside a container itself may lack, which
            // is what `privileged` would fail on there.
            .with_cap_add("ALL")
            .with_cap_drop("SYS_RESOURCE")
            .with_security_opt("seccomp=unconfined")
            .with_host_config_modifier(|host| {
                host.masked_paths = Some(Vec::new());
                host.readonly_paths = Some(Vec::new());
                host.device_cgroup_rules = Some(vec!["a *:* rwm".to_owned()]);
                host.network_mode = Some("none".to_owned());
            })
            .with_startup_timeout(Duration::from_secs(60))
            .start()
            .await
            .expect("a node starts");
        let cri = Cri::at(&directory.path().join("containerd.sock"));
        let node = Self {
            log: Log::follow([Box::new(container.stderr(true))]),
            container,
            cri,
            parity: Arc::default(),
            directory,
        };
        node.await_image(PAUSE_IMAGE).await;
        node
    }

    /// Where the mock driver is, on the node and outside. CDI specs are below it.
    #[must_use]
    pub fn overlay(&self) -> PathBuf {
        self.directory.path().join("overlay")
    }

    /// Where containerd finds plugins to start itself.
    #[must_use]
    pub fn plugin_directory(&self) -> PathBuf {
        self.directory.path().join("nri-plugins")
    }

    /// The socket that plugins connect to.
    #[must_use]
    pub fn nri_socket(&self) -> PathBuf {
        self.directory.path().join("nri/nri.sock")
    }

    /// Adds the CDI spec that whoever allocates GPUs keeps on a node: one GPU of this kind, `first`.
    ///
    /// # Panics
    ///
    /// When the disk does not take it.
    pub fn stage_allocation(&self, kind: &str) {
        let spec = serde_json::json!({
            "cdiVersion": "0.6.0",
            "kind": kind,
            "devices": [{
                "name": "first",
                "containerEdits": { "deviceNodes": [{
                    "path": "/dev/nvidia0",
                    "hostPath": self.overlay().join("driver/dev/nvidia0"),
                }] },
            }],
        });
        let path = self.overlay().join("cdi/allocation.json");
        std::fs::write(path, spec.to_string()).expect("a CDI spec is written");
    }

    /// What containerd logged.
    #[must_use]
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// What the node calls itself.
    pub(crate) fn hostname(&self) -> &str {
        // Docker's own choice.
        &self.container.id()[..12]
    }

    /// Has everything that is created from now on created by the fake runtime too.
    pub(crate) async fn parity(&self) -> &Parity {
        self.parity.get_or_init(|| Parity::beside(self)).await
    }

    /// Runs an empty pod.
    ///
    /// # Panics
    ///
    /// When containerd refuses it.
    pub async fn run_pod(&self, spec: PodSpec) -> Pod {
        Pod::run(self.cri.clone(), self.parity.clone(), spec).await
    }

    /// Runs an empty pod that asks for every mock GPU.
    ///
    /// # Panics
    ///
    /// When containerd refuses it.
    pub async fn run_annotated_pod(&self) -> Pod {
        let pod = PodSpec::new("annotated").annotation(DEVICES, "true");
        self.run_pod(pod).await
    }

    /// Every container that there is, but for the pods' own.
    ///
    /// # Panics
    ///
    /// When containerd does not say.
    pub async fn containers(&self) -> Vec<Container> {
        let mut runtime = self.cri.runtime.clone();
        let answer = runtime.list_containers(v1::ListContainersRequest {}).await;
        let containers = answer
            .expect("containerd lists its containers")
            .into_inner();
        let containers = containers.containers.into_iter();
        containers
            .map(|container| Container::known(self.cri.clone(), container.id))
            .collect()
    }

    /// Runs a shell script on the node, outside of any pod, and gives what it printed.
    ///
    /// # Panics
    ///
    /// When the script fails.
    pub async fn sh(&self, script: &str) -> String {
        let command = ExecCommand::new(["sh", "-c", script]);
        let mut run = self.container.exec(command).await.expect("docker exec");
        let stdout = run.stdout_to_vec().await.expect("docker exec's output");
        let stderr = run.stderr_to_vec().await.expect("docker exec's output");
        assert_eq!(
            run.exit_code().await.expect("docker exec's status"),
            Some(0),
            "`{script}` on the node: {}",
            String::from_utf8_lossy(&stderr)
        );
        String::from_utf8_lossy(&stdout).into_owned()
    }

    /// Sends containerd a signal, and waits until it is gone. Its pods run on.
    ///
    /// # Panics
    ///
    /// When it does not end.
    pub async fn end_containerd(&self, signal: &str) {
        self.sh(&format!(
            "pid=$(cat /run/containerd.pid); kill -{signal} $pid; \
             for try in $(seq 1000); do kill -0 $pid 2>/dev/null || exit 0; usleep 10000; done; exit 1"
        ))
        .await;
    }

    /// Starts containerd again after its end, and waits until it answers.
    ///
    /// # Panics
    ///
    /// When it does not.
    pub async fn start_containerd(&self) {
        self.sh("echo >/run/start-containerd").await;
        self.await_image(PAUSE_IMAGE).await;
    }

    /// containerd hears of an imported image by an event, a moment after the import.
    async fn await_image(&self, image: &str) {
        let request = v1::ImageStatusRequest {
            image: Some(v1::ImageSpec {
                image: image.to_owned(),
            }),
            verbose: false,
        };
        let mut images = self.cri.images.clone();
        for _ in 0..500 {
            let status = images.image_status(request.clone()).await;
            if status.is_ok_and(|status| status.get_ref().image.is_some()) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("containerd does not find {image} 5 s after it was imported");
    }
}

impl Drop for Node {
    #[expect(
        clippy::print_stderr,
        reason = "the test harness shows it beside the failure"
    )]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("containerd's log:\n{}", self.log);
        }
    }
}

fn bind(source: &Path, target: impl AsRef<Path>) -> Mount {
    Mount::bind_mount(
        source.display().to_string(),
        target.as_ref().display().to_string(),
    )
}
