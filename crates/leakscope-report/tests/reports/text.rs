//! The terminal report of every hand-made report, as it looks without colour.

use std::collections::BTreeMap;

use leakscope_core::{Cause, Engine, Finding, Kind, Report};
use leakscope_report::{TextOptions, text};

use crate::cases;

fn options() -> TextOptions {
    TextOptions { base_dir: Some(cases::BASE.into()), ..TextOptions::default() }
}

fn case(name: &str) -> Report {
    cases::all().into_iter().find(|(case, _)| *case == name).expect("a case of that name").1
}

#[test]
fn every_case() {
    for (name, report) in cases::all() {
        insta::assert_snapshot!(name, text(&report, &cases::sources(), &options()));
    }
}

#[test]
fn forgotten_findings_are_listed_on_request() {
    let options = TextOptions { show_forgotten: true, ..options() };
    insta::assert_snapshot!(text(&case("lost_and_forgotten"), &cases::sources(), &options));
}

#[test]
fn the_rest_is_counted() {
    let options = TextOptions { max: Some(1), ..options() };
    insta::assert_snapshot!(text(&case("lost_with_leak_place"), &cases::sources(), &options));
}

#[test]
fn colour_changes_nothing_but_colour() {
    for (name, report) in cases::all() {
        let plain = text(&report, &cases::sources(), &options());
        let coloured = text(&report, &cases::sources(), &TextOptions { color: true, ..options() });
        assert!(!plain.contains('\u{1b}'), "{name} has escapes without colour");
        assert!(coloured.contains('\u{1b}'), "{name} has no colour");
        assert_eq!(without_escapes(&coloured), plain, "{name}");
    }
}

fn without_escapes(text: &str) -> String {
    let mut pieces = text.split('\u{1b}');
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |plain, piece| plain + piece.split_once('m').expect("an escape ends").1)
}

#[test]
fn a_narrow_terminal_cuts_source_lines() {
    let options = TextOptions { width: 60, ..options() };
    insta::assert_snapshot!(text(&case("wide_and_foreign_text"), &cases::sources(), &options));
}

proptest::proptest! {
    /// Debug information and source need not fit together: the source may be
    /// newer, or no text at all.
    #[test]
    fn any_source_at_any_position_is_rendered(
        source: Vec<u8>,
        lines in "[a-z={}();\t äß世\r\n]{0,80}",
        line in 0..6_u32,
        column in 0..40_u32,
        width in 0..120_usize,
        variable in "[a-zä>.*()\\[\\]-]{0,6}",
        cause in 0..3_usize,
    ) {
        for source in [source, lines.into_bytes()] {
            let sources: BTreeMap<_, _> = [(format!("{}/any.c", cases::BASE), source)].into();
            let stack = format!("f any.c:{line}:{column}\nmain any.c:1:1");
            let finding = Finding {
                leaked: Some(cases::place(&stack)),
                exact: true,
                cause: [Cause::Overwritten, Cause::ScopeEnd, Cause::HolderFreed][cause],
                variable: Some(variable.clone()),
                ..cases::finding(Kind::Lost, 1, 8, &stack)
            };
            let report = cases::report(Engine::Track, vec![finding]);
            let rendered = text(&report, &sources, &TextOptions { width, ..options() });
            proptest::prop_assert!(rendered.starts_with("lost: 1 block, 8 bytes, allocated in f (any.c:"));
        }
    }
}
