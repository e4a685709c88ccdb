//! A file system that hangs, or a decision that panics, under a session.

use std::collections::BTreeSet;
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fake_runtime::create::Answer;
use fake_runtime::runtime::FakeRuntime;
use nri_plugin::decide::{CdiNode, Entry, Node, Staged};
use nri_plugin::path::AbsolutePath;
use nri_proto::api::{CreateContainerRequest, CreateContainerResponse, plugin};

use crate::in_process::InProcess;
use crate::plugin::{annotated_pod, container, soon};
use crate::raw_runtime::RawRuntime;

/// A host that does the same whatever it is asked.
struct Host<F>(F);

impl<F: Fn()> Staged for Host<F> {
    fn entries(&self, _directory: &AbsolutePath) -> io::Result<Vec<Entry>> {
        (self.0)();
        Ok(Vec::new())
    }

    fn node(&self, _path: &AbsolutePath) -> io::Result<Node> {
        (self.0)();
        Err(io::ErrorKind::NotFound.into())
    }

    fn cdi_nodes(
        &self,
        _specification: &AbsolutePath,
        _name: &str,
        _overlay: &AbsolutePath,
    ) -> Result<Arc<[CdiNode]>, String> {
        (self.0)();
        Err(String::new())
    }

    fn nvidia_majors(&self) -> Arc<BTreeSet<u32>> {
        (self.0)();
        Arc::default()
    }
}

/// A host whose file system hangs until the sender is dropped.
fn hung() -> (Sender<()>, Host<impl Fn() + Send + Sync>) {
    let (release, hang): (_, Receiver<()>) = channel();
    let hang = Mutex::new(hang);
    let until_released = move || {
        let _ = hang.lock().unwrap().recv();
    };
    (release, Host(until_released))
}

async fn adjusted(runtime: &FakeRuntime) -> bool {
    let created = runtime
        .create_container(annotated_pod(), container("c"))
        .await
        .unwrap();
    match &created.asked[0].answer {
        Answer::Adjust(adjust) => !adjust.mounts.is_empty(),
        other => panic!("{other:?}"),
    }
}

// containerd/nri#114: a single answer over the request timeout gets the plugin closed for good.
#[tokio::test]
async fn containerd_nri_114_a_hung_mount_costs_the_container_its_adjustment_and_shows_in_healthz() {
    let timeout = Duration::from_secs(1);
    let runtime = FakeRuntime::builder()
        .request_timeout(timeout)
        .start()
        .await
        .unwrap();
    let (release, host) = hung();
    let plugin = InProcess::start(runtime.socket_path(), host);
    runtime.plugin_registered().await.unwrap();

    assert!(!adjusted(&runtime).await);
    assert_eq!(
        runtime.plugins().len(),
        1,
        "answered in time, it stays registered"
    );

    let body = plugin.until("/healthz", 503).await;
    assert!(
        body.contains("wedged: a container request has been in flight for"),
        "{body}"
    );
    assert!(body.contains("past the 2s threshold"), "{body}");
    let body = plugin.until("/readyz", 503).await;
    assert!(body.contains("wedged: "), "{body}");

    drop(release);
    plugin.until("/healthz", 200).await;
    plugin.until("/readyz", 200).await;
    assert!(adjusted(&runtime).await);
}

#[tokio::test]
async fn the_request_in_flight_is_answered_before_it_stops() {
    let runtime = FakeRuntime::builder().request_timeout(Duration::from_secs(60));
    let runtime = runtime.start().await.unwrap();
    let (release, host) = hung();
    let mut plugin = InProcess::start(runtime.socket_path(), host);
    runtime.plugin_registered().await.unwrap();
    let stop = async {
        plugin.request_in_flight().await;
        plugin.stop.request();
        drop(release);
    };
    let (adjusted, ()) = tokio::join!(adjusted(&runtime), stop);
    assert!(adjusted);
    soon("the session's end", &mut plugin.session)
        .await
        .unwrap()
        .unwrap();
}

#[tokio::test]
async fn it_stops_although_a_mount_hangs() {
    // It waits for as long as the test does, however busy the machine is, and not for the 2 s that it tells.
    let runtime = RawRuntime::listen();
    let (_release, host) = hung();
    let mut plugin = InProcess::start(runtime.socket_path(), host);
    let mut connection = runtime.accept().await;
    connection.register().await;
    let request = CreateContainerRequest {
        pod: Some(annotated_pod()),
        container: Some(container("c")),
    };
    let asking = connection.call::<CreateContainerResponse>(plugin::CREATE_CONTAINER, &request);
    let stop = async {
        plugin.request_in_flight().await;
        plugin.stop.request();
    };
    let (answer, ()) = tokio::join!(asking, stop);
    assert_eq!(
        answer,
        Ok(CreateContainerResponse::default()),
        "what was in flight is answered, if with nothing"
    );
    soon("the session's end", &mut plugin.session)
        .await
        .unwrap()
        .unwrap();
}

#[tokio::test]
async fn a_runtime_that_goes_away_is_not_waited_for_because_a_mount_hangs() {
    let runtime = FakeRuntime::builder().request_timeout(Duration::from_secs(60));
    let runtime = runtime.start().await.unwrap();
    let (_release, host) = hung();
    let plugin = InProcess::start(runtime.socket_path(), host);
    runtime.plugin_registered().await.unwrap();
    let restart = async {
        plugin.request_in_flight().await;
        runtime.restart().await.unwrap();
        runtime.registrations(2).await.unwrap();
    };
    let (created, ()) = tokio::join!(
        runtime.create_container(annotated_pod(), container("c")),
        restart
    );
    assert!(matches!(created.unwrap().asked[0].answer, Answer::Lost(_)));
}

#[tokio::test]
async fn a_panic_costs_one_container_its_adjustment_and_no_more() {
    // Printing a test's backtrace takes its time; that is not what is timed here.
    let runtime = FakeRuntime::builder()
        .request_timeout(Duration::from_secs(60))
        .start()
        .await
        .unwrap();
    let panicked = Mutex::new(false);
    let _plugin = InProcess::start(
        runtime.socket_path(),
        Host(move || {
            let first = !std::mem::replace(&mut *panicked.lock().unwrap(), true);
            assert!(!first, "as tested");
        }),
    );
    runtime.plugin_registered().await.unwrap();
    assert!(!adjusted(&runtime).await);
    assert!(adjusted(&runtime).await);
}
