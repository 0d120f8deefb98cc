//! Criteria about the content of files.

use std::io;

use super::VerifyError;
use crate::base::{RelPath, one_line};
use crate::domain::Verdict;
use crate::workspace::{Resolved, Workspace, WorkspaceError};

/// How much of a text that is not there is shown, in characters.
const SHOWN: usize = 80;

/// Whether a file holds a text. Line ends count as equal however they are written.
pub(super) fn contains(
    workspace: &Workspace,
    file: &RelPath,
    needle: &str,
) -> Result<Verdict, VerifyError> {
    let content = match read(workspace, file)? {
        Ok(content) => content,
        Err(verdict) => return Ok(verdict),
    };
    let text = String::from_utf8_lossy(&content);
    let holds = text.contains(needle) || unix_lines(&text).contains(unix_lines(needle).as_str());
    let verb = if holds {
        "contains"
    } else {
        "does not contain"
    };
    let shown = one_line(&format!("{needle:?}"), SHOWN);
    Ok(Verdict::of(holds, format!("{file} {verb} {shown}")))
}

/// Whether a file is a text, byte by byte.
pub(super) fn equals(
    workspace: &Workspace,
    file: &RelPath,
    text: &str,
) -> Result<Verdict, VerifyError> {
    let content = match read(workspace, file)? {
        Ok(content) => content,
        Err(verdict) => return Ok(verdict),
    };
    if content == text.as_bytes() {
        return Ok(Verdict::of(true, format!("{file} is as expected")));
    }
    let found = String::from_utf8_lossy(&content);
    let reason = if unix_lines(&found) == unix_lines(text) {
        format!("{file} differs from the expected text in its line ends alone")
    } else {
        let same = found
            .split_inclusive('\n')
            .zip(text.split_inclusive('\n'))
            .take_while(|(found, expected)| found == expected)
            .count();
        format!("{file} differs from the expected text at line {}", same + 1)
    };
    Ok(Verdict::of(false, reason))
}

fn unix_lines(text: &str) -> String {
    text.replace("\r\n", "\n")
}

fn read(workspace: &Workspace, file: &RelPath) -> Result<Result<Vec<u8>, Verdict>, VerifyError> {
    let at = match resolve(workspace, file)? {
        Ok(at) => at,
        Err(verdict) => return Ok(Err(verdict)),
    };
    workspace
        .read_bytes(&at)
        .map(Ok)
        .or_else(|error| blame(file, error).map(Err))
}

/// Where a file is, or why it fails whatever is asked of it.
pub(super) fn resolve(
    workspace: &Workspace,
    file: &RelPath,
) -> Result<Result<Resolved, Verdict>, VerifyError> {
    workspace
        .resolve(file.as_str())
        .map(Ok)
        .or_else(|error| blame(file, error).map(Err))
}

/// What the workspace holds in place of the file is the work's fault, what the system refuses is not.
fn blame(file: &RelPath, error: WorkspaceError) -> Result<Verdict, VerifyError> {
    let reason = match &error {
        WorkspaceError::NotFound { .. } | WorkspaceError::NotADirectory { .. } => {
            format!("{file} is missing")
        }
        WorkspaceError::Outside { .. } => format!("{file} leads out of the workspace"),
        WorkspaceError::Loop { .. } => format!("{file} is a link that never ends"),
        WorkspaceError::NotAFile { what, .. } => format!("{file} is {what}, not a file"),
        WorkspaceError::TooLarge { .. } => format!("{file} is too large to be checked"),
        WorkspaceError::Io { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
            format!("{file} cannot be read")
        }
        _ => {
            return Err(VerifyError::Workspace {
                file: file.clone(),
                source: error,
            });
        }
    };
    Ok(Verdict::of(false, reason))
}
