//! The OCI runtime itself, on a container in a user namespace. It makes device nodes, so it runs as root.

#![expect(clippy::unwrap_used, reason = "a test has nothing better to do")]

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;
use std::process::{Command, Output};

use nri_plugin::config::Config;
use nri_plugin::convert;
use nri_plugin::decide::{self, Outcome, Runtime};
use nri_plugin::flags::{Flags, Invocation};
use nri_plugin::host::Host;
use nri_proto::api::{
    Container, ContainerAdjustment, CreateContainerRequest, LinuxContainer, LinuxNamespace,
    PodSandbox,
};
use prost::Message;
use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The user of the node that is root in the container.
const ROOT_INSIDE: u32 = 100_000;

/// An overlay and a root file system, which users that own none of it can look into.
struct Node(TempDir);

impl Node {
    fn new() -> Self {
        let node = Self(tempfile::tempdir().unwrap());
        let root = node.0.path();
        for directory in [
            "overlay/driver/config",
            "overlay/driver/dev/nvidia-caps-imex-channels",
            "bundle/rootfs/dev",
            "bundle/rootfs/opt/nvml-mock",
            "bundle/rootfs/proc",
            "bundle/rootfs/usr",
        ] {
            fs::create_dir_all(root.join(directory)).unwrap();
        }
        for (name, major, minor) in [
            ("nvidia0", 195, 0),
            ("nvidia-caps-imex-channels/channel0", 234, 0),
        ] {
            let path = root.join("overlay/driver/dev").join(name);
            let numbers = makedev(major, minor);
            mknodat(
                CWD,
                &path,
                FileType::CharacterDevice,
                Mode::empty(),
                numbers,
            )
            .unwrap();
            open_to_all(&path, 0o666);
        }
        let rootfs = root.join("bundle/rootfs");
        for directory in ["bin", "lib", "lib64"] {
            symlink(Path::new("usr").join(directory), rootfs.join(directory)).unwrap();
        }
        open_to_all(root, 0o755);
        chown(rootfs, Some(ROOT_INSIDE), Some(ROOT_INSIDE)).unwrap();
        node
    }

    /// What the plugin adds to a container in a user namespace that asks for GPUs and channels.
    fn adjustment(&self, runtime: Runtime) -> ContainerAdjustment {
        let overlay = self.0.path().join("overlay");
        let flag = format!("--overlay-host-path={}", overlay.display());
        let Ok(Invocation::Run(flags)) = Flags::parse([flag.into()], |_| None) else {
            panic!("{overlay:?} is taken");
        };
        let config = Config::resolve(*flags).unwrap();
        let asks = |surface| (format!("nvml-mock.nvidia.com/{surface}"), "true".to_owned());
        let namespace = LinuxNamespace {
            r#type: "user".to_owned(),
            ..Default::default()
        };
        let request = CreateContainerRequest {
            pod: Some(PodSandbox {
                annotations: ["devices", "imex-channels"].map(asks).into(),
                ..Default::default()
            }),
            container: Some(Container {
                linux: Some(LinuxContainer {
                    namespaces: vec![namespace],
                    ..Default::default()
                }),
                ..Default::default()
            }),
        };
        let asked = convert::asked(&config, &request.encode_to_vec()).unwrap();
        let (pod, container) = (asked.pod.as_ref(), asked.container.as_ref());
        let selection = decide::select(&config, pod, container);
        let decision = decide::adjust(&config, &selection, container, &Host::new(), runtime);
        match decision.outcome {
            Outcome::Adjusted(adjustment) => adjustment.into(),
            other => panic!("{other:?}"),
        }
    }

    /// Runs `script` in the container.
    fn run(&self, adjustment: ContainerAdjustment, script: &str) -> Output {
        let mounts = adjustment.mounts.into_iter().map(|mount| {
            json!({
                "destination": mount.destination,
                "type": mount.r#type,
                "source": mount.source,
                "options": mount.options,
            })
        });
        let system = json!([
            { "destination": "/proc", "type": "proc", "source": "proc" },
            { "destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["mode=755"] },
            { "destination": "/usr", "type": "bind", "source": "/usr", "options": ["rbind", "ro"] },
        ]);
        let mounts: Vec<Value> = system
            .as_array()
            .unwrap()
            .iter()
            .cloned()
            .chain(mounts)
            .collect();
        let linux = adjustment.linux.unwrap_or_default();
        let devices = linux.devices.into_iter().map(|device| {
            json!({ "path": device.path, "type": "c", "major": device.major, "minor": device.minor })
        });
        let rules = linux
            .resources
            .unwrap_or_default()
            .devices
            .into_iter()
            .map(|rule| {
                json!({
                    "allow": rule.allow,
                    "type": rule.r#type,
                    "major": rule.major.unwrap_or_default().value,
                    "minor": rule.minor.unwrap_or_default().value,
                    "access": rule.access,
                })
            });
        let nothing = json!({ "allow": false, "access": "rwm" });
        let rules: Vec<Value> = [nothing].into_iter().chain(rules).collect();
        let mapping = json!([{ "containerID": 0, "hostID": ROOT_INSIDE, "size": 65_536 }]);
        let namespaces = ["pid", "ipc", "uts", "mount", "user"].map(|kind| json!({ "type": kind }));
        let spec = json!({
            "ociVersion": "1.0.2",
            "process": {
                "user": { "uid": 1000, "gid": 1000 },
                "args": ["/bin/sh", "-c", script],
                "env": ["PATH=/bin"],
                "cwd": "/",
            },
            "root": { "path": "rootfs", "readonly": true },
            "mounts": mounts,
            "linux": {
                "namespaces": namespaces,
                "uidMappings": mapping,
                "gidMappings": mapping,
                "devices": devices.collect::<Vec<_>>(),
                "resources": { "devices": rules },
            },
        });
        let bundle = self.0.path().join("bundle");
        fs::write(bundle.join("config.json"), spec.to_string()).unwrap();
        let name = self.0.path().file_name().unwrap();
        Command::new("runc")
            .arg("--root")
            .arg(self.0.path().join("state"))
            .args(["run", "--bundle"])
            .args([bundle.as_os_str(), name])
            .output()
            .expect("runc is installed")
    }
}

fn open_to_all(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

const LOOK: &str = "stat -c '%n %F %t:%T %u' /dev/nvidia0 /dev/nvidia-caps-imex-channels/channel0; \
    head -c1 /dev/nvidia0";

#[test]
#[ignore = "needs root and runc: ci/test has them"]
fn a_container_in_a_user_namespace_starts_and_sees_its_nodes() {
    let node = Node::new();
    for (version, opened) in [
        ("2.1.9", "Operation not permitted"),
        // Nothing answers under the numbers, as everywhere without the mock's libraries.
        ("2.2.0", "No such device or address"),
    ] {
        let adjustment = node.adjustment(Runtime::identify("containerd", version));
        let output = node.run(adjustment, LOOK);
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            "/dev/nvidia0 character special file c3:0 65534\n\
             /dev/nvidia-caps-imex-channels/channel0 character special file ea:0 65534\n",
            "{output:?}"
        );
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.contains(opened), "{stderr}");
    }
}

/// Why it is given mounts: the day that this starts, nodes will do.
#[test]
#[ignore = "needs root and runc: ci/test has them"]
fn a_container_in_a_user_namespace_that_is_given_nodes_does_not_start() {
    let node = Node::new();
    let mut adjustment = node.adjustment(Runtime::UNKNOWN);
    let is_node = |destination: &str| destination.starts_with("/dev/");
    adjustment
        .mounts
        .retain(|mount| !is_node(&mount.destination));
    adjustment.linux.get_or_insert_default().devices = vec![nri_proto::api::LinuxDevice {
        path: "/dev/nvidia0".to_owned(),
        r#type: "c".to_owned(),
        major: 195,
        minor: 0,
        ..Default::default()
    }];
    let output = node.run(adjustment, "true");
    assert!(!output.status.success());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("/dev/nvidia0"), "{stderr}");
}
