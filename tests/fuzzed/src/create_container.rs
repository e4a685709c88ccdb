//! CreateContainer, from the request's bytes to the container's OCI spec.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::sync::LazyLock;

use fake_runtime::cdi::{CdiDevice, CdiSpec};
use fake_runtime::create::{Answer, create};
use fake_runtime::host::Host;
use fake_runtime::oci::Spec;
use fake_runtime::profile::{self, Profile};
use nri_plugin::config::{Config, DeviceInjectionMode};
use nri_plugin::convert::{self, Asked};
use nri_plugin::decide::{self, Adjustment, Decision, Gpu, Outcome, Runtime, Selection, Surfaces};
use nri_plugin::flags::{Flags, Invocation};
use nri_proto::api::{ContainerAdjustment, CreateContainerRequest, CreateContainerResponse};
use prost::Message as _;

use crate::world::World;

/// Each of these is given, or not, by a bit of the input.
const FLAGS: [&str; 8] = [
    "--device-injection-mode=cdi",
    "--node-name=node-1",
    "--compute-domain-staging",
    "--feature-gates=RequireStagedOverlay=true",
    "--feature-gates=RealDriverGuard=false",
    "--overlay-mount-path=/",
    "--topology-mount-path=/usr/bin/nvidia-imex.real",
    "--ld-preload-shims=a.so,/b.so",
];

/// A node where the CDI device is known that the plugin may name.
static HOST: LazyLock<Host> = LazyLock::new(|| {
    let device = CdiDevice {
        name: "all".to_owned(),
        ..CdiDevice::default()
    };
    let spec = CdiSpec {
        kind: "nvml-mock.nvidia.com/gpu".to_owned(),
        devices: vec![device],
        ..CdiSpec::default()
    };
    Host {
        cdi: vec![spec].into(),
        ..Host::default()
    }
});

/// The payload of a request, behind three bytes that choose the plugin's flags, what is staged, and the containerd.
pub fn create_container(data: &[u8]) {
    let Some(([flags, staged, version], payload)) = data.split_first_chunk() else {
        return;
    };
    let config = config(*flags);
    let profile = &profile::ALL[usize::from(*version) % profile::ALL.len()];
    let world = World {
        config: &config,
        bits: *staged,
    };
    let whole = CreateContainerRequest::decode(payload);
    let Ok(asked) = convert::asked(&config, payload) else {
        assert!(whole.is_err(), "a part is refused, and the whole taken");
        return;
    };
    let (selection, decision) = decide(world, profile, &asked);
    assert_eq!(
        decide(world, profile, &asked),
        (selection.clone(), decision.clone())
    );
    let adjustment = match decision.outcome {
        Outcome::Adjusted(adjustment) => adjustment,
        Outcome::Unmodified(_) | Outcome::Refused(_) => return,
        Outcome::Gated { .. } => panic!("there is no gate"),
    };
    let user_namespace = asked.container.as_ref().is_some_and(|it| it.user_namespace);
    is_within(&config, &selection, profile, user_namespace, &adjustment);
    if !convert::fits(&adjustment) {
        return;
    }
    let answer = convert::answer(Some(adjustment.clone()));
    let answer = CreateContainerResponse::decode(&*answer).expect("it is what was encoded");
    let answer = answer.adjust.expect("there is an adjustment");
    has_nothing_twice(&answer);
    if let Ok(request) = whole {
        assert_eq!(convert::asked(&config, &request.encode_to_vec()), Ok(asked));
        is_applied(world, profile, request, answer);
    }
}

fn config(bits: u8) -> Config {
    let given = FLAGS
        .iter()
        .enumerate()
        .filter(|(bit, _)| bits & 1 << bit != 0);
    match Flags::parse(given.map(|(_, flag)| OsString::from(flag)), |_| None) {
        Ok(Invocation::Run(flags)) => Config::resolve(*flags).expect("they go together"),
        other => panic!("{other:?} of flags that there are"),
    }
}

fn decide(world: World<'_>, profile: &Profile, asked: &Asked) -> (Selection, Decision) {
    let (pod, container) = (asked.pod.as_ref(), asked.container.as_ref());
    let selection = decide::select(world.config, pod, container);
    let runtime = Runtime::identify(profile.runtime, profile.runtime_version);
    let decision = decide::adjust(world.config, &selection, container, &world, runtime);
    (selection, decision)
}

/// Only what was selected is added, and only where it belongs.
fn is_within(
    config: &Config,
    selection: &Selection,
    profile: &Profile,
    user_namespace: bool,
    added: &Adjustment,
) {
    assert!(!added.is_empty());
    let surfaces = match selection {
        Selection::Inject(surfaces) => *surfaces,
        Selection::Daemon => Surfaces::default(),
        Selection::LeaveAlone { .. } => panic!("it was to be left alone"),
    };
    let overlay = &config.overlay_mount_path;
    let (mounts, keys): (Vec<_>, Vec<_>) = match selection {
        Selection::Daemon => (
            vec![
                "/usr/bin/nvidia-imex.real".to_owned(),
                config.topology_mount_path.to_string(),
            ],
            vec!["MOCK_TOPOLOGY_CONFIG"],
        ),
        _ if surfaces.need_overlay() => (
            vec![
                overlay.to_string(),
                overlay.join("driver/config").to_string(),
            ],
            vec![
                "PATH",
                "LD_LIBRARY_PATH",
                "LD_PRELOAD",
                "MOCK_NVML_CONFIG",
                "MOCK_PCI_ROOT",
                "GFD_MACHINE_TYPE_FILE",
                "NODE_NAME",
                "MOCK_TOPOLOGY_CONFIG",
                "MOCK_NVML_VISIBLE_DEVICES",
                "MOCK_IB",
                "MOCK_IB_ROOT",
                "MOCK_IB_PING_SOCKET",
            ],
        ),
        _ => Default::default(),
    };
    let every_gpu = surfaces.gpu == Some(Gpu::Management);
    let may_be_device = |path: &str| {
        let channel = path.starts_with("/dev/nvidia-caps-imex-channels/channel");
        let gpu = !channel && path.starts_with("/dev/nvidia");
        channel && surfaces.imex || gpu && every_gpu
    };
    assert!(added.mounts.iter().all(|mount| {
        let device = user_namespace && may_be_device(&mount.destination);
        device || mounts.contains(&mount.destination)
    }));
    assert!(!user_namespace || added.devices.is_empty());
    assert!(profile.adjust.device_rules && user_namespace || added.device_grants.is_empty());
    assert!(
        added
            .env
            .iter()
            .all(|(key, _)| keys.contains(&key.as_str()))
    );
    for device in &added.devices {
        assert!(may_be_device(&device.path), "{device:?}");
    }
    for name in &added.cdi_devices {
        assert_eq!(*name, config.cdi_device_name);
        let cdi = config.device_injection_mode == DeviceInjectionMode::Cdi;
        assert!(cdi && every_gpu && profile.adjust.cdi_devices);
    }
}

fn has_nothing_twice(answer: &ContainerAdjustment) {
    fn unique<'a>(names: impl Iterator<Item = &'a String>) -> bool {
        let mut seen = BTreeSet::new();
        { names }.all(|name| seen.insert(name))
    }
    let devices = answer.linux.iter().flat_map(|linux| &linux.devices);
    assert!(unique(answer.mounts.iter().map(|mount| &mount.destination)));
    assert!(unique(answer.env.iter().map(|variable| &variable.key)));
    assert!(unique(devices.map(|device| &device.path)));
    assert!(unique(answer.cdi_devices.iter().map(|device| &device.name)));
}

/// containerd takes the answer, the container has all of it, and a second copy of the plugin adds nothing.
fn is_applied(
    world: World<'_>,
    profile: &'static Profile,
    request: CreateContainerRequest,
    answer: ContainerAdjustment,
) {
    let container = request.container.clone().unwrap_or_default();
    let before = Spec::of(&container, profile);
    let answers = [
        (
            "10-first".to_owned(),
            Answer::Adjust(Box::new(answer.clone())),
        ),
        (
            "11-second".to_owned(),
            Answer::Lost("it only looks".to_owned()),
        ),
    ];
    let outcome = create(profile, request, before, &answers, &HOST);
    let (_, after) = outcome.result.expect("no answer fails a container");
    for mount in &answer.mounts {
        let mut mounts = after.mounts.iter();
        assert!(mounts.any(|it| it.destination().as_os_str() == mount.destination.as_str()));
    }
    for device in answer.linux.iter().flat_map(|linux| &linux.devices) {
        let mut devices = after.linux.devices.iter();
        assert!(
            devices
                .any(|it| (&it.path, it.major, it.minor)
                    == (&device.path, device.major, device.minor))
        );
    }
    for variable in &answer.env {
        // Of a key that the container has twice, the runtime replaces the first.
        let has = |item: &&String| {
            item.split_once('=')
                .is_some_and(|(key, _)| key == variable.key)
        };
        if container.env.iter().filter(has).count() > 1 {
            continue;
        }
        let item = format!("{}={}", variable.key, variable.value);
        assert!(after.process.env.contains(&item));
    }
    let seen = outcome.requests[1].encode_to_vec();
    let asked = convert::asked(world.config, &seen).expect("it is what was encoded");
    let (_, again) = decide(world, profile, &asked);
    assert!(matches!(again.outcome, Outcome::Unmodified(_)), "{again:?}");
}
