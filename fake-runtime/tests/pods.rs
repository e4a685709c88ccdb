//! Requests made from Pod manifests, held against those that containerd really sent for the same.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot read its recordings has nothing better to do"
)]

use std::path::{Path, PathBuf};

use fake_runtime::jsonl;
use fake_runtime::pod::{Pod, Simulation, requests};
use fake_runtime::profile::Profile;
use nri_proto::api::CreateContainerRequest;
use serde_json::{Value, json};

const VERSIONS: [&str; 4] = ["1.7.24", "2.1.9", "2.2.7", "2.3.4"];

/// The pods that were asked for when the recordings were made, as far as a manifest can say it. The recordings come
/// without a kubelet, hence without what that adds.
const PODS: &[&str] = &[
    r#"
kind: Pod
metadata: { name: pod-plain, uid: uid-pod-plain }
spec:
  hostname: node-1
  volumes:
  - { name: data, hostPath: { path: /var/lib/e2e/data } }
  - { name: overlay, hostPath: { path: /var/lib/e2e/overlay } }
  containers:
  - { name: plain, image: 'localhost/busybox:e2e', command: [/bin/sleep], args: ['1000000'] }
  - name: argv
    image: localhost/busybox:e2e
    command: [/bin/sh, -c]
    args: ['echo "$A $B"; sleep 1000000', x y]
    env: [{ name: A, value: '1' }]
    tty: true
  - name: env-forms
    image: localhost/busybox:e2e
    command: [/bin/sleep, '1000000']
    env:
    - { name: PATH, value: '/custom:/bin' }
    - { name: EMPTY }
    - { name: EQ, value: a=b=c }
    - { name: NL, value: 'l1

        l2' }
    - { name: DUP, value: '1' }
    - { name: DUP, value: '2' }
    - { name: FROM_IMAGE, value: 'no' }
    - { name: UTF, value: é✓ }
    - { name: LD_PRELOAD, value: /lib/x.so }
    - { name: A.B-C, value: odd key }
  - name: mounts
    image: localhost/busybox:e2e
    command: [/bin/sleep, '1000000']
    volumeMounts:
    - { name: data, mountPath: /data }
    - { name: data, mountPath: /data-ro, readOnly: true }
    - { name: data, mountPath: /data-slave, mountPropagation: HostToContainer }
    - { name: data, mountPath: /data-selinux }
    - { name: overlay, mountPath: /opt/nvml-mock, readOnly: true }
"#,
    r#"
kind: Pod
metadata: { name: pod-privileged, uid: uid-pod-privileged }
spec:
  hostname: node-1
  volumes:
  - { name: dev, hostPath: { path: /dev } }
  - { name: nri, hostPath: { path: /var/lib/e2e/data } }
  containers:
  - name: privileged-mounts
    image: localhost/busybox:e2e
    command: [/bin/sleep, '1000000']
    securityContext: { privileged: true }
    volumeMounts:
    - { name: dev, mountPath: /host-dev, mountPropagation: Bidirectional }
    - { name: nri, mountPath: /run/nri }
  - name: unprivileged-in-privileged-pod
    image: localhost/busybox:e2e
    command: [/bin/sleep, '1000000']
"#,
    r#"
kind: Pod
metadata: { name: pod-resources, uid: uid-pod-resources }
spec:
  hostname: node-1
  securityContext: { supplementalGroups: [2000, 3000] }
  containers:
  - name: user
    image: localhost/busybox:e2e
    command: [/bin/sleep, '1000000']
    securityContext: { runAsUser: 1000, runAsGroup: 1000, readOnlyRootFilesystem: true }
"#,
    r#"
kind: Pod
metadata:
  name: pod-multi
  namespace: kube-system
  uid: 66666666-0000-0000-0000-000000000006
  labels: { k8s-app: multi }
  annotations: { nvml-mock.nvidia.com/devices: 'true' }
spec:
  hostname: node-1
  initContainers:
  - { name: init, image: 'localhost/busybox:e2e', command: [/bin/true] }
  containers:
  - { name: app, image: 'localhost/busybox:e2e', command: [/bin/sleep, '1000000'] }
  - name: sidecar
    image: localhost/busybox:e2e
    command: [/bin/sleep, '1000000']
    env: [{ name: LD_LIBRARY_PATH, value: /usr/lib }]
"#,
    r#"
kind: Pod
metadata: { name: pod-sharedpid, uid: uid-pod-sharedpid }
spec:
  hostname: node-1
  shareProcessNamespace: true
  containers:
  - { name: sharedpid, image: 'localhost/busybox:e2e', command: [/bin/sleep, '1000000'] }
"#,
    r#"
kind: Pod
metadata: { name: pod-hostns, uid: uid-pod-hostns }
spec:
  hostname: node-1
  hostPID: true
  hostIPC: true
  containers:
  - { name: hostipc-hostpid, image: 'localhost/busybox:e2e', command: [/bin/sleep, '1000000'] }
"#,
];

fn recording(version: &str) -> PathBuf {
    let file = format!("../tests/recorded/requests-containerd-{version}.jsonl.gz");
    Path::new(env!("CARGO_MANIFEST_DIR")).join(file)
}

fn simulation(version: &str) -> Simulation {
    Simulation {
        profile: Profile::find(version).unwrap(),
        image_env: vec!["PATH=/usr/bin:/bin".into(), "FROM_IMAGE=yes".into()],
        ..Simulation::default()
    }
}

/// What a manifest and a CRI call without a kubelet have in common, with what is made up by either made alike.
fn common(request: &CreateContainerRequest) -> Value {
    let (pod, container) = (
        request.pod.as_ref().unwrap(),
        request.container.as_ref().unwrap(),
    );
    let text = serde_json::to_string(request).unwrap();
    let text = text
        .replace(&container.id, "<CID>")
        .replace(&pod.id, "<SID>")
        .replace(&format!("/proc/{}/", pod.pid), "/proc/<PID>/");
    let request: Value = serde_json::from_str(&text).unwrap();
    let (pod, container) = (&request["pod"], &request["container"]);
    let keyed = |map: &Value, by: fn(&str) -> bool| -> Value {
        let map = map.as_object().cloned().unwrap_or_default();
        map.into_iter().filter(|(key, _)| by(key)).collect()
    };
    let annotation = |key: &str| {
        // Host paths and the pause image are the node's.
        ![
            "io.kubernetes.cri.sandbox-log-directory",
            "io.kubernetes.cri.podsandbox.image-name",
        ]
        .contains(&key)
            && !key.starts_with("io.kubernetes.cri.sandbox-cpu")
            && !key.starts_with("io.kubernetes.cri.sandbox-memory")
            && !key.starts_with("io.kubernetes.container.")
    };
    let label = |key: &str| !key.starts_with("io.kubernetes.");
    let devices = |resources: &Value| resources["devices"].clone();
    json!({
        "container": {
            "annotations": keyed(&container["annotations"], annotation),
            "args": container["args"],
            "env": container["env"],
            "hooks": container["hooks"],
            "labels": keyed(&container["labels"], label),
            "mounts": container["mounts"],
            "name": container["name"],
            "user": container["user"],
            "namespaces": container["linux"]["namespaces"],
            "device rules": devices(&container["linux"]["resources"]),
        },
        "pod": {
            "annotations": keyed(&pod["annotations"], annotation),
            "labels": keyed(&pod["labels"], label),
            "name": pod["name"],
            "namespace": pod["namespace"],
            "namespaces": pod["linux"]["namespaces"],
            "resources": pod["linux"]["resources"],
            "id": pod["id"],
        },
    })
}

fn recorded(version: &str, container: &str) -> CreateContainerRequest {
    let rows: Vec<Value> = jsonl::read(&recording(version)).unwrap();
    let row = rows
        .into_iter()
        .find(|row| row["container"] == container)
        .unwrap();
    serde_json::from_value(row["request"].clone()).unwrap()
}

#[test]
fn a_manifest_gives_the_requests_that_containerd_sent_for_it() {
    let mut compared = 0;
    for version in VERSIONS {
        for manifest in PODS {
            for request in requests(&Pod::read(manifest).unwrap(), &simulation(version)) {
                let name = &request.container.as_ref().unwrap().name;
                let mut recorded = recorded(version, name);
                // The manifests leave the uid of this one to the recording.
                let pod = recorded.pod.as_mut().unwrap();
                pod.uid.clone_from(&request.pod.as_ref().unwrap().uid);
                assert_same(version, &common(&recorded), &common(&request));
                compared += 1;
            }
        }
    }
    assert_eq!(compared, 12 * VERSIONS.len());
}

fn assert_same(version: &str, recorded: &Value, made: &Value) {
    if recorded != made {
        let diff = similar::TextDiff::from_lines(format!("{recorded:#}"), format!("{made:#}"))
            .unified_diff()
            .header("recorded", "made")
            .to_string();
        panic!("{version}, {}:\n{diff}", recorded["container"]["name"]);
    }
}

const GPU_POD: &str = r"
kind: Pod
metadata: { name: gpu }
spec:
  initContainers: [{ name: init }]
  containers:
  - { name: asks, resources: { limits: { nvidia.com/gpu: 2 } } }
  - { name: does-not }
";

/// Paths of each container's devices.
fn devices(simulation: &Simulation) -> Vec<(String, Vec<String>)> {
    let requests = requests(&Pod::read(GPU_POD).unwrap(), simulation);
    requests
        .into_iter()
        .map(|request| {
            let container = request.container.unwrap();
            let devices = container.linux.unwrap().devices;
            (
                container.name,
                devices.into_iter().map(|device| device.path).collect(),
            )
        })
        .collect()
}

#[test]
fn a_container_gets_the_gpus_that_its_limit_asks_for() {
    let gpus = devices(&Simulation::default());
    let expected = ["/dev/nvidia0", "/dev/nvidia1", "/dev/nvidiactl"].map(ToOwned::to_owned);
    assert_eq!(gpus[0], ("init".into(), vec![]));
    assert_eq!(gpus[1], ("asks".into(), expected.into()));
    assert_eq!(gpus[2], ("does-not".into(), vec![]));
}

#[test]
fn gpus_by_option_go_to_every_regular_container() {
    let gpus = devices(&Simulation {
        gpus: Some(1),
        ..Simulation::default()
    });
    let with: Vec<_> = gpus
        .iter()
        .filter(|(_, devices)| devices.len() == 2)
        .collect();
    assert_eq!(with.len(), 2, "{gpus:?}");
}

#[test]
fn cdi_names_are_told_from_containerd_2_3_on_and_their_nodes_always() {
    for (version, names) in [("2.1", 0), ("2.2", 0), ("2.3", 1), ("HEAD", 1)] {
        let simulation = Simulation {
            profile: Profile::find(version).unwrap(),
            cdi: vec!["k8s.gpu.nvidia.com/claim=c0".into()],
            ..Simulation::default()
        };
        let request = requests(&Pod::read(GPU_POD).unwrap(), &simulation)
            .pop()
            .unwrap();
        let container = request.container.unwrap();
        assert_eq!(container.cdi_devices.len(), names, "{version}");
        assert_eq!(container.linux.unwrap().devices.len(), 1, "{version}");
    }
}

#[test]
fn what_is_no_pod_is_refused_by_its_kind() {
    let error = Pod::read("kind: Deployment\nspec: { replicas: 1 }").unwrap_err();
    assert_eq!(
        error.to_string(),
        r#"not a Pod manifest: its kind is "Deployment""#
    );
}
