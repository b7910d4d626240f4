//! Inputs that validation keeps, as files that a person can use, and what
//! `leakscope replay` needs to run them again.
//!
//! ```text
//! validation.json    the target and its warnings
//! journal            what the solver said, for the same command later
//! ID/                an input: args, stdin, files/, env, fails
//! ID/run.sh          one line that runs it
//! ```

use std::env;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use leakscope_concolic::Input;
use leakscope_core::Verdict;
use serde::{Deserialize, Serialize};

use crate::files::is_source;
use crate::last_run;

const SCHEMA: &str = "leakscope-validation/1";
const NAME: &str = "validation.json";

/// A validation that was kept.
#[derive(Debug, Serialize, Deserialize)]
pub struct Kept {
    schema: String,
    pub folder: PathBuf,
    pub targets: Vec<PathBuf>,
    pub flags: Vec<String>,
    pub warnings: Vec<Warning>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Warning {
    pub id: String,
    pub verdict: Option<Verdict>,
    pub reason: String,
    pub has_input: bool,
    /// Whether the object that its input leaves is still reachable at the end.
    #[serde(default)]
    pub is_reachable: bool,
}

impl Kept {
    pub fn new(targets: &[PathBuf], flags: &[String]) -> Result<Kept> {
        let folder = env::current_dir().context("cannot find the current folder")?;
        let schema = SCHEMA.to_owned();
        Ok(Kept { schema, folder, targets: targets.to_vec(), flags: flags.to_vec(), warnings: Vec::new() })
    }

    pub fn write(&self, to: &Path) -> Result<()> {
        let path = to.join(NAME);
        let json = serde_json::to_vec_pretty(self).context("cannot write the validation down")?;
        fs::write(&path, json).with_context(|| format!("cannot write {}", path.display()))
    }

    /// The last validation in the current folder, or one that was kept
    /// elsewhere; with the folder of its inputs.
    pub fn read(from: Option<&Path>) -> Result<(Kept, PathBuf)> {
        let folder = match from {
            Some(folder) => folder.to_owned(),
            None => folder()?,
        };
        let path = folder.join(NAME);
        if !path.exists() {
            bail!("no validation was kept in {}: use `leakscope validate` first", folder.display());
        }
        let json = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let kept: Kept = serde_json::from_slice(&json)
            .ok()
            .filter(|kept: &Kept| kept.schema == SCHEMA)
            .with_context(|| format!("{} is of another leakscope: validate again", path.display()))?;
        Ok((kept, folder))
    }

    /// The warning whose id begins so.
    pub fn warning(&self, id: &str) -> Result<&Warning> {
        let found: Vec<&Warning> =
            self.warnings.iter().filter(|warning| warning.id.starts_with(id)).collect();
        match found[..] {
            [one] => Ok(one),
            [] => bail!("the validation has no warning {id}"),
            _ => bail!("{} warnings begin with {id}: give more of the id", found.len()),
        }
    }
}

/// Where the validation of programs in the current folder is kept.
pub fn folder() -> Result<PathBuf> {
    last_run::place(&env::current_dir().context("cannot find the current folder")?, "validation")
}

/// Writes an input to a folder of its own; returns the line that runs it.
pub fn keep(input: &Input, folder: &Path, program: &Path, id: &str) -> Result<String> {
    let cannot = || format!("cannot write {}", folder.display());
    let _ = fs::remove_dir_all(folder);
    input.write(folder).with_context(cannot)?;
    let line = match input.fails.is_empty() {
        true => shell_line(input, folder, program),
        // Only an instrumented program can be made to fail so.
        false => {
            let from = folder.parent().and_then(|from| std::path::absolute(from).ok()).unwrap_or_default();
            format!("leakscope replay {id} --from {}", quoted(from.as_os_str().as_bytes()))
        }
    };
    fs::write(folder.join("run.sh"), format!("#!/bin/bash\n{line}\n")).with_context(cannot)?;
    Ok(line)
}

/// `cd inputs/ID/files && HOME=x /path/prog -x 'a b' < ../stdin`, for bash.
fn shell_line(input: &Input, folder: &Path, program: &Path) -> String {
    let mut words =
        vec!["cd".to_owned(), quoted(folder.join("files").as_os_str().as_bytes()), "&&".to_owned()];
    for (name, value) in &input.env {
        words.push(format!("{name}={}", quoted(value)));
    }
    words.push(quoted(program.as_os_str().as_bytes()));
    words.extend(input.args.iter().map(|argument| quoted(argument)));
    words.push("< ../stdin".to_owned());
    words.join(" ")
}

/// A word as bash reads it.
fn quoted(bytes: &[u8]) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_./:=+,%@".contains(byte);
    if !bytes.is_empty() && bytes.iter().all(plain) {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    if bytes.iter().all(|byte| (b' '..=b'~').contains(byte) && *byte != b'\'') {
        return format!("'{}'", String::from_utf8_lossy(bytes));
    }
    let escaped: String = bytes.iter().map(|byte| format!("\\x{byte:02x}")).collect();
    format!("$'{escaped}'")
}

/// The program that a line can name: of bare source files, what they would be
/// compiled to.
pub fn program(targets: &[PathBuf]) -> PathBuf {
    let first = targets.first().map_or(Path::new(""), PathBuf::as_path);
    let path = if is_source(first) { first.with_extension("") } else { first.to_owned() };
    std::path::absolute(&path).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_bash() {
        let check = |bytes: &[u8], expected: &str| assert_eq!(quoted(bytes), expected);
        check(b"-n", "-n");
        check(b"", "''");
        check(b"a b", "'a b'");
        check(b"$x", "'$x'");
        check(b"it's", "$'\\x69\\x74\\x27\\x73'");
        check(b"\x01\xff", "$'\\x01\\xff'");
    }
}
