//! Creates the containers of a Pod for any plugin binary, and prints what that changes in each OCI spec.
//!
//!     cargo run --example pod_under_plugin -- target/debug/examples/hello_plugin {socket}

#![expect(clippy::print_stdout, reason = "that is what it is for")]

use std::path::Path;

use fake_runtime::FakeRuntime;
use fake_runtime::changes::changes;
use fake_runtime::pod::{Simulation, manifest, requests};
use fake_runtime::process::PluginCommand;

const POD: &str = "
kind: Pod
metadata: {name: example}
spec:
  containers:
  - {name: main, image: busybox}
";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let plugin = arguments
        .next()
        .ok_or("usage: pod_under_plugin PLUGIN [ARGUMENTS, {socket} among them]")?;
    let arguments: Vec<_> = arguments.collect();

    let runtime = FakeRuntime::start().await?;
    // Killed when it is dropped.
    let _plugin =
        PluginCommand::on_socket(Path::new(&plugin), &arguments, runtime.socket_path()).spawn()?;
    println!("registered: {}", runtime.plugin_registered().await?);

    for pod in manifest::parse(POD)? {
        for request in requests(&pod, &Simulation::default())? {
            let created = runtime
                .create_container(request.pod, request.container)
                .await?;
            for change in changes(&created.before, &created.after) {
                println!("{change}");
            }
        }
    }
    Ok(())
}
