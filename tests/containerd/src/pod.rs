//! What became of what was asked for: running pods and their containers.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::OnceCell;
use tonic::Status;

use crate::cri::{Cri, v1};
use crate::inside::Inside;
use crate::parity::{Creation, Parity};
use crate::sandbox::Sandbox;
use crate::spec::{ContainerSpec, PodSpec};
use crate::surfaces::mounts_overlay;

/// A running pod.
#[derive(Clone, Debug)]
pub struct Pod {
    sandbox: Sandbox,
    /// The same pod, but for the plugin's leaving it alone.
    opted_out: Arc<OnceCell<Sandbox>>,
    parity: Arc<OnceCell<Parity>>,
}

impl Pod {
    pub(crate) async fn run(
        cri: Cri,
        parity: Arc<OnceCell<Parity>>,
        PodSpec(config): PodSpec,
    ) -> Self {
        Self {
            sandbox: Sandbox::run(cri, config).await,
            opted_out: Arc::default(),
            parity,
        }
    }

    /// Creates a container. This is when plugins are asked about it.
    ///
    /// # Errors
    ///
    /// containerd's, when it or a plugin refuses the container.
    ///
    /// # Panics
    ///
    /// When the fake runtime does something else.
    pub async fn create(&self, ContainerSpec(config): ContainerSpec) -> Result<Container, Status> {
        let Some(parity) = self.parity.get() else {
            return self.sandbox.create(config).await;
        };
        let sandbox = &self.sandbox;
        let opted_out = self.opted_out.get_or_init(|| sandbox.run_opted_out()).await;
        let untouched = opted_out.create(config.clone()).await;
        let untouched = untouched.expect("a container that the plugin leaves alone is created");
        let untouched_spec = opted_out.oci_spec(&untouched).await;
        untouched.remove().await;
        let created = sandbox.create(config.clone()).await;
        let creation = Creation {
            pod: &sandbox.config,
            container: &config,
            image_env: sandbox.cri.image_env(&config).await,
            untouched: untouched_spec,
            created: match &created {
                Ok(container) => Ok((container, sandbox.oci_spec(container).await)),
                Err(refusal) => Err(refusal),
            },
        };
        parity.check(creation).await;
        created
    }

    /// Creates a container and starts it.
    ///
    /// # Panics
    ///
    /// When containerd refuses either.
    pub async fn start(&self, spec: ContainerSpec) -> Container {
        let container = self.create(spec).await.expect("a container is created");
        container.start().await.expect("a container starts");
        container
    }

    /// Ends the pod and everything in it.
    ///
    /// # Panics
    ///
    /// When containerd does not.
    pub async fn remove(self) {
        if let Some(opted_out) = self.opted_out.get() {
            opted_out.remove().await;
        }
        self.sandbox.remove().await;
    }
}

/// A created container.
#[derive(Clone, Debug)]
pub struct Container {
    cri: Cri,
    id: String,
}

impl Container {
    pub(crate) fn known(cri: Cri, id: String) -> Self {
        Self { cri, id }
    }

    /// containerd's name for it.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Starts it.
    ///
    /// # Errors
    ///
    /// containerd's, when the container cannot be started as it was created.
    pub async fn start(&self) -> Result<(), Status> {
        let request = v1::StartContainerRequest {
            container_id: self.id.clone(),
        };
        self.cri.runtime.clone().start_container(request).await?;
        Ok(())
    }

    /// Changes its resources.
    ///
    /// # Panics
    ///
    /// When containerd does not.
    pub async fn update(&self, resources: v1::LinuxContainerResources) {
        let request = v1::UpdateContainerResourcesRequest {
            container_id: self.id.clone(),
            linux: Some(resources),
        };
        let mut runtime = self.cri.runtime.clone();
        let updated = runtime.update_container_resources(request).await;
        updated.expect("a container is updated");
    }

    /// Stops it, by SIGKILL.
    ///
    /// # Panics
    ///
    /// When containerd does not.
    pub async fn stop(&self) {
        let request = v1::StopContainerRequest {
            container_id: self.id.clone(),
            timeout: 0,
        };
        let stopped = self.cri.runtime.clone().stop_container(request).await;
        stopped.expect("a container is stopped");
    }

    /// Removes it.
    ///
    /// # Panics
    ///
    /// When containerd does not.
    pub async fn remove(&self) {
        let request = v1::RemoveContainerRequest {
            container_id: self.id.clone(),
        };
        let removed = self.cri.runtime.clone().remove_container(request).await;
        removed.expect("a container is removed");
    }

    /// Waits until its program ends, and gives its exit status.
    ///
    /// # Panics
    ///
    /// When it goes on.
    pub async fn exit_code(&self) -> i32 {
        for _ in 0..500 {
            let status = self.status(false).await.status.unwrap_or_default();
            if status.state() == v1::ContainerState::Exited {
                return status.exit_code;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("the container runs on");
    }

    /// Runs a shell script in it.
    ///
    /// # Panics
    ///
    /// When containerd does not run it.
    pub async fn run(&self, script: &str) -> v1::ExecSyncResponse {
        let request = v1::ExecSyncRequest {
            container_id: self.id.clone(),
            cmd: ["/bin/sh", "-c", script].map(str::to_owned).to_vec(),
            timeout: 20,
        };
        let answer = self.cri.runtime.clone().exec_sync(request).await;
        answer.expect("a command runs").into_inner()
    }

    /// Runs a shell script in it, and gives what it printed.
    ///
    /// # Panics
    ///
    /// When the script fails.
    pub async fn sh(&self, script: &str) -> String {
        let answer = self.run(script).await;
        assert_eq!(
            answer.exit_code,
            0,
            "`{script}` inside: {}",
            String::from_utf8_lossy(&answer.stderr)
        );
        String::from_utf8_lossy(&answer.stdout).into_owned()
    }

    /// What its program sees, which is what the OCI spec of it says. Its own id is written `<id>`.
    ///
    /// # Panics
    ///
    /// When it cannot be looked into, or a variable, mount or device is not as the spec has it.
    pub async fn inside(&self) -> Inside {
        let seen = self.sh(Inside::SCRIPT).await.replace(&self.id, "<id>");
        let inside = Inside::parse(&seen);
        inside.assert_agrees(&self.oci_spec().await);
        inside
    }

    /// The OCI spec that containerd kept of it, with `<id>` wherever the container's own id stands.
    ///
    /// # Panics
    ///
    /// When containerd gives none.
    pub async fn oci_spec(&self) -> Value {
        let info = self.status(true).await;
        let info = info.info.get("info").map_or("", String::as_str);
        let info = info.replace(&self.id, "<id>");
        let mut info: Value = serde_json::from_str(&info).expect("containerd's info is JSON");
        info["runtimeSpec"].take()
    }

    /// Whether it mounts the mock driver.
    ///
    /// # Panics
    ///
    /// When containerd gives no OCI spec of it.
    pub async fn is_injected(&self) -> bool {
        mounts_overlay(&self.oci_spec().await)
    }

    async fn status(&self, verbose: bool) -> v1::ContainerStatusResponse {
        let request = v1::ContainerStatusRequest {
            container_id: self.id.clone(),
            verbose,
        };
        let answer = self.cri.runtime.clone().container_status(request).await;
        answer.expect("a container has a status").into_inner()
    }
}
