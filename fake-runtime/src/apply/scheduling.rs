//! `process.ioPriority`, `process.scheduler` and `linux.memoryPolicy`.

use nri_proto::api::{
    IoPrioClass, LinuxIoPriority, LinuxMemoryPolicy, LinuxScheduler, LinuxSchedulerFlag,
    LinuxSchedulerPolicy, MpolFlag, MpolMode,
};

use crate::oci::{IoPriority, MemoryPolicy, Scheduler};

/// The I/O priority, or none for class NONE.
pub(super) fn io_priority(theirs: LinuxIoPriority) -> Option<IoPriority> {
    (theirs.class != IoPrioClass::IoprioClassNone as i32).then(|| IoPriority {
        class: name(theirs.class, IoPrioClass::as_str_name),
        priority: theirs.priority.into(),
    })
}

/// The scheduler, or none for policy NONE.
pub(super) fn scheduler(theirs: &LinuxScheduler) -> Option<Scheduler> {
    (theirs.policy != LinuxSchedulerPolicy::SchedNone as i32).then(|| Scheduler {
        policy: name(theirs.policy, LinuxSchedulerPolicy::as_str_name),
        nice: theirs.nice,
        priority: theirs.priority,
        flags: names(&theirs.flags, LinuxSchedulerFlag::as_str_name),
        runtime: theirs.runtime,
        deadline: theirs.deadline,
        period: theirs.period,
    })
}

/// The memory policy.
pub(super) fn memory_policy(theirs: &LinuxMemoryPolicy) -> MemoryPolicy {
    MemoryPolicy {
        mode: name(theirs.mode, MpolMode::as_str_name),
        nodes: theirs.nodes.clone(),
        flags: names(&theirs.flags, MpolFlag::as_str_name),
    }
}

fn names<E: TryFrom<i32>>(values: &[i32], as_str: fn(&E) -> &'static str) -> Vec<String> {
    values.iter().map(|value| name(*value, as_str)).collect()
}

/// An enum value's name. One without a name is written as its number, as Go does.
fn name<E: TryFrom<i32>>(value: i32, as_str: fn(&E) -> &'static str) -> String {
    E::try_from(value).map_or_else(|_| value.to_string(), |known| as_str(&known).to_owned())
}
