//! SARIF of every hand-made report, against the published schema.

use std::fs;
use std::path::Path;
use std::process::Command;

use leakscope_core::{Engine, Kind};
use leakscope_report::sarif;
use serde_json::Value;

use crate::cases;

fn rendered(report: &leakscope_core::Report) -> Value {
    serde_json::from_str(&sarif(report, Some(Path::new(cases::BASE)))).expect("SARIF is JSON")
}

/// The published schema, from where the crate `serde-sarif` keeps it: the
/// file's own terms are not clear enough to keep a copy here.
fn schema() -> Value {
    let metadata = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--filter-platform=x86_64-unknown-linux-gnu"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(metadata.status.success(), "{}", String::from_utf8_lossy(&metadata.stderr));
    let metadata: Value = serde_json::from_slice(&metadata.stdout).expect("cargo writes JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    let package = packages.iter().find(|package| package["name"] == "serde-sarif").expect("serde-sarif");
    let manifest = Path::new(package["manifest_path"].as_str().expect("a path"));
    let text =
        fs::read_to_string(manifest.with_file_name("src/schema.json")).expect("the crate has the schema");
    let mut schema: Value = serde_json::from_str(&text).expect("the schema is JSON");
    // A stray bracket makes this pattern one that only lenient engines read;
    // nothing of ours has a language.
    for owner in ["run", "toolComponent"] {
        let language = &mut schema["definitions"][owner]["properties"]["language"];
        language.as_object_mut().expect("a language property").shift_remove("pattern").expect("a pattern");
    }
    schema
}

fn validator() -> jsonschema::Validator {
    jsonschema::options().should_validate_formats(true).build(&schema()).expect("the schema is a schema")
}

#[test]
fn every_case_is_valid() {
    let schema = validator();
    for (name, report) in cases::all() {
        for base in [None, Some(Path::new(cases::BASE))] {
            let log: Value = serde_json::from_str(&sarif(&report, base)).expect("SARIF is JSON");
            let errors: Vec<String> =
                schema.iter_errors(&log).map(|error| format!("{}: {error}", error.instance_path())).collect();
            assert!(errors.is_empty(), "{name}: {errors:#?}");
            serde_json::from_value::<serde_sarif::sarif::Sarif>(log).expect(name);
        }
    }
}

#[test]
fn the_schema_refuses_what_is_wrong() {
    let mut log = rendered(&cases::report(Engine::Track, vec![cases::lost_contact()]));
    assert!(validator().is_valid(&log));
    log["runs"][0]["results"][0]["level"] = "fatal".into();
    assert!(!validator().is_valid(&log));
}

#[test]
fn one_finding_in_full() {
    let report = cases::report(Engine::Track, vec![cases::lost_contact()]);
    insta::assert_snapshot!(sarif(&report, Some(Path::new(cases::BASE))));
}

#[test]
fn what_stopped_the_program_comes_first() {
    let (_, report) = cases::all().into_iter().find(|(name, _)| *name == "double_free").unwrap();
    let results = &rendered(&report)["runs"][0]["results"];
    assert_eq!(results.as_array().map(Vec::len), Some(1 + report.findings.len()));
    insta::assert_snapshot!(format!("{:#}", results[0]));
}

#[test]
fn results_stand_where_the_user_can_act() {
    let check = |finding, uri: &str, line: Option<u64>| {
        let log = rendered(&cases::report(Engine::Track, vec![finding]));
        let location = &log["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
        assert_eq!(location["artifactLocation"]["uri"], uri);
        assert_eq!(location["region"]["startLine"].as_u64(), line);
    };
    let lost = |stack: &str| cases::finding(Kind::Lost, 1, 8, stack);
    check(cases::lost_contact(), "book.c", Some(33));
    check(lost("make book.c:12:25"), "book.c", Some(12));
    check(lost("getline libc.so.6+0x10\nmain book.c:12:25"), "book.c", Some(12));
    check(lost("make /elsewhere/a%#ü.c:3:1"), "file:///elsewhere/a%25%23%C3%BC.c", Some(3));
    check(lost("parse libxml2.so.2+0x10"), "libxml2.so.2", None);
}

#[test]
fn artifacts_are_found_by_their_index() {
    for (name, report) in cases::all() {
        let log = rendered(&report);
        check_indices(name, &log["runs"][0]["artifacts"], &log["runs"][0]["results"]);
    }
}

fn check_indices(name: &str, artifacts: &Value, value: &Value) {
    match value {
        Value::Object(members) => {
            if let (Some(uri), Some(index)) =
                (members.get("uri"), members.get("index").and_then(Value::as_u64))
            {
                assert_eq!(&artifacts[index as usize]["location"]["uri"], uri, "{name}");
            }
            members.values().for_each(|member| check_indices(name, artifacts, member));
        }
        Value::Array(items) => items.iter().for_each(|item| check_indices(name, artifacts, item)),
        _ => {}
    }
}
