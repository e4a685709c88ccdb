//! CRI, the interface by which a kubelet asks containerd for pods.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use tonic::transport::{Channel, Endpoint};

/// The messages and clients of `cri.proto`.
#[expect(
    missing_docs,
    reason = "generated; the fields are CRI's, documented there"
)]
pub mod v1 {
    tonic::include_proto!("runtime.v1");
}

use v1::image_service_client::ImageServiceClient;
use v1::runtime_service_client::RuntimeServiceClient;

/// Far longer than any call here takes, so that only a runtime that hangs meets it.
const CALL_TIMEOUT: Duration = Duration::from_secs(30);

/// The two CRI services of one containerd.
#[derive(Clone, Debug)]
pub struct Cri {
    /// Pods and containers.
    pub runtime: RuntimeServiceClient<Channel>,
    /// Images.
    pub images: ImageServiceClient<Channel>,
}

impl Cri {
    /// Clients that connect to the socket at `path` when first used, and again when it went away.
    ///
    /// # Panics
    ///
    /// When `path` cannot stand in a `unix:` address.
    #[must_use]
    pub fn at(path: &Path) -> Self {
        let channel = Endpoint::try_from(format!("unix://{}", path.display()))
            .expect("a path makes a unix: address")
            .timeout(CALL_TIMEOUT)
            .connect_lazy();
        Self {
            runtime: RuntimeServiceClient::new(channel.clone()),
            images: ImageServiceClient::new(channel),
        }
    }

    /// What a container's image sets in its environment.
    ///
    /// # Panics
    ///
    /// When containerd does not have the image.
    pub(crate) async fn image_env(&self, container: &v1::ContainerConfig) -> Vec<String> {
        let request = v1::ImageStatusRequest {
            image: container.image.clone(),
            verbose: true,
        };
        let status = self.images.clone().image_status(request).await;
        let status = status.expect("an image has a status").into_inner();
        let info = status.info.get("info").map_or("", String::as_str);
        let info: Value = serde_json::from_str(info).expect("containerd's info is JSON");
        let env = info["imageSpec"]["config"]["Env"].as_array();
        let env = env.into_iter().flatten().filter_map(Value::as_str);
        env.map(str::to_owned).collect()
    }
}
