//! The library models that come with leakscope, and the user's own.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use leakscope_analyze::Models;

/// Read where it is there, without being asked.
const OWN: &str = "leakscope.toml";

const FILES: [(&str, &str); 3] = [
    ("models/libc.toml", include_str!("../../../models/libc.toml")),
    ("models/posix.toml", include_str!("../../../models/posix.toml")),
    ("models/cxx.toml", include_str!("../../../models/cxx.toml")),
];

/// All models; the user's own go before those that come with leakscope.
pub fn models() -> Result<Models> {
    let mut models = Models::default();
    for (name, text) in FILES {
        models.add(name, text)?;
    }
    if Path::new(OWN).exists() {
        let text = fs::read_to_string(OWN).with_context(|| format!("cannot read {OWN}"))?;
        models.add(OWN, &text)?;
    }
    Ok(models)
}
