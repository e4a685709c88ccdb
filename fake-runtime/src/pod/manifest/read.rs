//! Reading manifests: YAML or JSON, one document or several.

use std::io;
use std::path::{Path, PathBuf};

use super::schema::Findings;
use super::workload::{self, Template};
use super::yaml::{At, Node, documents};
use super::{Pod, schema, template};
use crate::one_line::on_one_line;
use crate::pod::cluster::Cluster;

/// Why a manifest could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// The file cannot be read.
    #[error("cannot read {path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the file system said.
        source: io::Error,
    },
    /// It is not YAML, or it is to be rendered first.
    #[error(transparent)]
    Text(#[from] At),
    /// The API server would refuse it.
    #[error("{first}{}", and_more(*.more))]
    Refused {
        /// What is wrong, of several things the first.
        first: At,
        /// How many more things are wrong.
        more: usize,
    },
    /// There are documents, and no Pod in any of them.
    #[error("no Pod and no Pod template in it, only {}", on_one_line(&.0.join(", ")))]
    NoPod(Vec<String>),
    /// No document at all.
    #[error("no Pod in it")]
    Nothing,
    /// A Pod without containers.
    #[error("pod {0:?} has no containers")]
    NoContainers(String),
}

fn and_more(more: usize) -> String {
    match more {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    }
}

/// What there is in a file.
#[derive(Clone, Debug, Default)]
pub struct Manifest {
    /// Its Pods, in order, and those that its workloads start with.
    pub pods: Vec<Pod>,
    /// Its other objects that bear on Pods: ConfigMaps, Services and the like.
    pub cluster: Cluster,
    /// What is to be said of it, a line each: fields that nobody knows, Pods that were found by their shape.
    pub notes: Vec<String>,
    /// The objects that have no bearing: `Ingress/web`.
    pub passed_over: Vec<String>,
}

/// Reads every Pod of a manifest file.
///
/// # Errors
///
/// As [`parse`], and what the file system says.
pub fn read(path: &Path) -> Result<Vec<Pod>, ManifestError> {
    let text = std::fs::read_to_string(path).map_err(|source| ManifestError::Io {
        path: path.to_owned(),
        source,
    })?;
    parse(&text)
}

/// Reads every Pod of a manifest.
///
/// # Errors
///
/// As [`Manifest::parse`], and that there is no Pod in it.
pub fn parse(text: &str) -> Result<Vec<Pod>, ManifestError> {
    Manifest::parse(text)?.with_pods().map(|it| it.pods)
}

impl Manifest {
    /// Reads YAML, of which JSON is a part, with any number of documents and lists of them, of any kinds.
    ///
    /// # Errors
    ///
    /// It cannot be read, or the API server would refuse one of its documents.
    pub fn parse(text: &str) -> Result<Self, ManifestError> {
        // What is wrong with a template is that it is one, and not what that does to its YAML.
        let rendered = |error| match template::in_broken(text) {
            Some(at) => ManifestError::Text(at),
            None => error,
        };
        let documents = documents(text).map_err(|at| rendered(at.into()))?;
        Self::of(&documents).map_err(rendered)
    }

    /// The objects in these documents.
    pub(crate) fn of(documents: &[Node]) -> Result<Self, ManifestError> {
        let mut manifest = Self::default();
        let mut refused = Vec::new();
        for document in documents {
            manifest.add(document, None, &mut refused)?;
        }
        let more = refused.len().saturating_sub(1);
        match refused.into_iter().next() {
            Some(first) => Err(ManifestError::Refused { first, more }),
            None => Ok(manifest),
        }
    }

    /// The same, if there is a Pod in it.
    ///
    /// # Errors
    ///
    /// There is none.
    pub fn with_pods(self) -> Result<Self, ManifestError> {
        if !self.pods.is_empty() {
            return Ok(self);
        }
        let mut others = self.passed_over;
        others.extend(self.cluster.names());
        Err(if others.is_empty() {
            ManifestError::Nothing
        } else {
            ManifestError::NoPod(others)
        })
    }

    fn add(
        &mut self,
        document: &Node,
        of_list: Option<&str>,
        refused: &mut Vec<At>,
    ) -> Result<(), ManifestError> {
        let kind = document.get("kind").and_then(Node::text).or(of_list);
        let Some(kind) = kind else {
            let what = "no kind in it: this is no Kubernetes object";
            return Err(At::new(document.line, what).into());
        };
        if let (Some(items), Some(of)) = (document.get("items"), kind.strip_suffix("List")) {
            let of = Some(of).filter(|of| !of.is_empty());
            return items
                .items()
                .iter()
                .try_for_each(|item| self.add(item, of, refused));
        }
        if kind == "Pod" {
            self.note(schema::check(document, kind), refused);
            let pod = self.pod(document, refused)?;
            self.pods.extend(pod);
            return Ok(());
        }
        let templates = workload::templates(document);
        if templates.is_empty() {
            self.note(schema::check(document, kind), refused);
            if !self.cluster.add(kind, document) {
                self.passed_over.push(name(kind, document));
            }
            return Ok(());
        }
        let known = workload::is_known(kind);
        if known {
            self.note(schema::check(document, kind), refused);
        }
        let several = templates.len() > 1;
        for template in &templates {
            if !known {
                self.note(schema::check(template.node, "PodTemplateSpec"), refused);
                let (name, line, path) = (
                    name(kind, document),
                    template.node.line,
                    template.path.join("."),
                );
                self.notes.push(format!(
                    "line {line}: {name} is of a kind that is not known here: its Pod template at {path:?} is read \
                     by its shape"
                ));
            }
            if let Some(pod) = self.pod(template.node, refused)? {
                let place = place(template).filter(|_| several);
                let pods = workload::pods(kind, document, pod, place);
                self.pods.extend(pods);
            }
        }
        Ok(())
    }

    fn note(&mut self, findings: Findings, refused: &mut Vec<At>) {
        let Findings {
            warned,
            refused: more,
        } = findings;
        refused.extend(more);
        self.notes.extend(warned.iter().map(ToString::to_string));
    }

    /// A Pod, or nothing where something is to be refused.
    fn pod(&self, node: &Node, refused: &[At]) -> Result<Option<Pod>, ManifestError> {
        if !refused.is_empty() {
            return Ok(None);
        }
        if let Some(unrendered) = template::in_names(node) {
            return Err(unrendered.into());
        }
        let pod: Pod = node.read()?;
        if pod.spec.containers.is_empty() {
            return Err(ManifestError::NoContainers(pod.metadata.name));
        }
        Ok(Some(pod))
    }
}

/// As people call an object: `Service/web`.
fn name(kind: &str, document: &Node) -> String {
    let metadata = document.get("metadata");
    let name = ["name", "generateName"]
        .iter()
        .find_map(|field| metadata?.get(field)?.text());
    match name {
        Some(name) => format!("{kind}/{name}"),
        None => kind.to_owned(),
    }
}

/// What tells a template from others of its workload.
fn place<'a>(template: &'a Template<'_>) -> Option<&'a str> {
    let generic = ["template", "spec"];
    let mut path = template.path.iter().rev().map(String::as_str);
    path.find(|part| !generic.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    const POD: &str = "
kind: Pod
apiVersion: v1
metadata:
  name: a
  labels:
spec:
  hostPID: true
  containers:
  - name: main
    image: busybox
    resources: {limits: {nvidia.com/gpu: 1, cpu: 500m}}
    env: null
    livenessProbe: {exec: {command: [/bin/true]}}
";

    #[test]
    fn several_documents_and_null_fields_are_read() {
        let pods = parse(&format!("{POD}---\n{POD}")).unwrap();
        assert_eq!(pods.len(), 2);
        assert!(pods[0].spec.host_pid);
        let limits = &pods[0].spec.containers[0].resources.limits;
        assert_eq!(limits["nvidia.com/gpu"].units(), 1);
        assert_eq!(limits["cpu"].milli(), 500);
    }

    #[test]
    fn json_is_read_too() {
        let pods = parse(
            r#"{"kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": [{"name": "b"}]}}"#,
        );
        assert_eq!(pods.unwrap()[0].spec.containers[0].name, "b");
    }

    #[test]
    fn lists_are_read_item_by_item_also_where_only_the_list_says_the_kind() {
        let item = "{metadata: {name: a}, spec: {containers: [{name: b}]}}";
        let pod = item.replacen('{', "{kind: Pod, ", 1);
        for text in [
            format!("{{kind: List, items: [{pod}, {{kind: Service}}]}}"),
            format!("{{kind: PodList, items: [{item}]}}"),
        ] {
            assert_eq!(parse(&text).unwrap()[0].metadata.name, "a", "{text}");
        }
    }

    #[test]
    fn what_has_no_bearing_is_passed_over_by_name() {
        let others =
            "kind: Ingress\nmetadata: {name: i}\n---\nkind: Service\nmetadata: {name: s}\n";
        let manifest = Manifest::parse(&format!("{POD}---\n{others}")).unwrap();
        assert_eq!(manifest.passed_over, ["Ingress/i"]);
        assert_eq!(
            parse(others).unwrap_err().to_string(),
            "no Pod and no Pod template in it, only Ingress/i, Service/s"
        );
    }

    #[test]
    fn a_template_is_told_for_what_it_is() {
        let image = POD.replace("busybox", "\"{{ .Values.image }}\"");
        let block = POD.replace(
            "  labels:\n",
            "  {{- with .Values.labels }}\n  labels:\n  {{- end }}\n",
        );
        for (text, line) in [(image, 11), (block, 6)] {
            let said = parse(&text).unwrap_err().to_string();
            let start =
                format!("line {line}: an unrendered template ({{{{ … }}}}): render it first");
            assert!(said.starts_with(&start), "{said}");
        }
        let data = "kind: ConfigMap\nmetadata: {name: c}\ndata: {t: '{{ .x }}'}\n";
        assert_eq!(parse(&format!("{POD}---\n{data}")).unwrap().len(), 1);
    }

    #[test]
    fn of_several_things_that_are_refused_the_first_is_told_and_how_many_more() {
        let text = POD.replace(
            "env: null",
            "env: [{name: A, value: 1}, {name: B, value: true}]",
        );
        assert_eq!(
            parse(&text).unwrap_err().to_string(),
            "line 13: spec.containers[0].env[0].value is a number where a text is needed: quote it, \"1\" (and 1 more)"
        );
    }

    #[test]
    fn what_is_wrong_is_said_in_one_line() {
        for (text, said) in [
            (
                "kind: Service\nspec: {}",
                "no Pod and no Pod template in it, only Service",
            ),
            ("", "no Pod in it"),
            (
                "kind: Pod\nmetadata: {name: x}\nspec: {}",
                "pod \"x\" has no containers",
            ),
        ] {
            assert_eq!(parse(text).unwrap_err().to_string(), said);
        }
        for text in [
            "kind: Pod\nspec: [",
            "kind: Pod\nspec: {containers: 3}",
            "spec: {}",
        ] {
            let said = parse(text).unwrap_err().to_string();
            assert!(said.contains("line") && !said.contains('\n'), "{said}");
        }
    }
}
