//! Compiles the CRI messages and their client, without protoc.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=cri.proto");
    let descriptors = protox::compile(["cri.proto"], ["."])?;
    tonic_prost_build::configure()
        .build_server(false)
        .compile_fds(descriptors)?;
    Ok(())
}
