//! A small project in a temporary folder, built with and without capture.

#![allow(dead_code, reason = "each test file uses its own part")]

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use leakscope_capture::{Store, inspect};
use tempfile::TempDir;

pub struct Project {
    folder: TempDir,
}

impl Project {
    /// A project of `files`, each a name and a text.
    pub fn new(files: &[(&str, &str)]) -> Project {
        let project = Project { folder: tempfile::tempdir().unwrap() };
        for (name, text) in files {
            let path = project.path(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        project
    }

    pub fn path(&self, name: &str) -> PathBuf {
        // What a compiler takes for its working folder has no symbolic links.
        fs::canonicalize(self.folder.path()).unwrap().join(name)
    }

    pub fn store(&self) -> Store {
        Store::open(&self.path(".leakscope")).unwrap()
    }

    /// Runs a shell script under capture; its own process group, so that a
    /// script can interrupt the whole build.
    pub fn capture(&self, script: &str) -> Output {
        let mut command = Command::new(shim_program());
        command.arg(self.path(".leakscope")).args(["sh", "-ec", script]).process_group(0);
        self.run(command)
    }

    pub fn capture_with(&self, variable: (&str, &str), script: &str) -> Output {
        let mut command = Command::new(shim_program());
        command.arg(self.path(".leakscope")).args(["sh", "-ec", script]).env(variable.0, variable.1);
        self.run(command)
    }

    /// Runs a shell script without capture.
    pub fn plain(&self, script: &str) -> Output {
        let mut command = Command::new("sh");
        command.args(["-ec", script]);
        self.run(command)
    }

    fn run(&self, mut command: Command) -> Output {
        command.current_dir(self.path("")).env("CCACHE_DIR", self.path("ccache")).output().unwrap()
    }

    /// What `target` was made of, one part a line: the first line and the
    /// project's folder are left out.
    pub fn composition(&self, target: &str) -> String {
        let text = match inspect(&self.path(target)) {
            Ok(composition) => composition.to_string(),
            Err(error) => format!("\n{error}"),
        };
        let text = text.replace(self.path("").to_str().unwrap(), "");
        text.split_once('\n').map_or(String::new(), |(_, parts)| parts.to_owned())
    }
}

/// The last line of what a build under capture says, or all after `captured`.
pub fn summary(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    text.find("captured ").map_or(text.to_string(), |at| text[at..].trim_end().to_owned())
}

pub fn shim_program() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let target = test.parent().and_then(Path::parent).unwrap();
    let program = target.join("examples/shim");
    assert!(program.is_file(), "{} is missing: run all of `cargo test`", program.display());
    program
}
