//! One line on what to do next, chosen by what the report lacks.

use std::collections::BTreeSet;
use std::path::Path;

use leakscope_core::{Command, Engine, Finding, Frame, Kind, Report};

use crate::fault;
use crate::text::short_id;
use crate::wording;

/// What would help most: for a program that was stopped, what to do about
/// that; where blocks were lost, lines for most of them, then leak points.
pub(crate) fn next_step(report: &Report) -> Option<String> {
    if let Some(found) = &report.fault {
        return Some(fault::hint(found).to_owned());
    }
    if let (Command::Check, Some(first)) = (report.command, report.findings.first()) {
        // Of a folder, or a library, one program must be chosen.
        let target = Path::new(&report.target.program);
        let is_library =
            target.extension().is_some_and(|end| ["a", "o", "so"].iter().any(|known| end == *known));
        let program = if target.is_dir() || is_library { "PROGRAM" } else { &report.target.program };
        return Some(format!(
            "`leakscope validate {}` looks for inputs that leak; `// leakscope: ignore` at the line, or `id:{}` in \
             leakscope.supp, hides a warning",
            wording::printable(program),
            short_id(first)
        ));
    }
    let lost: Vec<&Finding> = report.findings.iter().filter(|finding| finding.kind == Kind::Lost).collect();
    lost.first()?;
    let blind: Vec<&Frame> = lost
        .iter()
        .filter_map(|finding| finding.allocated.headline())
        .filter(|frame| frame.line.is_none())
        .collect();
    if blind.len() * 2 >= lost.len() {
        let modules: BTreeSet<&str> = blind.iter().filter_map(|frame| frame.module.as_deref()).collect();
        let modules = wording::few(modules.into_iter());
        return Some(format!("no line numbers for {modules}: compile with -g, or install the debug symbols"));
    }
    let placed = lost.iter().find(|finding| finding.leaked.is_some());
    let program = wording::printable(&report.target.program);
    Some(match (report.engine, placed) {
        (Engine::Preload, _) if report.command == Command::Run => format!(
            "to see where the last pointer was lost, capture the build with `leakscope build -- make` and use \
             `leakscope run {program}`"
        ),
        (_, Some(placed)) if wording::is_not_released(placed) => format!(
            "drop the reference before the marked place; `id:{}` in leakscope.supp hides a finding",
            short_id(placed)
        ),
        (engine, Some(placed)) => {
            let id = short_id(placed);
            let stops = match engine {
                Engine::Track => format!("`leakscope debug {id}` stops there, "),
                _ => String::new(),
            };
            format!(
                "free the block before the marked place, or keep a pointer to it; {stops}`id:{id}` in leakscope.supp \
                 hides a finding"
            )
        }
        (_, None) => {
            "no leak point is known: follow the allocation's stack to the owner that should free the block"
                .to_owned()
        }
    })
}
