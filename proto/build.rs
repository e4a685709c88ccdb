//! Compiles `proto/` without protoc: messages by prost, canonical JSON by pbjson, and the names that travel
//! in a ttRPC request as constants.

use std::io;

use prost_build::{Service, ServiceGenerator};

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=proto");
    let files = protox::compile(["nri.proto"], ["proto"]).map_err(io::Error::other)?;

    #[cfg(feature = "json")]
    {
        let mut json = pbjson_build::Builder::new();
        for file in &files.file {
            json.register_file_descriptor(file.clone());
        }
        json.btree_map(["."]).build(&[".nri"])?;
    }

    prost_build::Config::new()
        // Sorted maps: equal messages have equal bytes.
        .btree_map(["."])
        .service_generator(Box::new(WireNames))
        .compile_fds(files)
}

/// Writes, for each service, a module with the names by which a request calls it.
struct WireNames;

impl ServiceGenerator for WireNames {
    fn generate(&mut self, service: Service, out: &mut String) {
        // The host functions are for WebAssembly plugins: no request on the wire names them.
        if service.name == "HostFunctions" {
            return;
        }
        let module = service.name.to_lowercase();
        let full_name = format!("{}.{}", service.package, service.proto_name);
        let mut items = format!("/// The service.\npub const SERVICE: &str = {full_name:?};\n");
        for method in &service.methods {
            let constant = method.name.to_uppercase();
            for line in &method.comments.leading {
                items.push_str(&format!("///{line}\n"));
            }
            items.push_str(&format!(
                "pub const {constant}: &str = {:?};\n",
                method.proto_name
            ));
        }
        out.push_str(&format!(
            "/// How a request names the service `{}`.\n",
            service.name
        ));
        out.push_str(&format!("pub mod {module} {{\n{items}}}\n"));
    }
}
