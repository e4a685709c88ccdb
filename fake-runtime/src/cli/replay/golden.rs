//! What earlier runs printed, kept to be compared with.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use similar::TextDiff;

use super::shown::Shown;
use crate::cli::{Result, Verdict};

/// A directory with one file for each file that is replayed.
pub(super) struct Goldens {
    dir: PathBuf,
    same: usize,
    different: usize,
}

impl Goldens {
    pub(super) fn new(dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
            same: 0,
            different: 0,
        }
    }

    /// Writes what has become of `file`.
    pub(super) fn update(&mut self, file: &Path, shown: &Shown) -> Result<()> {
        let golden = self.golden(file);
        fs::create_dir_all(&self.dir)
            .and_then(|()| fs::write(&golden, shown.golden()))
            .map_err(|error| format!("cannot write {}: {error}", golden.display()))?;
        self.same += 1;
        Ok(())
    }

    /// Prints how it differs from what was written.
    pub(super) fn compare(
        &mut self,
        out: &mut dyn Write,
        file: &Path,
        shown: &Shown,
    ) -> Result<()> {
        let golden = self.golden(file);
        let expected = match fs::read_to_string(&golden) {
            Ok(expected) => expected,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.different += 1;
                let golden = golden.display();
                writeln!(
                    out,
                    "{}: there is no {golden}: write it with --update",
                    file.display()
                )?;
                return Ok(());
            }
            Err(error) => return Err(format!("cannot read {}: {error}", golden.display()).into()),
        };
        let got = shown.golden();
        if expected == got {
            self.same += 1;
            return Ok(());
        }
        self.different += 1;
        let diff = TextDiff::from_lines(&expected, &got);
        let header = golden.display().to_string();
        write!(out, "{}", diff.unified_diff().header(&header, "now"))?;
        Ok(())
    }

    /// The last line, and what the command ends with.
    pub(super) fn finish(self, out: &mut dyn Write, updated: bool) -> Result {
        let Self {
            same, different, ..
        } = self;
        if updated {
            writeln!(out, "{same} written")?;
        } else {
            writeln!(out, "{same} as expected, {different} different")?;
        }
        Ok(if different == 0 {
            Verdict::Same
        } else {
            Verdict::Different
        })
    }

    /// `pods/gpu.yaml` is compared with `DIR/gpu.yaml.txt`.
    fn golden(&self, file: &Path) -> PathBuf {
        let mut name = file.file_name().unwrap_or_default().to_owned();
        name.push(".txt");
        self.dir.join(name)
    }
}
