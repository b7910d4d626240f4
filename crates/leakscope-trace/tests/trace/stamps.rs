//! Stamps, last uses and frees of a program that a compiler made.
//!
//! Places are written as the program's marks, innermost first: `make.main`.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use leakscope_core::{Finding, Place};
use leakscope_wire::{self as wire, Cause, Reason, SectionKind};
use object::{Object, ObjectSymbol};
use tempfile::TempDir;

use crate::written::{Written, analysed};

/// Each function has one line, and its mark the function's name.
const FUNCTIONS: [&str; 12] = [
    "main",
    "make",
    "drop",
    "load",
    "save",
    "show",
    "push",
    "clear",
    "xmalloc",
    "grab",
    "buf_alloc",
    "node_alloc",
];

/// What the record holds, beside the stacks that it names.
#[derive(Default)]
struct Case {
    /// Lost blocks as bytes and allocation.
    lost: Vec<(u64, &'static str)>,
    edges: Vec<(u32, u32)>,
    /// Of each lost block: time, events as `cause variable@place` with an
    /// optional `:line` of the site, and the last use.
    stamps: Vec<(u64, Vec<&'static str>, &'static str)>,
    /// Reachable blocks as blocks, bytes, allocation and last use.
    reachable: Vec<(u64, u64, &'static str, &'static str)>,
    /// Freed blocks, their allocation and their free.
    frees: Vec<(u64, &'static str, &'static str)>,
}

struct Built {
    _folder: TempDir,
    program: PathBuf,
    marks: BTreeMap<String, u64>,
}

const START: u64 = 0x5555_0000_0000;
const LIBC: &str = "/lib/x86_64-linux-gnu/libc-of-no-machine.so.6";
const LIBC_START: u64 = 0x7000_0000_0000;

fn built() -> &'static Built {
    static BUILT: OnceLock<Built> = OnceLock::new();
    BUILT.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut source = String::new();
        for function in FUNCTIONS {
            writeln!(
                source,
                "int {function}(void) {{ __asm__ volatile(\".globl at_{function}\\nat_{function}: nop\"); return 0; }}"
            )
            .expect("written");
        }
        fs::write(folder.path().join("source.c"), source).expect("written");
        let program = folder.path().join("program");
        let compiled = Command::new("gcc")
            .args(["-g", "source.c", "-o", "program"])
            .current_dir(folder.path())
            .status()
            .expect("gcc runs");
        assert!(compiled.success());
        let bytes = fs::read(&program).expect("a program");
        let file = object::File::parse(&*bytes).expect("an ELF file");
        let marks = file
            .symbols()
            .filter_map(|symbol| Some((symbol.name().ok()?.strip_prefix("at_")?.to_owned(), symbol.address())))
            .collect();
        Built { _folder: folder, program, marks }
    })
}

/// The stacks and sites that a case names, numbered from 1.
#[derive(Default)]
struct Numbers {
    stacks: Vec<(u32, u32, u32, Vec<u64>)>,
    sites: Vec<(Cause, u32, &'static str)>,
}

impl Numbers {
    /// The number of a stack, 0 for an empty one; `libc` is a frame of the
    /// system.
    fn stack(&mut self, place: &str, site: u32) -> u32 {
        if place.is_empty() {
            return 0;
        }
        let address = |mark: &str| match mark {
            "libc" => LIBC_START + 0x101,
            mark => START + built().marks[mark] + 1,
        };
        let id = self.stacks.len() as u32 + 1;
        self.stacks.push((id, 0, site, place.split('.').map(address).collect()));
        id
    }

    fn event(&mut self, text: &'static str) -> u32 {
        let (says, place) = text.split_once('@').expect("an event has a place");
        let (cause, variable) = says.split_once(' ').unwrap_or((says, ""));
        let (place, line) = place.split_once(':').unwrap_or((place, "0"));
        let cause = match cause {
            "overwritten" => Cause::Overwritten,
            "scope-end" => Cause::ScopeEnd,
            "holder-freed" => Cause::HolderFreed,
            "returned" => Cause::Returned,
            "unwound" => Cause::Unwound,
            "thread-end" => Cause::ThreadEnd,
            other => panic!("no cause {other}"),
        };
        self.sites.push((cause, line.parse().expect("a line"), variable));
        let site = self.sites.len() as u32;
        self.stack(place, site)
    }
}

fn analyse(case: &Case) -> Vec<Finding> {
    let mut numbers = Numbers::default();
    let lost: Vec<(u64, u32)> =
        case.lost.iter().map(|&(bytes, place)| (bytes, numbers.stack(place, 0))).collect();
    let mut stamps = Vec::new();
    for (time, events, last_used) in &case.stamps {
        let mut stacks = [0; 3];
        for (slot, event) in stacks.iter_mut().zip(events) {
            *slot = numbers.event(event);
        }
        stamps.push(wire::Stamps { time: *time, stacks, last_used: numbers.stack(last_used, 0) });
    }
    let reachable = |&(blocks, bytes, place, last_used): &(u64, u64, &str, &str)| wire::Reachable {
        blocks,
        bytes,
        stack: numbers.stack(place, 0),
        last_used: numbers.stack(last_used, 0),
    };
    let reachable: Vec<wire::Reachable> = case.reachable.iter().map(reachable).collect();
    let freed = |&(blocks, allocated, freed): &(u64, &str, &str)| wire::Freed {
        blocks,
        allocated: numbers.stack(allocated, 0),
        freed: numbers.stack(freed, 0),
    };
    let frees: Vec<wire::Freed> = case.frees.iter().map(freed).collect();
    let program = &built().program;
    let mut record = Written::new(1, 0, Reason::Exit)
        .modules(&[
            (program.to_str().expect("UTF-8"), START..START + 0x100_0000, 0..=0),
            (LIBC, LIBC_START..LIBC_START + 0x1000, 0..=0),
        ])
        .stacks_with_sites(&numbers.stacks)
        .lost(&lost)
        .edges(&case.edges)
        .all(SectionKind::REACHABLE, &reachable);
    if !numbers.sites.is_empty() {
        record = record.sites(&numbers.sites);
    }
    if !stamps.is_empty() {
        record = record.all(SectionKind::STAMPS, &stamps);
    }
    if !frees.is_empty() {
        record = record.all(SectionKind::FREES, &frees);
    }
    analysed(vec![record], program).findings
}

/// A place by its functions; where the line is not that of the mark, with it.
fn place(place: &Place) -> String {
    let frames = place.stack.iter().map(|frame| {
        let function = frame.function.as_deref().unwrap_or("?");
        let own = FUNCTIONS.iter().position(|name| *name == function).map(|index| index as u32 + 1);
        if frame.line == own {
            function.to_owned()
        } else {
            format!("{function}:{}", frame.line.unwrap_or(0))
        }
    });
    frames.collect::<Vec<_>>().join(".")
}

fn event(cause: leakscope_core::Cause, variable: Option<&str>, at: &Place) -> String {
    let cause = serde_json::to_value(cause).expect("a name");
    let cause = cause.as_str().expect("a name");
    let variable = variable.map(|variable| format!(" {variable}")).unwrap_or_default();
    format!("{cause}{variable}@{}", place(at))
}

/// Findings as `bytes allocation <via: event | candidate | …; used place`, `~`
/// before an event that is not exact.
fn check(case: Case, expected: &[&str]) {
    let line = |finding: &Finding| {
        let via: String = finding.via.iter().map(|index| format!(" <{index}")).collect();
        let mut line = format!("{} {}{via}:", finding.bytes.unwrap(), place(&finding.allocated));
        let exact = if finding.exact { "" } else { "~" };
        match &finding.leaked {
            Some(at) => write!(line, " {exact}{}", event(finding.cause, finding.variable.as_deref(), at)),
            None => write!(line, " {exact}"),
        }
        .expect("written");
        for candidate in &finding.candidates {
            let says = event(candidate.cause, candidate.variable.as_deref(), &candidate.place);
            write!(line, " | {says}").expect("written");
        }
        if let Some(used) = &finding.last_used {
            write!(line, "; used {}", place(used)).expect("written");
        }
        line
    };
    assert_eq!(analyse(&case).iter().map(line).collect::<Vec<_>>(), expected);
}

#[test]
fn the_latest_stamp_is_the_leak_point_and_the_others_are_candidates() {
    check(
        Case {
            lost: vec![(8, "make.main")],
            stamps: vec![(5, vec!["overwritten list@drop.main", "scope-end node@make.main"], "show.main")],
            ..Case::default()
        },
        &["8 make.main: overwritten list@drop.main | scope-end node@make.main; used show.main"],
    );
}

#[test]
fn a_site_has_its_own_line_in_the_innermost_frame() {
    check(
        Case {
            lost: vec![(8, "make.main")],
            stamps: vec![(5, vec!["scope-end p@load.main:77"], "")],
            ..Case::default()
        },
        &["8 make.main: scope-end p@load:77.main"],
    );
}

#[test]
fn what_a_lost_block_holds_is_lost_with_it() {
    // A chain whose head is lost last.
    check(
        Case {
            lost: vec![(8, "make.main"), (16, "push.main"), (32, "load.main")],
            edges: vec![(0, 1), (1, 2)],
            stamps: vec![
                (9, vec!["overwritten list@main", "scope-end c@save.main"], ""),
                (4, vec!["scope-end c@push.main"], ""),
                (2, vec![], "show.main"),
            ],
            ..Case::default()
        },
        &[
            "8 make.main: overwritten list@main | scope-end c@save.main",
            "16 push.main <0: overwritten list@main | scope-end c@save.main | scope-end c@push.main",
            "32 load.main <0: overwritten list@main | scope-end c@save.main; used show.main",
        ],
    );
}

#[test]
fn a_cycle_is_lost_where_the_last_pointer_into_it_went() {
    check(
        Case {
            lost: vec![(8, "make.main"), (16, "push.main"), (4, "save.main")],
            edges: vec![(0, 1), (1, 0), (1, 2)],
            stamps: vec![
                (3, vec!["scope-end a@main"], ""),
                (7, vec!["unwound b@drop.main"], ""),
                (0, vec![], ""),
            ],
            ..Case::default()
        },
        &[
            "8 make.main <1: unwound b@drop.main | scope-end a@main",
            "16 push.main: unwound b@drop.main",
            "4 save.main <1: unwound b@drop.main",
        ],
    );
}

#[test]
fn what_two_roots_hold_is_lost_with_the_later() {
    check(
        Case {
            lost: vec![(8, "make.main"), (16, "push.main"), (4, "save.main")],
            edges: vec![(0, 2), (1, 2)],
            stamps: vec![
                (3, vec!["holder-freed t->a@clear.main"], ""),
                (7, vec!["thread-end b@load.main"], ""),
                (1, vec!["scope-end s@save.main"], ""),
            ],
            ..Case::default()
        },
        &[
            "8 make.main: holder-freed t->a@clear.main",
            "16 push.main: thread-end b@load.main",
            "4 save.main <0 <1: thread-end b@load.main | scope-end s@save.main",
        ],
    );
}

#[test]
fn one_finding_for_each_pair_of_places() {
    let overwritten = || vec!["overwritten list@drop.main"];
    check(
        Case {
            lost: vec![(8, "make.main"), (8, "make.main"), (8, "make.main"), (8, "push.main")],
            stamps: vec![
                (1, overwritten(), "show.main"),
                (2, vec!["scope-end p@load.main"], ""),
                (3, overwritten(), "save.main"),
                (4, overwritten(), ""),
            ],
            ..Case::default()
        },
        &[
            "16 make.main: overwritten list@drop.main; used show.main",
            "8 make.main: scope-end p@load.main",
            "8 push.main: overwritten list@drop.main",
        ],
    );
    // Two variables that die at one place: the one of more blocks is named.
    check(
        Case {
            lost: vec![(8, "make.main"), (8, "make.main"), (8, "make.main")],
            stamps: vec![
                (1, vec!["scope-end a@load.main"], ""),
                (2, vec!["scope-end b@load.main"], ""),
                (3, vec!["scope-end b@load.main"], ""),
            ],
            ..Case::default()
        },
        &["24 make.main: scope-end b@load.main | scope-end a@load.main"],
    );
}

#[test]
fn candidates_are_folded_by_function_and_variable() {
    check(
        Case {
            lost: vec![(8, "make.main"), (8, "make.main")],
            stamps: vec![
                (
                    1,
                    vec!["scope-end p@drop.main", "overwritten p@drop.load.main", "scope-end c@make.main"],
                    "",
                ),
                (
                    2,
                    vec!["scope-end p@drop.main", "overwritten q@drop.main", "scope-end c@make.load.main"],
                    "",
                ),
            ],
            ..Case::default()
        },
        &["16 make.main: scope-end p@drop.main | scope-end c@make.main | overwritten q@drop.main"],
    );
}

#[test]
fn what_was_not_seen_is_said() {
    let check = |events: Vec<&'static str>, expected: Option<&str>| {
        let case = Case {
            lost: vec![(8, "make.main")],
            stamps: vec![(u64::from(!events.is_empty()), events, "")],
            ..Case::default()
        };
        let finding = analyse(&case).remove(0);
        assert_eq!(finding.exact, expected.is_none());
        assert_eq!(finding.evidence.get("inexact").and_then(|reason| reason.as_str()), expected);
    };
    check(vec![], Some("no pointer to the block was seen to die: code that is not instrumented had it"));
    check(vec!["returned p@push.main"], None);
    check(
        vec!["returned p@push.libc.main"],
        Some("the pointer was returned to code that is not instrumented, libc-of-no-machine.so.6"),
    );
}

#[test]
fn without_stamps_nothing_is_said_of_leaks() {
    let case = Case { lost: vec![(8, "make.main")], ..Case::default() };
    let finding = analyse(&case).remove(0);
    assert_eq!((finding.leaked, finding.exact, finding.evidence.len()), (None, false, 0));
}

#[test]
fn forgotten_blocks_are_told_apart_by_their_last_use() {
    check(
        Case {
            reachable: vec![
                (1, 8, "make.main", "show.main"),
                (2, 16, "make.main", "save.main"),
                (1, 8, "make.main", "show.main"),
                (1, 8, "make.main", ""),
            ],
            ..Case::default()
        },
        &["16 make.main: ~; used show.main", "16 make.main: ~; used save.main", "8 make.main: ~"],
    );
}

#[test]
fn frees_of_siblings_are_merged_and_the_most_come_first() {
    let case = Case {
        lost: vec![(8, "make.main"), (8, "make.load.main")],
        frees: vec![
            (2, "make.main", "drop.main"),
            (3, "make.main", "clear.main"),
            (2, "make.main", "drop.main"),
            (9, "push.main", "drop.main"),
            (1, "make.main", "load.main"),
            (1, "make.main", "save.main"),
            (1, "make.main", "show.main"),
            (1, "make.main", "push.main"),
        ],
        ..Case::default()
    };
    let freed: Vec<String> = analyse(&case)
        .iter()
        .map(|finding| {
            let places = finding.freed_elsewhere.iter();
            places
                .map(|free| format!("{} {}", free.blocks, place(&free.place)))
                .collect::<Vec<_>>()
                .join(", ")
        })
        .collect();
    // The second has no siblings of its own, but others of its line have.
    let all = "4 drop.main, 3 clear.main, 1 load.main, 1 save.main, 1 show.main";
    assert_eq!(freed, [all, all]);
}

#[test]
fn wrappers_are_told_by_name_and_by_use() {
    let check = |lost: &[(u64, &'static str)], expected: &[&str]| {
        let findings = analyse(&Case { lost: lost.to_vec(), ..Case::default() });
        let headline = |finding: &Finding| {
            let frame = finding.allocated.headline().expect("a frame");
            frame.function.clone().expect("a name")
        };
        assert_eq!(findings.iter().map(headline).collect::<Vec<_>>(), expected, "{lost:?}");
    };
    check(&[(8, "xmalloc.make.main")], &["make"]);
    // A name that may be a wrapper's: different sizes for different callers.
    check(&[(8, "buf_alloc.make.main"), (9, "buf_alloc.load.main")], &["make", "load"]);
    check(&[(8, "buf_alloc.xmalloc.make.main"), (9, "buf_alloc.load.main")], &["make", "load"]);
    check(&[(8, "node_alloc.make.main"), (8, "node_alloc.load.main")], &["node_alloc", "node_alloc"]);
    check(&[(8, "buf_alloc.make.main"), (9, "buf_alloc.make.main")], &["buf_alloc"]);
    // Any other name needs more of both.
    check(&[(8, "grab.make.main"), (9, "grab.load.main")], &["grab", "grab"]);
    check(
        &[(8, "grab.make.main"), (9, "grab.load.main"), (10, "grab.save.main"), (11, "grab.push.main")],
        &["make", "load", "save", "push"],
    );
    // A wrapper's wrapper.
    check(&[(8, "xmalloc.buf_alloc.make.main"), (9, "xmalloc.buf_alloc.load.main")], &["make", "load"]);
    // The stack stays whole, with the wrapper marked.
    let findings = analyse(&Case { lost: vec![(8, "xmalloc.make.main")], ..Case::default() });
    let marked: Vec<bool> = findings[0].allocated.stack.iter().map(|frame| frame.wrapper).collect();
    assert_eq!(marked, [true, false, false]);
}
