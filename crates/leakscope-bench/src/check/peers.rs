//! Compilers and analysers that look at one unit at a time.

use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::package::Unit;
use crate::measure;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Peer {
    pub name: String,
    pub command: Vec<String>,
    /// The compile flags that it gets, by their beginning.
    flags: Vec<String>,
    /// Whether it takes every unit, however long that takes.
    #[serde(default)]
    pub whole: bool,
}

/// How long a peer may take for a package, and for one unit of it.
#[derive(Clone, Copy)]
pub struct Limits {
    pub package: Duration,
    pub unit: Duration,
}

/// What a peer did with the units that it got to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Covered {
    pub lines: usize,
    pub cpu: Duration,
    pub peak_kib: u64,
    /// Units that took too long.
    pub stopped: usize,
    /// Units that it gave up.
    pub failed: usize,
}

/// Units are taken this far apart, so that a part of them is a fair choice.
const STRIDE: usize = 7;

impl Peer {
    pub fn covered(&self, units: &[Unit], limits: Limits) -> Result<Covered> {
        let mut covered = Covered::default();
        for unit in (0..STRIDE).flat_map(|first| units.iter().skip(first).step_by(STRIDE)) {
            if !self.whole && covered.cpu >= limits.package {
                break;
            }
            let mut command = Command::new(&self.command[0]);
            command
                .args(&self.command[1..])
                .args(self.flags_of(&unit.arguments))
                .arg(&unit.source)
                .current_dir(&unit.folder)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            let run = match self.whole {
                true => measure::run(&mut command),
                false => measure::run_within(limits.unit, &mut command),
            };
            let (status, usage) = run.with_context(|| format!("cannot run {}", self.command[0]))?;
            covered.lines += unit.lines;
            covered.cpu += usage.cpu;
            covered.peak_kib = covered.peak_kib.max(usage.peak_kib);
            match status.success() {
                true => {}
                false if usage.cpu >= limits.unit => covered.stopped += 1,
                false => covered.failed += 1,
            }
        }
        Ok(covered)
    }

    pub fn flags_of<'a>(&'a self, arguments: &'a [String]) -> Vec<&'a str> {
        let mut flags = Vec::new();
        let mut arguments = arguments.iter().map(String::as_str);
        while let Some(argument) = arguments.next() {
            if !self.flags.iter().any(|flag| argument.starts_with(flag)) {
                continue;
            }
            flags.push(argument);
            // `-I folder`, as `-Ifolder`.
            if self.flags.iter().any(|flag| argument == flag && argument != "-pthread") {
                flags.extend(arguments.next());
            }
        }
        flags
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(flags: &[&str], arguments: &str, expected: &str) {
        let flags = flags.iter().map(|&flag| flag.to_owned()).collect();
        let peer = Peer { name: String::new(), command: vec![], flags, whole: false };
        let arguments: Vec<String> = arguments.split(' ').map(str::to_owned).collect();
        assert_eq!(peer.flags_of(&arguments).join(" "), expected);
    }

    #[test]
    fn a_peer_gets_only_its_flags() {
        let all = ["-D", "-I", "-include", "-std", "-pthread"];
        check(&all, "-DX=1 -O2 -I inc -Wall -std=gnu99 -c -o a.o a.c", "-DX=1 -I inc -std=gnu99");
        check(&all, "-include config.h -pthread -Ilib a.c", "-include config.h -pthread -Ilib");
        check(&["-D"], "-DX -Ilib -std=c99 a.c", "-DX");
    }
}
