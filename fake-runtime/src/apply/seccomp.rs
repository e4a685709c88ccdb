//! `linux.seccomp`.

use nri_proto::api::{LinuxSeccomp, LinuxSeccompArg, LinuxSyscall};
use serde_json::{Map, Value, json};

use crate::create_error::Reason;
use crate::profile::Fate;

/// The profile that takes the place of the pod's. Its default errno is lost on the way.
pub(super) fn profile(errno: Fate, theirs: &LinuxSeccomp) -> Result<Value, Reason> {
    if errno == Fate::KillsRuntime && theirs.syscalls.iter().any(|call| call.errno_ret.is_some()) {
        return Err(Reason::RuntimeDied(
            "it follows the nil pointer of a syscall's errno",
        ));
    }
    let mut profile = Map::new();
    profile.insert("defaultAction".into(), json!(theirs.default_action));
    for (name, value) in [
        ("architectures", json!(theirs.architectures)),
        ("flags", json!(theirs.flags)),
        ("listenerPath", json!(theirs.listener_path)),
        ("listenerMetadata", json!(theirs.listener_metadata)),
        ("syscalls", theirs.syscalls.iter().map(syscall).collect()),
    ] {
        if value != json!([]) && value != json!("") {
            profile.insert(name.into(), value);
        }
    }
    Ok(profile.into())
}

fn syscall(theirs: &LinuxSyscall) -> Value {
    let mut syscall = Map::new();
    // Go writes no names as null.
    let names = (!theirs.names.is_empty()).then_some(&theirs.names);
    syscall.insert("names".into(), json!(names));
    syscall.insert("action".into(), json!(theirs.action));
    if let Some(errno) = theirs.errno_ret {
        syscall.insert("errnoRet".into(), json!(errno.value));
    }
    if !theirs.args.is_empty() {
        syscall.insert("args".into(), theirs.args.iter().map(arg).collect());
    }
    syscall.into()
}

fn arg(theirs: &LinuxSeccompArg) -> Value {
    let mut arg = json!({"index": theirs.index, "value": theirs.value, "op": theirs.op});
    if theirs.value_two != 0 {
        arg["valueTwo"] = json!(theirs.value_two);
    }
    arg
}
