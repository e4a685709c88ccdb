//! The plugin as it is deployed: from its image, with the rights that `deploy/` gives it.

use std::fs;
use std::path::Path;

use testcontainers::core::{AccessMode, Mount};
use testcontainers::runners::AsyncRunner;
use testcontainers::{ContainerAsync, GenericImage, ImageExt};

use crate::engine;
use crate::log::Log;
use crate::node::Node;
use crate::plugin::Plugin;

/// The image that `ci/image/build` makes.
const NAME: &str = "nri-plugin";
const TAG: &str = "dev";

/// A running plugin in a container beside a node's. Dropping it removes the container; when the test is
/// failing, its log is printed first.
pub struct PluginContainer {
    log: Log,
    container: ContainerAsync<GenericImage>,
}

/// How it is deployed.
const MANIFEST: &str = include_str!("../../../deploy/base/daemonset.yaml");

/// The memory that the plugin is deployed with, in KiB: `requests` or `limits`.
///
/// # Panics
///
/// When the manifest does not say.
#[must_use]
pub fn deployed_memory(which: &str) -> u64 {
    let (_, resources) = MANIFEST.split_once(which).expect("the manifest has it");
    let (_, memory) = resources.split_once("memory: ").expect("and of memory");
    let (mebibytes, _) = memory.split_once("Mi").expect("in MiB");
    mebibytes.parse::<u64>().expect("a number") << 10
}

impl PluginContainer {
    /// Starts the plugin, and waits until containerd asks it about new containers.
    ///
    /// # Panics
    ///
    /// When it is not registered in time.
    pub async fn start(node: &Node) -> Self {
        let since = node.log().from_now();
        let plugin = Self::launch_at(&node.nri_socket(), &node.overlay()).await;
        Plugin::asked_by(&since).await;
        plugin
    }

    /// Starts the plugin beside whoever listens at `socket`, and waits for nothing.
    ///
    /// # Panics
    ///
    /// When Docker does not start it.
    pub async fn launch_at(socket: &Path, overlay: &Path) -> Self {
        engine::require(&format!("{NAME}:{TAG}"), "ci/image/build");
        let sockets = socket.parent().expect("a socket is in a directory");
        let container = GenericImage::new(NAME, TAG)
            .with_cmd([
                "--plugin-name=nvml-mock".to_owned(),
                format!("--overlay-host-path={}", overlay.display()),
                "--log-level=debug".to_owned(),
            ])
            .with_label(engine::OWNER_LABEL, std::process::id().to_string())
            .with_mount(bind(
                sockets,
                Path::new("/var/run/nri"),
                AccessMode::ReadWrite,
            ))
            .with_mount(bind(overlay, overlay, AccessMode::ReadOnly))
            .with_mount(bind(
                &overlay.join("cdi"),
                Path::new("/var/run/cdi"),
                AccessMode::ReadOnly,
            ))
            .with_user("0:0")
            .with_cap_drop("ALL")
            .with_security_opt("no-new-privileges")
            .with_readonly_rootfs(true)
            .with_host_config_modifier(|host| {
                host.network_mode = Some("none".to_owned());
                // Swap counts into the second: none.
                host.memory = i64::try_from(deployed_memory("limits:") << 10).ok();
                host.memory_swap = host.memory;
            })
            .start()
            .await
            .expect("the plugin starts");
        Self {
            log: Log::follow([
                Box::new(container.stdout(true)),
                Box::new(container.stderr(true)),
            ]),
            container,
        }
    }

    /// Its resident memory and the most that it ever had, in KiB.
    ///
    /// # Panics
    ///
    /// When it does not run any more.
    #[must_use]
    pub fn memory(&self) -> (u64, u64) {
        let pid = engine::docker(&["inspect", "--format", "{{.State.Pid}}", self.container.id()]);
        let status = fs::read_to_string(format!("/proc/{}/status", pid.trim()));
        let status = status.expect("the plugin runs");
        let kib = |field: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(field));
            let value = line.and_then(|value| value.trim().strip_suffix(" kB"));
            value
                .and_then(|value| value.parse().ok())
                .expect("the kernel tells of memory")
        };
        (kib("VmRSS:"), kib("VmHWM:"))
    }

    /// What it printed.
    #[must_use]
    pub fn log(&self) -> &Log {
        &self.log
    }
}

impl Drop for PluginContainer {
    #[expect(
        clippy::print_stderr,
        reason = "the test harness shows it beside the failure"
    )]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the plugin's log:\n{}", self.log);
        }
    }
}

fn bind(source: &Path, target: &Path, access: AccessMode) -> Mount {
    let [source, target] = [source, target].map(|path| path.display().to_string());
    Mount::bind_mount(source, target).with_access_mode(access)
}
