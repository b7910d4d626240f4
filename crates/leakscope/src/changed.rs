//! What changed since a revision: functions with changed lines, and those that
//! call them, by what `git diff` says.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use leakscope_core::{Finding, tidy};
use leakscope_ir::{Callee, FuncId, Function, Op, Program};

/// First and last lines, by absolute path.
type Lines = BTreeMap<String, Vec<(u32, u32)>>;

/// Keeps the findings that are lost, or allocated on the way, in a function that
/// changed since `revision` or calls one that did.
pub fn keep_changed(program: &Program, revision: &str, findings: &mut Vec<Finding>) -> Result<()> {
    let lines = changed_lines(revision)?;
    let is_changed = |function: &Function| {
        let (file, first, last) = extent(program, function);
        let Some(ranges) = lines.get(&tidy(file)) else { return false };
        ranges.iter().any(|&(start, end)| start <= last && first <= end)
    };
    let ids = (0..program.functions.len()).map(|index| FuncId(index as u32));
    let changed: BTreeSet<FuncId> = ids.clone().filter(|&id| is_changed(program.function(id))).collect();
    let meant = ids.filter(|id| changed.contains(id) || calls(program, *id, &changed));
    let names: BTreeSet<&str> = meant.map(|id| program.function(id).display.as_str()).collect();
    findings.retain(|finding| {
        let frames = finding.leaked.iter().chain([&finding.allocated]).flat_map(|place| &place.stack);
        frames.filter_map(|frame| frame.function.as_deref()).any(|name| names.contains(name))
    });
    Ok(())
}

fn calls(program: &Program, id: FuncId, callees: &BTreeSet<FuncId>) -> bool {
    let Some(body) = &program.function(id).body else { return false };
    let mut instructions = body.blocks.iter().flat_map(|block| &block.instructions);
    instructions.any(|instruction| match &instruction.op {
        Op::Call(call) => matches!(&call.callee, Callee::Function(callee) if callees.contains(callee)),
        _ => false,
    })
}

/// The file of a function with a body, its first line and its last one.
fn extent<'p>(program: &'p Program, function: &Function) -> (&'p str, u32, u32) {
    let file = function.at.file;
    let Some(body) = function.body.as_ref().filter(|_| function.at.line > 0) else { return ("", 0, 0) };
    let spots = body
        .blocks
        .iter()
        .flat_map(|block| block.instructions.iter().map(|instruction| instruction.at).chain([block.end_at]));
    let last = spots.filter(|spot| spot.file == file).map(|spot| spot.line).max().unwrap_or(0);
    (&program.files[file.0 as usize], function.at.line, last)
}

fn changed_lines(revision: &str) -> Result<Lines> {
    let root = git(&["rev-parse", "--show-toplevel"])?;
    let diff = git(&["diff", "--unified=0", "--no-color", "--no-ext-diff", revision, "--"])?;
    Ok(parse(&diff, Path::new(root.trim())))
}

fn git(arguments: &[&str]) -> Result<String> {
    let output = Command::new("git").args(arguments).output().context("cannot run git, which --diff asks")?;
    if !output.status.success() {
        bail!("git {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The lines that a diff without context adds or changes, or takes away
/// between.
fn parse(diff: &str, root: &Path) -> Lines {
    let mut lines = Lines::new();
    let mut file = None;
    for line in diff.lines() {
        if let Some(path) = line.strip_prefix("+++ ") {
            let path = path.strip_prefix("b/").map(|path| root.join(path));
            file = path.map(|path: PathBuf| path.to_string_lossy().into_owned());
        } else if let (Some(rest), Some(file)) = (line.strip_prefix("@@ "), &file)
            && let Some(range) = rest.split(' ').find_map(|part| part.strip_prefix('+'))
        {
            let (start, count) = range.split_once(',').unwrap_or((range, "1"));
            if let (Ok(start), Ok(count)) = (start.parse::<u32>(), count.parse::<u32>()) {
                lines.entry(file.clone()).or_default().push((start, start + count.max(1) - 1));
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_lines_of_a_diff() {
        let diff = "--- a/x.c\n+++ b/x.c\n@@ -3 +3 @@ int f\n-a\n+b\n@@ -9,2 +9,0 @@\n-c\n-d\n--- a/y.c\n+++ /dev/null\n@@ -1 +0,0 @@\n-e\n--- /dev/null\n+++ b/z/z.c\n@@ -0,0 +1,4 @@\n";
        let expected = [("/r/x.c", vec![(3, 3), (9, 9)]), ("/r/z/z.c", vec![(1, 4)])];
        let expected = expected.map(|(file, lines)| (file.to_owned(), lines));
        assert_eq!(parse(diff, Path::new("/r")), Lines::from(expected));
    }
}
