use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _, symlink};
use std::path::Path;

/// The permission bits, without set-user, set-group and sticky.
pub(in crate::workspace) fn mode(metadata: &Metadata) -> u32 {
    metadata.permissions().mode() & 0o777
}

pub(in crate::workspace) fn set_mode(file: &File, mode: u32) -> io::Result<()> {
    file.set_permissions(Permissions::from_mode(mode & 0o777))
}

/// Lets everybody execute the file who may read it.
pub(in crate::workspace) fn make_executable(file: &File) -> io::Result<()> {
    let bits = mode(&file.metadata()?);
    set_mode(file, bits | (bits & 0o444) >> 2)
}

/// Gives a new temporary file the bits that a plainly created file has.
pub(in crate::workspace) fn new_file_options(builder: &mut tempfile::Builder<'_, '_>) {
    builder.permissions(Permissions::from_mode(0o666));
}

/// Opens for reading what must be a regular file: no link is followed at the last name, and a pipe
/// does not make the caller wait.
pub(in crate::workspace) fn open_regular(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
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

/// A symbolic link that holds `target` as it is.
pub(in crate::workspace) fn make_link(
    target: &Path,
    link: &Path,
    _to_folder: bool,
) -> io::Result<()> {
    symlink(target, link)
}

/// Lets the owner list and empty a folder. Files need nothing: removing one is up to its folder.
pub(in crate::workspace) fn make_removable(path: &Path, metadata: &Metadata) -> io::Result<()> {
    let bits = metadata.permissions().mode();
    if metadata.is_dir() && bits & 0o700 != 0o700 {
        std::fs::set_permissions(path, Permissions::from_mode(bits & 0o777 | 0o700))?;
    }
    Ok(())
}

/// A rename replaces a file whatever its own bits are.
#[expect(
    clippy::unnecessary_wraps,
    reason = "the other platform's form can fail"
)]
pub(in crate::workspace) fn allow_replacing(_path: &Path) -> io::Result<()> {
    Ok(())
}

/// Every name that the file system takes is as good as any other.
pub(in crate::workspace) fn is_portable_name(_name: &str) -> bool {
    true
}
