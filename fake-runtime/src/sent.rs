//! Recorded requests: what real runtimes asked plugins, held against their profile.
//!
//! A row is a JSON object with the `rpc` and its `request`. Its Configure says whose recording it is.

use nri_proto::api::{
    ConfigureRequest, Container, CreateContainerRequest, PodSandbox, SynchronizeRequest,
};
use serde::Deserialize as _;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::profile::{Maker, Profile, REGISTRATION_TIMEOUT_MS, REQUEST_TIMEOUT_MS};

/// Why a row did not pass.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// It is not such a request, or one with a field that nobody here knows.
    #[error("{rpc}: {source}")]
    Unreadable {
        /// The method.
        rpc: String,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// The profile tells something else in Configure.
    #[error("Configure: {profile} tells {expected}")]
    Configure {
        /// The profile.
        profile: &'static Profile,
        /// What it tells.
        expected: Value,
    },
    /// It carries what the profile says it does not, or the other way round.
    #[error("{rpc}: {profile} should not send {field} as here")]
    Carries {
        /// The method.
        rpc: String,
        /// The profile.
        profile: &'static Profile,
        /// The field.
        field: &'static str,
    },
}

/// Whether a JSON object is such a row, judged by the fields it has.
pub fn is_row(object: &Value) -> bool {
    object.get("rpc").is_some() && object.get("request").is_some()
}

/// The runtime of a recording, by what it says of itself in this row, which has to be that of Configure.
pub fn runtime(row: &Value) -> Option<&'static Profile> {
    if row["rpc"] != "Configure" {
        return None;
    }
    let configure = ConfigureRequest::deserialize(&row["request"]).ok()?;
    Profile::of(&configure.runtime_name, &configure.runtime_version).ok()
}

/// Holds a request against what the profile says of requests.
///
/// # Errors
/// [`Failure`] says what differs.
pub fn check(row: &Value, profile: &'static Profile) -> Result<(), Failure> {
    let rpc = row["rpc"].as_str().unwrap_or_default();
    let request = &row["request"];
    match rpc {
        "Configure" => configure(profile, &whole(rpc, request)?),
        "Synchronize" => {
            let request: SynchronizeRequest = whole(rpc, request)?;
            request
                .pods
                .iter()
                .try_for_each(|it| pod(rpc, profile, it))?;
            let mut containers = request.containers.iter();
            containers.try_for_each(|it| container(rpc, profile, it))
        }
        "CreateContainer" => {
            let request: CreateContainerRequest = whole(rpc, request)?;
            pod(rpc, profile, &request.pod.unwrap_or_default())?;
            container(rpc, profile, &request.container.unwrap_or_default())
        }
        _ => Ok(()),
    }
}

/// The message. A field that is not in it is an error, so that nothing is lost.
fn whole<M: DeserializeOwned>(rpc: &str, request: &Value) -> Result<M, Failure> {
    M::deserialize(request).map_err(|source| Failure::Unreadable {
        rpc: rpc.to_owned(),
        source,
    })
}

/// The release may be another one of the profile's.
fn configure(profile: &'static Profile, told: &ConfigureRequest) -> Result<(), Failure> {
    let tells = profile.configure;
    let expected = ConfigureRequest {
        config: told.config.clone(),
        runtime_name: profile.runtime.to_owned(),
        runtime_version: told.runtime_version.clone(),
        registration_timeout: if tells.timeouts {
            REGISTRATION_TIMEOUT_MS
        } else {
            0
        },
        request_timeout: if tells.timeouts {
            REQUEST_TIMEOUT_MS
        } else {
            0
        },
        nri_version: if tells.nri_version {
            profile.nri_version
        } else {
            ""
        }
        .to_owned(),
    };
    if *told == expected {
        return Ok(());
    }
    let expected = serde_json::to_value(&expected).unwrap_or_default();
    Err(Failure::Configure { profile, expected })
}

fn pod(rpc: &str, profile: &'static Profile, pod: &PodSandbox) -> Result<(), Failure> {
    let says = profile.requests;
    let label = pod.labels.contains_key("oci_runtime_type");
    only(
        rpc,
        profile,
        &[("labels.oci_runtime_type", label, says.runtime_type_label)],
    )
}

fn container(rpc: &str, profile: &'static Profile, it: &Container) -> Result<(), Failure> {
    let says = profile.requests;
    let linux = it.linux.clone().unwrap_or_default();
    let resources = linux.resources.unwrap_or_default();
    let times = it.created_at != 0 || it.started_at != 0;
    only(
        rpc,
        profile,
        &[
            ("linux.resources.pids", resources.pids.is_some(), says.pids),
            (
                "linux.resources.unified",
                !resources.unified.is_empty(),
                says.unified,
            ),
            (
                "linux.seccomp_profile",
                linux.seccomp_profile.is_some(),
                says.seccomp_profile,
            ),
            (
                "linux.seccomp_policy",
                linux.seccomp_policy.is_some(),
                says.seccomp_policy,
            ),
            ("linux.sysctl", !linux.sysctl.is_empty(), says.sysctl),
            (
                "linux.io_priority",
                linux.io_priority.is_some(),
                says.scheduling,
            ),
            (
                "linux.scheduler",
                linux.scheduler.is_some(),
                says.scheduling,
            ),
            ("CDI_devices", !it.cdi_devices.is_empty(), says.cdi_devices),
            ("rlimits", !it.rlimits.is_empty(), says.rlimits),
            ("image", it.image.is_some(), says.image),
            ("created_at", times, says.container_times),
        ],
    )?;
    let name = it.labels.get("io.kubernetes.container.name");
    let paths = it.env.iter().filter(|entry| entry.starts_with("PATH="));
    let of_path = match says.maker {
        Maker::Containerd => paths.count() < 2,
        Maker::CriO => {
            it.env.get(1).is_some_and(|entry| entry == "TERM=xterm") && paths.count() > 0
        }
    };
    let named = !says.container_name_from_label || *name.unwrap_or(&String::new()) == it.name;
    let wrong = [
        ("user", it.user.is_some() == says.user),
        ("env", of_path),
        ("name", named),
    ];
    match wrong.into_iter().find(|(_, right)| !right) {
        None => Ok(()),
        Some((field, _)) => Err(Failure::Carries {
            rpc: rpc.to_owned(),
            profile,
            field,
        }),
    }
}

/// None of the fields is there that the profile does not send. One that it sends may be missing.
fn only(
    rpc: &str,
    profile: &'static Profile,
    fields: &[(&'static str, bool, bool)],
) -> Result<(), Failure> {
    match fields.iter().find(|(_, is, says)| *is && !says) {
        None => Ok(()),
        Some((field, ..)) => Err(Failure::Carries {
            rpc: rpc.to_owned(),
            profile,
            field,
        }),
    }
}
