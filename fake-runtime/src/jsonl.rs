//! Files of one JSON document a line, plain or gzipped: vectors and recordings.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use serde::de::DeserializeOwned;

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Why a file of JSON lines could not be read.
#[derive(Debug, thiserror::Error)]
pub enum JsonlError {
    /// The file cannot be opened or read, or its compression is broken.
    #[error("cannot read {path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the file system or the decoder said.
        source: io::Error,
    },
    /// A line is not what the reader asked for.
    #[error("{path}:{line}: {source}")]
    Line {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// What is wrong with it.
        source: serde_json::Error,
    },
}

/// Reads every line of `path` as a `T`. Blank lines are skipped; gzip is recognised by its first bytes, whatever
/// the file is called.
///
/// # Errors
///
/// The file cannot be read, or a line is no `T`.
pub fn read<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>, JsonlError> {
    let io_error = |source| JsonlError::Io {
        path: path.to_owned(),
        source,
    };
    let reader = BufReader::new(open(path).map_err(io_error)?);
    let mut rows = Vec::new();
    for (index, line) in reader.lines().enumerate() {
        let line = line.map_err(io_error)?;
        if line.trim().is_empty() {
            continue;
        }
        rows.push(
            serde_json::from_str(&line).map_err(|source| JsonlError::Line {
                path: path.to_owned(),
                line: index + 1,
                source,
            })?,
        );
    }
    Ok(rows)
}

fn open(path: &Path) -> io::Result<Box<dyn Read>> {
    let mut file = File::open(path)?;
    let mut magic = Vec::new();
    file.by_ref()
        .take(GZIP_MAGIC.len() as u64)
        .read_to_end(&mut magic)?;
    let gzipped = magic == GZIP_MAGIC;
    let whole = Cursor::new(magic).chain(file);
    Ok(if gzipped {
        Box::new(MultiGzDecoder::new(whole))
    } else {
        Box::new(whole)
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    const LINES: &str = "{\"a\": 1}\n\n{\"a\": 2}\n";

    #[test]
    fn plain_and_gzipped_files_read_alike() {
        let dir = tempfile::tempdir().unwrap();
        let plain = dir.path().join("plain");
        fs::write(&plain, LINES).unwrap();
        let gzipped = dir.path().join("gzipped");
        let mut encoder = GzEncoder::new(File::create(&gzipped).unwrap(), Compression::default());
        encoder.write_all(LINES.as_bytes()).unwrap();
        encoder.finish().unwrap();

        let rows: Vec<serde_json::Value> = read(&plain).unwrap();
        assert_eq!(rows.len(), 2);
        assert_eq!(read::<serde_json::Value>(&gzipped).unwrap(), rows);
    }

    #[test]
    fn a_bad_line_is_named_by_its_number() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("rows");
        fs::write(&path, "{}\n\nnonsense\n").unwrap();
        let error = read::<serde_json::Value>(&path).unwrap_err().to_string();
        assert!(error.contains("rows:3: expected"), "{error}");
    }
}
