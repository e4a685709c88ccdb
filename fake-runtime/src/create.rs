//! CreateContainer as a runtime plays it: ask the plugins, merge their answers, change the spec.

use nri_proto::api::CreateContainerRequest;

use crate::apply;
pub use crate::collect::Answer;
use crate::collect::{Collector, Combined};
pub use crate::create_error::{CreateError, Reason};
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

/// The id of the container that a request is about.
pub(crate) fn container_id(request: &CreateContainerRequest) -> String {
    let container = request.container.as_ref();
    container.map_or_else(String::new, |container| container.id.clone())
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
    let id = container_id(&request);
    let mut requests = Vec::new();
    let result = play(profile, request, spec, answers, host, &mut requests);
    Outcome {
        requests,
        result: result.map_err(|reason| reason.told(profile, &id)),
    }
}

fn play(
    profile: &'static Profile,
    request: CreateContainerRequest,
    spec: Spec,
    answers: &[(String, Answer)],
    host: &Host,
    requests: &mut Vec<CreateContainerRequest>,
) -> Result<(Combined, Spec), Reason> {
    let mut collector = Collector::new(profile, request);
    for (plugin, answer) in answers {
        requests.push(collector.request().clone());
        collector.answer(plugin, answer)?;
    }
    let combined = collector.finish();
    let spec = apply::apply(profile, spec, &combined, host)?;
    Ok((combined, spec))
}
