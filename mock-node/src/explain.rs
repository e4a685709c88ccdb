//! What nri-plugin would do with a container and why, rule by rule, without a plugin or a socket.

mod rules;
mod verdict;

use fake_runtime::changes::{Change, changes};
use fake_runtime::create::{Answer, CreateError, create};
use fake_runtime::host::Host;
use fake_runtime::oci::Spec;
use fake_runtime::profile::Profile;
use nri_plugin::config::Config;
use nri_plugin::convert;
use nri_plugin::decide::{self, Decision, Outcome, Runtime, Selection, Staged};
use nri_proto::api::{ContainerAdjustment, CreateContainerRequest};
use prost::Message as _;

pub use rules::Rule;
pub use verdict::verdict;

/// The name under which the plugin would answer.
const PLUGIN: &str = "10-nri-plugin";

/// What becomes of one container.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The rules in their order, up to the one that decides.
    pub rules: Vec<Rule>,
    /// Why, in the words of the plugin's log.
    pub reason: String,
    /// What is decided, and what the plugin warns of.
    pub decision: Decision,
    /// What that changes in the container's OCI spec, or why containerd refuses the container.
    pub changes: Result<Vec<Change>, CreateError>,
}

/// Decides about a request as the plugin would with this configuration, what is staged, and this containerd. The
/// staging gate is taken to be open.
///
/// # Errors
///
/// The plugin could not decode the request.
pub fn explain(
    config: &Config,
    request: &CreateContainerRequest,
    staged: &impl Staged,
    profile: &'static Profile,
    host: &Host,
) -> Result<Explanation, convert::Unreadable> {
    let asked = convert::asked(config, &request.encode_to_vec())?;
    let (pod, container) = (asked.pod.as_ref(), asked.container.as_ref());
    let selection = decide::select(config, pod, container);
    let runtime = Runtime::identify(profile.runtime, profile.runtime_version);
    let decision = decide::adjust(config, &selection, container, staged, runtime);
    Ok(Explanation {
        rules: rules::rules(config, &asked, &selection),
        reason: reason(&selection, &decision.outcome),
        changes: play(request, &decision.outcome, profile, host),
        decision,
    })
}

fn reason(selection: &Selection, outcome: &Outcome) -> String {
    match (outcome, selection) {
        (Outcome::Adjusted(_), Selection::Inject(surfaces)) => surfaces.to_string(),
        (Outcome::Adjusted(_), _) => "compute domain daemon".to_owned(),
        (Outcome::Unmodified(reason), _) => reason.as_str().to_owned(),
        (Outcome::Gated { reason }, _) => reason.clone(),
        (Outcome::Refused(refusal), _) => refusal.to_string(),
    }
}

/// What containerd makes of the outcome.
fn play(
    request: &CreateContainerRequest,
    outcome: &Outcome,
    profile: &'static Profile,
    host: &Host,
) -> Result<Vec<Change>, CreateError> {
    let answer = match outcome {
        Outcome::Adjusted(adjustment) => {
            Answer::Adjust(Box::new(ContainerAdjustment::from(adjustment.clone())))
        }
        Outcome::Unmodified(_) | Outcome::Gated { .. } => Answer::Adjust(Box::default()),
        Outcome::Refused(refusal) => Answer::Error {
            code: "Unknown".to_owned(),
            message: refusal.to_string(),
        },
    };
    let before = Spec::of(&request.container.clone().unwrap_or_default(), profile);
    let answers = [(PLUGIN.to_owned(), answer)];
    let outcome = create(profile, request.clone(), before.clone(), &answers, host);
    let (_, after) = outcome.result?;
    Ok(changes(&before, &after))
}
