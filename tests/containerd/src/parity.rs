//! Whatever a test has containerd create, the fake runtime creates too, and does the same.

mod asked_for;

use fake_runtime::api::CreateContainerRequest;
use fake_runtime::host::Host;
use fake_runtime::oci::Spec;
use fake_runtime::pod::Node as SimulatedNode;
use fake_runtime::pod::containerd::Containerd as Simulated;
use fake_runtime::pod::cri::Device;
use fake_runtime::profile::Profile;
use fake_runtime::runtime::FakeRuntime;
use pretty_assertions::assert_eq;
use serde_json::Value;
use tonic::Status;

use crate::cri::v1;
use crate::node::{Node, PAUSE_IMAGE};
use crate::plugin::Plugin;
use crate::pod::Container;
use crate::recorder::Recorder;

/// Listens to containerd before and behind the plugin, and plays the same on a fake runtime with the same plugin
/// connected.
#[derive(Debug)]
pub(crate) struct Parity {
    before: Recorder,
    behind: Recorder,
    fake: FakeRuntime,
    _behind_at_fake: Recorder,
    profile: &'static Profile,
    host: Host,
    /// The node's host name.
    hostname: String,
}

/// A container as the test asked for it, and what came of it.
pub(crate) struct Creation<'a> {
    pub(crate) pod: &'a v1::PodSandboxConfig,
    pub(crate) container: &'a v1::ContainerConfig,
    /// What its image sets.
    pub(crate) image_env: Vec<String>,
    /// The OCI spec of the same container where the plugin leaves it alone.
    pub(crate) untouched: Value,
    pub(crate) created: Result<(&'a Container, Value), &'a Status>,
}

impl Parity {
    /// Starts listening beside a node.
    ///
    /// # Panics
    ///
    /// When either runtime does not take the listeners, or nobody has measured this containerd.
    pub(crate) async fn beside(node: &Node) -> Self {
        let before = Recorder::start("05", node).await;
        let behind = Recorder::start("95", node).await;
        let profile = Profile::find(&before.runtime_version()).expect("a measured containerd");
        let host = Host::with_cdi_dirs(&[node.overlay().join("cdi")]);
        let fake = FakeRuntime::builder().profile(profile).host(host.clone());
        let fake = fake.start().await.expect("a fake runtime starts");
        let behind_at_fake = Recorder::connect("95", fake.socket_path()).await;
        registered(&fake, 1).await;
        Self {
            before,
            behind,
            fake,
            _behind_at_fake: behind_at_fake,
            profile,
            host,
            hostname: node.hostname().to_owned(),
        }
    }

    /// Starts the plugin once more, beside the fake runtime.
    ///
    /// # Panics
    ///
    /// When it is not registered in time.
    pub(crate) async fn plugin(&self, node: &Node, flags: &[&str]) -> Plugin {
        let registrations = self.fake.registration_count();
        let plugin = Plugin::launch_at(self.fake.socket_path(), &node.overlay(), flags);
        registered(&self.fake, registrations + 1).await;
        plugin
    }

    /// Creates on the fake runtime what was created on the real one.
    ///
    /// # Panics
    ///
    /// When anything is not the same: what plugins are asked, the OCI spec, or the refusal.
    pub(crate) async fn check(&self, creation: Creation<'_>) {
        let asked = self.before.last();
        self.check_request(&asked, &creation);
        let untouched: Spec =
            serde_json::from_value(creation.untouched).expect("an OCI spec is one");
        let faked = self
            .fake
            .create_container_of(asked.pod, asked.container, untouched)
            .await;
        let (faked, (container, real)) = match (faked, creation.created) {
            (Ok(faked), Ok(real)) => (faked, real),
            (Err(faked), Err(real)) => {
                assert_eq!(
                    faked.error.to_string(),
                    real.message(),
                    "fake and real refusal"
                );
                return;
            }
            (Ok(_), Err(real)) => panic!("only the real runtime refused the container: {real}"),
            (Err(faked), Ok(_)) => panic!("only the fake runtime refused the container: {faked}"),
        };
        assert_eq!(
            pretty(&serde_json::to_value(&faked.after).expect("a spec is JSON")),
            pretty(&real),
            "fake and real OCI spec"
        );
        let behind = self.behind.last();
        let id = behind.container.as_ref().map_or("", |it| it.id.as_str());
        assert_eq!(id, container.id(), "the plugin behind was asked");
        let asked = faked.asked.last().expect("the recorder was asked");
        assert_eq!(
            pretty(&json(&asked.request)),
            pretty(&json(&behind)),
            "what the next plugin is asked, by the fake and the real runtime"
        );
    }

    /// What plugins are asked is what the fake runtime makes of the same pod.
    fn check_request(&self, asked: &CreateContainerRequest, creation: &Creation<'_>) {
        let mut real = asked.clone();
        let node = SimulatedNode {
            pause_image: PAUSE_IMAGE.to_owned(),
            sandbox_pid: real.pod.as_ref().map_or(0, |pod| pod.pid),
            devices: devices(&real),
            cdi: Some(self.host.clone()),
            ..SimulatedNode::new(&self.hostname, 0)
        };
        let simulated = Simulated {
            profile: self.profile,
            node: &node,
        };
        let sandbox = asked_for::sandbox(creation.pod);
        let container = asked_for::container(creation.container);
        let simulated = simulated
            .create_container(&sandbox, &container, &creation.image_env)
            .expect("the CDI devices are on the node");
        // Of the filter behind the default profile only containerd knows.
        if let Some(linux) = real.container.as_mut().and_then(|it| it.linux.as_mut()) {
            linux.seccomp_policy = None;
        }
        assert_eq!(
            pretty(&without_ids(&simulated)),
            pretty(&without_ids(&real)),
            "what the first plugin is asked, by the fake and the real runtime"
        );
    }
}

async fn registered(fake: &FakeRuntime, count: usize) {
    let registrations = fake.registrations(count).await;
    registrations.expect("the fake runtime takes a plugin");
}

/// The devices of a container as those of the node: a privileged one has them all, and nothing else tells of them.
fn devices(request: &CreateContainerRequest) -> Vec<Device> {
    let linux = request.container.as_ref().and_then(|it| it.linux.as_ref());
    let devices = linux.map(|linux| linux.devices.iter());
    let devices = devices.into_iter().flatten();
    devices.map(Device::of_the_node).collect()
}

/// A request without the ids, which are random.
fn without_ids(request: &CreateContainerRequest) -> Value {
    let mut text = json(request).to_string();
    if let Some(container) = &request.container {
        text = text.replace(&container.id, "<id>");
        text = text.replace(&container.pod_sandbox_id, "<pod>");
    }
    serde_json::from_str(&text).expect("it is JSON still")
}

fn json(request: &CreateContainerRequest) -> Value {
    serde_json::to_value(request).expect("a request is JSON")
}

/// One line a value, so that a difference is shown by the line.
fn pretty(value: &Value) -> String {
    format!("{value:#}")
}
