//! What `check` keeps in the store, so that a second run has less to do.
//!
//! Results of a whole program have a hash of all that decides them (units,
//! options, models, the analysis itself) as their name, so what is there is
//! current. What was found of procedures, and units as the analysis reads them,
//! lie in one file for each program and unit, which begin with a hash of what
//! they are of and of their content: a file that is damaged counts as none.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use leakscope_capture::{Store, Unit, UnitId};
use leakscope_core::Finding;
use leakscope_ir::Module;
use serde::{Deserialize, Serialize};

/// What an analysis found, without its summaries.
#[derive(Default, Serialize, Deserialize)]
pub struct Kept {
    pub findings: Vec<Finding>,
    pub cut: Vec<String>,
    pub failed: Vec<String>,
}

impl Kept {
    /// What programs have in common is there once.
    pub fn add(&mut self, other: Kept) {
        let before = self.findings.len();
        for finding in other.findings {
            let is_same = |known: &Finding| {
                known.cause == finding.cause
                    && known.allocated.stack == finding.allocated.stack
                    && known.leaked.as_ref().map(|place| &place.stack)
                        == finding.leaked.as_ref().map(|place| &place.stack)
            };
            if !self.findings[..before].iter().any(is_same) {
                self.findings.push(finding);
            }
        }
        add_names(&mut self.cut, other.cut);
        add_names(&mut self.failed, other.failed);
    }
}

fn add_names(names: &mut Vec<String>, others: Vec<String>) {
    for name in others {
        if !names.contains(&name) {
            names.push(name);
        }
    }
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

/// What is kept of the procedures of a program.
pub struct Procedures<'s> {
    store: &'s Store,
    place: PathBuf,
}

impl<'s> Procedures<'s> {
    pub fn of(store: &'s Store, program: &Path, models: &str, options: &str) -> Procedures<'s> {
        let program = program.to_string_lossy();
        let name = hash([&*program, models, options, ANALYSIS].into_iter());
        Procedures { store, place: folder(store).join(format!("{name}.procedures")) }
    }

    pub fn load(&self) -> Vec<u8> {
        kept(&self.place, ANALYSIS).unwrap_or_default()
    }

    pub fn keep(&self, content: &[u8]) -> Result<()> {
        keep(self.store, &self.place, ANALYSIS, content)
    }
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
    if let Some(module) = kept(&place, &mark).as_deref().and_then(Module::kept) {
        return Ok(module);
    }
    let path = store.bitcode(id);
    let bitcode = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let module = leakscope_ir::read(&bitcode).with_context(|| unit.source.display().to_string())?;
    keep(store, &place, &mark, &module.keep())?;
    Ok(module)
}

/// The analysis of this leakscope.
const ANALYSIS: &str = env!("ANALYSIS_KEY");

fn keep(store: &Store, place: &Path, mark: &str, content: &[u8]) -> Result<()> {
    Ok(store.replace(place, &[seal(mark, content).as_slice(), content].concat())?)
}

/// What [`keep`] wrote for the same mark.
fn kept(place: &Path, mark: &str) -> Option<Vec<u8>> {
    let mut bytes = fs::read(place).ok()?;
    let content = (bytes.len() >= blake3::OUT_LEN).then(|| bytes.split_off(blake3::OUT_LEN))?;
    (bytes == seal(mark, &content)).then_some(content)
}

fn seal(mark: &str, content: &[u8]) -> [u8; blake3::OUT_LEN] {
    *blake3::Hasher::new().update(mark.as_bytes()).update(content).finalize().as_bytes()
}

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
