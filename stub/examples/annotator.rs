//! Adds an annotation to each container: `annotator [SOCKET]`.

use std::io::Write as _;
use std::process::ExitCode;

use nri_stub::api::{ContainerAdjustment, CreateContainerResponse};
use nri_stub::{Stop, Stub};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Where nobody reads it, there is nobody to tell.
            let _ = writeln!(std::io::stderr(), "annotator: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn std::error::Error>> {
    let stop = Stop::on_signals(|_| {})?;
    let mut stub = Stub::new("annotator", "10");
    if let Some(socket) = std::env::args_os().nth(1) {
        stub = stub.socket(socket);
    }
    let stub = stub
        .place(|name| std::env::var_os(name))?
        .create_container(|request, _call| {
            let name = request.container.unwrap_or_default().name;
            let adjust = ContainerAdjustment {
                annotations: [("example.com/seen".to_owned(), name)].into(),
                ..Default::default()
            };
            Ok(CreateContainerResponse {
                adjust: Some(adjust),
                ..Default::default()
            })
        });
    Ok(stub.run(&stop)?)
}
