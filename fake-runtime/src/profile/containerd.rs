//! The versions of containerd that were measured, each written as what changed since the one before.

use super::{
    Adjust, CdiInjection, Configure, ConflictStyle, Cri, ErrorTexts, Fate, Life, Maker, Profile,
    Requests, Series,
};

/// What it calls itself.
pub(super) const NAME: &str = "containerd";

/// Measured on 1.7.24: NRI 0.6.1.
pub(super) const V1_7: Profile = Profile {
    runtime: NAME,
    name: "1.7",
    series: Series::all(1, 7),
    runtime_version: "1.7.24~ds1",
    nri_version: "v0.6.1",
    oci_version: "1.2.0",
    configure: Configure {
        timeouts: false,
        nri_version: false,
    },
    events: 0x7ff,
    strict_plugin_names: false,
    lifecycle_calls: false,
    splits_synchronize: false,
    synchronizes_preinstalled: false,
    stopped_pod_spec: false,
    validators: false,
    requests: Requests {
        maker: Maker::Containerd,
        pids: false,
        container_name_from_label: false,
        runtime_path_annotation: "",
        unified: false,
        seccomp_profile: false,
        scheduling: false,
        seccomp_policy: false,
        sysctl: false,
        cdi_devices: false,
        user: false,
        rlimits: false,
        image: false,
        sandbox_image_annotation: false,
        runtime_type_label: false,
        container_times: false,
    },
    conflicts: ConflictStyle::Words,
    errors: ErrorTexts {
        asking: "failed to create containerd container: failed to get NRI adjustment for container: ",
        plugin_status: true,
        adjusting: "failed to create containerd container: failed to NRI-adjust container Spec: ",
        oci_runtime: "",
    },
    life: Life::CONTAINERD,
    removal_reserves: false,
    oci_runtime_in_create: false,
    adjust: Adjust {
        cdi_devices: false,
        least_memory: None,
        hugepage_limits: false,
        unknown_blockio_class: false,
        mount_removal: false,
        oom_score_adj: false,
        pids: false,
        negative_pids_limit: false,
        args: false,
        io_priority: false,
        seccomp_policy: false,
        seccomp_errno: Fate::Ignored,
        namespaces: false,
        time_namespace: false,
        device_rules: false,
        sysctl: Fate::Ignored,
        net_devices: false,
        scheduler: false,
        rdt: false,
        memory_policy: false,
    },
    cdi: CdiInjection {
        host_file_mode: false,
        replaces_env: false,
        sorts_mounts_by_path: true,
    },
    cri: Cri {
        recursive_read_only: false,
        user_namespaces: false,
        supplemental_groups_policy: false,
        image_volumes: false,
        cdi_devices: false,
        image_as_asked: false,
    },
};

/// Measured on 2.1.9: NRI 0.8.0, CDI 1.0.1.
pub(super) const V2_1: Profile = Profile {
    name: "2.1",
    series: Series::all(2, 1),
    runtime_version: "2.1.9+unknown",
    nri_version: "v0.8.0",
    oci_version: "1.2.1",
    configure: Configure {
        timeouts: true,
        ..V1_7.configure
    },
    splits_synchronize: true,
    synchronizes_preinstalled: true,
    stopped_pod_spec: true,
    requests: Requests {
        sandbox_image_annotation: true,
        ..V1_7.requests
    },
    adjust: Adjust {
        cdi_devices: true,
        mount_removal: true,
        oom_score_adj: true,
        pids: true,
        negative_pids_limit: true,
        ..V1_7.adjust
    },
    cdi: CdiInjection {
        sorts_mounts_by_path: false,
        ..V1_7.cdi
    },
    cri: Cri {
        recursive_read_only: true,
        user_namespaces: true,
        supplemental_groups_policy: true,
        image_volumes: true,
        cdi_devices: true,
        image_as_asked: true,
    },
    ..V1_7
};

/// NRI 0.10.0, CDI 1.0.1.
pub(super) const V2_2_0: Profile = Profile {
    name: "2.2.0",
    series: Series {
        major: 2,
        minor: 2,
        patches: (0, 0),
    },
    runtime_version: "v2.2.0",
    nri_version: "v0.10.0",
    events: 0x3fff,
    validators: true,
    requests: Requests {
        unified: true,
        ..V2_1.requests
    },
    conflicts: ConflictStyle::FieldNames,
    removal_reserves: true,
    adjust: Adjust {
        args: true,
        io_priority: true,
        seccomp_policy: true,
        seccomp_errno: Fate::KillsRuntime,
        namespaces: true,
        device_rules: true,
        ..V2_1.adjust
    },
    ..V2_1
};

/// 2.2.1 and on, measured on 2.2.7: NRI 0.11.0, CDI 1.1.0.
pub(super) const V2_2: Profile = Profile {
    name: "2.2",
    series: Series {
        major: 2,
        minor: 2,
        patches: (1, u32::MAX),
    },
    runtime_version: "v2.2.7",
    nri_version: "v0.11.0",
    oci_version: "1.3.0",
    requests: Requests {
        seccomp_profile: true,
        scheduling: true,
        ..V2_2_0.requests
    },
    adjust: Adjust {
        negative_pids_limit: false,
        sysctl: Fate::KillsRuntime,
        net_devices: true,
        scheduler: true,
        rdt: true,
        ..V2_2_0.adjust
    },
    cdi: CdiInjection {
        host_file_mode: true,
        ..V2_2_0.cdi
    },
    ..V2_2_0
};

/// Measured on 2.3.0 and 2.3.4, which answer alike: NRI 0.12.0, CDI 1.1.0.
pub(super) const V2_3: Profile = Profile {
    name: "2.3",
    series: Series::all(2, 3),
    runtime_version: "v2.3.4",
    nri_version: "v0.12.0",
    configure: Configure {
        nri_version: true,
        ..V2_2.configure
    },
    strict_plugin_names: true,
    lifecycle_calls: true,
    requests: Requests {
        seccomp_policy: true,
        sysctl: true,
        cdi_devices: true,
        user: true,
        rlimits: true,
        runtime_type_label: true,
        container_times: true,
        ..V2_2.requests
    },
    adjust: Adjust {
        seccomp_errno: Fate::Applied,
        sysctl: Fate::Applied,
        memory_policy: true,
        ..V2_2.adjust
    },
    ..V2_2
};

/// The main branch on its way to 2.4: NRI 0.12.2, CDI 1.1.1-pre.
pub(super) const HEAD: Profile = Profile {
    name: "HEAD",
    series: Series::all(2, 4),
    runtime_version: "v2.4.0-beta.0-70-g301026e58",
    nri_version: "v0.12.2",
    requests: Requests {
        image: true,
        ..V2_3.requests
    },
    adjust: Adjust {
        time_namespace: true,
        ..V2_3.adjust
    },
    cdi: CdiInjection {
        replaces_env: true,
        ..V2_3.cdi
    },
    ..V2_3
};
