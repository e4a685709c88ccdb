//! The Pods that controllers make of their templates, named and labelled as they do.

use super::containers::{EnvSource, EnvVar, FieldRef};
use super::yaml::Node;
use super::{Claim, Pod, Volume};

/// In place of what the API server and controllers make up: the end of a name, the hash of a template, the minutes of
/// a CronJob's time.
pub(crate) const SUFFIX: &str = "abcde";
pub(crate) const HASH: &str = "5c9f7d8b6d";
pub(crate) const MINUTES: &str = "29000000";

const COMPLETION_INDEX: &str = "batch.kubernetes.io/job-completion-index";

/// The most Pods of one workload that are told apart.
const MOST_PODS: u64 = 100;

/// The longest name that the API server makes up from a prefix.
const LONGEST_NAME: usize = 63;

/// A Pod template, and where in its document it stands.
pub(super) struct Template<'a> {
    pub(super) node: &'a Node,
    pub(super) path: Vec<String>,
}

/// The Pod templates of a document, by their shape: a `spec` with a list of `containers`.
pub(super) fn templates(document: &Node) -> Vec<Template<'_>> {
    let mut found = Vec::new();
    find(document, &mut Vec::new(), &mut found);
    found
}

fn find<'a>(node: &'a Node, path: &mut Vec<String>, found: &mut Vec<Template<'a>>) {
    let containers = node.get("spec").and_then(|spec| spec.get("containers"));
    if containers.is_some_and(|it| it.items().iter().any(|it| it.get("name").is_some())) {
        let path = path.clone();
        found.push(Template { node, path });
        return;
    }
    for field in node.fields() {
        path.push(field.name.clone());
        find(&field.value, path, found);
        path.pop();
    }
    for (index, item) in node.items().iter().enumerate() {
        path.push(index.to_string());
        find(item, path, found);
        path.pop();
    }
}

/// A name that the API server makes up.
pub(crate) fn generated(prefix: &str) -> String {
    let mut end = prefix.len().min(LONGEST_NAME - SUFFIX.len());
    while !prefix.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{SUFFIX}", &prefix[..end])
}

/// Whether its controller is known here.
pub(super) fn is_known(kind: &str) -> bool {
    matches!(
        kind,
        "Deployment"
            | "ReplicaSet"
            | "ReplicationController"
            | "StatefulSet"
            | "DaemonSet"
            | "Job"
            | "CronJob"
    )
}

/// The Pods that come of a template; of several that differ only in what is made up, the first.
pub(super) fn pods(kind: &str, workload: &Node, template: Pod, place: Option<&str>) -> Vec<Pod> {
    let metadata = workload.get("metadata");
    let text = |name: &str| metadata?.get(name)?.text();
    let name = match (text("name"), text("generateName")) {
        (Some(name), _) => name.to_owned(),
        (None, Some(prefix)) => generated(prefix),
        (None, None) => kind.to_lowercase(),
    };
    let mut pod = template;
    pod.metadata.namespace = text("namespace").unwrap_or_default().to_owned();
    pod.metadata.uid.clear();
    match kind {
        "Deployment" => {
            label(&mut pod, "pod-template-hash", HASH);
            pod.metadata.name = generated(&format!("{name}-{HASH}-"));
        }
        "DaemonSet" => {
            label(&mut pod, "controller-revision-hash", HASH);
            label(&mut pod, "pod-template-generation", "1");
            pod.metadata.name = generated(&format!("{name}-"));
        }
        "StatefulSet" => of_stateful_set(&mut pod, workload, &name),
        "Job" => return of_job(&pod, workload.get("spec"), &name),
        "CronJob" => {
            let job = workload.get("spec").and_then(|it| it.get("jobTemplate"));
            let spec = job.and_then(|job| job.get("spec"));
            return of_job(&pod, spec, &format!("{name}-{MINUTES}"));
        }
        _ => {
            let place = place.map(|place| format!("{}-", place.to_lowercase()));
            let place = place.unwrap_or_default();
            pod.metadata.name = generated(&format!("{name}-{place}"));
        }
    }
    vec![pod]
}

fn label(pod: &mut Pod, key: &str, value: &str) {
    let labels = &mut pod.metadata.labels;
    labels.insert(key.to_owned(), value.to_owned());
}

fn of_stateful_set(pod: &mut Pod, workload: &Node, name: &str) {
    let spec = workload.get("spec");
    let ordinals = spec.and_then(|spec| spec.get("ordinals"));
    let start = ordinals.and_then(|it| number(it, "start")).unwrap_or(0);
    let pod_name = format!("{name}-{start}");
    label(pod, "apps.kubernetes.io/pod-index", &start.to_string());
    label(pod, "controller-revision-hash", &format!("{name}-{HASH}"));
    label(pod, "statefulset.kubernetes.io/pod-name", &pod_name);
    let service = spec.and_then(|spec| spec.get("serviceName")?.text());
    pod.spec.subdomain = service.unwrap_or_default().to_owned();
    pod.spec.hostname.clone_from(&pod_name);
    let claims = spec.and_then(|spec| spec.get("volumeClaimTemplates"));
    for claim in claims.map(Node::items).unwrap_or_default() {
        let Some(claim) = claim.get("metadata").and_then(|it| it.get("name")?.text()) else {
            continue;
        };
        pod.spec.volumes.retain(|volume| volume.name != claim);
        pod.spec.volumes.push(Volume {
            name: claim.to_owned(),
            persistent_volume_claim: Some(Claim {
                claim_name: format!("{claim}-{pod_name}"),
                read_only: false,
            }),
            ..Volume::default()
        });
    }
    pod.metadata.name = pod_name;
}

/// The Pods with which a Job starts: of an indexed one, those of all indices that run at once.
fn of_job(template: &Pod, spec: Option<&Node>, name: &str) -> Vec<Pod> {
    let number = |name| spec.and_then(|spec| number(spec, name));
    let mode = spec.and_then(|spec| spec.get("completionMode")?.text());
    let mut template = template.clone();
    let uid = crate::pod::identifier::uid(template.metadata.namespace(), name);
    for prefix in ["", "batch.kubernetes.io/"] {
        label(&mut template, &format!("{prefix}controller-uid"), &uid);
        label(&mut template, &format!("{prefix}job-name"), name);
    }
    if mode != Some("Indexed") {
        template.metadata.name = generated(&format!("{name}-"));
        return vec![template];
    }
    let completions = number("completions").unwrap_or(1);
    let parallelism = number("parallelism").unwrap_or(1);
    let indices = 0..parallelism.min(completions).clamp(1, MOST_PODS);
    indices
        .map(|index| of_index(template.clone(), name, &index.to_string()))
        .collect()
}

fn of_index(mut pod: Pod, name: &str, index: &str) -> Pod {
    label(&mut pod, COMPLETION_INDEX, index);
    let annotations = &mut pod.metadata.annotations;
    annotations.insert(COMPLETION_INDEX.to_owned(), index.to_owned());
    if pod.spec.hostname.is_empty() {
        pod.spec.hostname = format!("{name}-{index}");
    }
    let spec = &mut pod.spec;
    for container in spec.init_containers.iter_mut().chain(&mut spec.containers) {
        let name = "JOB_COMPLETION_INDEX";
        if container.env.iter().any(|it| it.name == name) {
            continue;
        }
        let field_path = format!("metadata.labels['{COMPLETION_INDEX}']");
        container.env.push(EnvVar {
            name: name.to_owned(),
            value_from: Some(EnvSource {
                field_ref: Some(FieldRef { field_path }),
                ..EnvSource::default()
            }),
            ..EnvVar::default()
        });
    }
    pod.metadata.name = generated(&format!("{name}-{index}-"));
    pod
}

fn number(node: &Node, name: &str) -> Option<u64> {
    node.get(name)?.to_json().as_u64()
}

#[cfg(test)]
mod tests {
    use crate::pod::manifest::parse;

    const TEMPLATE: &str =
        "template: {metadata: {labels: {app: a}}, spec: {containers: [{name: c}]}}";

    fn names(text: &str) -> Vec<String> {
        let pods = parse(text).unwrap();
        pods.into_iter().map(|pod| pod.metadata.name).collect()
    }

    #[test]
    fn every_controller_names_its_pods_in_its_way() {
        for (kind, spec, name) in [
            ("Deployment", "", "w-5c9f7d8b6d-abcde"),
            ("ReplicaSet", "", "w-abcde"),
            ("ReplicationController", "", "w-abcde"),
            ("DaemonSet", "", "w-abcde"),
            ("StatefulSet", "ordinals: {start: 3}, ", "w-3"),
            ("Job", "", "w-abcde"),
            ("Rollout", "", "w-abcde"),
        ] {
            let text =
                format!("{{kind: {kind}, metadata: {{name: w}}, spec: {{{spec}{TEMPLATE}}}}}");
            assert_eq!(names(&text), [name], "{kind}");
        }
        let spec = format!("spec: {{jobTemplate: {{spec: {{{TEMPLATE}}}}}}}");
        let text = format!("{{kind: CronJob, metadata: {{name: w}}, {spec}}}");
        assert_eq!(names(&text), ["w-29000000-abcde"]);
    }

    #[test]
    fn an_indexed_job_starts_with_one_pod_for_each_index_that_runs_at_once() {
        let spec = "completionMode: Indexed, completions: 3, parallelism: 2";
        let text = format!("{{kind: Job, metadata: {{name: j}}, spec: {{{spec}, {TEMPLATE}}}}}");
        let pods = parse(&text).unwrap();
        assert_eq!(pods.len(), 2);
        assert_eq!(pods[1].metadata.name, "j-1-abcde");
        assert_eq!(pods[1].spec.hostname, "j-1");
        assert_eq!(
            pods[1].spec.containers[0].env[0].name,
            "JOB_COMPLETION_INDEX"
        );
    }

    #[test]
    fn several_templates_of_an_unknown_kind_are_named_for_their_places() {
        let replicas = format!("Master: {{{TEMPLATE}}}, Worker: {{{TEMPLATE}}}");
        let text = format!(
            "{{kind: PyTorchJob, metadata: {{name: t}}, spec: {{pytorchReplicaSpecs: {{{replicas}}}}}}}"
        );
        assert_eq!(names(&text), ["t-master-abcde", "t-worker-abcde"]);
    }

    #[test]
    fn a_claim_template_of_a_stateful_set_is_a_volume_of_its_pods() {
        let claims = "volumeClaimTemplates: [{metadata: {name: data}}]";
        let text =
            format!("{{kind: StatefulSet, metadata: {{name: s}}, spec: {{{claims}, {TEMPLATE}}}}}");
        let pods = parse(&text).unwrap();
        let claim = pods[0].spec.volumes[0].persistent_volume_claim.as_ref();
        assert_eq!(claim.unwrap().claim_name, "data-s-0");
    }

    #[test]
    fn made_up_names_are_no_longer_than_a_label_may_be() {
        let name = "a".repeat(70);
        let text = format!(
            "{{kind: Pod, metadata: {{generateName: {name}}}, spec: {{containers: [{{name: c}}]}}}}"
        );
        let pods = parse(&text).unwrap();
        assert_eq!(super::generated(&pods[0].metadata.generate_name).len(), 63);
    }
}
