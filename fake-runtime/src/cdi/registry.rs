//! The CDI devices that a host has.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::one_line::on_one_line;
use serde::Deserialize;

use super::{CdiDevice, CdiSpec, ContainerEdits};

/// The CDI specs of a host.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(from = "Vec<CdiSpec>")]
pub struct Registry {
    /// By directory, of which the later ones take precedence.
    layers: Vec<Vec<CdiSpec>>,
    problems: Vec<String>,
}

/// Why a spec file is passed over.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// It cannot be read.
    #[error(transparent)]
    Unreadable(#[from] io::Error),
    /// It is not a CDI spec in JSON.
    #[error("{}", on_one_line(&.0.to_string()))]
    Json(#[from] serde_json::Error),
    /// It is not a CDI spec in YAML.
    #[error("{}", on_one_line(&.0.without_snippet().to_string()))]
    Yaml(#[from] serde_saphyr::Error),
}

impl From<Vec<CdiSpec>> for Registry {
    fn from(specs: Vec<CdiSpec>) -> Self {
        Self {
            layers: vec![specs],
            problems: Vec::new(),
        }
    }
}

impl Registry {
    /// Reads every `*.json` and `*.yaml` of the directories, in order of their names. A directory that is
    /// not there is an empty one, and a file that is no CDI spec is passed over, as in containerd;
    /// [`problems`](Self::problems) tells of it.
    pub fn load(dirs: &[PathBuf]) -> Self {
        let mut registry = Self::default();
        for dir in dirs {
            let mut layer = Vec::new();
            for file in spec_files(dir) {
                match read(&file) {
                    Ok(spec) => layer.push(spec),
                    Err(problem) => registry
                        .problems
                        .push(format!("{}: {problem}", file.display())),
                }
            }
            registry.layers.push(layer);
        }
        registry
    }

    /// One line for each file that was passed over.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    /// The edits of several devices together: of each spec file its own before those of its first device.
    ///
    /// # Errors
    /// The names that no spec defines.
    pub fn resolve(&self, names: &[String]) -> Result<ContainerEdits, Vec<String>> {
        let mut edits = ContainerEdits::default();
        let mut begun: Vec<&CdiSpec> = Vec::new();
        let mut unresolved = Vec::new();
        for name in names {
            let Some((spec, device)) = self.find(name) else {
                unresolved.push(name.clone());
                continue;
            };
            if !begun.iter().any(|other| std::ptr::eq(*other, spec)) {
                begun.push(spec);
                edits.append(&spec.container_edits);
            }
            edits.append(&device.container_edits);
        }
        if unresolved.is_empty() {
            Ok(edits)
        } else {
            Err(unresolved)
        }
    }

    /// Where on the host its devices are.
    pub fn host_paths(&self) -> impl Iterator<Item = &str> {
        let specs = self.layers.iter().flatten();
        let edits = specs.flat_map(|spec| {
            let devices = spec.devices.iter().map(|device| &device.container_edits);
            devices.chain([&spec.container_edits])
        });
        edits.flat_map(|edits| edits.device_nodes.iter().map(|node| node.path_on_host()))
    }

    /// The device of a qualified name. Two of them in one directory are a conflict, and there is none.
    fn find(&self, name: &str) -> Option<(&CdiSpec, &CdiDevice)> {
        let (kind, device) = name.split_once('=')?;
        self.layers.iter().rev().find_map(|layer| {
            let mut found = layer
                .iter()
                .filter(|spec| spec.kind == kind)
                .flat_map(|spec| spec.devices.iter().map(move |device| (spec, device)))
                .filter(|(_, other)| other.name == device);
            let first = found.next()?;
            Some(found.next().is_none().then_some(first))
        })?
    }
}

fn spec_files(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten();
    let mut files: Vec<_> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            let extension = path.extension().and_then(OsStr::to_str);
            matches!(extension, Some("json" | "yaml"))
        })
        .collect();
    files.sort();
    files
}

fn read(file: &Path) -> Result<CdiSpec, Problem> {
    let text = fs::read_to_string(file)?;
    if file.extension() == Some(OsStr::new("json")) {
        CdiSpec::from_json(&text)
    } else {
        CdiSpec::from_yaml(&text)
    }
}

impl CdiSpec {
    /// Reads a spec in JSON.
    ///
    /// # Errors
    /// It is none.
    pub fn from_json(text: &str) -> Result<Self, Problem> {
        Ok(serde_json::from_str(text)?)
    }

    /// Reads a spec in YAML.
    ///
    /// # Errors
    /// It is none.
    pub fn from_yaml(text: &str) -> Result<Self, Problem> {
        Ok(serde_saphyr::from_str(text)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NVIDIA: &str = r#"
cdiVersion: 0.6.0
kind: nvidia.com/gpu
containerEdits:
  env: [SPEC=1]
devices:
  - name: "0"
    containerEdits:
      env: [ZERO=1]
  - name: "1"
    containerEdits:
      env: [ONE=1]
      deviceNodes:
        - path: /dev/nvidia1
          hostPath: /mock/nvidia1
"#;

    fn dirs<const N: usize>(files: [(&str, &str, &str); N]) -> (tempfile::TempDir, Vec<PathBuf>) {
        let root = tempfile::tempdir().unwrap();
        let dirs = vec![root.path().join("etc"), root.path().join("run")];
        for dir in &dirs {
            fs::create_dir(dir).unwrap();
        }
        for (dir, name, text) in files {
            fs::write(root.path().join(dir).join(name), text).unwrap();
        }
        (root, dirs)
    }

    fn env(registry: &Registry, names: &[&str]) -> Result<Vec<String>, Vec<String>> {
        let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
        registry.resolve(&names).map(|edits| edits.env)
    }

    #[test]
    fn a_specs_own_edits_come_once_before_its_first_device() {
        let (_root, dirs) = dirs([("etc", "nvidia.yaml", NVIDIA)]);
        let registry = Registry::load(&dirs);
        assert_eq!(
            env(&registry, &["nvidia.com/gpu=1", "nvidia.com/gpu=0"]).unwrap(),
            ["SPEC=1", "ONE=1", "ZERO=1"]
        );
    }

    #[test]
    fn every_unresolvable_name_is_reported() {
        let (_root, dirs) = dirs([("etc", "nvidia.yaml", NVIDIA)]);
        let registry = Registry::load(&dirs);
        assert_eq!(
            env(
                &registry,
                &["nvidia.com/gpu=9", "nvidia.com/gpu=0", "no name"]
            )
            .unwrap_err(),
            ["nvidia.com/gpu=9", "no name"]
        );
    }

    #[test]
    fn a_later_directory_takes_precedence() {
        let other = r#"{"kind":"nvidia.com/gpu","devices":[{"name":"0","containerEdits":{"env":["RUN=1"]}}]}"#;
        let (_root, dirs) = dirs([("etc", "nvidia.yaml", NVIDIA), ("run", "other.json", other)]);
        assert_eq!(
            env(&Registry::load(&dirs), &["nvidia.com/gpu=0"]).unwrap(),
            ["RUN=1"]
        );
    }

    #[test]
    fn a_device_twice_in_one_directory_is_none() {
        let (_root, dirs) = dirs([("etc", "a.yaml", NVIDIA), ("etc", "b.yaml", NVIDIA)]);
        assert!(env(&Registry::load(&dirs), &["nvidia.com/gpu=0"]).is_err());
    }

    #[test]
    fn a_file_that_is_no_spec_is_passed_over_and_told_of() {
        let (_root, dirs) = dirs([
            ("etc", "bad.json", "{"),
            ("etc", "nvidia.yaml", NVIDIA),
            ("etc", "notes.txt", "{"),
        ]);
        let registry = Registry::load(&dirs);
        assert!(env(&registry, &["nvidia.com/gpu=0"]).is_ok());
        assert_eq!(registry.problems().len(), 1);
        assert!(registry.problems()[0].contains("bad.json: EOF while parsing"));
    }

    #[test]
    fn each_file_that_is_passed_over_is_told_of_in_one_line() {
        let (_root, dirs) = dirs([
            ("etc", "list.yaml", "kind: a/b\ndevices: 3\n"),
            (
                "etc",
                "odd.json",
                r#"{"kind": "a/b", "devices": "\n\u001b[1m"}"#,
            ),
            ("etc", "odd.yaml", r#"{"kind": "a/b", "devices": "\n"}"#),
        ]);
        let problems = Registry::load(&dirs).problems().join("|");
        assert_eq!(problems.split('|').count(), 3);
        assert!(!problems.contains(char::is_control), "{problems:?}");
    }

    #[test]
    fn a_nodes_place_on_the_host_is_its_host_path() {
        let (_root, dirs) = dirs([("etc", "nvidia.yaml", NVIDIA)]);
        let registry = Registry::load(&dirs);
        assert_eq!(registry.host_paths().collect::<Vec<_>>(), ["/mock/nvidia1"]);
    }
}
