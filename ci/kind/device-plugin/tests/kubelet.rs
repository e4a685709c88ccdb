//! What a kubelet sees of the device plugin.

#![expect(clippy::unwrap_used, reason = "a test has nothing better to do")]

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::time::Duration;

use mock_device_plugin::v1beta1::device_plugin_client::DevicePluginClient;
use mock_device_plugin::v1beta1::registration_server::{Registration, RegistrationServer};
use mock_device_plugin::v1beta1::{
    AllocateRequest, ContainerAllocateRequest, DeviceSpec, Empty, RegisterRequest,
};
use mock_device_plugin::{Gpus, RESOURCE, run};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::net::UnixListener;
use tokio::process::Command;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_stream::wrappers::UnixListenerStream;
use tonic::transport::{Endpoint, Server};
use tonic::{Code, Request, Response, Status};

/// A kubelet that takes every plugin.
struct Kubelet(mpsc::UnboundedSender<RegisterRequest>);

#[tonic::async_trait]
impl Registration for Kubelet {
    async fn register(&self, request: Request<RegisterRequest>) -> Result<Response<Empty>, Status> {
        let _ = self.0.send(request.into_inner());
        Ok(Response::new(Empty {}))
    }
}

/// One that listens in `sockets`, with what it is told. Aborting the task ends it.
fn kubelet(sockets: &Path) -> (JoinHandle<()>, mpsc::UnboundedReceiver<RegisterRequest>) {
    let (seen, registrations) = mpsc::unbounded_channel();
    let socket = UnixListener::bind(sockets.join("kubelet.sock")).unwrap();
    let kubelet = Server::builder()
        .add_service(RegistrationServer::new(Kubelet(seen)))
        .serve_with_incoming(UnixListenerStream::new(socket));
    let kubelet = tokio::spawn(async { kubelet.await.unwrap() });
    (kubelet, registrations)
}

/// What does not come within a minute does not come.
async fn soon<T>(event: impl Future<Output = T>) -> T {
    timeout(Duration::from_secs(60), event).await.unwrap()
}

/// A directory with a mock driver, where the sockets are as well.
fn node_directory() -> TempDir {
    let root = tempfile::tempdir().unwrap();
    let devices = root.path().join("driver/dev");
    fs::create_dir_all(&devices).unwrap();
    for name in ["nvidia1", "nvidia0", "nvidiactl", "nvidia-uvm"] {
        fs::write(devices.join(name), "").unwrap();
    }
    root
}

#[tokio::test]
async fn a_kubelet_that_restarts_is_told_of_the_plugin_again() {
    let root = node_directory();
    let (first, mut registrations) = kubelet(root.path());
    let sockets = root.path().to_owned();
    let gpus = Gpus::staged(root.path()).unwrap();
    tokio::spawn(async move { run(&sockets, gpus).await });
    let registration = soon(registrations.recv()).await.unwrap();

    first.abort();
    // As a kubelet does that starts.
    let plugin = root.path().join(registration.endpoint);
    fs::remove_file(&plugin).unwrap();
    fs::remove_file(root.path().join("kubelet.sock")).unwrap();
    let (_second, mut registrations) = kubelet(root.path());

    let registration = soon(registrations.recv()).await.unwrap();
    assert_eq!(registration.resource_name, RESOURCE);
    let socket = Endpoint::try_from(format!("unix://{}", plugin.display())).unwrap();
    let mut plugin = DevicePluginClient::new(socket.connect().await.unwrap());
    let mut lists = plugin.list_and_watch(Empty {}).await.unwrap().into_inner();
    assert_eq!(lists.message().await.unwrap().unwrap().devices.len(), 2);
}

#[tokio::test]
async fn a_pod_that_is_deleted_does_not_wait_for_the_plugin_to_be_killed() {
    let root = node_directory();
    let (_kubelet, mut registrations) = kubelet(root.path());
    let mut plugin = Command::new(env!("CARGO_BIN_EXE_mock-device-plugin"))
        .arg("--overlay")
        .arg(root.path())
        .arg("--sockets")
        .arg(root.path())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    soon(registrations.recv()).await.unwrap();
    let pid = plugin.id().unwrap().try_into().unwrap();
    kill_process(Pid::from_raw(pid).unwrap(), Signal::TERM).unwrap();
    let status = soon(plugin.wait()).await.unwrap();
    assert_eq!((status.code(), status.signal()), (Some(0), None));
}

#[tokio::test]
async fn a_kubelet_is_told_of_the_gpus_and_given_their_nodes() {
    let root = node_directory();
    let (_kubelet, mut registrations) = kubelet(root.path());
    let sockets = root.path().to_owned();
    let gpus = Gpus::staged(root.path()).unwrap();
    tokio::spawn(async move { run(&sockets, gpus).await });

    let registration = soon(registrations.recv()).await.unwrap();
    assert_eq!(registration.version, "v1beta1");
    assert_eq!(registration.resource_name, RESOURCE);
    let socket = root.path().join(registration.endpoint);
    let socket = Endpoint::try_from(format!("unix://{}", socket.display())).unwrap();
    let mut plugin = DevicePluginClient::new(socket.connect().await.unwrap());

    let mut lists = plugin.list_and_watch(Empty {}).await.unwrap().into_inner();
    let devices = lists.message().await.unwrap().unwrap().devices;
    let devices: Vec<_> = devices
        .iter()
        .map(|device| (device.id.as_str(), device.health.as_str()))
        .collect();
    assert_eq!(devices, [("nvidia0", "Healthy"), ("nvidia1", "Healthy")]);

    let mut given = plugin.allocate(ask("nvidia1")).await.unwrap().into_inner();
    assert_eq!(
        given.container_responses.remove(0).devices,
        [node(root.path(), "nvidia1")]
    );
    let refused = plugin.allocate(ask("nvidiactl")).await.unwrap_err();
    assert_eq!(refused.code(), Code::NotFound);
}

fn ask(id: &str) -> AllocateRequest {
    AllocateRequest {
        container_requests: vec![ContainerAllocateRequest {
            device_ids: vec![id.to_owned()],
        }],
    }
}

fn node(root: &Path, name: &str) -> DeviceSpec {
    DeviceSpec {
        container_path: format!("/dev/{name}"),
        host_path: root.join("driver/dev").join(name).display().to_string(),
        permissions: "rw".to_owned(),
    }
}
