//! Files that appear whole or not at all, and folders that go when they are no longer held.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::{names, os, remove_tree};

/// Puts `bytes` at `path` in one step: at no moment is there half of it. With `mode` the file gets these
/// permission bits, without it those of any new file.
pub(super) fn replace_file(path: &Path, bytes: &[u8], mode: Option<u32>) -> io::Result<()> {
    let folder = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder
        .prefix(names::TEMP_PREFIX)
        .suffix(names::TEMP_SUFFIX)
        .rand_bytes(names::TEMP_RANDOM);
    os::new_file_options(&mut builder);
    let mut file = builder.tempfile_in(folder)?;
    file.write_all(bytes)?;
    if let Some(mode) = mode {
        os::set_mode(file.as_file(), mode)?;
    }
    os::allow_replacing(path)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Writes an output of this program, for instance a report: folders on the way are made, and a reader sees the
/// old content or the new one, never a part. What is no regular file, for instance a pipe, is written into.
///
/// # Errors
/// Where the operating system refuses.
pub fn write_output(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => {
            replace_file(&fs::canonicalize(path)?, bytes, Some(os::mode(&metadata)))
        }
        Ok(metadata) if metadata.is_dir() => Err(io::Error::new(
            io::ErrorKind::IsADirectory,
            "is a folder, not a file",
        )),
        Ok(_) => File::options().write(true).open(path)?.write_all(bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => replace_file(path, bytes, None),
        Err(error) => Err(error),
    }
}

/// A folder of this program's own. It goes, with everything in it, when the value does.
#[derive(Debug)]
pub struct TempRoot {
    path: PathBuf,
    kept: bool,
}

impl TempRoot {
    /// The folder, canonical.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Leaves the folder where it is, for instance for a person to look into.
    #[must_use]
    pub fn keep(mut self) -> PathBuf {
        self.kept = true;
        std::mem::take(&mut self.path)
    }

    /// Removes the folder now, and says where that fails.
    ///
    /// # Errors
    /// Where the operating system refuses.
    pub fn remove(mut self) -> io::Result<()> {
        self.kept = true;
        remove_tree(&self.path)
    }
}

impl Drop for TempRoot {
    fn drop(&mut self) {
        if !self.kept {
            // Nobody is left to be told: a folder that stays behind is a nuisance, not a wrong result.
            let _ignored = remove_tree(&self.path);
        }
    }
}

/// Makes a new folder below `parent`, which is made as well where it is missing. Its name begins with
/// `prefix`, and only its owner may look into it.
///
/// # Errors
/// Where the operating system refuses.
pub fn create_temp_root(parent: &Path, prefix: &str) -> io::Result<TempRoot> {
    fs::create_dir_all(parent)?;
    let folder = tempfile::Builder::new()
        .prefix(prefix)
        .tempdir_in(fs::canonicalize(parent)?)?;
    Ok(TempRoot {
        path: folder.keep(),
        kept: false,
    })
}
