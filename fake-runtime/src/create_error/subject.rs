//! What two plugins both set.

use std::fmt;

use nri_proto::api::Field;

use crate::profile::ConflictStyle;

/// What a plugin sets, worded as the version does in a conflict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// The field.
    pub field: Field,
    /// Which of its entries, where it has some.
    pub key: Option<String>,
    /// How that is worded.
    pub style: ConflictStyle,
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = self.key.as_deref();
        match self.style {
            // A field without a key ends in a blank.
            ConflictStyle::FieldNames => {
                write!(f, "{} {}", self.field.as_str_name(), key.unwrap_or(""))
            }
            ConflictStyle::Words => match key {
                Some(key) => write!(f, "{} {key}", words(self.field)),
                None => f.write_str(words(self.field)),
            },
        }
    }
}

/// How NRI before 0.9 called a field. It knew no others.
fn words(field: Field) -> &'static str {
    match field {
        Field::Annotations => "annotation",
        Field::Mounts => "mount",
        Field::Env => "env",
        Field::Devices => "device",
        Field::Rlimits => "rlimit",
        Field::CdiDevices => "CDI device",
        Field::MemLimit => "memory limit",
        Field::MemReservation => "memory reservation",
        Field::MemSwapLimit => "memory swap limit",
        Field::MemKernelLimit => "memory kernel limit",
        Field::MemTcpLimit => "memory TCP limit",
        Field::MemSwappiness => "memory swappiness",
        Field::MemDisableOomKiller => "memory disable OOM killer",
        Field::MemUseHierarchy => "memory 'UseHierarchy'",
        Field::CpuShares => "CPU shares",
        Field::CpuQuota => "CPU quota",
        Field::CpuPeriod => "CPU period",
        Field::CpuRealtimeRuntime => "CPU realtime runtime",
        Field::CpuRealtimePeriod => "CPU realtime period",
        Field::CpuSetCpUs => "CPU pinning",
        Field::CpuSetMems => "memory pinning",
        Field::HugepageLimits => "hugepage limit of size",
        Field::CgroupsUnified => "unified resource",
        Field::BlockioClass => "block I/O class",
        Field::RdtClass => "RDT class",
        Field::PidsLimit => "pids pinning",
        Field::CgroupsPath => "cgroups path",
        Field::OomScoreAdj => "oom score adj",
        newer => newer.as_str_name(),
    }
}
