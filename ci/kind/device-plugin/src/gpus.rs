//! Which GPUs there are.

use std::io;
use std::path::{Path, PathBuf};

use crate::v1beta1::DeviceSpec;

/// The mock GPUs that were staged on the node.
#[derive(Clone, Debug)]
pub struct Gpus {
    directory: PathBuf,
    names: Vec<String>,
}

impl Gpus {
    /// Those of the mock driver at `overlay`: `nvidia0`, `nvidia1` and so on.
    ///
    /// # Errors
    ///
    /// When no driver is staged there.
    pub fn staged(overlay: &Path) -> io::Result<Self> {
        let directory = overlay.join("driver/dev");
        let mut names = Vec::new();
        for entry in directory.read_dir()? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            let number = name.strip_prefix("nvidia").unwrap_or_default();
            if number.parse::<u32>().is_ok() {
                names.push(name);
            }
        }
        names.sort();
        Ok(Self { directory, names })
    }

    /// Their names, which is also what the kubelet calls them.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// What a container is given for the GPU of this name; nothing if there is none.
    #[must_use]
    pub fn device(&self, name: &str) -> Option<DeviceSpec> {
        let name = self.names.iter().find(|known| *known == name)?;
        Some(DeviceSpec {
            container_path: format!("/dev/{name}"),
            host_path: self.directory.join(name).display().to_string(),
            permissions: "rw".to_owned(),
        })
    }
}
