//! Live blocks of a moment by where they were allocated.

use serde::{Deserialize, Serialize};

use crate::Place;

/// The blocks of one allocation place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Live {
    pub place: Place,
    /// All of them.
    pub in_use: Amount,
    pub lost: Amount,
    pub stale: Amount,
    /// Bytes times idle time of what is stale.
    pub drag: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Amount {
    pub blocks: u64,
    pub bytes: u64,
}

impl Amount {
    pub fn add(&mut self, blocks: u64, bytes: u64) {
        self.blocks = self.blocks.saturating_add(blocks);
        self.bytes = self.bytes.saturating_add(bytes);
    }
}
