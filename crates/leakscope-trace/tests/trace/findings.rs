//! From whole records to findings.

use std::path::Path;

use leakscope_core::{FaultKind, Finding, Place};
use leakscope_trace::{Note, Outcome};
use leakscope_wire::{self as wire, Reason, SectionKind};

use crate::written::{Written, analysed};

const PROGRAM: &str = "/nowhere/program";
const PLUGIN: &str = "/nowhere/plugin.so";
const OTHER: &str = "/nowhere/other.so";
const LIBC: &str = "/lib/x86_64-linux-gnu/libc-of-no-machine.so.6";

fn record(pid: u32, sequence: u32, reason: Reason) -> Written {
    Written::new(pid, sequence, reason).modules(&[
        (PROGRAM, 0x10000..0x20000, 0..=9),
        (LIBC, 0x70000..0x80000, 0..=9),
        (PLUGIN, 0x30000..0x40000, 0..=0),
        (OTHER, 0x30000..0x38000, 1..=9),
    ])
}

fn stack(place: &Place) -> String {
    let frame = |frame: &leakscope_core::Frame| {
        let module = frame.module.as_deref().unwrap_or("?");
        frame.offset.map_or(module.to_owned(), |offset| format!("{module}+{offset:#x}"))
    };
    let frames = |frames: &[leakscope_core::Frame]| frames.iter().map(frame).collect::<Vec<_>>().join(" ");
    match &place.inner[..] {
        [] => frames(&place.stack),
        inner => format!("({}) {}", frames(inner), frames(&place.stack)),
    }
}

/// Findings as `kind blocks bytes <via stack`, in their order.
fn check(outcome: &Outcome, expected: &[&str]) {
    let line = |finding: &Finding| {
        let via: String = finding.via.iter().map(|index| format!("<{index} ")).collect();
        format!(
            "{} {} {} {via}{}",
            format!("{:?}", finding.kind).to_lowercase(),
            finding.blocks.unwrap(),
            finding.bytes.unwrap(),
            stack(&finding.allocated)
        )
    };
    assert_eq!(outcome.findings.iter().map(line).collect::<Vec<_>>(), expected);
}

fn of(records: Vec<Written>) -> Outcome {
    analysed(records, Path::new(PROGRAM))
}

#[test]
fn blocks_of_one_place_are_one_finding() {
    let record = record(1, 0, Reason::Exit)
        .stacks(&[(1, 0, &[0x11001, 0x12001]), (2, 0, &[0x11001, 0x12001]), (3, 0, &[0x13001])])
        .lost(&[(8, 1), (16, 2), (100, 3)])
        .reachable(&[(2, 32, 1), (1, 5, 2)]);
    check(
        &of(vec![record]),
        &[
            "lost 2 24 program+0x1000 program+0x2000",
            "lost 1 100 program+0x3000",
            "forgotten 3 37 program+0x1000 program+0x2000",
        ],
    );
}

#[test]
fn indirect_blocks_name_their_root() {
    let record = record(1, 0, Reason::Exit)
        .stacks(&[(1, 0, &[0x11001]), (2, 0, &[0x12001]), (3, 0, &[0x13001])])
        .lost(&[(8, 1), (16, 2), (32, 3), (8, 2)])
        .edges(&[(0, 1), (1, 2), (0, 3), (9, 1)]);
    check(
        &of(vec![record]),
        &["lost 1 8 program+0x1000", "lost 2 24 <0 program+0x2000", "lost 1 32 <0 program+0x3000"],
    );
}

#[test]
fn a_closed_module_is_named_by_its_generation() {
    let record = record(1, 0, Reason::Exit)
        .stacks(&[
            (1, 0, &[0x31001, 0x11001]),
            (2, 1, &[0x31001, 0x11001]),
            (3, 1, &[0x39001, 0x11001]),
            (4, 0, &[0x39001, 0x11001]),
        ])
        .lost(&[(1, 1), (2, 2), (3, 3), (4, 4)]);
    check(
        &of(vec![record]),
        &[
            "lost 1 1 plugin.so+0x1000 program+0x1000",
            "lost 1 2 other.so+0x1000 program+0x1000",
            // Nothing was there then.
            "lost 1 3 (?) program+0x1000",
            "lost 1 4 plugin.so+0x9000 program+0x1000",
        ],
    );
}

#[test]
fn frames_of_the_system_inside_the_users_are_kept_apart() {
    let record = record(1, 0, Reason::Exit)
        .stacks(&[
            (1, 0, &[0x71001, 0x72001, 0x11001, 0x73001, 0x12001, 0x74001]),
            (2, 0, &[0x71001, 0x74001]),
        ])
        .lost(&[(1, 1), (2, 2), (3, 77)])
        .reachable(&[(1, 1024, 2)]);
    check(
        &of(vec![record]),
        &[
            "lost 1 1 (libc-of-no-machine.so.6) program+0x1000 libc-of-no-machine.so.6+0x3000 program+0x2000",
            "lost 1 2 libc-of-no-machine.so.6+0x1000 libc-of-no-machine.so.6+0x4000",
            // A stack that the record does not have.
            "lost 1 3 ",
        ],
    );
}

#[test]
fn the_last_record_of_each_process_counts() {
    let with = |pid, sequence, reason, lost: &[(u64, u32)]| {
        record(pid, sequence, reason).stacks(&[(1, 0, &[0x11001]), (2, 0, &[0x12001])]).lost(lost)
    };
    let outcome = of(vec![
        with(7, 10, Reason::Snapshot, &[(8, 1), (8, 2), (8, 1)]),
        with(7, 11, Reason::Exit, &[(8, 1), (8, 1), (8, 1)]),
        with(7, 9, Reason::Snapshot, &[(8, 1)]),
        with(5, 0, Reason::Snapshot, &[(100, 1)]),
    ]);
    check(&outcome, &["lost 4 124 program+0x1000"]);
    let history = serde_json::json!([
        {"pid": 7, "snapshot": 9, "blocks": 1, "bytes": 8},
        {"pid": 7, "snapshot": 10, "blocks": 2, "bytes": 16},
    ]);
    assert_eq!(outcome.findings[0].evidence["snapshots"], history);
    assert_eq!(outcome.notes, [Note::OnlySnapshot { pid: 5 }]);
}

#[test]
fn limits_become_notes() {
    let totals = wire::Totals {
        limits: wire::limits::ADDRESS_SPACE | wire::limits::THREAD_RUNNING,
        heap_limit: 1 << 30,
        ..wire::Totals::default()
    };
    let outcome = of(vec![record(1, 0, Reason::Exit).all(SectionKind::TOTALS, &[totals])]);
    assert_eq!(outcome.notes, [Note::AddressSpace { heap_limit: 1 << 30 }, Note::ThreadRunning]);
}

#[test]
fn a_fault_has_its_places() {
    let fault = wire::Fault {
        address: 0x5000,
        block: 0x5000,
        bytes: 0,
        kind: wire::FaultKind::DoubleFree as u32,
        stack: 1,
        allocated: 2,
        freed: 0,
    };
    let record = record(1, 0, Reason::Fault)
        .all(SectionKind::FAULT, &[fault])
        .stacks(&[(1, 0, &[0x11001]), (2, 0, &[0x71001, 0x12001])]);
    let fault = of(vec![record]).fault.expect("a fault");
    assert_eq!((fault.kind, fault.address, fault.freed), (FaultKind::DoubleFree, 0x5000, None));
    assert_eq!(stack(&fault.place), "program+0x1000");
    assert_eq!(stack(&fault.allocated.expect("a place")), "(libc-of-no-machine.so.6) program+0x2000");
}

#[test]
fn sections_of_later_versions_are_passed_over() {
    let record = record(1, 0, Reason::Exit)
        .section(SectionKind(0xffff), b"anything")
        .stacks(&[(1, 0, &[0x11001])])
        .lost(&[(8, 1)]);
    check(&of(vec![record]), &["lost 1 8 program+0x1000"]);
}

/// Many blocks and stacks take no more than their share each: a search through
/// a list for each of them would not come to an end here.
#[test]
fn a_large_heap_is_read() {
    let (blocks, stacks) = (300_000_u32, 30_000_u32);
    let addresses: Vec<Vec<u64>> = (0..stacks)
        .map(|stack| (0..16).map(|depth| 0x10001 + u64::from((stack >> depth) % 4096)).collect())
        .collect();
    let numbered: Vec<(u32, u32, &[u64])> = addresses
        .iter()
        .enumerate()
        .map(|(index, addresses)| (index as u32 + 1, 0, &addresses[..]))
        .collect();
    let lost: Vec<(u64, u32)> = (0..blocks).map(|block| (8, block % stacks + 1)).collect();
    let edges: Vec<(u32, u32)> = (1..blocks).map(|block| (block / 2, block)).collect();
    let record = record(1, 0, Reason::Exit).stacks(&numbered).lost(&lost).edges(&edges);
    let outcome = of(vec![record]);
    assert_eq!(outcome.findings.len(), stacks as usize);
    assert_eq!(outcome.findings.iter().filter_map(|finding| finding.blocks).sum::<u64>(), u64::from(blocks));
    assert_eq!(outcome.findings.iter().filter(|finding| finding.via.is_empty()).count(), 1);
}
