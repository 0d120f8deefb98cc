//! Which backend runs commands on this machine.

use std::sync::Arc;

use super::os::Floor;
use super::{Sandbox, SandboxConfig};
use crate::base::Clock;

/// Sets a backend up, or says that this machine does not have it.
type Open = fn(&SandboxConfig, &Arc<dyn Clock>) -> Option<Box<dyn Sandbox>>;

/// A backend that may or may not be there.
struct Row {
    /// Whether it is more than the floor.
    native: bool,
    open: Open,
}

/// From the strongest to the weakest. The last is always there.
const ROWS: &[Row] = &[Row {
    native: false,
    open: |config, clock| Some(Box::new(Floor::new(config, Arc::clone(clock)))),
}];

/// The strongest sandbox that this machine offers.
///
/// On Linux the process becomes the one that orphans below it are handed to, so that what a command leaves behind
/// can be found, and other processes of the same user can no longer look into it. A program that embeds this and
/// starts processes of its own must keep those in its own session: what is found orphaned in another session,
/// started during a run, counts as that run's.
///
/// `clock` measures how long commands take. Deadlines are real time whatever the clock says, since processes are.
#[must_use]
pub fn select(config: &SandboxConfig, clock: Arc<dyn Clock>) -> Box<dyn Sandbox> {
    ROWS.iter()
        .filter(|row| !(row.native && config.force_floor))
        .find_map(|row| (row.open)(config, &clock))
        .unwrap_or_else(|| Box::new(Floor::new(config, clock)))
}
