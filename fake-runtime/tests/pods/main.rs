//! Requests made of pods, held against what containerd and CRI-O really sent for the same pods.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot read its recordings has nothing better to do"
)]

mod asked;
mod corpus;
mod cri_o;
mod kubelet;

use std::path::PathBuf;

use fake_runtime::host::Host;
use fake_runtime::jsonl;
use fake_runtime::pod::containerd::Containerd;
use fake_runtime::pod::cri::Device;
use fake_runtime::pod::{self, Allocation, Node, Simulation, manifest};
use fake_runtime::profile::Profile;
use nri_proto::api::CreateContainerRequest;
use serde_json::Value;

const VERSIONS: [&str; 4] = ["1.7.24", "2.1.9", "2.2.7", "2.3.4"];
const IMAGE_ENV: [&str; 2] = ["PATH=/usr/bin:/bin", "FROM_IMAGE=yes"];

fn tests_file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../tests")
        .join(name)
}

/// Name and request of every container that was recorded, without what comes of the machine's own configuration:
/// its base spec (limits and hooks) and the filter behind its default seccomp profile.
fn recorded(runtime: &str) -> Vec<(String, CreateContainerRequest)> {
    let file = tests_file(&format!("recorded/requests-{runtime}.jsonl.gz"));
    let rows: Vec<Value> = jsonl::read(&file).unwrap();
    let created = rows
        .into_iter()
        .filter(|row| row["rpc"] == "CreateContainer");
    let request = |mut row: Value| {
        let mut request: CreateContainerRequest =
            serde_json::from_value(row["request"].take()).unwrap();
        let container = request.container.as_mut().unwrap();
        container.rlimits.clear();
        container.hooks = Some(Default::default());
        container.linux.as_mut().unwrap().seccomp_policy = None;
        (row["container"].as_str().unwrap().to_owned(), request)
    };
    created.map(request).collect()
}

/// What the machine of the recordings had.
fn host() -> Host {
    let text = std::fs::read_to_string(tests_file("applied/host.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// The node of the recordings, with what only the recording tells of it.
fn node(request: &CreateContainerRequest) -> Node {
    let mut host = host();
    for node in host.nodes.values_mut() {
        node.mode = 0o666;
    }
    let linux = request.container.as_ref().unwrap().linux.as_ref().unwrap();
    let devices = linux.devices.iter().map(Device::of_the_node);
    Node {
        pause_image: "localhost/pause:e2e".to_owned(),
        sandbox_pid: request.pod.as_ref().unwrap().pid,
        devices: devices.collect(),
        cdi: Some(host),
        ..Node::new("node-1", 0)
    }
}

/// Our ids in place of containerd's, which are random.
fn with_ids_of(played: &CreateContainerRequest, recorded: &CreateContainerRequest) -> Value {
    let mut text = serde_json::to_string(recorded).unwrap();
    let (ours, theirs) = (
        played.container.as_ref().unwrap(),
        recorded.container.as_ref().unwrap(),
    );
    for (theirs, ours) in [
        (&theirs.id, &ours.id),
        (&theirs.pod_sandbox_id, &ours.pod_sandbox_id),
    ] {
        text = text.replace(theirs, ours);
    }
    serde_json::from_str(&text).unwrap()
}

#[test]
fn every_recorded_request_is_what_its_pod_makes() {
    let image_env = IMAGE_ENV.map(str::to_owned);
    let mut compared = 0;
    for version in VERSIONS {
        let profile = Profile::find(version).unwrap();
        for (name, recorded) in recorded(&format!("containerd-{version}")) {
            let node = node(&recorded);
            let (sandbox, container) = asked::for_container(&name);
            let containerd = Containerd {
                profile,
                node: &node,
            };
            let played = containerd
                .create_container(&sandbox, &container, &image_env)
                .unwrap();
            let expected = with_ids_of(&played, &recorded);
            let got = serde_json::to_value(&played).unwrap();
            assert_eq!(
                format!("{got:#}"),
                format!("{expected:#}"),
                "{name} on {version}"
            );
            compared += 1;
        }
    }
    assert_eq!(compared, 4 * 23);
}

/// Where a kubelet mounts something of its own. It was not one that asked when this was recorded.
const OF_KUBELET: [&str; 3] = [
    "/etc/hosts",
    "/dev/termination-log",
    "/var/run/secrets/kubernetes.io/serviceaccount",
];

/// What a manifest determines of a request. The rest is the kubelet's: labels, annotations, limits, cgroups, and some
/// mounts and variables.
fn determined(request: &CreateContainerRequest) -> Value {
    let mut request = request.clone();
    let pod = request.pod.as_mut().unwrap();
    let annotated = pod.annotations.remove("nvml-mock.nvidia.com/devices");
    let container = request.container.as_mut().unwrap();
    let mounts = &mut container.mounts;
    mounts.retain(|mount| !OF_KUBELET.contains(&mount.destination.as_str()));
    container
        .env
        .retain(|item| !item.starts_with("KUBERNETES_"));
    let linux = container.linux.as_mut().unwrap();
    let rules = linux.resources.take().unwrap().devices;
    linux.oom_score_adj = None;
    linux.cgroups_path.clear();
    container.labels.clear();
    container.annotations.clear();
    let pod = (
        &pod.name,
        &pod.namespace,
        &pod.linux.as_ref().unwrap().namespaces,
        annotated,
    );
    serde_json::to_value((pod, &container, rules)).unwrap()
}

#[test]
fn manifests_make_what_was_recorded_for_the_same_pods() {
    let image_env = IMAGE_ENV.map(str::to_owned);
    let pods = manifest::read(&tests_file("../fake-runtime/tests/pods/recorded.yaml")).unwrap();
    let mut compared = 0;
    for version in VERSIONS {
        let profile = Profile::find(version).unwrap();
        let recorded = recorded(&format!("containerd-{version}"));
        for pod in &pods {
            for index in 0..pod.spec.init_containers.len() + pod.spec.containers.len() {
                let mut all = pod.spec.init_containers.iter().chain(&pod.spec.containers);
                let name = &all.nth(index).unwrap().name;
                let (_, recorded) = recorded.iter().find(|(it, _)| it == name).unwrap();
                let simulation = Simulation {
                    profile,
                    node: node(recorded),
                    image_env: image_env.to_vec(),
                    ..Simulation::default()
                };
                let played = pod::requests(pod, &simulation).unwrap();
                let expected: CreateContainerRequest =
                    serde_json::from_value(with_ids_of(&played[index], recorded)).unwrap();
                assert_eq!(
                    format!("{:#}", determined(&played[index])),
                    format!("{:#}", determined(&expected)),
                    "{name} on {version}"
                );
                compared += 1;
            }
        }
    }
    assert_eq!(compared, 4 * 9);
}

#[test]
fn a_cdi_device_without_mounts_leaves_those_that_there_are_in_their_order() {
    let manifest = "{kind: Pod, metadata: {name: p}, spec: {containers: [{name: c}]}}";
    let pods = manifest::parse(manifest).unwrap();
    for version in VERSIONS {
        let mounts = |cdi: &[&str]| {
            let simulation = Simulation {
                profile: Profile::find(version).unwrap(),
                allocation: Allocation {
                    cdi: cdi.iter().map(|&name| name.to_owned()).collect(),
                    ..Default::default()
                },
                ..Default::default()
            };
            let request = pod::requests(&pods[0], &simulation).unwrap().remove(0);
            request.container.unwrap().mounts
        };
        assert_eq!(
            mounts(&["k8s.gpu.nvidia.com/claim=c0"]),
            mounts(&[]),
            "{version}"
        );
    }
}

#[test]
fn cdi_names_are_told_from_containerd_2_3_on_and_their_nodes_always() {
    let manifest = "{kind: Pod, metadata: {name: p}, spec: {containers: [{name: c}]}}";
    let pods = manifest::parse(manifest).unwrap();
    for (version, names) in [("1.7", 0), ("2.2", 0), ("2.3", 1), ("HEAD", 1)] {
        let cdi = vec!["k8s.gpu.nvidia.com/claim=c0".to_owned()];
        let simulation = Simulation {
            profile: Profile::find(version).unwrap(),
            allocation: Allocation {
                cdi,
                ..Default::default()
            },
            ..Default::default()
        };
        let request = pod::requests(&pods[0], &simulation).unwrap().remove(0);
        let container = request.container.unwrap();
        assert_eq!(container.cdi_devices.len(), names, "{version}");
        assert_eq!(
            container.linux.unwrap().devices[0].path,
            "/dev/nvidia0",
            "{version}"
        );
    }
}
