//! The `mock-device-plugin` binary.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use mock_device_plugin::Gpus;
use tokio::signal::unix::{SignalKind, signal};

/// Hands out the mock GPUs of a node to pods that ask for nvidia.com/gpu.
#[derive(Parser)]
struct Flags {
    /// Where the mock driver is staged
    #[arg(long, default_value = "/var/lib/nvml-mock")]
    overlay: PathBuf,
    /// Where the kubelet keeps the sockets of device plugins
    #[arg(long, default_value = "/var/lib/kubelet/device-plugins")]
    sockets: PathBuf,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(Flags::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            #[expect(clippy::print_stderr, reason = "the one line that stderr is for")]
            {
                eprintln!("mock-device-plugin: {error}");
            }
            ExitCode::FAILURE
        }
    }
}

async fn run(Flags { overlay, sockets }: Flags) -> Result<(), String> {
    let gpus = Gpus::staged(&overlay)
        .map_err(|error| format!("no mock driver at {}: {error}", overlay.display()))?;
    let stop = stopped().map_err(|error| format!("cannot take signals: {error}"))?;
    tokio::select! {
        ended = mock_device_plugin::run(&sockets, gpus) => ended.map_err(|error| error.to_string()),
        () = stop => Ok(()),
    }
}

/// SIGTERM or SIGINT, which the first process of a container would not notice otherwise.
fn stopped() -> io::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}
