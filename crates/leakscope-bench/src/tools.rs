//! How a tool runs a program.
//!
//! What a tool is, `bench/SECTION.toml` says. A run counts only if the program
//! did what it does natively, and the tool what it is there for.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::Bench;
use crate::comparison::Tool;
use crate::measure::{self, Outcome};
use crate::programs::Workload;

/// Fails with what is missing, before minutes have gone into building.
pub fn require<'a>(needed: impl IntoIterator<Item = &'a str>) -> Result<()> {
    let mut missing: Vec<&str> = needed.into_iter().filter(|needed| !is_there(needed)).collect();
    missing.sort_unstable();
    missing.dedup();
    if !missing.is_empty() {
        bail!("missing: {}; `sh scripts/setup.sh bench` installs what is needed", missing.join(", "));
    }
    Ok(())
}

/// A file by its path, or a command.
fn is_there(needed: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    match needed.starts_with('/') {
        true => Path::new(needed).is_file(),
        false => env::split_paths(&path).any(|folder| folder.join(needed).is_file()),
    }
}

impl Tool {
    /// The commands and files that it needs on this machine.
    pub fn needs(&self) -> impl Iterator<Item = &str> {
        let command = self.command.first().map(String::as_str).filter(|command| !command.starts_with('{'));
        command.into_iter().chain(self.environment.get("LD_PRELOAD").map(String::as_str))
    }

    /// The command up to the program's own arguments, in a small environment
    /// that is the same for all.
    pub fn on(&self, bench: &Bench, binary: &Path, scratch: &Path) -> Result<Command> {
        let filled = |text: &str| {
            text.replace("{leakscope}", &bench.leakscope.to_string_lossy())
                .replace("{scratch}", &scratch.to_string_lossy())
                .replace("{cache}", &bench.cache.to_string_lossy())
        };
        let mut words = self.command.iter().map(|word| filled(word)).map(PathBuf::from).collect::<Vec<_>>();
        words.push(binary.to_owned());
        words.extend(self.end.iter().map(PathBuf::from));
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]);
        command.env_clear().env("PATH", env::var_os("PATH").unwrap_or_default()).env("LC_ALL", "C");
        command.envs(self.environment.iter().map(|(name, value)| (name, filled(value))));
        if let Some(folder) = self.environment.get("LEAKSCOPE_DIR") {
            fs::create_dir_all(filled(folder))?;
        }
        Ok(command)
    }

    /// One run of the workload, in the given working folder. All that the tool
    /// writes goes to the scratch folder.
    pub fn run(
        &self,
        bench: &Bench,
        binary: &Path,
        workload: &Workload,
        folder: &Path,
        scratch: &Path,
    ) -> Result<Outcome> {
        let _ = fs::remove_dir_all(scratch);
        fs::create_dir_all(scratch).with_context(|| format!("cannot create {}", scratch.display()))?;
        let stdout = scratch.join("stdout");
        let stdin = match &workload.stdin {
            Some(file) => File::open(file).with_context(|| format!("cannot read {}", file.display()))?.into(),
            None => Stdio::null(),
        };
        for file in &workload.writes {
            let _ = fs::remove_file(folder.join(file));
        }
        let mut command = self.on(bench, binary, scratch)?;
        command
            .args(&workload.arguments)
            .current_dir(folder)
            .stdin(stdin)
            .stdout(File::create(&stdout)?)
            .stderr(File::create(scratch.join("stderr"))?);
        let (status, mut usage) =
            measure::run(&mut command).with_context(|| format!("cannot run {}", binary.display()))?;
        if let Some(file) = &self.counts {
            usage.instructions = counted(&scratch.join(file))?;
        }
        if let Some(file) = &self.writes
            && status.success()
            && !is_written(&scratch.join(file))
        {
            bail!("the program ran, but {} recorded nothing", self.name);
        }
        let written: Vec<PathBuf> = workload.writes.iter().map(|file| folder.join(file)).collect();
        let digest = if status.success() {
            measure::digest(written.iter().map(PathBuf::as_path).chain([stdout.as_path()]))
                .context("the program did not write what it should")?
        } else {
            0
        };
        Ok(Outcome { usage, status, digest })
    }
}

/// The total of what callgrind wrote.
fn counted(file: &Path) -> Result<u64> {
    let text = fs::read_to_string(file).with_context(|| format!("callgrind wrote no {}", file.display()))?;
    let total = text.lines().rev().find_map(|line| line.strip_prefix("totals: "));
    total.context("callgrind wrote no total")?.parse().context("callgrind's total is no number")
}

/// A file with contents, or a folder with entries.
fn is_written(path: &Path) -> bool {
    match fs::read_dir(path) {
        Ok(mut entries) => entries.next().is_some(),
        Err(_) => path.metadata().is_ok_and(|metadata| metadata.len() > 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: &str = "name = 'plain'\nvariant = 'clang'";
    const RECORDING: &str = "name = 'recorder'\nvariant = 'track'\nenvironment = { LEAKSCOPE_DIR = '{scratch}/records' }\nwrites = 'records'";

    /// Runs a shell script in the place of a program under the tool.
    fn check(tool: &str, script: &str, expected: Result<&str, &str>) {
        let folder = tempfile::tempdir().unwrap();
        let arguments = ["-c", script].map(str::to_owned).to_vec();
        let workload = Workload { arguments, stdin: None, writes: vec!["out".into()] };
        let bench = Bench { cache: folder.path().to_owned(), ..Bench::default() };
        let tool: Tool = toml::from_str(tool).unwrap();
        let scratch = folder.path().join("scratch");
        let outcome = tool.run(&bench, Path::new("/bin/sh"), &workload, folder.path(), &scratch);
        let native = folder.path().join("native");
        fs::write(&native, expected.unwrap_or_default()).unwrap();
        let digest = measure::digest([native.as_path(), Path::new("/dev/null")]).unwrap();
        let outcome = outcome.map_err(|error| format!("{error:#}"));
        let result = outcome.and_then(|outcome| outcome.agreeing_with(digest));
        assert_eq!(result.map(|_| ()), expected.map(|_| ()).map_err(str::to_owned), "{script}");
    }

    #[test]
    fn a_run_counts_only_if_it_did_its_work() {
        check(PLAIN, "printf done > out", Ok("done"));
        check(PLAIN, "printf more > out", Err("its output differs from the native program's"));
        check(PLAIN, "exit 3", Err("failed: exit status: 3"));
        check(RECORDING, "echo > $LEAKSCOPE_DIR/records; printf done > out", Ok("done"));
        check(RECORDING, "printf done > out", Err("the program ran, but recorder recorded nothing"));
    }

    #[test]
    fn what_is_missing_is_named_once() {
        let error = require(["sh", "no-such-tool", "/no/such.so", "no-such-tool"]).unwrap_err().to_string();
        assert!(error.starts_with("missing: /no/such.so, no-such-tool; "), "{error}");
    }
}
