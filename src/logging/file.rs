//! The log in a file, for a process whose stdout goes nowhere: nobody else rotates it there.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// How large the file gets.
const LIMIT: u64 = 1024 * 1024;

/// A file that becomes `PATH.1` once it is full, in place of the one that was there.
#[derive(Debug)]
pub struct RotatedFile {
    path: PathBuf,
    file: File,
    size: u64,
}

impl RotatedFile {
    /// Goes on with the file at `path`. Directories that lack are made: below `/run` there are none after a reboot.
    ///
    /// # Errors
    ///
    /// When the file cannot be written to.
    pub fn open(path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        let file = match (appended(&path), path.parent()) {
            (Err(error), Some(directory)) if error.kind() == io::ErrorKind::NotFound => {
                fs::create_dir_all(directory)?;
                appended(&path)
            }
            (file, _) => file,
        }?;
        let size = file.metadata()?.len();
        Ok(Self { path, file, size })
    }

    fn rotate(&mut self) -> io::Result<()> {
        let mut old = OsString::from(&self.path);
        old.push(".1");
        // A file that somebody removed is begun anew.
        match fs::rename(&self.path, old) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        self.file = appended(&self.path)?;
        self.size = 0;
        Ok(())
    }
}

impl Write for RotatedFile {
    /// Writes whole lines, which stay in one file.
    fn write(&mut self, lines: &[u8]) -> io::Result<usize> {
        let length = lines.len() as u64;
        if self.size > 0 && self.size + length > LIMIT {
            self.rotate()?;
        }
        self.file.write_all(lines)?;
        self.size += length;
        Ok(lines.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn appended(path: &Path) -> io::Result<File> {
    File::options().append(true).create(true).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(path: &Path) -> u64 {
        fs::metadata(path).unwrap().len()
    }

    #[test]
    fn a_file_with_one_mebibyte_is_kept_as_the_one_old_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("not-there-yet/plugin.log");
        let mut log = RotatedFile::open(&path).unwrap();
        let lines = vec![b'x'; 300 * 1024];
        for written in 1..=7 {
            log.write_all(&lines).unwrap();
            assert!(size(&path) <= LIMIT, "after {written}");
        }
        let old = path.with_extension("log.1");
        assert_eq!((size(&path), size(&old)), (300 * 1024, 900 * 1024));
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 2);
    }

    #[test]
    fn a_process_that_starts_anew_goes_on_with_the_file_that_is_there() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("plugin.log");
        fs::write(&path, vec![b'x'; 1024 * 1024 - 1]).unwrap();
        let mut log = RotatedFile::open(&path).unwrap();
        log.write_all(b"y").unwrap();
        assert_eq!(size(&path), LIMIT);
        log.write_all(b"z\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "z\n");
    }
}
