//! Started by the runtime itself, with the connection passed on.

use std::fs;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Output, Stdio};

use nri_proto::api::{
    ConfigureRequest, ConfigureResponse, ContainerAdjustment, CreateContainerRequest,
    CreateContainerResponse, PodSandbox, plugin,
};
use nri_proto::wire::Status;

use crate::plugin::{annotated_pod, container, get, soon};
use crate::raw_runtime::Connection;

/// A plugin that a runtime started.
struct Prelaunched {
    connection: Connection,
    ended: tokio::task::JoinHandle<Output>,
}

/// What is the same for all: nothing of the test's own environment, as in containerd.
async fn prelaunched(args: &[&str], variables: &[(&str, &str)]) -> Prelaunched {
    let (plugins, runtimes) = UnixStream::pair().unwrap();
    runtimes.set_nonblocking(true).unwrap();
    let connection = Connection::new(tokio::net::UnixStream::from_std(runtimes).unwrap());
    // The connection is descriptor 0, which a test can pass on without unsafe code; containerd uses 3.
    let child = Command::new(env!("CARGO_BIN_EXE_nri-plugin"))
        .args(args)
        .env_clear()
        .env("NRI_PLUGIN_SOCKET", "0")
        .env("NRI_PLUGIN_NAME", "given-name")
        .env("NRI_PLUGIN_IDX", "42")
        .envs(variables.iter().copied())
        .current_dir("/")
        .stdin(OwnedFd::from(plugins))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let ended = tokio::task::spawn_blocking(|| child.wait_with_output().unwrap());
    Prelaunched { connection, ended }
}

impl Prelaunched {
    /// Takes it through its registration, with `configuration` as the text of its file.
    async fn register(&mut self, configuration: &str) {
        let (_, registration) = self.connection.registration().await;
        registration.reply(Ok(Vec::new()));
        assert_eq!(self.configure(configuration).await.events, 8);
    }

    async fn configure(&self, configuration: &str) -> ConfigureResponse {
        let request = ConfigureRequest {
            config: configuration.into(),
            runtime_name: "containerd".into(),
            runtime_version: "v1.7.24".into(),
            ..Default::default()
        };
        let configured = self.connection.call(plugin::CONFIGURE, &request).await;
        configured.unwrap()
    }

    /// What a container of `pod` gets.
    async fn adjustment(&self, pod: PodSandbox) -> Option<ContainerAdjustment> {
        let request = CreateContainerRequest {
            pod: Some(pod),
            container: Some(container("main")),
        };
        let answer: CreateContainerResponse = self
            .connection
            .call(plugin::CREATE_CONTAINER, &request)
            .await
            .unwrap();
        answer.adjust
    }

    /// Closes the connection, and gives what it printed by its end.
    async fn closed(self) -> Output {
        drop(self.connection);
        soon("the plugin's end", self.ended).await.unwrap()
    }

    /// The same, as the log's lines.
    async fn log(self) -> String {
        String::from_utf8(self.closed().await.stdout).unwrap()
    }
}

/// Where the first of an adjustment's mounts is.
fn overlay(adjustment: Option<ContainerAdjustment>) -> Option<String> {
    let mount = adjustment?.mounts.into_iter().next();
    mount.map(|mount| mount.destination)
}

#[tokio::test]
async fn it_registers_on_the_inherited_descriptor_as_it_is_told() {
    let mut plugin = prelaunched(&["--socket-path=/nowhere/nri.sock"], &[]).await;
    let (told, registration) = plugin.connection.registration().await;
    assert_eq!(
        (told.plugin_idx.as_str(), told.plugin_name.as_str()),
        ("42", "given-name")
    );
    registration.reply(Ok(Vec::new()));
    assert_eq!(plugin.configure("").await.events, 8);
    plugin.closed().await;
}

// containerd/nri#74, #108: it ended with status 0.
#[tokio::test]
async fn containerd_nri_74_losing_the_only_connection_ends_the_process_and_says_so() {
    let mut plugin = prelaunched(&[], &[]).await;
    plugin.register("").await;
    let output = plugin.closed().await;
    assert_eq!(output.status.code(), Some(1));
    let why = "lost the connection to the runtime: the peer closed the connection";
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        format!("nri-plugin: {why}\n")
    );
    // Its stderr is /dev/null where containerd starts it.
    assert!(String::from_utf8(output.stdout).unwrap().contains(why));
}

#[tokio::test]
async fn containers_are_injected_as_the_runtimes_configuration_of_the_plugin_says() {
    let mut plugin = prelaunched(&[], &[]).await;
    let configuration = "\
# As an administrator writes it.
overlay-mount-path: /mnt/gpu
excluded-namespaces:
  - kube-system
  - batch
plugin-index: 07
compute-domain-staging: true
node-name:
";
    plugin.register(configuration).await;
    let injected = plugin.adjustment(annotated_pod()).await;
    assert_eq!(overlay(injected).as_deref(), Some("/mnt/gpu"));
    let excluded = PodSandbox {
        namespace: "batch".into(),
        ..annotated_pod()
    };
    assert_eq!(plugin.adjustment(excluded).await, None);
}

#[tokio::test]
async fn without_a_configuration_it_injects_by_its_defaults() {
    for configuration in ["", "# nothing\n", "{}"] {
        let mut plugin = prelaunched(&[], &[]).await;
        plugin.register(configuration).await;
        let injected = plugin.adjustment(annotated_pod()).await;
        assert_eq!(overlay(injected).as_deref(), Some("/opt/nvml-mock"));
    }
}

#[tokio::test]
async fn a_flag_wins_over_its_variable_and_that_over_the_configuration() {
    let configuration =
        "{overlay-mount-path: /c, device-annotation: c/c, infiniband-annotation: c/c}";
    let variables = [
        ("MOKKA_NRI_OVERLAY_MOUNT_PATH", "/v"),
        ("MOKKA_NRI_DEVICE_ANNOTATION", "v/v"),
    ];
    let mut plugin = prelaunched(&["--overlay-mount-path=/f"], &variables).await;
    plugin.register(configuration).await;
    let log = plugin.log().await;
    for (field, value) in [
        ("overlay_mount_path", "/f"),
        ("device_annotation", "v/v"),
        ("infiniband_annotation", "c/c"),
        (
            "imex_channel_annotation",
            "nvml-mock.nvidia.com/imex-channels",
        ),
    ] {
        assert!(
            log.contains(&format!("\"{field}\":\"{value}\"")),
            "{field}: {log}"
        );
    }
}

/// The plugin of a DaemonSet, which has the port, is on the same node.
#[tokio::test]
async fn it_has_no_probes_unless_they_are_configured() {
    let mut plugin = prelaunched(&[], &[]).await;
    plugin.register("").await;
    assert!(!plugin.log().await.contains("serving the probes"));
    let mut plugin = prelaunched(&[], &[]).await;
    plugin.register("health-addr: 127.0.0.1:0").await;
    assert!(plugin.log().await.contains("serving the probes"));
}

/// Registers, is told `configuration`, and then injects nothing and does not end. Returns the log.
async fn injects_nothing(mut plugin: Prelaunched, configuration: &str) -> String {
    plugin.register(configuration).await;
    assert_eq!(
        plugin.adjustment(annotated_pod()).await,
        None,
        "{configuration}"
    );
    assert!(!plugin.ended.is_finished());
    plugin.log().await
}

// containerd 1.7 does not start over a plugin that it started and that ends early.
#[tokio::test]
async fn a_broken_configuration_does_not_keep_the_runtime_from_starting_and_is_logged() {
    for (configuration, why) in [
        (
            "overlay-host-path: ov",
            "invalid --overlay-host-path \\\"ov\\\": not an absolute path",
        ),
        (
            "overlay-hostpath: /ov",
            "unknown flag \\\"--overlay-hostpath\\\", did you mean --overlay-host-path?",
        ),
        ("help: true", "unknown flag \\\"--help\\\""),
        ("node-name: [a, b]", "node-name takes one value, not a list"),
        ("node-name: {a: b}", "invalid type: map, expected a text"),
        ("- a", "expected mapping start at line 1"),
        (
            "a: b: c",
            "mapping values are not allowed in this context at line 1, column 5",
        ),
        (
            "node-name: a\nnode-name: b",
            "duplicate mapping key `node-name` is not allowed here at line 2",
        ),
        (
            "feature-gates: Nope=true",
            "unrecognized feature gate: Nope",
        ),
        ("log-level: loud", "invalid --log-level"),
        (
            "agent-staged-url: http://a",
            "--agent-staged-url needs --staging-lock-path",
        ),
        (
            "log-file: /dev/null/plugin.log",
            "cannot write the log to /dev/null/plugin.log",
        ),
    ] {
        let plugin = prelaunched(&[], &[]).await;
        let log = injects_nothing(plugin, configuration).await;
        let mut errors = log
            .lines()
            .filter(|line| line.contains("\"level\":\"error\""));
        let error = errors
            .next()
            .unwrap_or_else(|| panic!("{configuration}: {log}"));
        assert!(error.contains(why), "{configuration}: {error}");
    }
}

#[tokio::test]
async fn a_flag_that_cannot_be_read_is_no_reason_to_end_either() {
    let plugin = prelaunched(&["--nope"], &[]).await;
    let log = injects_nothing(plugin, "").await;
    assert!(log.contains("unknown flag"), "{log}");
}

#[tokio::test]
async fn a_probes_port_in_use_does_not_keep_the_runtime_from_starting_and_is_logged() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let plugin = prelaunched(&[], &[]).await;
    let log = injects_nothing(plugin, &format!("health-addr: {address}")).await;
    assert!(
        log.contains(&format!("cannot serve the probes at {address}")),
        "{log}"
    );
}

#[tokio::test]
async fn the_probes_say_what_is_wrong_with_the_configuration() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    let mut plugin = prelaunched(&[], &[]).await;
    let configuration = format!("health-addr: {address}\nplugin-index: 7");
    plugin.register(&configuration).await;
    let (status, body) = get(address, "/readyz").await;
    assert_eq!(status, 503);
    let reason = "not injecting new containers: invalid --plugin-index";
    assert!(body.contains(reason), "{body}");
    assert_eq!(get(address, "/healthz").await.0, 200);
}

/// A runtime that has refused it closes the connection, or may think better of it.
#[tokio::test]
async fn a_refused_registration_does_not_end_it_before_its_connection() {
    let mut plugin = prelaunched(&[], &[]).await;
    let (_, registration) = plugin.connection.registration().await;
    registration.reply(Err(Status::new(nri_proto::wire::Code::UNKNOWN, "no")));
    assert_eq!(plugin.configure("").await.events, 8);
    plugin.closed().await;
}

#[tokio::test]
async fn it_logs_to_the_configured_file_also_what_is_wrong_with_the_rest() {
    for (rest, msg) in [
        ("", "starting"),
        ("plugin-index: 7", "no container is injected"),
        ("- not a mapping", "no container is injected"),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("made/plugin.log");
        let mut plugin = prelaunched(&[], &[]).await;
        let configuration = format!("log-file: {}\n{rest}\n", file.display());
        plugin.register(&configuration).await;
        assert_eq!(plugin.log().await, "", "stdout");
        let log = fs::read_to_string(&file).unwrap();
        assert!(log.contains(&format!("\"msg\":\"{msg}\"")), "{rest}: {log}");
    }
}
