//! CreateContainer as containerd plays it: ask the plugins, merge their answers, change the spec.

mod answer;
mod error;

pub use answer::Answer;
pub use error::CreateError;
use nri_proto::api::CreateContainerRequest;

use crate::apply;
use crate::collect::{Collector, Combined};
use crate::host::Host;
use crate::oci::Spec;
use crate::profile::Profile;

/// The container that a request is about, as `namespace/pod/container`.
pub fn name_of(request: &CreateContainerRequest) -> String {
    let pod = request.pod.as_ref();
    let pod = pod.map_or_else(
        || "no pod".to_owned(),
        |pod| format!("{}/{}", pod.namespace, pod.name),
    );
    let container = request.container.as_ref();
    let container = container.map_or("no container", |container| &container.name);
    format!("{pod}/{container}")
}

/// What came of a CreateContainer.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What each plugin was asked, in order. Those after a failure are not asked.
    pub requests: Vec<CreateContainerRequest>,
    /// The merged adjustment and the spec after it, or why there is no container.
    pub result: Result<(Combined, Spec), CreateError>,
}

/// Plays one CreateContainer.
///
/// `request` is what the first plugin is asked, `spec` the container's spec before any adjustment.
/// `answers` has a plugin (`IDX-NAME`) and its answer each, in the order of their indices.
pub fn create(
    profile: &'static Profile,
    request: CreateContainerRequest,
    spec: Spec,
    answers: &[(String, Answer)],
    host: &Host,
) -> Outcome {
    let mut requests = Vec::new();
    let mut collector = Collector::new(profile, request);
    for (plugin, answer) in answers {
        requests.push(collector.request().clone());
        let added = collector.answer(plugin, answer);
        if let Err(error) = added {
            return Outcome {
                requests,
                result: Err(error),
            };
        }
    }
    let combined = collector.finish();
    let spec = apply::apply(profile, spec, &combined, host);
    Outcome {
        requests,
        result: spec.map(|spec| (combined, spec)),
    }
}
