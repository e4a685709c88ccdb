//! The mock overlay: the tree that the node agent stages and the plugin hands to containers.

use std::fmt;
use std::path::{Path, PathBuf};

use fake_runtime::nvidia;
use fake_runtime::tree::{Entry, Kind, TreeError, make_tree};
use nri_plugin::decide::Staged;
use nri_plugin::host::Host;
use serde::Deserialize;
use serde_json::{Value, json};

/// As many IMEX channels as NVIDIA's driver can have, and more HCAs than any machine.
const MOST_OTHERS: u32 = 2048;

const CDI_SPEC: &str = "cdi/nvml-mock-nri.yaml";
const EMPTY_LIBRARIES: [&str; 5] = [
    "driver/usr/lib64/libnvidia-ml.so.1",
    "driver/usr/local/lib/libibmockumad.so.1",
    "driver/usr/local/lib/libibmockverbs.so.1",
    "driver/usr/local/lib/libibmocksys.so.1",
    "driver/usr/local/lib/libmockfs.so.1",
];

/// The shape of a mock overlay tree.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let dir = tempfile::tempdir()?;
/// use mock_node::staging::{Devices, Overlay};
///
/// let overlay = Overlay { gpus: 2, ..Overlay::default() };
/// overlay.stage(dir.path(), Devices::Links)?;
/// assert!(dir.path().join("driver/dev/nvidia1").exists());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct Overlay {
    /// How many GPUs: `driver/dev/nvidia<N>`.
    pub gpus: u32,
    /// Whether the control nodes stand beside them: nvidiactl, nvidia-modeset, nvidia-uvm, nvidia-uvm-tools.
    pub control_nodes: bool,
    /// How many IMEX channels: `driver/dev/nvidia-caps-imex-channels/channel<N>`.
    pub imex_channels: u32,
    /// How many InfiniBand HCAs: `ib/sys/class/infiniband/mlx5_<N>`.
    pub hcas: u32,
    /// The nodes that the topology document lists; `None` stages no document.
    pub topology: Option<Vec<String>>,
    /// Whether a CDI spec with one device, `nvml-mock.nvidia.com/gpu=all`, is written.
    pub cdi: bool,
}

impl Default for Overlay {
    /// Four GPUs, two of everything else, a topology document for `node-1`, a CDI spec.
    fn default() -> Self {
        Self {
            gpus: 4,
            control_nodes: true,
            imex_channels: 2,
            hcas: 2,
            topology: Some(vec!["node-1".to_owned()]),
            cdi: true,
        }
    }
}

/// Why an overlay cannot be staged.
#[derive(Debug, thiserror::Error)]
pub enum StageError {
    /// No node has that many of it.
    #[error("cannot stage {count} {what}: a node has {most} at most")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many were asked for.
        count: u32,
        /// How many there can be.
        most: u32,
    },
    /// Something of its tree cannot be made.
    #[error(transparent)]
    Tree(#[from] TreeError),
}

/// Whether a real NVIDIA driver of this host has numbers of the mock's device nodes, which would open its GPUs.
pub fn has_real_driver(host: &impl Staged) -> bool {
    let majors = [
        nvidia::MAJOR,
        nvidia::UVM_MAJOR,
        nvidia::IMEX_CHANNELS_MAJOR,
    ];
    let real = host.nvidia_majors();
    majors.iter().any(|major| real.contains(major))
}

/// What stands where a device node belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Devices {
    /// Character devices with NVIDIA's numbers. Takes root.
    Nodes,
    /// Links to `/dev/null`, which is a character device to whoever follows them. Takes no privilege.
    Links,
}

impl fmt::Display for Devices {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Nodes => "device nodes with NVIDIA's numbers",
            Self::Links => "links to /dev/null in place of device nodes",
        })
    }
}

impl Devices {
    /// Device nodes where this process may make them and no real driver has their numbers, links otherwise.
    #[must_use]
    pub fn as_permitted() -> Self {
        if has_real_driver(&Host::new()) {
            return Self::Links;
        }
        let probe = tempfile::tempdir().map(|dir| {
            let null = Entry::new("null", Kind::Char { major: 1, minor: 3 });
            make_tree(dir.path(), [&null]).is_ok()
        });
        if probe.unwrap_or(false) {
            Self::Nodes
        } else {
            Self::Links
        }
    }

    fn entry(self, path: &str, major: u32, minor: u32) -> Entry {
        match self {
            Self::Nodes => Entry::new(path, Kind::Char { major, minor }).mode(0o666),
            Self::Links => Entry::new(
                path,
                Kind::Symlink {
                    target: "/dev/null".into(),
                },
            ),
        }
    }
}

impl Overlay {
    /// Makes the tree in `dir`, or completes the one that is there.
    ///
    /// # Errors
    ///
    /// More of something than a node can have, before anything is made; or the first thing that cannot be made,
    /// as device nodes cannot without root.
    pub fn stage(&self, dir: &Path, devices: Devices) -> Result<(), StageError> {
        for (what, count, most) in [
            ("GPUs", self.gpus, nvidia::MOST_GPUS),
            ("IMEX channels", self.imex_channels, MOST_OTHERS),
            ("HCAs", self.hcas, MOST_OTHERS),
        ] {
            if count > most {
                return Err(StageError::TooMany { what, count, most });
            }
        }
        Ok(make_tree(dir, &self.entries(dir, devices))?)
    }

    /// Where the CDI spec stands, below `dir`.
    #[must_use]
    pub fn cdi_spec(dir: &Path) -> PathBuf {
        dir.join(CDI_SPEC)
    }

    /// The plugin's flags for a tree staged in `dir`.
    #[must_use]
    pub fn plugin_flags(dir: &Path) -> [String; 2] {
        [
            format!("--overlay-host-path={}", dir.display()),
            format!("--cdi-spec-host-path={}", Self::cdi_spec(dir).display()),
        ]
    }

    /// Everything of the tree, in the order of making.
    fn entries(&self, dir: &Path, devices: Devices) -> Vec<Entry> {
        let mut entries = vec![
            file("driver/config/config.yaml", self.config()),
            file("driver/config/machine-type", "fake-runtime\n".to_owned()),
            file("driver/usr/bin/nvidia-smi", self.nvidia_smi()).mode(0o755),
            file("driver/usr/bin/nvidia-imex.real", "#!/bin/sh\n".to_owned()).mode(0o755),
        ];
        entries.extend(EMPTY_LIBRARIES.map(|path| file(path, String::new())));
        entries.push(Entry::new("driver/dev", Kind::Dir));
        entries.extend(
            self.nodes()
                .map(|(path, major, minor)| devices.entry(&path, major, minor)),
        );
        for hca in 0..self.hcas {
            let hca = format!("ib/sys/class/infiniband/mlx5_{hca}");
            entries.push(file(&format!("{hca}/node_type"), "1: CA\n".to_owned()));
            entries.push(file(
                &format!("{hca}/ports/1/state"),
                "4: ACTIVE\n".to_owned(),
            ));
        }
        if let Some(nodes) = &self.topology {
            entries.push(file("topology/topology.yaml", topology(nodes)));
        }
        if self.cdi {
            entries.push(file(CDI_SPEC, self.cdi_document(dir)));
        }
        entries
    }

    /// Path, major and minor of every device, below the overlay.
    fn nodes(&self) -> impl Iterator<Item = (String, u32, u32)> {
        let gpus =
            (0..self.gpus).map(|gpu| (format!("driver/dev/nvidia{gpu}"), nvidia::MAJOR, gpu));
        let control = [
            ("driver/dev/nvidiactl", nvidia::MAJOR, nvidia::CTL_MINOR),
            (
                "driver/dev/nvidia-modeset",
                nvidia::MAJOR,
                nvidia::MODESET_MINOR,
            ),
            ("driver/dev/nvidia-uvm", nvidia::UVM_MAJOR, 0),
            ("driver/dev/nvidia-uvm-tools", nvidia::UVM_MAJOR, 1),
        ];
        let control = control.into_iter().filter(|_| self.control_nodes);
        let channels = (0..self.imex_channels).map(|channel| {
            let path = format!("driver/dev/nvidia-caps-imex-channels/channel{channel}");
            (path, nvidia::IMEX_CHANNELS_MAJOR, channel)
        });
        gpus.chain(control.map(|(path, major, minor)| (path.to_owned(), major, minor)))
            .chain(channels)
    }

    fn config(&self) -> String {
        format!("version: \"1.0\"\nsystem:\n  num_devices: {}\n", self.gpus)
    }

    fn nvidia_smi(&self) -> String {
        let gpus: String = (0..self.gpus)
            .map(|gpu| format!("echo \"GPU {gpu}: mock\"\n"))
            .collect();
        format!("#!/bin/sh\n{gpus}")
    }

    /// A CDI spec of one device that brings every GPU and control node. JSON is YAML too.
    fn cdi_document(&self, dir: &Path) -> String {
        let nodes: Vec<Value> = self
            .nodes()
            .filter_map(|(path, ..)| {
                let name = path
                    .strip_prefix("driver/dev/")
                    .filter(|name| !name.contains('/'))?;
                Some(json!({ "path": format!("/dev/{name}"), "hostPath": dir.join(&path) }))
            })
            .collect();
        let spec = json!({
            "cdiVersion": "0.6.0",
            "kind": "nvml-mock.nvidia.com/gpu",
            "devices": [{ "name": "all", "containerEdits": { "deviceNodes": nodes } }],
        });
        format!("{spec:#}\n")
    }
}

fn file(path: &str, content: String) -> Entry {
    Entry::new(path, Kind::File { content })
}

fn topology(nodes: &[String]) -> String {
    let nodes: serde_json::Map<String, Value> = nodes
        .iter()
        .map(|node| (node.clone(), json!({ "clique": 0 })))
        .collect();
    format!("{:#}\n", json!({ "nodes": nodes }))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};

    use super::*;

    fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(dir)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn links_look_like_character_devices_to_whoever_follows_them() {
        let dir = tempfile::tempdir().unwrap();
        Overlay::default()
            .stage(dir.path(), Devices::Links)
            .unwrap();
        let gpu = fs::metadata(dir.path().join("driver/dev/nvidia3")).unwrap();
        assert!(gpu.file_type().is_char_device());
    }

    #[test]
    fn nodes_carry_nvidias_numbers_where_they_may_be_made() {
        let dir = tempfile::tempdir().unwrap();
        match (
            Overlay::default().stage(dir.path(), Devices::Nodes),
            Devices::as_permitted(),
        ) {
            (Err(StageError::Tree(TreeError::NotPermitted { .. })), Devices::Links) => {}
            (Ok(()), Devices::Nodes) => {
                let ctl = fs::metadata(dir.path().join("driver/dev/nvidiactl")).unwrap();
                assert_eq!(ctl.rdev(), rustix::fs::makedev(195, 255));
                assert_eq!(ctl.mode() & 0o777, 0o666);
            }
            (made, permitted) => panic!("{permitted:?} is permitted, making gave {made:?}"),
        }
    }

    #[test]
    fn what_is_staged_already_can_be_staged_again() {
        let dir = tempfile::tempdir().unwrap();
        let overlay = Overlay::default();
        let devices = Devices::as_permitted();
        overlay.stage(dir.path(), devices).unwrap();
        fs::remove_file(dir.path().join("driver/dev/nvidia1")).unwrap();
        let before = fs::symlink_metadata(dir.path().join("driver/dev/nvidia0")).unwrap();
        overlay.stage(dir.path(), devices).unwrap();
        let after = fs::symlink_metadata(dir.path().join("driver/dev/nvidia0")).unwrap();
        assert_eq!(
            before.ino(),
            after.ino(),
            "the node that a container may have"
        );
        assert!(dir.path().join("driver/dev/nvidia1").exists());
    }

    #[test]
    fn a_node_of_another_kind_in_the_way_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("driver/dev")).unwrap();
        fs::write(dir.path().join("driver/dev/nvidia0"), "").unwrap();
        let staged = Overlay::default().stage(dir.path(), Devices::Links);
        let error = staged.unwrap_err().to_string();
        assert!(
            error.ends_with("nvidia0: File exists (os error 17)"),
            "{error}"
        );
    }

    #[test]
    fn only_what_was_asked_for_is_staged() {
        let dir = tempfile::tempdir().unwrap();
        let bare = Overlay {
            gpus: 1,
            control_nodes: false,
            imex_channels: 0,
            hcas: 0,
            topology: None,
            cdi: false,
        };
        bare.stage(dir.path(), Devices::Links).unwrap();
        assert_eq!(names(dir.path()), ["driver"]);
        assert_eq!(names(&dir.path().join("driver/dev")), ["nvidia0"]);
    }

    #[test]
    fn no_more_is_staged_than_a_node_can_have() {
        let dir = tempfile::tempdir().unwrap();
        let overlay = Overlay {
            gpus: 255,
            ..Overlay::default()
        };
        let error = overlay.stage(dir.path(), Devices::Links).unwrap_err();
        assert_eq!(
            error.to_string(),
            "cannot stage 255 GPUs: a node has 254 at most"
        );
        assert_eq!(names(dir.path()), [""; 0]);
    }

    #[test]
    fn the_cdi_spec_names_every_node_but_the_channels() {
        let dir = tempfile::tempdir().unwrap();
        Overlay {
            gpus: 1,
            ..Overlay::default()
        }
        .stage(dir.path(), Devices::Links)
        .unwrap();
        let spec = fs::read_to_string(Overlay::cdi_spec(dir.path())).unwrap();
        let spec: Value = serde_json::from_str(&spec).unwrap();
        let nodes = spec["devices"][0]["containerEdits"]["deviceNodes"]
            .as_array()
            .unwrap();
        let paths: Vec<_> = nodes
            .iter()
            .map(|node| node["path"].as_str().unwrap())
            .collect();
        let expected = [
            "/dev/nvidia0",
            "/dev/nvidiactl",
            "/dev/nvidia-modeset",
            "/dev/nvidia-uvm",
            "/dev/nvidia-uvm-tools",
        ];
        assert_eq!(paths, expected);
    }
}
