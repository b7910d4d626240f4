//! Leaks as findings: one for each allocation that a procedure loses, with
//! the way there.

use std::sync::Arc;

use leakscope_core::{Candidate, Finding, Frame, Kind, Module, PathStep, Place, SiblingFree};
use leakscope_ir::{FuncId, Program, Spot};

use crate::leaks::Leak;
use crate::scope::Origin;

pub fn findings(program: &Program, leaks: Vec<(FuncId, Leak, Arc<Origin>)>) -> Vec<Finding> {
    leaks.into_iter().map(|(id, leak, origin)| finding(program, id, leak, &origin)).collect()
}

fn finding(program: &Program, id: FuncId, leak: Leak, origin: &Origin) -> Finding {
    let mut inner: Vec<Frame> =
        origin.stack.iter().map(|&(function, at)| frame(program, function, at)).collect();
    let first = inner.iter().position(|frame| !frame.system).unwrap_or(0);
    let stack = inner.split_off(first);
    let mut finding = Finding::new(Kind::Warning, Place { stack, inner });
    let place = |at: Spot| Place::new(vec![frame(program, id, at)]);
    let inner = leak.inner.iter().map(|&(function, at)| frame(program, function, at));
    finding.leaked = Some(Place::new(inner.chain([frame(program, id, leak.at)]).collect()));
    finding.exact = true;
    finding.confidence = Some(leak.confidence);
    finding.cause = leak.cause;
    finding.variable = leak.variable;
    finding.candidates = leak
        .others
        .into_iter()
        .map(|(at, cause, variable)| Candidate { place: place(at), cause, variable })
        .collect();
    let freed = leak.freed.into_iter().filter(|&(by, at)| at.line > 0 && (by, at.line) != (id, leak.at.line));
    let places = freed.map(|(by, at)| Place::new(vec![frame(program, by, at)]));
    finding.freed_elsewhere = places.map(|place| SiblingFree { place, blocks: 1 }).collect();
    let step = |step: crate::summary::Step| PathStep {
        file: program.files[step.at.file.0 as usize].clone(),
        line: step.at.line,
        column: step.at.column,
        ordinal: step.ordinal,
        taken: step.is_taken,
        function: program.function(step.function).display.clone(),
    };
    finding.path = leak.path.into_iter().map(step).collect();
    finding.evidence.insert("allocator".to_owned(), origin.allocator.clone().into());
    finding.evidence.insert("resource".to_owned(), origin.kind.clone().into());
    if let Some(by) = leak.refused_by {
        finding.evidence.insert("refused_by".to_owned(), program.function(by).display.clone().into());
        finding.evidence.insert("refused_also".to_owned(), leak.alike.into());
    }
    if leak.holds {
        finding.evidence.insert("holds".to_owned(), true.into());
    }
    finding
}

pub fn frame(program: &Program, function: FuncId, at: Spot) -> Frame {
    let known = |text: &String| (!text.is_empty()).then(|| text.clone());
    let frame = Frame {
        function: Some(program.function(function).display.clone()),
        file: known(&program.files[at.file.0 as usize]),
        line: (at.line > 0).then_some(at.line),
        column: (at.column > 0).then_some(at.column),
        ..Frame::default()
    };
    frame.of_module(Module::Program)
}
