//! What the runtime asks, and what a bad request does not break.

use nri_proto::api::{self, plugin};
use nri_proto::wire::{CallError, Code};
use prost::Message;
use rustix::process::Signal;

use crate::plugin::{Plugin, annotated_pod, container, soon};
use crate::raw_runtime::{Connection, RawRuntime};

async fn registered(runtime: &RawRuntime) -> Connection {
    let mut connection = runtime.accept().await;
    connection.register().await;
    connection
}

fn annotated_request() -> api::CreateContainerRequest {
    api::CreateContainerRequest {
        pod: Some(annotated_pod()),
        container: Some(container("c")),
    }
}

async fn adjust(connection: &Connection) -> api::ContainerAdjustment {
    let answer = connection
        .call(plugin::CREATE_CONTAINER, &annotated_request())
        .await;
    let answer: api::CreateContainerResponse = answer.unwrap();
    answer.adjust.unwrap_or_default()
}

/// How many mounts the annotated container gets: 2, all being well.
async fn mounts(connection: &Connection) -> usize {
    adjust(connection).await.mounts.len()
}

#[tokio::test]
async fn other_calls_are_unimplemented_without_harm() {
    let runtime = RawRuntime::listen();
    let _plugin = Plugin::start(runtime.socket_path(), &[]).await;
    let connection = registered(&runtime).await;
    for (service, method) in [
        (plugin::SERVICE, plugin::RUN_POD_SANDBOX),
        (plugin::SERVICE, plugin::VALIDATE_CONTAINER_ADJUSTMENT),
        (plugin::SERVICE, "Nonsense"),
        ("nonsense", plugin::CREATE_CONTAINER),
    ] {
        let calling = connection.caller.call(service, method, Vec::new());
        match soon(method, calling).await {
            Err(CallError::Status(status)) => assert_eq!(status.code, Code::UNIMPLEMENTED),
            other => panic!("{method}: {other:?}"),
        }
    }
    assert_eq!(mounts(&connection).await, 2);
}

#[tokio::test]
async fn a_request_that_cannot_be_decoded_leaves_the_container_as_it_is() {
    let runtime = RawRuntime::listen();
    let plugin = Plugin::start(runtime.socket_path(), &[]).await;
    let connection = registered(&runtime).await;
    let calling =
        connection
            .caller
            .call(plugin::SERVICE, plugin::CREATE_CONTAINER, vec![0xff; 100]);
    assert_eq!(soon("an answer", calling).await.unwrap(), Vec::new());
    assert_eq!(mounts(&connection).await, 2);
    let failed = "nri_plugin_containers_total{decision=\"failed\",reason=\"undecodable request\"}";
    assert_eq!(plugin.metric(failed).await.as_deref(), Some("1"));
}

#[tokio::test]
async fn a_registration_that_cannot_be_decoded_is_better_than_none() {
    let runtime = RawRuntime::listen();
    let mut plugin = Plugin::start(runtime.socket_path(), &[]).await;
    let mut connection = runtime.accept().await;
    let (_, registration) = connection.registration().await;
    registration.reply(Ok(Vec::new()));
    let nonsense = || vec![0xff; 100];
    for (method, warning, expected) in [
        (
            plugin::CONFIGURE,
            "undecodable Configure, taking the runtime for a current one with default timeouts",
            api::ConfigureResponse { events: 8 }.encode_to_vec(),
        ),
        (
            plugin::SYNCHRONIZE,
            "undecodable Synchronize, running containers are not looked at for a missing overlay",
            Vec::new(),
        ),
    ] {
        let calling = connection.caller.call(plugin::SERVICE, method, nonsense());
        assert_eq!(soon(method, calling).await.unwrap(), expected);
        assert_eq!(plugin.logged(warning).await["level"], "warn");
    }
    assert_eq!(mounts(&connection).await, 2);
    assert_eq!(plugin.get("/readyz").await.0, 200);
}

// cri-o/cri-o#6642, #6880, falcosecurity/plugins#1353: absent messages were dereferenced.
#[tokio::test]
async fn cri_o_6642_a_request_without_pod_or_container_is_answered() {
    let runtime = RawRuntime::listen();
    let _plugin = Plugin::start(runtime.socket_path(), &[]).await;
    let connection = registered(&runtime).await;
    for request in [
        api::CreateContainerRequest::default(),
        api::CreateContainerRequest {
            pod: None,
            ..annotated_request()
        },
    ] {
        let answer = connection.call(plugin::CREATE_CONTAINER, &request).await;
        assert_eq!(answer, Ok(api::CreateContainerResponse::default()));
    }
    let request = api::CreateContainerRequest {
        container: None,
        ..annotated_request()
    };
    let answer = connection.call(plugin::CREATE_CONTAINER, &request).await;
    let answer: api::CreateContainerResponse = answer.unwrap();
    assert_eq!(answer.adjust.unwrap().mounts.len(), 2);
}

// containerd/containerd#13184: containerd never calls Shutdown, only the socket drops.
#[tokio::test]
async fn containerd_13184_a_runtime_that_goes_is_waited_for_whether_it_says_so_or_not() {
    let runtime = RawRuntime::listen();
    let _plugin = Plugin::start(runtime.socket_path(), &[]).await;
    for says_so in [true, false] {
        let connection = registered(&runtime).await;
        if says_so {
            connection
                .call::<api::Empty>(plugin::SHUTDOWN, &api::Empty {})
                .await
                .unwrap();
        }
        drop(connection);
        assert_eq!(mounts(&registered(&runtime).await).await, 2);
    }
}

// containerd/nri#78, containerd/containerd#10085: registration and event waited for one another.
#[tokio::test]
async fn containerd_nri_78_a_container_may_be_created_while_the_runtime_synchronizes() {
    let runtime = RawRuntime::listen();
    let plugin = Plugin::start(runtime.socket_path(), &[]).await;
    let mut connection = runtime.accept().await;
    let (_, registration) = connection.registration().await;
    registration.reply(Ok(Vec::new()));
    connection.configure().await;
    let part = api::SynchronizeRequest {
        more: true,
        ..Default::default()
    };
    let synchronizing = connection.call::<api::SynchronizeResponse>(plugin::SYNCHRONIZE, &part);
    let (synchronized, mounts) = tokio::join!(synchronizing, mounts(&connection));
    assert!(synchronized.unwrap().more);
    assert_eq!(mounts, 2);

    plugin.signal(Signal::TERM);
    let call = connection.next_call().await;
    assert!(call.is_none(), "it only ever registers: {call:?}");
}

// containerd/containerd#12650, cri-o/cri-o#9128: CDI devices were dropped without a word.
#[tokio::test]
async fn containerd_12650_a_runtime_that_drops_cdi_devices_gets_none_and_that_is_said_once() {
    let spec = tempfile::NamedTempFile::new().unwrap();
    let device = "kind: nvml-mock.nvidia.com/gpu\ndevices: [{name: all}]";
    std::fs::write(spec.path(), device).unwrap();
    let spec = format!("--cdi-spec-host-path={}", spec.path().display());
    for (name, version, cdi_devices, said) in [
        ("containerd", "1.7.24~ds1", 0, 1),
        ("containerd", "v2.0.7", 0, 1),
        ("containerd", "v2.3.4", 1, 0),
        ("cri-o", "1.33.13", 0, 1),
        ("cri-o", "1.34.11", 1, 0),
    ] {
        let runtime = RawRuntime::listen();
        let flags = ["--device-injection-mode=cdi", &spec];
        let mut plugin = Plugin::start(runtime.socket_path(), &flags).await;
        let mut connection = runtime.accept().await;
        let (_, registration) = connection.registration().await;
        registration.reply(Ok(Vec::new()));
        connection.configure_as(name, version).await;
        for _ in 0..3 {
            assert_eq!(adjust(&connection).await.cdi_devices.len(), cdi_devices);
        }
        plugin.signal(Signal::TERM);
        let lines = plugin.log_until("stopped").await;
        let warning =
            "the runtime drops CDI devices from an adjustment, raw device nodes are used instead";
        let warned = lines
            .iter()
            .filter(|line| line["msg"] == warning && line["level"] == "warn");
        assert_eq!(warned.count(), said, "{lines:#?}");
    }
}

#[tokio::test]
async fn a_path_that_cri_o_sets_twice_is_warned_of_once_and_not_for_each_container() {
    for (name, said) in [("cri-o", 1), ("containerd", 3)] {
        let runtime = RawRuntime::listen();
        let mut plugin = Plugin::start(runtime.socket_path(), &[]).await;
        let mut connection = runtime.accept().await;
        let (_, registration) = connection.registration().await;
        registration.reply(Ok(Vec::new()));
        connection.configure_as(name, "1.37.0").await;
        let mut container = container("c");
        container.env = vec!["PATH=/crio".to_owned(), "PATH=/image".to_owned()];
        let request = api::CreateContainerRequest {
            pod: Some(annotated_pod()),
            container: Some(container),
        };
        for _ in 0..3 {
            let created =
                connection.call::<api::CreateContainerResponse>(plugin::CREATE_CONTAINER, &request);
            let path = created.await.unwrap().adjust.unwrap().env.remove(0);
            assert!(path.value.ends_with(":/image"), "{path:?}");
        }
        plugin.signal(Signal::TERM);
        let lines = plugin.log_until("stopped").await;
        let warned = lines
            .iter()
            .filter(|line| line.to_string().contains("PATH"));
        assert_eq!(warned.count(), said, "{lines:#?}");
    }
}

// moby/moby#51674, #51511: dockerd fills in little of a request, and refuses containers over what it cannot apply.
#[tokio::test]
async fn moby_51674_a_container_of_dockerd_is_left_as_it_is() {
    let runtime = RawRuntime::listen();
    let _plugin = Plugin::start(runtime.socket_path(), &[]).await;
    let mut connection = runtime.accept().await;
    let (_, registration) = connection.registration().await;
    registration.reply(Ok(Vec::new()));
    let docker = api::ConfigureRequest {
        runtime_name: "docker".into(),
        runtime_version: "29.1.3".into(),
        ..Default::default()
    };
    let configured = connection.call::<api::ConfigureResponse>(plugin::CONFIGURE, &docker);
    assert_eq!(configured.await.unwrap().events, 8);
    // It has no pods: each container stands for its own, and has what annotations there are.
    let request = api::CreateContainerRequest {
        pod: Some(api::PodSandbox {
            id: "1234".into(),
            name: "/loving_lamport".into(),
            ..Default::default()
        }),
        container: Some(api::Container {
            id: "1234".into(),
            pod_sandbox_id: "1234".into(),
            name: "/loving_lamport".into(),
            annotations: annotated_pod().annotations,
            env: vec!["PATH=/bin".into()],
            linux: Some(api::LinuxContainer::default()),
            ..Default::default()
        }),
    };
    let answer = connection.call(plugin::CREATE_CONTAINER, &request).await;
    assert_eq!(answer, Ok(api::CreateContainerResponse::default()));
}
