//! The plugin as it is deployed: from its image, with the rights that `deploy/` gives it.

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
    _container: ContainerAsync<GenericImage>,
}

impl PluginContainer {
    /// Starts the plugin, and waits until containerd asks it about new containers.
    ///
    /// # Panics
    ///
    /// When it is not registered in time.
    pub async fn start(node: &Node) -> Self {
        engine::require(&format!("{NAME}:{TAG}"), "ci/image/build");
        let since = node.log().from_now();
        let socket = node.nri_socket();
        let sockets = socket.parent().expect("a socket is in a directory");
        let overlay = node.overlay();
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
            .with_mount(bind(&overlay, &overlay, AccessMode::ReadOnly))
            .with_mount(bind(
                &overlay.join("cdi"),
                Path::new("/var/run/cdi"),
                AccessMode::ReadOnly,
            ))
            .with_user("0:0")
            .with_cap_drop("ALL")
            .with_security_opt("no-new-privileges")
            .with_readonly_rootfs(true)
            .with_host_config_modifier(|host| host.network_mode = Some("none".to_owned()))
            .start()
            .await
            .expect("the plugin starts");
        let plugin = Self {
            log: Log::follow([
                Box::new(container.stdout(true)),
                Box::new(container.stderr(true)),
            ]),
            _container: container,
        };
        Plugin::asked_by(&since).await;
        plugin
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
