//! Files of one JSON document a line, plain or gzipped: vectors and recordings.

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};

use crate::one_line::on_one_line;
use flate2::read::MultiGzDecoder;
use serde::de::DeserializeOwned;

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// The most text that is read from one file, in bytes: gzip can unpack a thousandfold.
pub const MAX_TEXT: u64 = 256 << 20;

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
    /// There is no end to it, or not within reason.
    #[error("{path}: more than {} MiB of text, split it", MAX_TEXT >> 20)]
    TooLong {
        /// The file.
        path: PathBuf,
    },
    /// A line is not what the reader asked for.
    #[error("{path}:{line}: {}", on_one_line(&source.to_string()))]
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
    rows(path, &text(path)?)
}

/// All the text of `path`, unpacked where it is gzipped.
///
/// # Errors
///
/// The file cannot be read, or has more than [`MAX_TEXT`].
pub fn text(path: &Path) -> Result<String, JsonlError> {
    let file = File::open(path).map_err(|source| JsonlError::Io {
        path: path.to_owned(),
        source,
    })?;
    text_of(path, file)
}

/// The same of what `file` gives, which is the content of `path`.
///
/// # Errors
///
/// As [`text`].
pub fn text_of(path: &Path, file: impl Read) -> Result<String, JsonlError> {
    let mut text = String::new();
    let read = unpacked(file).and_then(|file| file.take(MAX_TEXT + 1).read_to_string(&mut text));
    match read {
        Ok(length) if length as u64 > MAX_TEXT => Err(JsonlError::TooLong {
            path: path.to_owned(),
        }),
        Ok(_) => Ok(text),
        Err(source) => Err(JsonlError::Io {
            path: path.to_owned(),
            source,
        }),
    }
}

/// Reads every line of `text`, which stands in `path`, as a `T`. Blank lines are skipped.
///
/// # Errors
///
/// A line is no `T`.
pub fn rows<T: DeserializeOwned>(path: &Path, text: &str) -> Result<Vec<T>, JsonlError> {
    let lines = text.lines().enumerate();
    lines
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(index, line)| {
            serde_json::from_str(line).map_err(|source| JsonlError::Line {
                path: path.to_owned(),
                line: index + 1,
                source,
            })
        })
        .collect()
}

fn unpacked<'a>(mut file: impl Read + 'a) -> io::Result<Box<dyn Read + 'a>> {
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
    fn text_without_an_end_is_refused() {
        let error = text_of(Path::new("rows"), io::repeat(b' ')).unwrap_err();
        assert_eq!(
            error.to_string(),
            "rows: more than 256 MiB of text, split it"
        );
    }

    #[test]
    fn a_line_is_quoted_on_one_line() {
        #[derive(Debug, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Empty {}
        let error = rows::<Empty>(Path::new("rows"), r#"{"a\nb": 1}"#).unwrap_err();
        assert!(error.to_string().contains(r"`a\nb`"), "{error}");
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
