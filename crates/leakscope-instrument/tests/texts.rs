//! The constant texts of a unit, among constants of other kinds.

use std::io::Write;
use std::process::{Command, Stdio};

use leakscope_instrument::texts;

const SOURCE: &str = "\
struct shape { virtual ~shape(); virtual int area() const = 0; };
struct square : shape { int area() const override; int side; };
shape::~shape() {}
int square::area() const { return side; }
shape *make() { return new square; }
extern const char *const names[] = {\"app.conf\", \"b\"};
extern const int numbers[] = {1, 2, 3};
struct pair { int a; const char *b; };
extern const pair record = {4, \"in a record\"};
extern const long zeros[4] = {};
";

#[test]
fn texts_are_found_among_tables_and_records() {
    let flags = ["-w", "-emit-llvm", "-c", "-o", "-", "-x", "c++", "-"];
    let mut command = Command::new("clang-19");
    let mut child = command.args(flags).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(SOURCE.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let found = texts(&output.stdout).unwrap();
    assert!(["app.conf", "b", "in a record"].iter().all(|text| found.iter().any(|found| found == text)));
}
