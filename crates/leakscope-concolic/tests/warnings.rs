//! Warnings as tools write them. `clang.sarif` and `gcc12.json` are what
//! clang 19's analyzer and gcc 12 say of `leaks.c` and `gcc.c`; the others
//! have the shape of Infer's and Fortify's.

use leakscope_concolic::MarkKind;
use leakscope_concolic::warnings::parse;

/// Each warning as one line: `MA leaks.c:7, BF leaks.c:8, LK leaks.c:20`.
fn check(text: &str, expected: &[&str], notes: usize) {
    let read = parse(text).expect("read");
    let mark = |mark: &leakscope_concolic::PathMark| {
        let kind = match mark.kind {
            MarkKind::Allocation => "MA",
            MarkKind::BranchTaken => "BT",
            MarkKind::BranchNotTaken => "BF",
            MarkKind::Point => "PP",
            MarkKind::Leak => "LK",
        };
        format!("{kind} {}", mark.spot)
    };
    let told: Vec<String> = read
        .warnings
        .iter()
        .map(|warning| warning.marks.iter().map(mark).collect::<Vec<_>>().join(", "))
        .collect();
    assert_eq!(told, expected);
    assert_eq!(read.notes.len(), notes, "{:?}", read.notes);
}

#[test]
fn clang() {
    check(
        include_str!("data/clang.sarif"),
        &[
            "MA /src/leaks.c:7, BF /src/leaks.c:8, BT /src/leaks.c:17, BT /src/leaks.c:19, LK /src/leaks.c:20",
            "BT /src/leaks.c:17, MA /src/leaks.c:18, BT /src/leaks.c:19, LK /src/leaks.c:20",
        ],
        0,
    );
}

#[test]
fn gcc() {
    check(include_str!("data/gcc12.json"), &["MA gcc.c:5, BF gcc.c:7, BT gcc.c:11, LK gcc.c:12"], 0);
}

#[test]
fn infer() {
    check(
        include_str!("data/infer.sarif"),
        &["MA src/my code/sum.c:5, BT src/my code/sum.c:11, LK src/my code/sum.c:12"],
        1,
    );
}

#[test]
fn fortify() {
    check(
        include_str!("data/fortify.sarif"),
        &[
            "MA src/sum.c:5, BF src/sum.c:7, BT src/sum.c:11, LK src/sum.c:12",
            "MA src/sum.c:5, BT src/sum.c:11, LK src/sum.c:12",
            "MA src/sum.c:5, LK src/sum.c:5",
        ],
        0,
    );
}

#[test]
fn plain_lists() {
    check(
        "# from a tool\na.c\t3\tBT\na.c\t4\tMA\na.c\t6\tBF\nb.c\t2\tPP\na.c\t7\tLK\nEND_PATH\n\na.c\t9\tMA\n",
        &["BT a.c:3, MA a.c:4, BF a.c:6, PP b.c:2, LK a.c:7", "MA a.c:9"],
        0,
    );
    check("", &[], 0);
}

#[test]
fn findings_of_leakscope() {
    let findings = r#"{"schema": "leakscope-findings/1", "tool": {"name": "leakscope", "version": "0"},
        "command": "check", "engine": "static", "target": {"program": "a", "args": [], "exit": null},
        "findings": [
          {"id": "1", "kind": "warning", "verdict": null, "blocks": null, "bytes": null,
           "allocated": {"stack": [{"function": "f", "file": "/a.c", "line": 3, "column": 5, "module": null}]},
           "leaked": {"stack": [{"function": "f", "file": "/a.c", "line": 8, "column": 1, "module": null}]},
           "last_used": null, "exact": true, "cause": "scope-end", "variable": "p", "counted": null,
           "path": [{"file": "/a.c", "line": 4, "column": 9, "taken": false, "function": "f"}]},
          {"id": "2", "kind": "lost", "verdict": null, "blocks": 1, "bytes": 8, "allocated": {"stack": []},
           "leaked": null, "last_used": null, "exact": true, "cause": "unknown", "variable": null, "counted": null}],
        "summary": {"lost": {"findings": 0, "blocks": 0, "bytes": 0}, "forgotten": {"findings": 0, "blocks": 0, "bytes": 0},
          "stale": {"findings": 0, "blocks": 0, "bytes": 0}, "warning": {"findings": 0, "blocks": 0, "bytes": 0}}}"#;
    check(findings, &["BF /a.c:4, LK /a.c:8"], 1);
}

#[test]
fn what_is_none_of_these_is_refused() {
    let check = |text: &str, expected: &str| {
        let error = parse(text).expect_err("refused").to_string();
        assert!(error.contains(expected), "{error}");
    };
    check("hello", "line 1 is \"hello\"");
    check("a.c\tx\tMA", "line 1 is");
    check("a.c\t1\tMA\na.c\t2\tXX", "expected a kind MA, BT, BF, PP or LK in line 2, found \"XX\"");
    check("{\"a\": 1}", "neither SARIF");
    check("{\"runs\": [", "the JSON ends or breaks off");
}
