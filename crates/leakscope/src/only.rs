//! Which allocations are followed, told to the runtime by a file
//! (`leakscope_wire::Only`).

use std::fs;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};
use leakscope_trace::{Process, code_ranges};
use leakscope_wire::{self as wire, CodeRange};
use zerocopy::IntoBytes;

use crate::cli::Run;
use crate::plan::{How, Plan};
use crate::records::Records;

/// Tells a program that was captured what the user chose to follow.
pub fn apply(command: &mut Command, options: &Run, plan: &Plan, records: &Records) -> Result<()> {
    if !options.only.is_empty() && matches!(plan.how, How::Track) {
        command.env(wire::env::ONLY, Chosen::by_patterns(&options.only, plan)?.write(records)?);
    }
    Ok(())
}

/// What is followed.
#[derive(Default)]
pub struct Chosen {
    /// Identities of allocation stacks, in rising order.
    stacks: Vec<u64>,
    ranges: Vec<CodeRange>,
}

impl Chosen {
    /// What the code allocates that the patterns name.
    pub fn by_patterns(patterns: &[String], plan: &Plan) -> Result<Chosen> {
        let mut ranges = Vec::new();
        for pattern in patterns {
            let named = ranges_of(pattern, plan);
            if named.is_empty() {
                bail!(
                    "no code of {} is named by --only alloc={pattern}: expected a function, a file or a line as in \
                     list.c:12",
                    plan.shown.display()
                );
            }
            ranges.extend(named);
        }
        Ok(Chosen { ranges, ..Chosen::default() })
    }

    /// What the code allocates at these places, as in `list.c:12`; none if all of them are
    /// in code that was not captured.
    pub fn by_lines(lines: &[String], plan: &Plan) -> Option<Chosen> {
        let ranges: Vec<CodeRange> = lines.iter().flat_map(|line| ranges_of(line, plan)).collect();
        (!ranges.is_empty()).then_some(Chosen { ranges, ..Chosen::default() })
    }

    /// What was lost; none if nothing was.
    pub fn by_loss(processes: &[Process]) -> Option<Chosen> {
        let last = processes.iter().filter_map(|process| process.records.last());
        Chosen::of_stacks(last.flat_map(|record| record.leaking_stacks().into_keys()).collect())
    }

    /// What the innermost calls allocated that allocated what was lost: under Valgrind.
    pub fn by_calls(processes: &[Process]) -> Option<Chosen> {
        let last = processes.iter().filter_map(|process| process.records.last());
        Chosen::of_stacks(last.flat_map(|record| record.leaking_calls()).collect())
    }

    fn of_stacks(mut stacks: Vec<u64>) -> Option<Chosen> {
        stacks.sort_unstable();
        stacks.dedup();
        (!stacks.is_empty()).then_some(Chosen { stacks, ..Chosen::default() })
    }

    /// Writes the file beside the records.
    pub fn write(&self, records: &Records) -> Result<PathBuf> {
        let path = records.path().join("only");
        let header = wire::Only {
            magic: wire::MAGIC,
            stacks: self.stacks.len() as u64,
            ranges: self.ranges.len() as u64,
        };
        let content = [header.as_bytes(), self.stacks.as_bytes(), self.ranges.as_bytes()].concat();
        fs::write(&path, content).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(path)
    }
}

fn ranges_of(pattern: &str, plan: &Plan) -> Vec<CodeRange> {
    let mut ranges = Vec::new();
    for path in [&plan.executable].into_iter().chain(&plan.libraries) {
        let module = wire::name_hash(path.as_os_str().as_bytes());
        let of_code = |range: Range<u64>| CodeRange { module, start: range.start, end: range.end };
        ranges.extend(code_ranges(path, pattern).into_iter().map(of_code));
    }
    ranges
}
