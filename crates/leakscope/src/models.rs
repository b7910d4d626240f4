//! The library models that come with leakscope, and the user's own.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use leakscope_analyze::Models;
use leakscope_core::PoolFunction;

/// Read where it is there, without being asked.
const OWN: &str = "leakscope.toml";

const FILES: [(&str, &str); 10] = [
    ("models/curl.toml", include_str!("../../../models/curl.toml")),
    ("models/cxx.toml", include_str!("../../../models/cxx.toml")),
    ("models/glib.toml", include_str!("../../../models/glib.toml")),
    ("models/libc.toml", include_str!("../../../models/libc.toml")),
    ("models/libxml2.toml", include_str!("../../../models/libxml2.toml")),
    ("models/misc.toml", include_str!("../../../models/misc.toml")),
    ("models/openssl.toml", include_str!("../../../models/openssl.toml")),
    ("models/posix.toml", include_str!("../../../models/posix.toml")),
    ("models/sqlite3.toml", include_str!("../../../models/sqlite3.toml")),
    ("models/zlib.toml", include_str!("../../../models/zlib.toml")),
];

/// All models; the user's own go before those that come with leakscope.
pub fn models() -> Result<Models> {
    let mut models = Models::default();
    for (name, text) in FILES {
        models.add(name, text)?;
    }
    models.add(OWN, &own_text()?)?;
    Ok(models)
}

/// The program's own allocators, as the user's file tells them.
pub fn pools() -> Result<Vec<PoolFunction>> {
    let mut models = Models::default();
    models.add(OWN, &own_text()?)?;
    Ok(models.pools)
}

/// The user's own models as they are written; empty where there are none.
pub fn own_text() -> Result<String> {
    if !Path::new(OWN).exists() {
        return Ok(String::new());
    }
    fs::read_to_string(OWN).with_context(|| format!("cannot read {OWN}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_model_is_known_and_can_be_read() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
        let mut files: Vec<String> = fs::read_dir(folder)
            .expect("models are there")
            .map(|entry| format!("models/{}", entry.expect("readable").file_name().to_string_lossy()))
            .filter(|name| name.ends_with(".toml"))
            .collect();
        files.sort();
        assert_eq!(files, FILES.map(|(name, _)| name));
        models().expect("all are valid");
    }
}
