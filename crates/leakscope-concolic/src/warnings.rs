//! Reading warnings, whatever made them.

mod findings;
mod gcc;
mod plain;
mod sarif;
mod steps;

use crate::warning::Warning;

#[derive(Debug, thiserror::Error)]
pub enum WarningsError {
    #[error("neither JSON nor a list of `file TAB line TAB kind`: line {line} is {text:?}")]
    Unknown { line: usize, text: String },
    #[error("the JSON is neither SARIF, nor findings of leakscope, nor diagnostics of gcc")]
    OtherJson,
    #[error("the JSON ends or breaks off: {0}")]
    Json(#[from] serde_json::Error),
    #[error("expected a kind MA, BT, BF, PP or LK in line {line}, found {text:?}")]
    Kind { line: usize, text: String },
}

/// What a file of warnings holds, and what of it was passed over.
#[derive(Debug, Default)]
pub struct Warnings {
    pub warnings: Vec<Warning>,
    pub notes: Vec<String>,
}

/// The warnings in a text: SARIF, findings of leakscope, gcc's JSON, or a
/// plain list.
pub fn parse(text: &str) -> Result<Warnings, WarningsError> {
    let start = text.trim_start();
    if !start.starts_with(['{', '[']) {
        return plain::parse(text);
    }
    // gcc writes one array for each unit.
    let values: Vec<serde_json::Value> =
        serde_json::Deserializer::from_str(start).into_iter().collect::<Result<_, _>>()?;
    let mut all = Warnings::default();
    for value in &values {
        let read = if value.get("runs").is_some() {
            sarif::parse(value)
        } else if value.get("schema").is_some() {
            findings::parse(value)?
        } else if value.is_array() {
            gcc::parse(value)
        } else {
            return Err(WarningsError::OtherJson);
        };
        all.warnings.extend(read.warnings);
        all.notes.extend(read.notes);
    }
    Ok(all)
}
