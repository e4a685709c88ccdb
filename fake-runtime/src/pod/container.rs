//! The container of a request.

use nri_proto::api::{
    Container, Hooks, LinuxContainer, LinuxDeviceCgroup, LinuxNamespace, LinuxResources, User,
};

use super::manifest::{Pod, PodContainer};
use super::sandbox::{Sandbox, deny_all, made_up_id, namespace, owned, sandbox_namespace};
use super::{Simulation, allocation, mounts, resources};

/// What a request says of `container`. It has GPUs where `allocated` says how they are handed over.
pub(super) fn container(
    pod: &Pod,
    sandbox: &Sandbox,
    container: &PodContainer,
    simulation: &Simulation,
    allocated: Option<&Simulation>,
) -> Container {
    let PodSandboxNames {
        id: sandbox_id,
        namespace,
        name,
        uid,
    } = names(sandbox);
    let id = made_up_id(&[namespace, name, &container.name]);
    let labels = [
        ("io.cri-containerd.kind", "container"),
        ("io.kubernetes.container.name", &container.name),
        ("io.kubernetes.pod.name", name),
        ("io.kubernetes.pod.namespace", namespace),
        ("io.kubernetes.pod.uid", uid),
    ];
    let annotations = [
        ("io.kubernetes.container.restartCount", "0"),
        ("io.kubernetes.cri.container-name", &container.name),
        ("io.kubernetes.cri.container-type", "container"),
        ("io.kubernetes.cri.image-name", &container.image),
        ("io.kubernetes.cri.sandbox-id", sandbox_id),
        ("io.kubernetes.cri.sandbox-name", name),
        ("io.kubernetes.cri.sandbox-namespace", namespace),
        ("io.kubernetes.cri.sandbox-uid", uid),
    ];
    let mut message = Container {
        pod_sandbox_id: sandbox_id.to_owned(),
        name: container.name.clone(),
        labels: labels.map(owned).into(),
        annotations: annotations.map(owned).into(),
        args: container
            .command
            .iter()
            .chain(&container.args)
            .cloned()
            .collect(),
        env: env(pod, container, simulation),
        mounts: mounts::mounts(pod, container, sandbox_id, uid),
        hooks: Some(Hooks::default()),
        linux: Some(linux(pod, container, &format!("{}/{id}", sandbox.cgroup))),
        user: simulation
            .profile
            .requests
            .user
            .then(|| user(pod, container)),
        id,
        ..Container::default()
    };
    if let Some(simulation) = allocated {
        allocation::allocate(&mut message, container, simulation);
    }
    message
}

struct PodSandboxNames<'a> {
    id: &'a str,
    namespace: &'a str,
    name: &'a str,
    uid: &'a str,
}

fn names(sandbox: &Sandbox) -> PodSandboxNames<'_> {
    let it = &sandbox.message;
    PodSandboxNames {
        id: &it.id,
        namespace: &it.namespace,
        name: &it.name,
        uid: &it.uid,
    }
}

/// The image's, with HOSTNAME after its PATH, then the manifest's. Only PATH is replaced rather than repeated.
fn env(pod: &Pod, container: &PodContainer, simulation: &Simulation) -> Vec<String> {
    let hostname = pod.spec.hostname.as_ref().unwrap_or(&pod.metadata.name);
    let is_path = |item: &&String| item.starts_with("PATH=");
    let image_path = simulation.image_env.iter().find(is_path);
    let mut env: Vec<String> = image_path.into_iter().cloned().collect();
    if container.tty {
        env.push("TERM=xterm".to_owned());
    }
    env.push(format!("HOSTNAME={hostname}"));
    env.extend(
        simulation
            .image_env
            .iter()
            .filter(|item| !is_path(item))
            .cloned(),
    );
    for variable in &container.env {
        let given = variable.value_from.as_ref().map(|_| "<from elsewhere>");
        let value = variable.value.as_deref().or(given).unwrap_or_default();
        let item = format!("{}={value}", variable.name);
        match env
            .iter_mut()
            .find(|other| variable.name == "PATH" && is_path(&&**other))
        {
            Some(path) => *path = item,
            None => env.push(item),
        }
    }
    env
}

fn linux(pod: &Pod, container: &PodContainer, cgroup: &str) -> LinuxContainer {
    let privileged = container.security_context.privileged == Some(true);
    let everything = LinuxDeviceCgroup {
        allow: true,
        ..deny_all()
    };
    LinuxContainer {
        namespaces: namespaces(pod),
        resources: Some(LinuxResources {
            memory: Some(resources::memory(&container.resources)),
            cpu: Some(resources::cpu(&container.resources)),
            devices: vec![if privileged { everything } else { deny_all() }],
            ..LinuxResources::default()
        }),
        cgroups_path: cgroup.to_owned(),
        ..LinuxContainer::default()
    }
}

fn namespaces(pod: &Pod) -> Vec<LinuxNamespace> {
    let shared_pid = pod.spec.share_process_namespace || pod.spec.host_pid;
    vec![
        if shared_pid {
            sandbox_namespace("pid", "pid")
        } else {
            namespace("pid", "")
        },
        sandbox_namespace("ipc", "ipc"),
        sandbox_namespace("uts", "uts"),
        namespace("mount", ""),
        sandbox_namespace("network", "net"),
    ]
}

fn user(pod: &Pod, container: &PodContainer) -> User {
    let (pod, own) = (&pod.spec.security_context, &container.security_context);
    let gid = own.run_as_group.or(pod.run_as_group).unwrap_or_default();
    User {
        uid: own.run_as_user.or(pod.run_as_user).unwrap_or_default(),
        gid,
        additional_gids: [gid]
            .into_iter()
            .chain(pod.supplemental_groups.iter().copied())
            .collect(),
    }
}
