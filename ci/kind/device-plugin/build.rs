//! Compiles the kubelet's device plugin API, without protoc.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=deviceplugin.proto");
    let descriptors = protox::compile(["deviceplugin.proto"], ["."])?;
    tonic_prost_build::configure().compile_fds(descriptors)?;
    Ok(())
}
