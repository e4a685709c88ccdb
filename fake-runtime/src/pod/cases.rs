//! Pods with what a real kubelet and containerd made of them, held against what is made of them here.
//!
//! A folder of cases has a `node.json` and an `objects.yaml`, and a directory for each case with its `pod.yaml`, the
//! `requests.jsonl` that plugins got and the `cri.json` that containerd kept. Of each case two steps are compared: what
//! the kubelet asks for, made from the manifest; and what containerd asks plugins, made from what the kubelet really
//! asked for. So a difference shows where it comes from, and only there.
//!
//! What no manifest tells is a fact of the recording: see [`facts`]. Not compared is what no request of the recorded
//! versions shows: users, capabilities, seccomp, AppArmor, SELinux, sysctls, DNS, ports, working directory, stdin, and
//! limits of huge pages.

mod compare;
mod error;
mod facts;
mod names;
mod recorded;

use std::fs;
use std::path::{Path, PathBuf};

use nri_proto::api::CreateContainerRequest;
use serde_json::Value;

use super::containerd::Containerd;
use super::kubelet::{Kubelet, Played, Refusal};
use super::manifest::Manifest;
use super::node::Node;
use super::{Allocation, Cluster, Pod};
use crate::jsonl;
use crate::profile::Profile;
use error::{json, text};
use recorded::{Cri, Row};

pub use error::CasesError;

/// A folder of cases of one node.
#[derive(Debug)]
pub struct Cases {
    /// Its name, by which its cases are called.
    pub name: String,
    dir: PathBuf,
    profile: &'static Profile,
    node: Node,
    cluster: Cluster,
    /// What the runtime's base spec adds to every container.
    hooks: Value,
}

/// A step of a case, and what differs in it.
#[derive(Clone, Debug)]
pub struct Step {
    /// `2.1.9/plain/cri` is what the kubelet asked for in that case, `2.1.9/plain/nri` what containerd then asked.
    pub id: String,
    /// What came of it.
    pub outcome: Outcome,
}

/// What came of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All is equal.
    Equal,
    /// These fields are not, a line each.
    Different(Vec<String>),
    /// There is nothing to compare with, and why.
    NotRecorded(String),
}

/// The folders of cases in a directory: itself, or those in it.
///
/// # Errors
///
/// There is none, or one cannot be read.
pub fn open(dir: &Path) -> Result<Vec<Cases>, CasesError> {
    let is_folder = |dir: &Path| dir.join("node.json").is_file();
    let mut dirs = if is_folder(dir) {
        vec![dir.to_owned()]
    } else {
        directories(dir)?
    };
    dirs.retain(|dir| is_folder(dir));
    if dirs.is_empty() {
        return Err(CasesError::NoCases(dir.to_owned()));
    }
    dirs.into_iter().map(Cases::open).collect()
}

fn directories(dir: &Path) -> Result<Vec<PathBuf>, CasesError> {
    let io = |source| CasesError::Io {
        path: dir.to_owned(),
        source,
    };
    let entries = fs::read_dir(dir).map_err(io)?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    let mut paths: Vec<_> = paths.collect::<Result<_, _>>().map_err(io)?;
    paths.retain(|path| path.is_dir());
    paths.sort();
    Ok(paths)
}

/// The objects that a folder's cases refer to; without any of its own those of the folder after which it is named, as
/// `2.1.9-systemd` is after `2.1.9`.
fn objects(dir: &Path) -> Option<PathBuf> {
    let name = dir.file_name()?.to_str()?;
    let ends = name.match_indices('-').map(|(end, _)| end);
    let names = [name.len()].into_iter().chain(ends);
    let mut paths = names.map(|end| dir.with_file_name(&name[..end]).join("objects.yaml"));
    paths.find(|path| path.is_file())
}

fn manifest(path: &Path) -> Result<Manifest, CasesError> {
    Manifest::parse(&text(path)?).map_err(|source| CasesError::Manifest {
        path: path.to_owned(),
        source,
    })
}

impl Cases {
    fn open(dir: PathBuf) -> Result<Self, CasesError> {
        let path = dir.join("node.json");
        let facts = json(&path)?;
        let version = facts["containerd"].as_str().unwrap_or_default();
        let version = version.split(' ').next().unwrap_or_default();
        let profile = Profile::find(version).map_err(|source| CasesError::Version {
            path: path.clone(),
            source,
        })?;
        let node = Node::parse(&text(&path)?, Node::new("", 0));
        let mut node = node.map_err(|source| CasesError::Node { path, source })?;
        node.gpu_control_nodes = false;
        node.features.cdi.get_or_insert(profile.cri.cdi_devices);
        let cluster = match objects(&dir) {
            Some(objects) => manifest(&objects)?.cluster,
            None => Cluster::default(),
        };
        let base_spec = dir.join("base-spec.json");
        let hooks = if base_spec.is_file() {
            json(&base_spec)?["hooks"].take()
        } else {
            Value::Null
        };
        let name = dir.file_name().unwrap_or_default();
        Ok(Self {
            name: name.to_string_lossy().into_owned(),
            dir,
            profile,
            node,
            cluster,
            hooks,
        })
    }

    /// The names of its cases.
    ///
    /// # Errors
    ///
    /// It cannot be read.
    pub fn names(&self) -> Result<Vec<String>, CasesError> {
        let mut dirs = directories(&self.dir)?;
        dirs.retain(|dir| dir.join("pod.yaml").is_file());
        let name = |dir: &PathBuf| Some(dir.file_name()?.to_string_lossy().into_owned());
        Ok(dirs.iter().filter_map(name).collect())
    }

    /// Compares both steps of a case.
    ///
    /// # Errors
    ///
    /// Its recording cannot be read. A manifest that cannot is a difference.
    pub fn check(&self, name: &str) -> Result<Vec<Step>, CasesError> {
        let dir = self.dir.join(name);
        let step = |step: &str, outcome| Step {
            id: format!("{}/{name}/{step}", self.name),
            outcome,
        };
        let requests = dir.join("requests.jsonl");
        let manifest = match manifest(&dir.join("pod.yaml")) {
            Ok(manifest) => manifest,
            Err(error @ CasesError::Manifest { .. }) => {
                return Ok(vec![step(
                    "cri",
                    Outcome::Different(vec![error.to_string()]),
                )]);
            }
            Err(error) => return Err(error),
        };
        let mut cluster = self.cluster.clone();
        cluster.extend(manifest.cluster);
        if !requests.is_file() {
            return Ok(vec![step(
                "cri",
                self.never_asked(&manifest.pods, &cluster),
            )]);
        }
        let rows = jsonl::read::<Row>(&requests)?;
        let cri = Cri::read(&dir.join("cri.json"))?;
        let mut differences = [Vec::new(), Vec::new()];
        let mut compared = [0, 0];
        for row in rows.iter().filter(|row| row.is_about_a_container()) {
            let request = &row.request;
            let made = self.made(&dir, &manifest.pods, &cluster, request, &cri);
            let recorded = cri.of(request);
            if let Some(recorded) = &recorded {
                compared[0] += 1;
                match &made {
                    Ok(made) => differences[0].extend(compare::cri(made, recorded)),
                    Err(why) => differences[0].push(why.clone()),
                }
            }
            let from_manifest = recorded.is_none();
            let asked = match (recorded, made) {
                (Some(recorded), _) => recorded,
                // What was asked for is gone: both steps at once.
                (None, Ok(made)) => made,
                (None, Err(why)) => {
                    differences[1].push(why);
                    continue;
                }
            };
            compared[1] += 1;
            differences[1].extend(self.requested(request, &asked, from_manifest));
        }
        let outcome = |compared: usize, differences: Vec<String>| match (compared, differences) {
            (_, differences) if !differences.is_empty() => Outcome::Different(differences),
            (0, _) => Outcome::NotRecorded("what the kubelet asked for was not kept".to_owned()),
            _ => Outcome::Equal,
        };
        let [of_cri, of_nri] = differences;
        Ok(vec![
            step("cri", outcome(compared[0], of_cri)),
            step("nri", outcome(compared[1], of_nri)),
        ])
    }

    fn kubelet<'a>(
        &'a self,
        node: &'a Node,
        cluster: &'a Cluster,
        allocation: &'a Allocation,
    ) -> Kubelet<'a> {
        Kubelet {
            node,
            profile: self.profile,
            cluster,
            allocation,
            source: Default::default(),
            shuffle: None,
        }
    }

    /// The Pod is one of those that never get as far as the runtime.
    fn never_asked(&self, pods: &[Pod], cluster: &Cluster) -> Outcome {
        let allocation = Allocation::default();
        let kubelet = self.kubelet(&self.node, cluster, &allocation);
        let played: Result<Vec<Played>, Refusal> =
            pods.iter().map(|pod| kubelet.play(pod)).collect();
        match played {
            Err(_) => Outcome::Equal,
            Ok(_) => Outcome::Different(vec![
                "nothing was asked about it, and here something is".to_owned(),
            ]),
        }
    }

    /// What a kubelet asks for here for the container of a request.
    fn made(
        &self,
        dir: &Path,
        pods: &[Pod],
        cluster: &Cluster,
        request: &CreateContainerRequest,
        cri: &Cri,
    ) -> Result<recorded::Asked, String> {
        let applied = facts::applied(&dir.join("pod.applied.yaml"), request);
        let pod = facts::pod(pods, &self.node, request, applied.as_ref())?;
        let usual = Allocation::default();
        let kubelet = Kubelet {
            source: facts::source(request),
            ..self.kubelet(&self.node, cluster, &usual)
        };
        let name = facts::container_name(request);
        let container = |played: Played| {
            let mut containers = played.containers.into_iter();
            containers.find(|it| it.name == name)
        };
        let refused = |refusal: Refusal| refusal.to_string();
        let by_limits = kubelet.play(&pod).map_err(refused)?;
        let by_limits = container(by_limits).map_or(0, |it| it.devices.len());
        let given = cri.given(request);
        if let Some(given) = &given
            && given.devices.len() != by_limits
        {
            let given = given.devices.len();
            return Err(format!(
                "{name}: devices: recorded {given}, made {by_limits}"
            ));
        }
        let mut allocation = Allocation::default();
        allocation
            .known
            .extend(given.map(|given| (name.to_owned(), given)));
        let kubelet = Kubelet {
            allocation: &allocation,
            ..kubelet
        };
        let played = kubelet.play(&pod).map_err(refused)?;
        let sandbox = played.sandbox.clone();
        let container =
            container(played).ok_or_else(|| format!("{name}: there is no such container"))?;
        Ok(recorded::Asked { sandbox, container })
    }

    /// What differs between a request and what containerd makes here of what it was asked for.
    fn requested(
        &self,
        request: &CreateContainerRequest,
        asked: &recorded::Asked,
        from_manifest: bool,
    ) -> Vec<String> {
        let node = facts::node(&self.node, self.profile, request, asked);
        let containerd = Containerd {
            profile: self.profile,
            node: &node,
        };
        let made = containerd.create_container(&asked.sandbox, &asked.container, &[]);
        match made {
            Ok(made) => compare::Nri {
                hooks: &self.hooks,
                from_manifest,
                targeted: asked.container.sees_processes_of.is_some(),
            }
            .differences(&made, request),
            Err(error) => vec![error.to_string()],
        }
    }
}
