//! The data in `bench/`, read as TOML.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::de::DeserializeOwned;

pub fn read<T: DeserializeOwned>(file: &Path) -> Result<T> {
    let text = fs::read_to_string(file).with_context(|| {
        format!("cannot read {}: run from the project's root or pass --data", file.display())
    })?;
    toml::from_str(&text).with_context(|| format!("{} is not as expected", file.display()))
}

/// The project's own data, for tests.
#[cfg(test)]
pub fn folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench"))
}
