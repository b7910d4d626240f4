//! Warnings whose allocation or leak point no input leads to, as the optimiser
//! shows: they need no run.

use std::cell::OnceCell;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use leakscope_capture::{Input, Link};
use leakscope_concolic::{Automaton, Located, Places, SolverChoice};
use leakscope_instrument::{Extent, Line, Meant, unreached};
use leakscope_solve::Limits;

use crate::analysed::Analysed;

/// For each question whether a line is come to, and from the first one to the last.
const MOST_TIME: Duration = Duration::from_secs(3);
const MOST_TIME_IN_ALL: Duration = Duration::from_secs(60);
const MOST_WORK: u32 = 10_000_000;

/// Tells each warning. Where the code cannot be asked, nothing is known.
pub fn rule_out(
    analysed: &Analysed,
    automata: &mut [Automaton],
    places: &Places,
    solver: &SolverChoice,
) -> Result<()> {
    let line = |located: &Located, meant| Line { file: located.file.clone(), line: located.line, meant };
    let mut lines: Vec<Line> = automata
        .iter()
        .flat_map(|automaton| automaton.needed(places))
        .flat_map(|(_, located)| [Meant::All, Meant::Guarded].map(|meant| line(located, meant)))
        .collect();
    lines.sort();
    lines.dedup();
    let link = analysed.store.link(&analysed.link)?;
    let extent = if is_whole(&link) { Extent::Whole } else { Extent::Part };
    let mut units = Vec::new();
    for input in &link.arguments {
        let Input::Units { units: own, .. } = input else { continue };
        for id in own {
            let source = analysed.store.unit(id)?.source;
            if extent == Extent::Whole || lines.iter().any(|line| Path::new(&line.file) == source) {
                units.push(fs::read(analysed.store.bitcode(id))?);
            }
        }
    }
    let limits = Limits { time: MOST_TIME, work: MOST_WORK, ..Limits::default() };
    let began = OnceCell::new();
    let new_solver = || {
        let has_time = began.get_or_init(Instant::now).elapsed() < MOST_TIME_IN_ALL;
        Some(solver.start(limits).ok().filter(|_| has_time)?.patient)
    };
    let closed = unreached(&units, extent, &lines, &new_solver)?;
    let is_closed = |located: &Located, meant| {
        let found = lines.binary_search(&line(located, meant));
        found.is_ok_and(|index| closed[index])
    };
    for automaton in automata {
        automaton.rule_out(
            places,
            |located| is_closed(located, Meant::All),
            |located| is_closed(located, Meant::Guarded),
        );
    }
    Ok(())
}

/// Whether nothing outside the link's own units calls into them.
fn is_whole(link: &Link) -> bool {
    link.arguments.iter().all(|input| match input {
        Input::Units { .. } => true,
        Input::Flag(flag) => !["dynamic", "shared", "-r"].iter().any(|word| flag.contains(word)),
        _ => false,
    })
}
