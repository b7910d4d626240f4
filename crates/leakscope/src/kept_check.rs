//! What `check` keeps in the store, so that a second run has less to do.
//!
//! Results of a whole program have a hash of all that decides them (units,
//! options, models, the analysis itself) as their name, so what is there is
//! current. What was found of procedures, and units as the analysis reads them,
//! lie in one file for each program and unit, which say themselves what they are
//! of.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use leakscope_capture::{Store, Unit, UnitId};
use leakscope_core::Finding;
use leakscope_ir::Module;
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
    let units = units.map(|unit| unit.0.as_str());
    folder(store).join(format!("{}.json", hash(units.chain([models, options, ANALYSIS]))))
}

/// Where what was found of the procedures of a program lies.
pub fn procedures(store: &Store, program: &Path, models: &str, options: &str) -> PathBuf {
    let program = program.to_string_lossy();
    let name = hash([&*program, models, options, ANALYSIS].into_iter());
    folder(store).join(format!("{name}.procedures"))
}

/// `None` where nothing was kept that can be read.
pub fn load(place: &PathBuf) -> Option<Kept> {
    serde_json::from_slice(&fs::read(place).ok()?).ok()
}

/// The model of a unit, from the store if it is there already.
pub fn module(store: &Store, id: &UnitId, unit: &Unit) -> Result<Module> {
    let source = [unit.source.to_string_lossy(), unit.directory.to_string_lossy()];
    let parts = source.iter().map(|path| &**path).chain(unit.arguments.iter().map(String::as_str));
    let place = folder(store).join(format!("{}.unit", hash(parts)));
    let mark = hash([id.0.as_str(), ANALYSIS].into_iter());
    let kept = fs::read(&place).ok();
    let kept = kept.as_deref().and_then(|bytes| bytes.strip_prefix(mark.as_bytes())).and_then(Module::kept);
    if let Some(module) = kept {
        return Ok(module);
    }
    let path = store.bitcode(id);
    let bitcode = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let module = leakscope_ir::read(&bitcode).with_context(|| unit.source.display().to_string())?;
    store.replace(&place, &[mark.as_bytes(), &module.keep()].concat())?;
    Ok(module)
}

/// The analysis of this leakscope.
const ANALYSIS: &str = env!("ANALYSIS_KEY");

fn folder(store: &Store) -> PathBuf {
    store.root().join("derived/check")
}

fn hash<'a>(parts: impl Iterator<Item = &'a str>) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hasher.finalize().to_hex()[..32].to_owned()
}
