//! A plugin to try the tools on: it sets HELLO in each container.
//!
//!     cargo build --example hello_plugin
//!     target/debug/fake-runtime replay pod.yaml --plugin target/debug/examples/hello_plugin -- {socket}

use fake_runtime::api::{ContainerAdjustment, KeyValue};
use fake_runtime::scripted::{Reply, ScriptedPlugin};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let socket = std::env::args_os()
        .nth(1)
        .ok_or("usage: hello_plugin SOCKET")?;
    let adjustment = ContainerAdjustment {
        env: vec![KeyValue {
            key: "HELLO".to_owned(),
            value: "world".to_owned(),
        }],
        ..Default::default()
    };
    let plugin = ScriptedPlugin::new("10", "hello")
        .reply(move |_| Reply::Adjust(Box::new(adjustment.clone())));
    plugin.connect(socket.as_ref()).await?.closed().await;
    Ok(())
}
