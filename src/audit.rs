//! The bypass audit: which running containers should have the overlay and do not. They were created while
//! the plugin was away, and nothing else will ever say so.

use std::collections::HashMap;

use nri_proto::fields::{SYNCHRONIZE_CONTAINERS, SYNCHRONIZE_PODS};

use crate::config::Config;
use crate::convert::{self, Running};
use crate::decide::{self, Pod, Selection};

/// How many bypassed containers are named.
const NAMED: usize = 10;

/// What the parts of one Synchronize have shown so far. A part is 4 MiB at most and a node may take several,
/// so that of each container is kept only what cannot be decided yet.
#[derive(Debug, Default)]
pub struct Audit {
    pods: HashMap<String, Pod>,
    /// Containers whose pod has not been listed.
    without_pod: Vec<Running>,
    bypassed: Bypassed,
}

/// The containers that came up without the overlay.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bypassed {
    /// How many there are.
    pub count: usize,
    /// The first ten, as namespace/pod/container.
    pub names: Vec<String>,
}

impl Audit {
    /// Looks at one part, one container at a time. What cannot be read is passed over.
    pub fn add(&mut self, config: &Config, part: &[u8]) {
        // The pods first, wherever they stand.
        for pod in convert::listed(part, SYNCHRONIZE_PODS) {
            self.pods.extend(convert::listed_pod(config, pod));
        }
        for container in convert::listed(part, SYNCHRONIZE_CONTAINERS) {
            let Ok(Some(running)) = convert::running(container) else {
                continue;
            };
            if self.pods.contains_key(&running.pod_id) {
                self.look_at(config, &running);
            } else if let Some(undecided) = undecided(config, running) {
                self.without_pod.push(undecided);
            }
        }
    }

    /// The last part was added: what was found. The next one is a new list's first.
    pub fn finish(&mut self, config: &Config) -> Bypassed {
        let mut audit = std::mem::take(self);
        for running in std::mem::take(&mut audit.without_pod) {
            audit.look_at(config, &running);
        }
        audit.bypassed
    }

    fn look_at(&mut self, config: &Config, running: &Running) {
        let pod = self.pods.get(&running.pod_id);
        let selection = decide::select(config, pod, Some(&running.container));
        if !matches!(selection, Selection::Inject(surfaces) if surfaces.need_overlay()) {
            return;
        }
        self.bypassed.count += 1;
        if self.bypassed.names.len() < NAMED {
            let (namespace, name) = pod.map_or(("", ""), |pod| (&pod.namespace, &pod.name));
            self.bypassed
                .names
                .push(format!("{namespace}/{name}/{}", running.container.name));
        }
    }
}

/// Of a container whose pod is not known, what the pod will be asked about. `None` if the container is bypassed in no
/// pod: then it mounts the overlay, or has a volume that keeps it from getting one.
fn undecided(config: &Config, mut running: Running) -> Option<Running> {
    let asks_for_all = |annotation: &String| (annotation.clone(), "true".to_owned());
    let pod = Pod {
        annotations: [&config.device_annotation, &config.infiniband_annotation]
            .map(asks_for_all)
            .into(),
        ..Pod::default()
    };
    let container = &mut running.container;
    let selection = decide::select(config, Some(&pod), Some(container));
    if !matches!(selection, Selection::Inject(_)) {
        return None;
    }
    container.env = Vec::new();
    container.mounts = Vec::new();
    if decide::Evidence::of(container).is_none() {
        container.devices = Vec::new();
        container.device_rules = Vec::new();
        container.cdi_devices = Vec::new();
    }
    Some(running)
}

#[cfg(test)]
mod tests {
    use nri_proto::api;
    use prost::Message;

    use super::*;
    use crate::flags::Flags;

    fn config() -> Config {
        Config::resolve(Flags::default()).unwrap()
    }

    fn pod(id: &str, namespace: &str, annotation: &str) -> api::PodSandbox {
        api::PodSandbox {
            id: id.into(),
            name: format!("pod-{id}"),
            namespace: namespace.into(),
            annotations: [(annotation.to_owned(), "true".to_owned())].into(),
            ..Default::default()
        }
    }

    fn container(pod_id: &str, name: &str) -> api::Container {
        api::Container {
            pod_sandbox_id: pod_id.into(),
            name: name.into(),
            state: api::ContainerState::ContainerRunning.into(),
            ..Default::default()
        }
    }

    fn mounting_overlay(mut container: api::Container) -> api::Container {
        let destination = "/opt/nvml-mock/".into();
        container.mounts.push(api::Mount {
            destination,
            ..Default::default()
        });
        container
    }

    fn part(pods: Vec<api::PodSandbox>, containers: Vec<api::Container>) -> Vec<u8> {
        let request = api::SynchronizeRequest {
            pods,
            containers,
            more: false,
        };
        request.encode_to_vec()
    }

    const GPU: &str = "nvml-mock.nvidia.com/devices";
    const IMEX: &str = "nvml-mock.nvidia.com/imex-channels";

    fn audited(parts: &[Vec<u8>]) -> Bypassed {
        let (config, mut audit) = (config(), Audit::default());
        for part in parts {
            audit.add(&config, part);
        }
        audit.finish(&config)
    }

    #[test]
    fn a_container_that_should_mount_the_overlay_and_does_not_is_bypassed() {
        let found = audited(&[part(
            vec![pod("1", "default", GPU)],
            vec![
                container("1", "born-alone"),
                mounting_overlay(container("1", "injected")),
            ],
        )]);
        let names = vec!["default/pod-1/born-alone".to_owned()];
        assert_eq!(found, Bypassed { count: 1, names });
    }

    #[test]
    fn a_container_that_gets_no_overlay_is_not_bypassed() {
        let mut stopped = container("1", "stopped");
        stopped.state = api::ContainerState::ContainerStopped.into();
        let found = audited(&[part(
            vec![
                pod("1", "default", GPU),
                pod("2", "default", "unrelated"),
                pod("3", "default", IMEX),
                pod("4", "kube-system", GPU),
            ],
            vec![
                stopped,
                container("2", "plain"),
                container("3", "imex"),
                container("4", "excluded"),
            ],
        )]);
        assert_eq!(found, Bypassed::default());
    }

    #[test]
    fn a_container_that_another_copy_of_the_plugin_injected_is_not_bypassed() {
        let mut injected = container("1", "injected");
        injected.env = vec!["MOCK_PCI_ROOT=/elsewhere".into(), "PATH=/bin".into()];
        injected.mounts.push(api::Mount {
            destination: "/elsewhere".into(),
            source: "/var/lib/nvml-mock".into(),
            ..Default::default()
        });
        let found = audited(&[part(vec![pod("1", "default", GPU)], vec![injected])]);
        assert_eq!(found, Bypassed::default());
    }

    #[test]
    fn a_pod_may_be_listed_in_any_part() {
        let found = audited(&[
            part(
                vec![pod("1", "default", GPU)],
                vec![container("2", "early")],
            ),
            part(vec![pod("2", "default", GPU)], vec![container("1", "late")]),
        ]);
        let names = vec![
            "default/pod-1/late".to_owned(),
            "default/pod-2/early".to_owned(),
        ];
        assert_eq!(found, Bypassed { count: 2, names });
    }

    #[test]
    fn an_allocation_is_seen_without_the_pod() {
        let mut orphan = container("gone", "orphan");
        orphan.cdi_devices = vec![api::CdiDevice {
            name: "k8s.device-plugin.nvidia.com/gpu=0".into(),
        }];
        let found = audited(&[part(Vec::new(), vec![orphan])]);
        assert_eq!(
            found,
            Bypassed {
                count: 1,
                names: vec!["//orphan".into()]
            }
        );
    }

    #[test]
    fn ten_are_named_and_all_are_counted() {
        let containers = (0..12)
            .map(|number| container("1", &format!("c{number}")))
            .collect();
        let found = audited(&[part(vec![pod("1", "default", GPU)], containers)]);
        assert_eq!(found.count, 12);
        assert_eq!(found.names.len(), 10);
        assert_eq!(found.names[9], "default/pod-1/c9");
    }

    #[test]
    fn a_finished_audit_starts_anew() {
        let (config, mut audit) = (config(), Audit::default());
        let part = part(vec![pod("1", "n", GPU)], vec![container("1", "c")]);
        audit.add(&config, &part);
        assert_eq!(audit.finish(&config).count, 1);
        assert_eq!(audit.finish(&config), Bypassed::default());
    }
}
