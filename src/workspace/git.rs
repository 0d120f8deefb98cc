//! The files of a commit, read from a repository's objects alone.
//!
//! The repository is not opened as one: its settings, hooks, attributes and owner have no say, because only
//! the folder of its objects is looked at.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use git2::{ErrorCode, ObjectType, Odb, Oid, Repository, Tree};

use super::materialise::check_link;
use super::{WorkspaceError, os};

/// The largest file of a commit that is laid out, in bytes.
const MAX_BLOB: usize = 1 << 30;
/// How many entries a commit may have, and how deep its folders may be.
const MAX_ENTRIES: usize = 1_000_000;
const MAX_DEPTH: usize = 200;

/// Modes of entries, as trees have them.
const LINK: i32 = 0o120_000;
const EXECUTABLE: i32 = 0o100;

/// Writes the files of a commit into an empty folder.
pub(super) fn lay_out(location: &str, rev: &str, into: &Path) -> Result<(), WorkspaceError> {
    let id = full_id(rev)?;
    let repository = open(location)?;
    let broken = |source| WorkspaceError::Git {
        location: location.to_owned(),
        source,
    };
    let commit = match repository.find_object(id, None) {
        Ok(object) => object,
        Err(error) if error.code() == ErrorCode::NotFound => {
            return Err(WorkspaceError::NoCommit {
                location: location.to_owned(),
                rev: rev.to_owned(),
            });
        }
        Err(error) => return Err(broken(error)),
    };
    let Some(commit) = commit.as_commit() else {
        return Err(WorkspaceError::NotACommit {
            location: location.to_owned(),
            rev: rev.to_owned(),
            kind: commit.kind().map_or("unknown object", |kind| kind.str()),
        });
    };
    let mut layout = Layout {
        repository: &repository,
        odb: repository.odb().map_err(broken)?,
        into,
        location,
        links: Vec::new(),
    };
    layout.folders(commit.tree().map_err(broken)?)?;
    layout.links()
}

fn full_id(rev: &str) -> Result<Oid, WorkspaceError> {
    let full = rev.len() == 40 && rev.bytes().all(|byte| byte.is_ascii_hexdigit());
    Oid::from_str(rev)
        .ok()
        .filter(|_| full)
        .ok_or_else(|| WorkspaceError::Rev {
            rev: rev.to_owned(),
        })
}

/// The objects of a repository on this machine.
fn open(location: &str) -> Result<Repository, WorkspaceError> {
    let path = local_path(location)?;
    let none = |hint| WorkspaceError::NotARepository {
        location: location.to_owned(),
        hint,
    };
    if path.is_file() {
        return Err(none(
            ": it is a file. Clone it in an earlier step (`git clone` reads bundles) and give the path of the clone",
        ));
    }
    if !path.exists() {
        return Err(none(": nothing is there"));
    }
    let objects = objects_of(&path)
        .ok_or_else(|| none(": give the folder that holds `.git`, or a bare repository's own"))?;
    let objects = objects
        .to_str()
        .ok_or_else(|| none(": its path is no UTF-8"))?;
    let open = || {
        let odb = Odb::new()?;
        odb.add_disk_alternate(objects)?;
        Repository::from_odb(odb)
    };
    open().map_err(|source| WorkspaceError::Git {
        location: location.to_owned(),
        source,
    })
}

/// The path that a location names.
fn local_path(location: &str) -> Result<PathBuf, WorkspaceError> {
    let remote = || WorkspaceError::Remote {
        location: without_login(location),
    };
    if let Some(address) = location.strip_prefix("file://") {
        let path = address.strip_prefix("localhost").unwrap_or(address);
        // Behind a host's name lies another machine's path.
        let local = path.starts_with('/');
        let path = percent_decoded(path).filter(|_| local).ok_or_else(remote)?;
        // On a platform with drives, `/C:/x` names `C:/x`.
        let with_drive = Path::new(&path[1..]);
        let drive = path.as_bytes().get(2) == Some(&b':') && with_drive.is_absolute();
        return Ok(PathBuf::from(if drive { &path[1..] } else { &path }));
    }
    let scheme = location.split_once("://").is_some_and(|(scheme, _)| {
        scheme
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    });
    // `user@host:path`, which is neither a drive nor a path of this machine.
    let shorthand = location
        .split_once(':')
        .is_some_and(|(host, _)| host.len() > 1 && !host.contains(['/', '\\']))
        && !Path::new(location).exists();
    if scheme || shorthand {
        return Err(remote());
    }
    Ok(PathBuf::from(location))
}

/// The location without the name and password that an address may hold.
fn without_login(location: &str) -> String {
    match location.split_once("://") {
        Some((scheme, rest)) => {
            let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            let host = host.rsplit('@').next().unwrap_or(host);
            format!("{scheme}://{host}{path}")
        }
        None => location.to_owned(),
    }
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, more)) = rest.split_first() {
        rest = more;
        if first == b'%' {
            let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &rest[2..];
        } else {
            bytes.push(first);
        }
    }
    String::from_utf8(bytes).ok()
}

/// The folder of a repository's objects: a bare one's own, that below `.git`, or that which a `.git` file of a
/// work tree points to.
fn objects_of(path: &Path) -> Option<PathBuf> {
    let folder = |path: PathBuf| path.is_dir().then_some(path);
    let dot_git = path.join(".git");
    if dot_git.is_dir() {
        return folder(dot_git.join("objects"));
    }
    if let Some(pointer) = small_text(&dot_git) {
        let git = path.join(pointer.strip_prefix("gitdir:")?.trim());
        let common = small_text(&git.join("commondir"))
            .map_or_else(|| git.clone(), |common| git.join(common.trim()));
        return folder(common.join("objects"));
    }
    path.join("HEAD")
        .is_file()
        .then(|| path.join("objects"))
        .and_then(folder)
}

fn small_text(path: &Path) -> Option<String> {
    let bytes = super::read::read_capped(path, 4_096, "").ok()?;
    String::from_utf8(bytes).ok()
}

/// A commit on its way to the disk.
struct Layout<'a> {
    repository: &'a Repository,
    odb: Odb<'a>,
    into: &'a Path,
    location: &'a str,
    /// Links come last: until then nothing in the folder leads anywhere.
    links: Vec<(PathBuf, String)>,
}

impl Layout<'_> {
    fn broken(&self, source: git2::Error) -> WorkspaceError {
        WorkspaceError::Git {
            location: self.location.to_owned(),
            source,
        }
    }

    fn folders(&mut self, root: Tree<'_>) -> Result<(), WorkspaceError> {
        let repository = self.repository;
        let mut entries = 0;
        let mut pending = vec![(PathBuf::new(), root, 0)];
        while let Some((folder, tree, depth)) = pending.pop() {
            for entry in &tree {
                entries += 1;
                if entries > MAX_ENTRIES || depth > MAX_DEPTH {
                    return Err(WorkspaceError::TooMany {
                        path: self.location.to_owned(),
                        limit: MAX_ENTRIES,
                    });
                }
                let path = folder.join(safe_name(&folder, entry.name_bytes())?);
                match entry.kind() {
                    Some(ObjectType::Tree) => {
                        self.make_folder(&path)?;
                        let tree = repository
                            .find_tree(entry.id())
                            .map_err(|error| self.broken(error))?;
                        pending.push((path, tree, depth + 1));
                    }
                    Some(ObjectType::Commit) => self.make_folder(&path)?,
                    _ => self.file(path, entry.id(), entry.filemode())?,
                }
            }
        }
        Ok(())
    }

    fn make_folder(&self, path: &Path) -> Result<(), WorkspaceError> {
        // Not with its parents, and not where something is already: two entries of one name are an attack.
        fs::create_dir(self.into.join(path))
            .map_err(WorkspaceError::io_at("making the folder", path))
    }

    fn file(&mut self, path: PathBuf, id: Oid, mode: i32) -> Result<(), WorkspaceError> {
        let refuse = |reason| WorkspaceError::Entry {
            path: path.display().to_string(),
            reason,
        };
        let (size, kind) = match self.odb.read_header(id) {
            Ok(header) => header,
            Err(error) if error.code() == ErrorCode::NotFound => {
                return Err(refuse(
                    "the repository does not hold its content: clone it whole (without `--filter`)",
                ));
            }
            Err(error) => return Err(self.broken(error)),
        };
        if kind != ObjectType::Blob {
            return Err(refuse("it is neither a file nor a folder"));
        }
        if size > MAX_BLOB {
            return Err(refuse("it is larger than 1 GiB"));
        }
        let object = self.odb.read(id).map_err(|error| self.broken(error))?;
        if mode == LINK {
            let target = std::str::from_utf8(object.data())
                .map_err(|_| refuse("it is a link to a name that is no UTF-8"))?;
            if target.is_empty() || target.contains('\0') {
                return Err(refuse("it is a link to nothing"));
            }
            self.links.push((path, target.to_owned()));
            return Ok(());
        }
        let write = || -> io::Result<()> {
            let mut file = File::create_new(self.into.join(&path))?;
            file.write_all(object.data())?;
            if mode & EXECUTABLE != 0 {
                os::make_executable(&file)?;
            }
            Ok(())
        };
        write().map_err(WorkspaceError::io_at("writing", &path))
    }

    fn links(&self) -> Result<(), WorkspaceError> {
        for (path, target) in &self.links {
            let link = self.into.join(path);
            let leads_to = link.parent().unwrap_or(self.into).join(target);
            os::make_link(Path::new(target), &link, leads_to.is_dir())
                .map_err(WorkspaceError::io_at("making the link", path))?;
        }
        self.links
            .iter()
            .try_for_each(|(path, _)| check_link(self.into, path))
    }
}

/// The name of an entry, if it can be a file's on every platform and is nothing that git keeps for itself.
fn safe_name<'a>(folder: &Path, name: &'a [u8]) -> Result<&'a str, WorkspaceError> {
    let refuse = |reason| WorkspaceError::Entry {
        path: folder
            .join(String::from_utf8_lossy(name).as_ref())
            .display()
            .to_string(),
        reason,
    };
    let text = std::str::from_utf8(name).map_err(|_| refuse("its name is no UTF-8"))?;
    if text.is_empty() || text == "." || text == ".." || text.contains(['/', '\\', '\0']) {
        return Err(refuse("its name would lead elsewhere"));
    }
    // What a file system that ignores case, trailing dots or invisible characters takes for `.git`.
    let invisible = |c| matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    let plain = text.replace(invisible, "").to_ascii_lowercase();
    let plain = plain.trim_end_matches(['.', ' ']);
    if plain == ".git" || plain == "git~1" || plain.starts_with(".git:") {
        return Err(refuse("git keeps that name for itself"));
    }
    if !os::is_portable_name(text) {
        return Err(refuse("this platform has no such names"));
    }
    Ok(text)
}
