//! The format of a run's stored state.

use super::StoreError;
use crate::domain::RunId;

/// The format of a run's state. It grows whenever a state that was written before would be read as something else.
pub const CHECKPOINT_FORMAT: u32 = 1;

/// Refuses a state of any other format: half-understood state would make a run go on from somewhere it never was.
pub(super) const fn require_format(run: RunId, found: u32) -> Result<(), StoreError> {
    if found == CHECKPOINT_FORMAT {
        Ok(())
    } else {
        Err(StoreError::CheckpointFormat {
            run,
            found,
            supported: CHECKPOINT_FORMAT,
        })
    }
}
