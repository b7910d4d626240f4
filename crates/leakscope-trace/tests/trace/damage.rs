//! Files that no runtime wrote, or not to their end.

use std::fs;
use std::path::Path;

use leakscope_trace::{TraceError, analyse, read_folder};
use leakscope_wire::{self as wire, Reason, SectionKind};
use proptest::prelude::*;
use zerocopy::IntoBytes;

use crate::written::Written;

/// Reads `bytes` as the one record of a folder, to findings if it is whole.
fn read(bytes: &[u8]) -> Result<usize, TraceError> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("1.record"), bytes).expect("written");
    let processes = read_folder(folder.path())?;
    Ok(analyse(&processes, Path::new("/nowhere/program")).findings.len())
}

/// A record with something of every kind in it.
fn whole() -> Vec<u8> {
    let holder = |root: u32| wire::Holder {
        root,
        stack: 2,
        thread: u32::MAX,
        module: root - 1,
        links: 1,
        omitted: u32::MAX,
        address: u64::MAX,
        code: 0x10000 + u64::from(root),
        ..wire::Holder::default()
    };
    let link = wire::Link { bytes: 1, entered: u64::MAX, offset: u64::MAX };
    let holders =
        (1..8).flat_map(|root| [holder(root).as_bytes(), link.as_bytes()].concat()).collect::<Vec<u8>>();
    let fault = wire::Fault { address: 1, block: 0, bytes: 0, kind: 2, stack: 1, allocated: 0, freed: 0 };
    Written::new(4, 0, Reason::Exit)
        .modules(&[("/nowhere/program", 0x10000..0x20000, 0..=1), ("/nowhere/a.so", 0x30000..0x40000, 1..=1)])
        .all(SectionKind::FAULT, &[fault])
        .lost(&[(8, 1), (u64::MAX, 1), (u64::MAX, 2)])
        .edges(&[(0, 1), (1, 2)])
        .reachable(&[(1, u64::MAX, 2), (u64::MAX, 1, 2)])
        .all(SectionKind::TOTALS, &[wire::Totals::default()])
        .sites(&[(wire::Cause::Overwritten, 7, "list->head")])
        .all(SectionKind::STAMPS, &[wire::Stamps { time: 9, stacks: [3, 1, 0], last_used: 2 }])
        .all(SectionKind::MOMENTS, &[wire::Moment { identity: 5, ordinal: 1, stamp: 1 }])
        .section(SectionKind::HOLDERS, &holders)
        .all(SectionKind::FREES, &[wire::Freed { blocks: u64::MAX, allocated: 1, freed: 2 }; 2])
        .stacks_with_sites(&[
            (1, 0, 0, vec![0x11001]),
            (2, 1, 0, vec![0, 0x30001, u64::MAX]),
            (3, 0, 1, vec![0x12001]),
        ])
        .bytes()
}

fn check(bytes: &[u8], expected: &str) {
    let error = read(bytes).expect_err("a damaged file").to_string();
    let (path, says) = error.split_once(' ').expect("a path, then what is wrong");
    assert!(path.ends_with("/1.record"), "{error}");
    assert_eq!(says, expected);
}

const DAMAGED: &str = "is cut off or damaged: take it out of the folder, or run the program again";
const FOREIGN: &str = "is not a record of leakscope's: take it out of the folder";

#[test]
fn what_is_wrong_is_said() {
    assert_eq!(read(&whole()).expect("whole"), 3, "two lost, one forgotten");
    check(
        b"",
        "is empty: a snapshot could not be written, since the disk is full or the size of files limited",
    );
    check(&[b'x'; 100], FOREIGN);
    let mut newer = whole();
    newer[8] = 99;
    check(&newer, "has record version 99, this leakscope reads 3: use the leakscope that ran the program");
    // A section whose length goes beyond the file.
    let mut long = whole();
    long[size_of::<wire::Header>() + 8..][..8].copy_from_slice(&u64::MAX.to_le_bytes());
    check(&long, DAMAGED);
    // Half a block.
    check(&Written::new(1, 0, Reason::Exit).section(SectionKind::LOST, &[0; 12]).bytes(), DAMAGED);
    // A stack of more frames than there are.
    let stack = wire::Stack { id: 1, generation: 0, frames: u32::MAX, site: 0 };
    check(&Written::new(1, 0, Reason::Exit).all(SectionKind::STACKS, &[stack]).bytes(), DAMAGED);
    check(&Written::new(1, 0, Reason::Exit).section(SectionKind::FAULT, &[0; 4]).bytes(), DAMAGED);
    // A variable of more bytes than there are.
    let site = wire::Site {
        line: 1,
        column: 1,
        variable_bytes: u32::MAX,
        ..wire::Site::of(wire::Cause::Overwritten)
    };
    check(&Written::new(1, 0, Reason::Exit).all(SectionKind::SITES, &[site]).bytes(), DAMAGED);
    // A holder with more links than there are.
    let holder = wire::Holder { links: u32::MAX, ..wire::Holder::default() };
    check(&Written::new(1, 0, Reason::Exit).all(SectionKind::HOLDERS, &[holder]).bytes(), DAMAGED);
}

#[test]
fn a_record_that_ends_early_is_damaged_wherever_it_ends() {
    let whole = whole();
    for length in 1..whole.len() {
        assert!(matches!(read(&whole[..length]), Err(TraceError::Damaged(_))), "{length} bytes");
    }
}

#[test]
fn a_module_that_is_no_file_is_not_waited_for() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let pipe = folder.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs");
    assert!(made.success());
    let record = Written::new(1, 0, Reason::Exit)
        .modules(&[(pipe.to_str().expect("UTF-8"), 0x10000..0x20000, 0..=0)])
        .stacks(&[(1, 0, &[0x11001])])
        .lost(&[(8, 1)]);
    assert_eq!(read(&record.bytes()).expect("whole"), 1);
}

proptest! {
    #[test]
    fn any_bytes_are_answered(bytes: Vec<u8>) {
        prop_assert!(read(&bytes).is_err());
    }

    #[test]
    fn any_sections_are_answered(
        sections in proptest::collection::vec((0..14_u32, proptest::collection::vec(any::<u8>(), 0..120)), 0..6)
    ) {
        let mut record = Written::new(1, 0, Reason::Exit);
        for (kind, payload) in &sections {
            record = record.section(SectionKind(*kind), payload);
        }
        // Either is right; that there is an answer is the point.
        if let Err(error) = read(&record.bytes()) {
            prop_assert!(matches!(error, TraceError::Damaged(_)), "{error}");
        }
    }

    #[test]
    fn flipped_bits_are_answered(
        flips in proptest::collection::vec((any::<proptest::sample::Index>(), 0..8_u32), 1..8)
    ) {
        let mut bytes = whole();
        for (index, bit) in flips {
            let at = index.index(bytes.len());
            bytes[at] ^= 1 << bit;
        }
        let _ = read(&bytes);
    }
}
