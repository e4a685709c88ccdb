//! Reading what a folder of cases holds, and why it cannot be read.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::jsonl::JsonlError;
use crate::pod::manifest::ManifestError;
use crate::pod::node::NodeError;
use crate::profile::UnknownVersion;

/// Why a folder cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum CasesError {
    /// A file of it cannot be read.
    #[error("cannot read {path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the file system said.
        source: io::Error,
    },
    /// A file with rows is not one.
    #[error(transparent)]
    Rows(#[from] JsonlError),
    /// A file is not what its name says.
    #[error("{path}: {source}")]
    Json {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// A manifest cannot be read.
    #[error("{path}: {source}")]
    Manifest {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: ManifestError,
    },
    /// The node is not described.
    #[error("{path} {source}")]
    Node {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: NodeError,
    },
    /// It is of a containerd that nobody measured.
    #[error("{path}: {source}")]
    Version {
        /// The file.
        path: PathBuf,
        /// Which.
        source: UnknownVersion,
    },
    /// There is no folder of cases in it.
    #[error("{0} holds no cases: there is no node.json in it, nor one directory below")]
    NoCases(PathBuf),
}

pub(super) fn text(path: &Path) -> Result<String, CasesError> {
    fs::read_to_string(path).map_err(|source| CasesError::Io {
        path: path.to_owned(),
        source,
    })
}

pub(super) fn json(path: &Path) -> Result<Value, CasesError> {
    serde_json::from_str(&text(path)?).map_err(|source| CasesError::Json {
        path: path.to_owned(),
        source,
    })
}
