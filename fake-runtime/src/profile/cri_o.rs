//! The versions of CRI-O that were measured. Each has the rules of the containerd with the same NRI library, and is
//! written as what CRI-O itself does in another way.

use super::containerd::{V1_7, V2_1, V2_2_0, V2_3};
use super::{Adjust, ErrorTexts, Life, Maker, Profile, Requests, Series};

/// What it calls itself.
pub(super) const NAME: &str = "cri-o";

/// What no version of it gives up to tell a CRI client.
const ERRORS: ErrorTexts = ErrorTexts {
    asking: "",
    plugin_status: false,
    adjusting: "failed to adjust container {id}: ",
    oci_runtime: "container create failed: ",
};

/// What every version does with an adjustment, whatever its NRI library.
const fn adjust(rules: Adjust) -> Adjust {
    Adjust {
        least_memory: Some(12 << 20),
        hugepage_limits: true,
        unknown_blockio_class: true,
        ..rules
    }
}

/// What every version sends, whatever its NRI library.
const fn requests(rules: Requests) -> Requests {
    Requests {
        maker: Maker::CriO,
        pids: true,
        container_name_from_label: true,
        runtime_path_annotation: "io.kubernetes.cri-o.PlatformRuntimePath",
        cdi_devices: false,
        seccomp_profile: false,
        seccomp_policy: false,
        rlimits: false,
        sandbox_image_annotation: false,
        runtime_type_label: false,
        ..rules
    }
}

/// Measured on 1.31.13: NRI 0.6.1.
pub(super) const V1_31: Profile = Profile {
    runtime: NAME,
    name: "1.31",
    series: Series::all(1, 31),
    runtime_version: "1.31.13",
    errors: ERRORS,
    life: Life::CRI_O,
    oci_runtime_in_create: true,
    requests: Requests {
        pids: false,
        ..requests(V1_7.requests)
    },
    adjust: adjust(V1_7.adjust),
    ..V1_7
};

/// Measured on 1.33.13: NRI 0.9.1-pre.
pub(super) const V1_33: Profile = Profile {
    runtime: NAME,
    name: "1.33",
    series: Series::all(1, 33),
    runtime_version: "1.33.13",
    nri_version: "v0.9.1-pre",
    events: 0x1fff,
    errors: ERRORS,
    life: Life::CRI_O,
    oci_runtime_in_create: true,
    requests: Requests {
        ..requests(V2_1.requests)
    },
    adjust: Adjust {
        cdi_devices: false,
        ..adjust(V2_1.adjust)
    },
    ..V2_1
};

/// Measured on 1.34.11: NRI 0.10.0, CDI 1.0.1.
pub(super) const V1_34: Profile = Profile {
    runtime: NAME,
    name: "1.34",
    series: Series::all(1, 34),
    runtime_version: "1.34.11",
    errors: ERRORS,
    life: Life::CRI_O,
    oci_runtime_in_create: true,
    requests: requests(V2_2_0.requests),
    adjust: adjust(V2_2_0.adjust),
    ..V2_2_0
};

/// Measured on 1.37.0: NRI 0.12.0, CDI 1.1.0.
pub(super) const V1_37: Profile = Profile {
    runtime: NAME,
    name: "1.37",
    series: Series::all(1, 37),
    runtime_version: "1.37.0",
    errors: ERRORS,
    life: Life::CRI_O,
    oci_runtime_in_create: true,
    requests: Requests {
        container_name_from_label: false,
        runtime_path_annotation: "platform-runtime-path.crio.io",
        ..requests(V2_3.requests)
    },
    adjust: Adjust {
        time_namespace: true,
        ..adjust(V2_3.adjust)
    },
    ..V2_3
};
