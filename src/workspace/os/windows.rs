use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::windows::fs::{OpenOptionsExt as _, symlink_dir, symlink_file};
use std::path::Path;

/// `FILE_FLAG_OPEN_REPARSE_POINT`: a link is opened itself, not what it leads to.
const OPEN_REPARSE_POINT: u32 = 0x0020_0000;

/// Windows has no such bits: files differ by whether they may be written.
pub(in crate::workspace) fn mode(metadata: &Metadata) -> u32 {
    if metadata.permissions().readonly() {
        0o444
    } else {
        0o644
    }
}

pub(in crate::workspace) fn set_mode(file: &File, mode: u32) -> io::Result<()> {
    let mut permissions = file.metadata()?.permissions();
    permissions.set_readonly(mode & 0o200 == 0);
    file.set_permissions(permissions)
}

/// Whether a file is executed is up to its name here.
#[expect(
    clippy::unnecessary_wraps,
    reason = "the other platform's form can fail"
)]
pub(in crate::workspace) fn make_executable(_file: &File) -> io::Result<()> {
    Ok(())
}

/// A new file inherits what its folder says.
pub(in crate::workspace) fn new_file_options(_builder: &mut tempfile::Builder<'_, '_>) {}

/// Opens for reading what must be a regular file: no link is followed at the last name.
pub(in crate::workspace) fn open_regular(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(OPEN_REPARSE_POINT)
        .open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "is not a regular file",
        ))
    }
}

/// A symbolic link that holds `target` as it is. Windows tells links to folders from links to files, and
/// may want a privilege for either.
pub(in crate::workspace) fn make_link(
    target: &Path,
    link: &Path,
    to_folder: bool,
) -> io::Result<()> {
    if to_folder {
        symlink_dir(target, link)
    } else {
        symlink_file(target, link)
    }
}

/// Takes the read-only mark off, under which nothing can be removed.
#[expect(
    clippy::permissions_set_readonly_false,
    reason = "the mark is all that there is here: it opens nothing to anybody else"
)]
pub(in crate::workspace) fn make_removable(path: &Path, metadata: &Metadata) -> io::Result<()> {
    let mut permissions = metadata.permissions();
    if permissions.readonly() && !metadata.is_symlink() {
        permissions.set_readonly(false);
        std::fs::set_permissions(path, permissions)?;
    }
    Ok(())
}

/// A rename does not replace a file that is marked read-only.
pub(in crate::workspace) fn allow_replacing(path: &Path) -> io::Result<()> {
    match std::fs::symlink_metadata(path) {
        Ok(metadata) => make_removable(path, &metadata),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// A name that Windows reads as itself: no stream, no device, nothing at its end that is dropped in silence.
pub(in crate::workspace) fn is_portable_name(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or(name).trim_end();
    let numbered = stem.len() == 4
        && stem.is_char_boundary(3)
        && ["com", "lpt"]
            .iter()
            .any(|device| stem[..3].eq_ignore_ascii_case(device))
        && stem.as_bytes()[3].is_ascii_digit();
    let device = ["con", "prn", "aux", "nul", "conin$", "conout$"]
        .iter()
        .any(|device| stem.eq_ignore_ascii_case(device));
    !numbered
        && !device
        && !name.ends_with(['.', ' '])
        && !name.contains(|c: char| c.is_control() || "<>:\"|?*".contains(c))
}
