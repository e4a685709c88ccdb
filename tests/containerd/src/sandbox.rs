//! A pod as containerd has it: a sandbox, and what is created in it.

use serde_json::Value;
use tonic::Status;

use crate::cri::{Cri, v1};
use crate::pod::Container;
use crate::surfaces::OPT_OUT;

/// A running sandbox.
#[derive(Clone, Debug)]
pub(crate) struct Sandbox {
    pub(crate) cri: Cri,
    pub(crate) config: v1::PodSandboxConfig,
    id: String,
}

impl Sandbox {
    /// # Panics
    ///
    /// When containerd refuses it.
    pub(crate) async fn run(mut cri: Cri, config: v1::PodSandboxConfig) -> Self {
        let request = v1::RunPodSandboxRequest {
            config: Some(config.clone()),
        };
        let answer = cri.runtime.run_pod_sandbox(request).await;
        let id = answer.expect("a pod runs").into_inner().pod_sandbox_id;
        Self { cri, config, id }
    }

    /// Runs the same again, as one that the plugin leaves alone.
    ///
    /// # Panics
    ///
    /// When containerd refuses it.
    pub(crate) async fn run_opted_out(&self) -> Self {
        let mut config = self.config.clone();
        config.metadata.get_or_insert_default().attempt += 1;
        let opt_out = (OPT_OUT.to_owned(), "false".to_owned());
        config.annotations.extend([opt_out]);
        Self::run(self.cri.clone(), config).await
    }

    pub(crate) async fn create(&self, config: v1::ContainerConfig) -> Result<Container, Status> {
        let request = v1::CreateContainerRequest {
            pod_sandbox_id: self.id.clone(),
            config: Some(config),
            sandbox_config: Some(self.config.clone()),
        };
        let mut cri = self.cri.clone();
        let answer = cri.runtime.create_container(request).await?;
        let id = answer.into_inner().container_id;
        Ok(Container::known(cri, id))
    }

    /// The OCI spec of a container in it, without what tells this sandbox from another: its id, and the process
    /// that holds its namespaces.
    pub(crate) async fn oci_spec(&self, container: &Container) -> Value {
        let spec = container.oci_spec().await.to_string();
        let spec = spec.replace(&self.id, "<pod>");
        let mut spec: Value = serde_json::from_str(&spec).expect("it is JSON still");
        let namespaces = spec["linux"]["namespaces"].as_array_mut();
        for namespace in namespaces.into_iter().flatten() {
            if let Some(path) = namespace["path"].as_str() {
                let (_, file) = path.rsplit_once('/').expect("a path under /proc");
                namespace["path"] = format!("/proc/<pid>/ns/{file}").into();
            }
        }
        spec
    }

    /// # Panics
    ///
    /// When containerd does not.
    pub(crate) async fn remove(&self) {
        let mut runtime = self.cri.runtime.clone();
        let request = v1::StopPodSandboxRequest {
            pod_sandbox_id: self.id.clone(),
        };
        let stopped = runtime.stop_pod_sandbox(request).await;
        stopped.expect("a pod stops");
        let request = v1::RemovePodSandboxRequest {
            pod_sandbox_id: self.id.clone(),
        };
        let removed = runtime.remove_pod_sandbox(request).await;
        removed.expect("a pod is removed");
    }
}
