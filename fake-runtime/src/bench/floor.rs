//! The floor: what no plugin can be faster than, because it does nothing but read, look and answer.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use nri_proto::api::{self, runtime};
use nri_proto::wire::{
    PLUGIN_CONNECTION, REQUEST, RUNTIME_CONNECTION, Split, answer_frames, envelope,
};
use prost::Message as _;

use super::connection::{Reading, set_stream};

/// A plugin that gives an answer as long as another one's, after the same file system calls.
#[derive(Clone, Debug, Default, PartialEq, Eq, clap::Args)]
pub struct Floor {
    /// How long the payload of its answers is, in bytes
    #[arg(default_value_t)]
    pub answer_length: usize,
    /// What it looks at before each, in this order: a path that ends in / is listed
    pub calls: Vec<PathBuf>,
}

/// The command that a tool has to have, so that it can be started as a floor.
const COMMAND: &str = "floor";

impl Floor {
    /// The arguments that have a tool serve it: `{socket}` in them stands for the path of the NRI socket.
    pub(super) fn args(&self) -> Vec<OsString> {
        let length = self.answer_length.to_string();
        let mut args: Vec<OsString> = vec![COMMAND.into(), "{socket}".into(), length.into()];
        args.extend(self.calls.iter().map(|call| call.clone().into()));
        args
    }
}

/// Registers at the runtime's `socket` and serves `floor` until the runtime is gone.
///
/// # Errors
///
/// There is no runtime at the socket, or it does not take the plugin.
pub fn serve(socket: &Path, floor: &Floor) -> io::Result<()> {
    let mut stream = UnixStream::connect(socket)?;
    let mut reading = Reading::default();
    let register = api::RegisterPluginRequest {
        plugin_name: COMMAND.to_owned(),
        plugin_idx: "10".to_owned(),
        ..Default::default()
    };
    let register = envelope::Request {
        service: runtime::SERVICE.to_owned(),
        method: runtime::REGISTER_PLUGIN.to_owned(),
        payload: register.encode_to_vec().into(),
        timeout_nano: 0,
    };
    stream.write_all(&Split::CONTAINERD.frames(RUNTIME_CONNECTION, 1, REQUEST, &register))?;

    let configured = api::ConfigureResponse {
        events: 1 << (api::Event::CreateContainer as i32 - 1),
    };
    let answer = |payload: Vec<u8>| {
        let frames = answer_frames(PLUGIN_CONNECTION, Split::CONTAINERD, 0, Ok(payload.into()));
        frames.to_vec()
    };
    // Configure is the first that is asked.
    let mut first = Some(answer(configured.encode_to_vec()));
    let mut others = answer(vec![0; floor.answer_length]);
    loop {
        let header = match reading.message(&mut stream) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            message => message?,
        };
        if header.kind != REQUEST {
            continue;
        }
        let mut configured = first.take();
        let answer = configured.as_mut().unwrap_or_else(|| {
            for call in &floor.calls {
                look(call);
            }
            &mut others
        });
        set_stream(answer, header.stream);
        stream.write_all(answer)?;
    }
}

fn look(path: &Path) {
    // Whether there is anything does not matter here.
    if path.as_os_str().as_bytes().ends_with(b"/") {
        let _ = fs::read_dir(path).map(Iterator::count);
    } else {
        let _ = fs::metadata(path);
    }
}
