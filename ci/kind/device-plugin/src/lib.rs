//! A Kubernetes device plugin that hands out the mock GPUs of a node.
//!
//! It gives what NVIDIA's gives without CDI: a device node with its own grant. That is what the NRI plugin
//! takes for an allocation.

#![expect(
    clippy::allow_attributes_without_reason,
    reason = "tonic writes some into what it generates"
)]

mod gpus;
mod kubelet;
mod service;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::net::UnixListener;
use tokio_stream::wrappers::UnixListenerStream;
use tonic::transport::{Endpoint, Server};

pub use gpus::Gpus;
use kubelet::Restarts;
use v1beta1::device_plugin_server::DevicePluginServer;
use v1beta1::registration_client::RegistrationClient;

/// The messages, client and servers of `deviceplugin.proto`.
#[expect(missing_docs, reason = "generated; the fields are the kubelet's")]
pub mod v1beta1 {
    tonic::include_proto!("v1beta1");
}

/// What pods ask for.
pub const RESOURCE: &str = "nvidia.com/gpu";

/// The name of this plugin's socket, beside the kubelet's.
const SOCKET: &str = "mock-nvidia-gpu.sock";

/// A kubelet that has made its socket does not listen at once.
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(200);
/// How often it is tried.
const ATTEMPTS: usize = 50;

/// Why the plugin ended.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The socket cannot be made.
    #[error("cannot listen at {path}: {cause}")]
    Listen {
        /// Where.
        path: PathBuf,
        /// Why not.
        cause: io::Error,
    },
    /// The directory of the sockets cannot be watched.
    #[error("cannot watch {path}: {cause}")]
    Watch {
        /// Which.
        path: PathBuf,
        /// Why not.
        cause: io::Error,
    },
    /// The kubelet does not want the plugin.
    #[error("the kubelet does not take the plugin: {0}")]
    Register(#[from] tonic::Status),
    /// The kubelet cannot be reached, or can no longer be served.
    #[error("cannot talk to the kubelet: {0}")]
    Talk(#[from] tonic::transport::Error),
}

/// Serves the kubelet whose sockets are in `directory`, and each that comes after it: a kubelet that starts forgets
/// its plugins and removes their sockets.
///
/// # Errors
///
/// When the kubelet cannot be told of the plugin.
pub async fn run(directory: &Path, gpus: Gpus) -> Result<(), Error> {
    let watched = Restarts::watch(directory);
    let mut restarts = watched.map_err(|cause| Error::Watch {
        path: directory.to_owned(),
        cause,
    })?;
    loop {
        tokio::select! {
            ended = serve(directory, gpus.clone()) => return ended,
            () = restarts.next() => {}
        }
    }
}

/// Serves one kubelet.
async fn serve(directory: &Path, gpus: Gpus) -> Result<(), Error> {
    let path = directory.join(SOCKET);
    // Left behind by a plugin before this one.
    let _ = std::fs::remove_file(&path);
    let listener = UnixListener::bind(&path).map_err(|cause| Error::Listen { path, cause })?;
    let served = Server::builder()
        .add_service(DevicePluginServer::new(gpus))
        .serve_with_incoming(UnixListenerStream::new(listener));
    // The kubelet calls back before it answers the registration.
    let registered = async {
        register(&directory.join(kubelet::SOCKET)).await?;
        std::future::pending().await
    };
    tokio::select! {
        served = served => Ok(served?),
        registered = registered => registered,
    }
}

async fn register(kubelet: &Path) -> Result<(), Error> {
    let request = v1beta1::RegisterRequest {
        version: "v1beta1".to_owned(),
        endpoint: SOCKET.to_owned(),
        resource_name: RESOURCE.to_owned(),
    };
    let kubelet = Endpoint::try_from(format!("unix://{}", kubelet.display()))?;
    let mut attempts = 1;
    let kubelet = loop {
        match kubelet.connect().await {
            Ok(connected) => break connected,
            Err(error) if attempts == ATTEMPTS => return Err(error.into()),
            Err(_) => tokio::time::sleep(BETWEEN_ATTEMPTS).await,
        }
        attempts += 1;
    };
    let mut kubelet = RegistrationClient::new(kubelet);
    kubelet.register(request).await?;
    Ok(())
}
