//! The manifests in `deploy/`: each rule that a node relies on.

#![expect(
    clippy::unwrap_used,
    reason = "a manifest that cannot be read fails every test of it"
)]

use std::fs;
use std::path::Path;

use clap::Parser as _;
use nri_plugin::config::Config;
use nri_plugin::flags::Flags;
use serde_json::{Value, json};

const MANIFESTS: [&str; 2] = ["base/daemonset.yaml", "sidecar/sidecar.yaml"];

fn yaml(path: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("deploy")
        .join(path);
    let text = fs::read_to_string(&path).unwrap();
    serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The pod of the plugin by itself, and that of the node agent with the plugin as a sidecar.
fn pods() -> [Value; 2] {
    MANIFESTS.map(|path| yaml(path)["spec"]["template"]["spec"].take())
}

fn container(pod: &Value) -> &Value {
    let containers = pod["containers"].as_array().unwrap();
    let mut containers = containers.iter();
    let container = containers.find(|container| container["name"] == "nri-plugin");
    container.expect("the pod has the plugin's container")
}

/// What the plugin makes of its command line there.
fn config(pod: &Value) -> Config {
    let args = container(pod)["args"].as_array().unwrap().iter();
    let args = args.map(|arg| arg.as_str().unwrap());
    let flags = Flags::try_parse_from(args).unwrap();
    Config::resolve(flags).unwrap()
}

/// The plugin's mount that holds `path`.
fn mount(pod: &Value, path: impl AsRef<Path>) -> &Value {
    let path = path.as_ref();
    let mounts = container(pod)["volumeMounts"].as_array().unwrap();
    let holds = |mount: &&Value| path.starts_with(mount["mountPath"].as_str().unwrap());
    let mount = mounts.iter().find(holds);
    mount.unwrap_or_else(|| panic!("nothing is mounted at {}", path.display()))
}

/// Name and source of each volume that is a directory of the node.
fn node_directories(pod: &Value) -> Vec<(&Value, &Value)> {
    let volumes = pod["volumes"].as_array().unwrap().iter();
    let volumes = volumes.map(|volume| (&volume["name"], &volume["hostPath"]));
    let directories: Vec<_> = volumes.filter(|(_, path)| !path.is_null()).collect();
    assert!(directories.len() > 1, "the pod has directories of the node");
    directories
}

#[test]
fn it_runs_as_root_without_any_other_right() {
    for pod in pods() {
        assert_eq!(
            container(&pod)["securityContext"],
            json!({
                "runAsUser": 0,
                "runAsGroup": 0,
                "allowPrivilegeEscalation": false,
                "readOnlyRootFilesystem": true,
                "capabilities": { "drop": ["ALL"] },
                "seccompProfile": { "type": "RuntimeDefault" },
            })
        );
        for right in ["hostNetwork", "hostPID", "hostIPC"] {
            assert!(pod[right].is_null(), "{right}");
        }
    }
}

/// A pod of its own asks for none. In the node agent's pod, which may have one, a volume of the container at the
/// token's place keeps Kubernetes from mounting it there.
#[test]
fn it_has_no_service_account_token() {
    let [pod, agents] = pods();
    assert_eq!(pod["automountServiceAccountToken"], false);
    let token = mount(&agents, "/var/run/secrets/kubernetes.io/serviceaccount");
    let volumes = agents["volumes"].as_array().unwrap();
    let mut volumes = volumes.iter();
    let volume = volumes.find(|volume| volume["name"] == token["name"]);
    assert_eq!(volume.unwrap()["emptyDir"], json!({}));
}

#[test]
fn the_sockets_directory_is_mounted_and_can_be_written_to() {
    for pod in pods() {
        let mount = mount(&pod, config(&pod).socket_path);
        assert!(!mount["mountPath"].as_str().unwrap().ends_with(".sock"));
        assert!(
            mount["subPath"].is_null(),
            "that would be the socket itself"
        );
        assert!(mount["readOnly"].is_null());
    }
}

#[test]
fn what_is_staged_is_mounted_where_the_plugin_looks_and_read_only() {
    for pod in pods() {
        let config = config(&pod);
        assert_eq!(mount(&pod, &config.overlay_host_path)["readOnly"], true);
        assert_eq!(mount(&pod, &config.cdi_spec_host_path)["readOnly"], true);
        if let Some(gate) = config.staging_gate {
            assert_eq!(mount(&pod, gate.lock_path)["readOnly"], true);
        }
    }
}

/// The plugin names files to the runtime by the path that it knows them by.
#[test]
fn directories_of_the_node_are_mounted_at_their_own_paths() {
    for pod in pods() {
        for (volume, directory) in node_directories(&pod) {
            let path = directory["path"].as_str().unwrap();
            let mount = mount(&pod, path);
            assert_eq!(mount["mountPath"], path);
            assert_eq!(mount["name"], *volume);
        }
    }
}

#[test]
fn nri_plugins_163_a_directory_that_the_node_lacks_is_made() {
    for pod in pods() {
        for (volume, directory) in node_directories(&pod) {
            assert_eq!(directory["type"], "DirectoryOrCreate", "{volume}");
        }
    }
}

#[test]
fn the_probes_are_where_the_plugin_serves_them() {
    for pod in pods() {
        let container = container(&pod);
        let live = &container["livenessProbe"]["httpGet"];
        let ready = &container["readinessProbe"]["httpGet"];
        assert_eq!(live["path"], "/healthz");
        assert_eq!(ready["path"], "/readyz");
        let port = config(&pod).health_addr.unwrap().port;
        for probe in [live, ready] {
            assert_eq!(probe["port"], container["ports"][0]["name"]);
        }
        assert_eq!(container["ports"][0]["containerPort"], port);
    }
}

// Its registration takes a moment, and each probe that comes sooner is an event of the pod.
#[test]
fn a_plugin_that_starts_is_not_reported_as_unhealthy() {
    for pod in pods() {
        let delay = container(&pod)["readinessProbe"]["initialDelaySeconds"].as_u64();
        assert!(delay.is_some_and(|seconds| seconds >= 2), "{delay:?}");
    }
}

/// A probe that gives up before the plugin has asked the node agent would fail for the wrong reason.
#[test]
fn a_probe_waits_longer_than_the_staging_gate_does() {
    for pod in pods() {
        for probe in ["livenessProbe", "readinessProbe"] {
            assert_eq!(container(&pod)[probe]["timeoutSeconds"], 2);
        }
    }
}

#[test]
fn the_nodes_name_comes_from_kubernetes() {
    for pod in pods() {
        assert_eq!(
            container(&pod)["env"],
            json!([{
                "name": "NODE_NAME",
                "valueFrom": { "fieldRef": { "fieldPath": "spec.nodeName" } },
            }])
        );
    }
}

#[test]
fn it_is_on_every_node_and_stays_there() {
    let [pod, _] = pods();
    assert_eq!(pod["priorityClassName"], "system-node-critical");
    assert_eq!(pod["tolerations"], json!([{ "operator": "Exists" }]));
}

/// A plugin without enough processor time misses its deadlines, and the containers go without it.
#[test]
fn its_memory_is_limited_and_its_processor_time_is_not() {
    for pod in pods() {
        let resources = &container(&pod)["resources"];
        assert_eq!(resources["limits"], json!({ "memory": "32Mi" }));
        assert_eq!(
            resources["requests"],
            json!({ "cpu": "5m", "memory": "8Mi" })
        );
    }
}

// containerd/containerd#14083: plugins that came and went while a container took long to stop froze the node.
#[test]
fn containerd_14083_an_update_starts_the_new_plugin_before_it_ends_the_old_one() {
    let [base, _] = MANIFESTS.map(yaml);
    assert_eq!(
        base["spec"]["updateStrategy"]["rollingUpdate"],
        json!({ "maxSurge": 1, "maxUnavailable": 0 })
    );
}

#[test]
fn containerd_14083_the_plugin_itself_does_not_take_long_to_stop() {
    let [pod, _] = pods();
    assert_eq!(pod["terminationGracePeriodSeconds"], 5);
}

// NVIDIA/gpu-operator#2514: a directory that was mounted and not needed kept the pod off immutable hosts.
#[test]
fn gpu_operator_2514_nothing_is_mounted_but_what_the_plugin_looks_at() {
    for pod in pods() {
        let config = config(&pod);
        let lock_path = config.staging_gate.map(|gate| gate.lock_path.to_string());
        let looked_at = [
            Some(config.socket_path),
            Some(config.overlay_host_path.to_string()),
            Some(config.cdi_spec_host_path.to_string()),
            lock_path,
        ];
        // Volumes that the manifest does not name are the node agent's, which are directories of the node too.
        let volumes = pod["volumes"].as_array().unwrap();
        let is_empty = |name: &Value| {
            let mut volumes = volumes.iter();
            volumes.any(|volume| volume["name"] == *name && !volume["emptyDir"].is_null())
        };
        let mounts = container(&pod)["volumeMounts"].as_array().unwrap().iter();
        for mount in mounts.filter(|mount| !is_empty(&mount["name"])) {
            let directory = mount["mountPath"].as_str().unwrap();
            let mut paths = looked_at.iter().flatten();
            assert!(
                paths.any(|path| Path::new(path).starts_with(directory)),
                "{directory}"
            );
        }
        for (volume, _) in node_directories(&pod) {
            let mut mounts = container(&pod)["volumeMounts"].as_array().unwrap().iter();
            assert!(mounts.any(|mount| mount["name"] == *volume), "{volume}");
        }
    }
}

#[test]
fn the_base_is_in_a_namespace_that_the_plugin_leaves_alone() {
    let [pod, _] = pods();
    let base = yaml("base/kustomization.yaml");
    let namespace = base["namespace"].as_str().unwrap();
    assert!(config(&pod).excluded_namespaces.contains(namespace));
    assert_eq!(base["resources"], json!(["daemonset.yaml"]));
}

#[test]
fn the_sidecar_is_a_patch_of_a_daemon_set() {
    let component = yaml("sidecar/kustomization.yaml");
    assert_eq!(component["kind"], "Component");
    assert_eq!(component["patches"][0]["path"], "sidecar.yaml");
    assert_eq!(component["patches"][0]["target"]["kind"], "DaemonSet");
}

/// The init container of `deploy/installed`, and the pod's volumes that it brings.
fn installer() -> (Value, Value) {
    let mut pod = yaml("installed/installed.yaml")["spec"]["template"]["spec"].take();
    let containers = pod["initContainers"].as_array().unwrap();
    assert_eq!(containers.len(), 1);
    (containers[0].clone(), pod["volumes"].take())
}

/// What the runtime's plugin is configured to by it.
fn installed_config() -> Config {
    let (installer, _) = installer();
    let args = installer["args"].as_array().unwrap().iter();
    let mut args = args.map(|arg| arg.as_str().unwrap());
    assert_eq!(args.next(), Some("install"));
    Config::resolve(Flags::try_parse_from(args).unwrap()).unwrap()
}

#[test]
fn the_installed_plugin_is_the_same_as_the_daemon_sets() {
    let [pod, _] = pods();
    let installed = installed_config();
    let expected = Config {
        log_file: installed.log_file.clone(),
        ..config(&pod)
    };
    assert_eq!(installed, expected);
    let (installer, _) = installer();
    assert_eq!(
        installer["env"],
        container(&pod)["env"],
        "variables are installed too"
    );
    for field in ["image", "securityContext", "resources"] {
        assert_eq!(installer[field], container(&pod)[field], "{field}");
    }
}

/// Its stdout is nobody's; and below /run nothing is left of it after a reboot.
#[test]
fn the_installed_plugin_logs_below_run() {
    let log = installed_config().log_file.unwrap();
    assert!(log.as_str().starts_with("/run/"), "{log}");
}

/// A file is renamed from there into the directory that the runtime reads, which a mount of its own would prevent.
#[test]
fn the_installer_has_the_directories_above_those_that_the_runtime_reads() {
    let (installer, volumes) = installer();
    let mounts = installer["volumeMounts"].as_array().unwrap().iter();
    let paths: Vec<_> = mounts
        .map(|mount| mount["mountPath"].as_str().unwrap())
        .collect();
    assert_eq!(paths, ["/opt/nri", "/etc/nri"]);
    for (volume, path) in volumes.as_array().unwrap().iter().zip(paths) {
        let directory = json!({ "path": path, "type": "DirectoryOrCreate" });
        assert_eq!(volume["hostPath"], directory);
    }
}

#[test]
fn the_way_back_removes_what_was_installed() {
    let uninstalled = yaml("uninstalled/kustomization.yaml");
    assert_eq!(uninstalled["resources"], json!(["../installed"]));
    let patch = uninstalled["patches"][0]["patch"].as_str().unwrap();
    let patch: Value = serde_saphyr::from_str(patch).unwrap();
    assert_eq!(
        patch[0]["path"],
        "/spec/template/spec/initContainers/0/args"
    );
    let args = patch[0]["value"].as_array().unwrap().iter();
    let mut args = args.map(|arg| arg.as_str().unwrap());
    assert_eq!(args.next(), Some("uninstall"));
    let removed = Config::resolve(Flags::try_parse_from(args).unwrap()).unwrap();
    let installed = installed_config();
    assert_eq!(removed.plugin_name, installed.plugin_name);
    assert_eq!(removed.plugin_index, installed.plugin_index);
}
