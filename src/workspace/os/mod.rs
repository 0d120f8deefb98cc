//! What differs between platforms about files: permission bits, links, names, and opening a file that
//! may have turned into something else.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(super) use unix::{
    allow_replacing, is_portable_name, make_executable, make_link, make_removable, mode,
    new_file_options, open_regular, set_mode,
};
#[cfg(windows)]
pub(super) use windows::{
    allow_replacing, is_portable_name, make_executable, make_link, make_removable, mode,
    new_file_options, open_regular, set_mode,
};
