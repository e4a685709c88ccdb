//! What was recorded of a case.

use std::collections::BTreeMap;
use std::path::Path;

use nri_proto::api::CreateContainerRequest;
use serde::Deserialize;
use serde_json::Value;

use super::error::{CasesError, json};
use crate::pod::cri::{Container, Device, Mount, Namespaces, PidNamespace, Resources, Sandbox};
use crate::pod::kubelet::Given;
use crate::pod::manifest::Propagation;

/// A call that a plugin got.
#[derive(Deserialize)]
pub(super) struct Row {
    rpc: String,
    pub(super) request: CreateContainerRequest,
}

impl Row {
    pub(super) fn is_about_a_container(&self) -> bool {
        self.rpc == "CreateContainer"
    }
}

/// A container that was asked for, and its pod.
pub(super) struct Asked {
    pub(super) sandbox: Sandbox,
    pub(super) container: Container,
}

/// What containerd kept of the calls of a case, by its ids.
pub(super) struct Cri(Value);

impl Cri {
    /// One that is not there is empty.
    pub(super) fn read(path: &Path) -> Result<Self, CasesError> {
        if path.is_file() {
            json(path).map(Self)
        } else {
            Ok(Self(Value::Null))
        }
    }

    fn config(&self, request: &CreateContainerRequest) -> Option<&Value> {
        let id = &request.container.as_ref()?.id;
        self.0["containers"].get(id)?.get("config")
    }

    /// The same, or that of another start of the same container.
    fn config_of_any(&self, request: &CreateContainerRequest) -> Option<&Value> {
        let container = request.container.as_ref()?;
        let is_it = |other: &&Value| {
            other["sandbox"] == container.pod_sandbox_id
                && other["config"]["metadata"]["name"] == container.name
        };
        let other = || {
            let mut all = self.0["containers"].as_object()?.values();
            all.find(is_it)?.get("config")
        };
        self.config(request).or_else(other)
    }

    /// What the kubelet asked for, of which this request came.
    pub(super) fn of(&self, request: &CreateContainerRequest) -> Option<Asked> {
        let container = Container {
            devices: self.given(request)?.devices,
            ..container(self.config(request)?)
        };
        let pod = &request.container.as_ref()?.pod_sandbox_id;
        let pod = self.0["sandboxes"].get(pod)?;
        let sandbox = Sandbox {
            runtime_handler: text(&pod["runtimeHandler"]),
            ..sandbox(&pod["config"])
        };
        Some(Asked { sandbox, container })
    }

    /// The devices that the container was given.
    pub(super) fn given(&self, request: &CreateContainerRequest) -> Option<Given> {
        let config = self.config_of_any(request)?;
        let shown = request.container.as_ref()?.linux.as_ref()?;
        let devices = items(&config["devices"]).map(|device| {
            let path = text(&device["container_path"]);
            let mut shown = shown.devices.iter();
            let shown = shown.find(|it| it.path == path);
            let shown = shown.map(Device::of_the_node);
            Device {
                permissions: text(&device["permissions"]),
                ..shown.unwrap_or(Device {
                    path,
                    kind: "c".to_owned(),
                    major: 0,
                    minor: 0,
                    mode: 0,
                    uid: 0,
                    gid: 0,
                    permissions: String::new(),
                })
            }
        });
        let names = items(&config["CDI_devices"]);
        Some(Given {
            devices: devices.collect(),
            cdi: names.map(|device| text(&device["name"])).collect(),
        })
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn texts(value: &Value) -> Vec<String> {
    items(value).map(text).collect()
}

fn map(value: &Value) -> BTreeMap<String, String> {
    let fields = value.as_object().into_iter().flatten();
    fields
        .map(|(key, value)| (key.clone(), text(value)))
        .collect()
}

/// The numbers of CRI's `NamespaceMode`.
const CONTAINER: u64 = 1;
const NODE: u64 = 2;
const TARGET: u64 = 3;

fn sandbox(config: &Value) -> Sandbox {
    let linux = &config["linux"];
    let options = &linux["security_context"]["namespace_options"];
    let metadata = &config["metadata"];
    let is_of_node = |name: &str| options[name].as_u64() == Some(NODE);
    let users = &options["userns_options"];
    Sandbox {
        name: text(&metadata["name"]),
        namespace: text(&metadata["namespace"]),
        uid: text(&metadata["uid"]),
        hostname: text(&config["hostname"]),
        log_directory: text(&config["log_directory"]),
        labels: map(&config["labels"]),
        annotations: map(&config["annotations"]),
        cgroup_parent: text(&linux["cgroup_parent"]),
        runtime_handler: String::new(),
        namespaces: Namespaces {
            host_network: is_of_node("network"),
            host_ipc: is_of_node("ipc"),
            own_users: users.is_object() && users["mode"].as_u64() != Some(NODE),
            pid: match options["pid"].as_u64() {
                Some(CONTAINER) => PidNamespace::Container,
                Some(NODE) => PidNamespace::Node,
                _ => PidNamespace::Pod,
            },
        },
        resources: Some(resources(&linux["resources"])),
        // One that is there and empty is none.
        overhead: Some(resources(&linux["overhead"])).filter(|it| *it != Resources::default()),
    }
}

fn container(config: &Value) -> Container {
    let linux = &config["linux"];
    let context = &linux["security_context"];
    let options = &context["namespace_options"];
    let is_targeted = options["pid"].as_u64() == Some(TARGET);
    let env = items(&config["envs"]);
    Container {
        name: text(&config["metadata"]["name"]),
        image: text(&config["image"]["user_specified_image"]),
        command: texts(&config["command"]),
        args: texts(&config["args"]),
        env: env
            .map(|it| (text(&it["key"]), text(&it["value"])))
            .collect(),
        mounts: items(&config["mounts"]).map(mount).collect(),
        cdi_devices: items(&config["CDI_devices"])
            .map(|it| text(&it["name"]))
            .collect(),
        labels: map(&config["labels"]),
        annotations: map(&config["annotations"]),
        sees_processes_of: is_targeted.then(|| text(&options["target_id"])),
        privileged: context["privileged"] == true,
        tty: config["tty"] == true,
        readonly_root: context["readonly_rootfs"] == true,
        resources: Resources {
            oom_score_adj: Some(number(&linux["resources"]["oom_score_adj"])),
            ..resources(&linux["resources"])
        },
        ..Container::default()
    }
}

fn mount(mount: &Value) -> Mount {
    Mount {
        container_path: text(&mount["container_path"]),
        host_path: text(&mount["host_path"]),
        readonly: mount["readonly"] == true,
        recursive_read_only: mount["recursive_read_only"] == true,
        image: text(&mount["image"]["user_specified_image"]),
        propagation: match mount["propagation"].as_u64() {
            Some(1) => Propagation::HostToContainer,
            Some(2) => Propagation::Bidirectional,
            _ => Propagation::None,
        },
    }
}

fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or_default()
}

fn resources(resources: &Value) -> Resources {
    let amount = |name: &str| number(&resources[name]);
    Resources {
        cpu_shares: amount("cpu_shares").unsigned_abs(),
        cpu_quota: amount("cpu_quota"),
        cpu_period: amount("cpu_period").unsigned_abs(),
        cpus: text(&resources["cpuset_cpus"]),
        mems: text(&resources["cpuset_mems"]),
        memory_limit: amount("memory_limit_in_bytes"),
        oom_score_adj: None,
    }
}
