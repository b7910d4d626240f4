//! Results of `check`, kept in the store. Their name is a hash of all that
//! decides them (units, options, models, the analysis itself), so what is there
//! is current; a program in which anything changed is analysed as a whole.

use std::fs;
use std::path::PathBuf;

use leakscope_capture::{Store, UnitId};
use leakscope_core::Finding;
use serde::{Deserialize, Serialize};

/// What an analysis found, without its summaries.
#[derive(Serialize, Deserialize)]
pub struct Kept {
    pub findings: Vec<Finding>,
    pub cut: Vec<String>,
}

/// Where the result for this program and these options lies.
pub fn place<'a>(
    store: &Store,
    units: impl Iterator<Item = &'a UnitId>,
    models: &str,
    options: &str,
) -> PathBuf {
    let mut hasher = blake3::Hasher::new();
    for part in units.map(|unit| unit.0.as_str()).chain([models, options, env!("ANALYSIS_KEY")]) {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    store.root().join("derived/check").join(format!("{}.json", &hasher.finalize().to_hex()[..32]))
}

/// `None` where nothing was kept that can be read.
pub fn load(place: &PathBuf) -> Option<Kept> {
    serde_json::from_slice(&fs::read(place).ok()?).ok()
}
