//! JSON of every hand-made report comes back as the same report.

use leakscope_report::json;

use crate::cases;

#[test]
fn every_case_comes_back() {
    for (name, report) in cases::all() {
        let text = json(&report);
        assert!(text.ends_with("}\n"), "{name}");
        let back: leakscope_core::Report = serde_json::from_str(&text).expect("a report");
        assert_eq!(back, report, "{name}");
    }
}

#[test]
fn one_report_in_full() {
    let (_, report) = cases::all().into_iter().find(|(name, _)| *name == "suppressed_and_baseline").unwrap();
    insta::assert_snapshot!(json(&report));
}
