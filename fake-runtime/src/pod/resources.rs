//! CPU and memory: from a manifest's quantities to what the kubelet asks the runtime for.

use std::collections::BTreeMap;

use nri_proto::api::{LinuxCpu, LinuxMemory, OptionalInt64, OptionalUInt64};
use serde_json::Value;

use super::manifest::{ContainerResources, PodContainer, PodSpec};

/// Microseconds over which a quota counts.
const CPU_PERIOD: u64 = 100_000;
/// The least shares that the kernel takes.
const MIN_CPU_SHARES: u64 = 2;
const SUFFIXES: [(&str, u64); 10] = [
    ("Ki", 1 << 10),
    ("Mi", 1 << 20),
    ("Gi", 1 << 30),
    ("Ti", 1 << 40),
    ("Pi", 1 << 50),
    ("k", 1_000),
    ("M", 1_000_000),
    ("G", 1_000_000_000),
    ("T", 1_000_000_000_000),
    ("P", 1_000_000_000_000_000),
];

/// A pod's quality of service, which decides where its control group is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quality {
    Guaranteed,
    Burstable,
    BestEffort,
}

impl Quality {
    pub(super) fn of(pod: &PodSpec) -> Self {
        let mut all = pod.init_containers.iter().chain(&pod.containers);
        let counts =
            |of: &BTreeMap<String, Value>| of.contains_key("cpu") || of.contains_key("memory");
        let guaranteed = |PodContainer { resources: it, .. }: &PodContainer| {
            let whole = |name: &str| {
                it.limits.contains_key(name)
                    && it
                        .requests
                        .get(name)
                        .is_none_or(|request| Some(request) == it.limits.get(name))
            };
            whole("cpu") && whole("memory")
        };
        if all.clone().all(guaranteed) {
            Self::Guaranteed
        } else if all.any(|it| counts(&it.resources.limits) || counts(&it.resources.requests)) {
            Self::Burstable
        } else {
            Self::BestEffort
        }
    }

    pub(super) fn cgroup(self, uid: &str) -> String {
        let class = match self {
            Self::Guaranteed => "",
            Self::Burstable => "/burstable",
            Self::BestEffort => "/besteffort",
        };
        format!("/kubepods{class}/pod{uid}")
    }
}

/// CPU shares by request, quota by limit.
pub(super) fn cpu(resources: &ContainerResources) -> LinuxCpu {
    let milli = |of: &BTreeMap<String, Value>| of.get("cpu").and_then(milli);
    let limit = milli(&resources.limits);
    let shares = milli(&resources.requests)
        .or(limit)
        .map(|milli| milli * 1024 / 1000);
    LinuxCpu {
        shares: shares.map(|shares| OptionalUInt64 {
            value: shares.max(MIN_CPU_SHARES),
        }),
        quota: limit.map(|milli| OptionalInt64 {
            value: signed(milli * CPU_PERIOD / 1000),
        }),
        period: limit.map(|_| OptionalUInt64 { value: CPU_PERIOD }),
        ..LinuxCpu::default()
    }
}

/// The memory limit, which swap shares.
pub(super) fn memory(resources: &ContainerResources) -> LinuxMemory {
    let limit = resources.limits.get("memory").and_then(bytes);
    let limit = limit.map(|bytes| OptionalInt64 {
        value: signed(bytes),
    });
    LinuxMemory {
        limit,
        swap: limit,
        ..LinuxMemory::default()
    }
}

/// A whole number without a suffix: how a device is asked for.
pub(super) fn count(quantity: &Value) -> Option<u32> {
    text(quantity).parse().ok()
}

/// Thousandths: of `500m`, `2`, `0.5`.
fn milli(quantity: &Value) -> Option<u64> {
    let text = text(quantity);
    if let Some(milli) = text.strip_suffix('m') {
        return milli.parse().ok();
    }
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let thousandths = format!("{fraction:0<3}");
    Some(whole.parse::<u64>().ok()? * 1000 + thousandths.get(..3)?.parse::<u64>().ok()?)
}

fn bytes(quantity: &Value) -> Option<u64> {
    let text = text(quantity);
    let suffix = SUFFIXES.iter().find(|(suffix, _)| text.ends_with(suffix));
    let (suffix, factor) = suffix.copied().unwrap_or(("", 1));
    text.strip_suffix(suffix)?
        .parse::<u64>()
        .ok()?
        .checked_mul(factor)
}

fn text(quantity: &Value) -> String {
    quantity
        .as_str()
        .map_or_else(|| quantity.to_string(), ToOwned::to_owned)
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn quantities_are_read_as_kubernetes_writes_them() {
        for (quantity, thousandths) in [
            (json!("500m"), 500),
            (json!(2), 2000),
            (json!("0.5"), 500),
            (json!(1.25), 1250),
        ] {
            assert_eq!(milli(&quantity), Some(thousandths), "{quantity}");
        }
        for (quantity, number) in [
            (json!("128Mi"), 128 << 20),
            (json!("1k"), 1000),
            (json!(4096), 4096),
        ] {
            assert_eq!(bytes(&quantity), Some(number), "{quantity}");
        }
        assert_eq!(bytes(&json!("many")), None);
    }
}
