//! Hand-made reports, as small as the case allows.

use std::collections::BTreeMap;

use leakscope_core::{
    Candidate, Cause, Command, Counted, Engine, Exit, Fault, FaultKind, Finding, Frame, Kind, Module,
    PathStep, Place, Report, SiblingFree, Target, Validation, Verdict, suppress,
};

pub const BASE: &str = "/home/me/book";

const BOOK: &str = "\
#include <stdlib.h>
#include <string.h>

struct contact {
    char *name;
    char *address;
    struct contact *next;
};

struct contact *make_contact(const char *name)
{
    struct contact *c = malloc(sizeof(struct contact));
    c->name = strdup(name);
    c->address = NULL;
    return c;
}

void set_address(struct contact *c, const char *address)
{
    c->address = strdup(address);
}

void free_contact(struct contact *c)
{
    free(c->name);
    free(c);
}

int main(void)
{
    struct contact *list = make_contact(\"Ada\");
    set_address(list, \"London\");
    list = make_contact(\"Grace\");
    free_contact(list);
    return 0;
}

int load(const char *const *lines, int skip)
{
    for (int i = 0; lines[i] != NULL; i++) {
        struct contact *c = make_contact(lines[i]);
        if (skip > 1 && lines[i][0] == '#')
            return -1;
        free_contact(c);
    }
    return 0;
}
";

pub fn sources() -> BTreeMap<String, Vec<u8>> {
    let far = format!("{}    char *copy = strdup(text);\n", "\n".repeat(119));
    let wide = format!(
        "\t{}\tchar *naïve = strdup(\"Grüße, 世界\"); /* {} */\n",
        "f(); ".repeat(30),
        "x".repeat(200)
    );
    [
        ("book.c", BOOK.as_bytes().to_vec()),
        ("text.c", far.into_bytes()),
        ("wide.c", wide.into_bytes()),
        ("latin1.c", b"\n/* gr\xfc\xdfe \xe4 */ char *p = malloc(10);\n".to_vec()),
    ]
    .map(|(name, text)| (format!("{BASE}/{name}"), text))
    .into()
}

/// A frame from `function file:line:column`, or `function module+0xoffset`,
/// or `function module`.
pub fn frame(text: &str) -> Frame {
    let (function, at) = text.rsplit_once(' ').unwrap();
    let mut frame = Frame {
        function: (function != "?").then(|| function.to_owned()),
        module: Some("book".to_owned()),
        ..Frame::default()
    };
    match at.split(':').collect::<Vec<_>>()[..] {
        [file, line, column] => {
            frame.file = Some(if file.starts_with('/') { file.to_owned() } else { format!("{BASE}/{file}") });
            frame.line = line.parse().ok();
            frame.column = column.parse().ok();
        }
        _ => {
            let (module, offset) = at.split_once("+0x").unwrap_or((at, ""));
            frame.module = Some(module.to_owned());
            frame.offset = u64::from_str_radix(offset, 16).ok();
        }
    }
    let path = match frame.module.as_deref() {
        Some("libc.so.6") => "/lib/x86_64-linux-gnu/libc.so.6",
        _ => "/home/me/lib/any.so",
    };
    frame.of_module(Module::Other(path))
}

/// A place from frames as in [`frame`], one on a line, and what runs below
/// `main`.
pub fn place(stack: &str) -> Place {
    let mut stack: Vec<Frame> = stack.lines().map(|line| frame(line.trim())).collect();
    stack.push(frame("__libc_start_call_main libc.so.6+0x2724a"));
    stack.push(frame("_start book+0x1071"));
    Place::new(stack)
}

pub fn finding(kind: Kind, blocks: u64, bytes: u64, allocated: &str) -> Finding {
    Finding { blocks: Some(blocks), bytes: Some(bytes), ..Finding::new(kind, place(allocated)) }
}

pub fn report(engine: Engine, findings: Vec<Finding>) -> Report {
    let target =
        Target { program: "book".to_owned(), args: vec!["ada".to_owned()], exit: Some(Exit::Code(0)) };
    let mut report = Report::new(Command::Run, engine, target, findings);
    // Snapshots should not change with the version.
    report.tool.version = "1.2.3".to_owned();
    report
}

const MAKE_CONTACT: &str = "make_contact book.c:12:25\nmain book.c:31:28";
const MAKE_NAME: &str = "make_contact book.c:13:15\nmain book.c:31:28";

pub fn lost_contact() -> Finding {
    Finding {
        leaked: Some(place("main book.c:33:10")),
        last_used: Some(place("set_address book.c:20:16\nmain book.c:32:5")),
        exact: true,
        cause: Cause::Overwritten,
        variable: Some("list".to_owned()),
        freed_elsewhere: vec![SiblingFree {
            place: place("free_contact book.c:26:5\nmain book.c:34:5"),
            blocks: 1,
        }],
        ..finding(Kind::Lost, 1, 24, MAKE_CONTACT)
    }
}

fn lost_address() -> Finding {
    Finding {
        leaked: Some(place("free_contact book.c:26:5\nmain book.c:34:5")),
        exact: true,
        cause: Cause::HolderFreed,
        variable: Some("c->address".to_owned()),
        ..finding(Kind::Lost, 1, 7, "set_address book.c:20:18\nmain book.c:32:5")
    }
}

fn forgotten() -> Vec<Finding> {
    let held_by = serde_json::json!([
        {"text": "global books in book.c:3 -> [3].next", "path": ["[3].next"]},
        {"text": "a register of the main thread", "path": []},
    ]);
    vec![
        finding(Kind::Forgotten, 1, 1024, "? libc.so.6+0x5e8f1\nmain book.c:30:1"),
        Finding {
            last_used: Some(place("set_address book.c:20:16\nmain book.c:32:5")),
            evidence: [("held_by".to_owned(), held_by)].into_iter().collect(),
            ..finding(
                Kind::Forgotten,
                11,
                35200,
                "make_contact book.c:12:25\nload book.c:30:1\nmain book.c:31:28",
            )
        },
    ]
}

const LONG_NAME: &str = "Cache<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char>>, \
     std::vector<std::unique_ptr<Entry>>>::insert(std::string const&, std::unique_ptr<Entry>)";

/// A report of a program that was stopped by a call in `place`.
pub fn stopped(kind: FaultKind, wrong: &str, freed: &str, allocated: &str, findings: Vec<Finding>) -> Report {
    let known = |stack: &str| (!stack.is_empty()).then(|| place(stack));
    let fault = Fault {
        kind,
        address: 0x7f12_3456_7890,
        place: place(wrong),
        allocated: known(allocated),
        freed: known(freed),
    };
    let mut report = report(Engine::Track, findings);
    report.target.exit = Some(Exit::Signal(6));
    report.fault = Some(fault);
    report
}

/// Every case by name.
pub fn all() -> Vec<(&'static str, Report)> {
    let below = |via: &str, blocks, bytes, allocated| Finding {
        via: vec![via.to_owned()],
        ..finding(Kind::Lost, blocks, bytes, allocated)
    };
    let mut crashed = report(Engine::Track, vec![finding(Kind::Lost, 1, 24, MAKE_CONTACT)]);
    crashed.target.exit = Some(Exit::Signal(11));

    let mut suppressed = [vec![lost_contact(), lost_address()], forgotten()].concat();
    suppressed.push(finding(Kind::Lost, 9, 90, "xmlParse libxml2.so.2+0x1234\nmain book.c:31:28"));
    let mut suppressed = report(Engine::Track, suppressed);
    let baseline = serde_json::to_string(&report(Engine::Track, vec![lost_address()])).unwrap();
    suppressed.suppress(&suppress::parse("leak:libxml2\nforgotten:load\n").unwrap());
    suppressed.subtract(&leakscope_core::baseline::parse(&baseline).unwrap());

    let mut all_suppressed = report(Engine::Track, vec![lost_contact()]);
    all_suppressed.suppress(&suppress::parse("leak:make_contact").unwrap());

    let mut warning = Finding {
        blocks: None,
        bytes: None,
        verdict: Some(Verdict::MayLeak),
        leaked: Some(place("load book.c:43:13")),
        exact: true,
        cause: Cause::ScopeEnd,
        variable: Some("c".to_owned()),
        ..finding(Kind::Warning, 0, 0, "make_contact book.c:12:25\nload book.c:41:29")
    };
    warning.freed_elsewhere = vec![SiblingFree { place: place("load book.c:44:9"), blocks: 1 }];
    let step = |(line, column, taken): (u32, u32, bool)| {
        let (file, function) = (format!("{BASE}/book.c"), "load".to_owned());
        PathStep { file, line, column, ordinal: 0, taken, function }
    };
    let rounds = [(40, 5, true), (42, 22, false)].repeat(3);
    warning.path =
        rounds.into_iter().chain([(40, 5, true), (42, 22, true), (42, 13, true)]).map(step).collect();
    let mut validated = report(Engine::Concolic, validated(&warning));
    validated.command = Command::Validate;
    validated.target.exit = None;
    validated.validation = Some(Validation { runs: 1234, run_seconds: 5.5, seconds: 7.25, seed: 0 });

    let mut checked = report(Engine::Static, vec![warning]);
    checked.command = Command::Check;
    checked.target.exit = None;

    let recursive: String = (0..40).map(|depth| format!("walk{depth} book.c:30:1\n")).collect();
    vec![
        ("validated", validated),
        ("lost_with_leak_place", report(Engine::Track, vec![lost_contact(), lost_address()])),
        ("lost_without_leak_place", report(Engine::Track, vec![finding(Kind::Lost, 2, 48, MAKE_CONTACT)])),
        ("preload", report(Engine::Preload, vec![finding(Kind::Lost, 2, 48, MAKE_CONTACT)])),
        (
            "indirect",
            report(
                Engine::Track,
                vec![
                    finding(Kind::Lost, 2, 48, MAKE_CONTACT),
                    below("0", 2, 12, MAKE_NAME),
                    below("0", 1, 80, "set_address book.c:20:18\nmain book.c:32:5"),
                    below("0", 1, 3, "make_tag tag.c:9:1\nmain book.c:32:5"),
                    below("0", 1, 1, "make_note note.c:9:1\nmain book.c:32:5"),
                ],
            ),
        ),
        (
            "indirect_with_leak_place",
            report(
                Engine::Track,
                vec![
                    Finding { freed_elsewhere: Vec::new(), ..lost_contact() },
                    Finding {
                        via: vec!["0".to_owned()],
                        leaked: Some(place("main book.c:33:10")),
                        exact: true,
                        cause: Cause::Overwritten,
                        variable: Some("list".to_owned()),
                        ..finding(Kind::Lost, 1, 4, MAKE_NAME)
                    },
                ],
            ),
        ),
        ("cycle", report(Engine::Track, vec![below("1", 3, 72, MAKE_CONTACT), below("0", 3, 18, MAKE_NAME)])),
        ("root_left_out", {
            let mut report = report(
                Engine::Track,
                vec![finding(Kind::Lost, 2, 48, MAKE_CONTACT), below("0", 2, 12, MAKE_NAME)],
            );
            report.retain(|finding| !finding.via.is_empty());
            report
        }),
        (
            "inexact_counted_with_candidates",
            report(
                Engine::Track,
                vec![Finding {
                    exact: false,
                    variable: None,
                    cause: Cause::ScopeEnd,
                    leaked: Some(place("free_contact book.c:27:1\nmain book.c:34:5")),
                    freed_elsewhere: Vec::new(),
                    candidates: vec![Candidate {
                        place: place("main book.c:33:10"),
                        cause: Cause::Overwritten,
                        variable: Some("list".to_owned()),
                    }],
                    counted: Some(Counted { references: 2, holders: 1, field: Some("refcnt".to_owned()) }),
                    ..lost_contact()
                }],
            ),
        ),
        (
            // Freed in one function for two callers, and a second time
            // elsewhere; one candidate too many; the allocator's wrapper.
            "story",
            report(
                Engine::Track,
                vec![Finding {
                    leaked: Some(place("load book.c:34:5\nmain book.c:35:5")),
                    cause: Cause::Unwound,
                    allocated: place(
                        "xmalloc memory.c:9:5\nmake_contact book.c:12:25\nload book.c:31:28\nmain book.c:35:5",
                    ),
                    freed_elsewhere: vec![
                        SiblingFree { place: place("main book.c:33:5"), blocks: 8 },
                        SiblingFree { place: place("free_contact book.c:26:5\nmain book.c:34:5"), blocks: 7 },
                        SiblingFree { place: place("free_contact book.c:26:5\nload book.c:34:5"), blocks: 5 },
                    ],
                    candidates: [
                        ("list", Cause::Overwritten),
                        ("c", Cause::ScopeEnd),
                        ("d", Cause::ThreadEnd),
                    ]
                    .map(|(variable, cause)| Candidate {
                        place: place("main book.c:33:10"),
                        cause,
                        variable: Some(variable.to_owned()),
                    })
                    .into(),
                    ..lost_contact()
                }],
            ),
        ),
        (
            "discarded",
            report(
                Engine::Track,
                vec![Finding {
                    leaked: Some(place("main book.c:32:5")),
                    exact: true,
                    cause: Cause::Discarded,
                    ..finding(Kind::Lost, 1, 24, MAKE_CONTACT)
                }],
            ),
        ),
        (
            "leak_point_not_seen",
            report(Engine::Track, {
                let mut finding = finding(Kind::Lost, 1, 24, MAKE_CONTACT);
                let reason = "no pointer to the block was seen to die: code that is not instrumented had it";
                finding.evidence.insert("inexact".to_owned(), reason.into());
                vec![finding]
            }),
        ),
        ("forgotten", report(Engine::Track, forgotten())),
        ("lost_and_forgotten", report(Engine::Track, [vec![lost_contact()], forgotten()].concat())),
        (
            "no_debug_info",
            report(
                Engine::Preload,
                vec![
                    finding(Kind::Lost, 4, 400, "xmlParse libxml2.so.2+0x1234\n? book+0x11f0\n? book+0x1100"),
                    finding(Kind::Lost, 1, 10, "? book+0x1180"),
                ],
            ),
        ),
        (
            "long_names",
            report(
                Engine::Track,
                vec![finding(
                    Kind::Lost,
                    1,
                    64,
                    &format!(
                        "std::vector<Entry>::push_back /usr/include/c++/12/bits/stl_vector.h:1280:9\n{LONG_NAME} cache.cc:44:20\nmain main.cc:10:3"
                    ),
                )],
            ),
        ),
        (
            "deep_stack",
            report(Engine::Track, vec![finding(Kind::Lost, 1, 8, &format!("{recursive}main book.c:31:28"))]),
        ),
        (
            "recursion_and_system_frames",
            report(
                Engine::Track,
                vec![finding(
                    Kind::Lost,
                    1,
                    8,
                    "walk book.c:20:18\nwalk book.c:20:18\nwalk book.c:20:18\nqsort_r libc.so.6+0x41\nqsort libc.so.6+0x45\nmain book.c:31:28",
                )],
            ),
        ),
        ("suppressed_and_baseline", suppressed),
        ("all_suppressed", all_suppressed),
        ("crash", crashed),
        ("nothing", report(Engine::Track, Vec::new())),
        (
            "wide_and_foreign_text",
            report(
                Engine::Track,
                vec![
                    finding(Kind::Lost, 1, 16, "main wide.c:1:168"),
                    finding(Kind::Lost, 1, 10, "greet latin1.c:2:25\nmain book.c:31:28"),
                ],
            ),
        ),
        (
            "two_files_far_apart_and_no_source",
            report(
                Engine::Track,
                vec![Finding {
                    leaked: Some(place("main book.c:33:10")),
                    last_used: Some(place("render gone.c:7:3\nmain book.c:32:5")),
                    exact: true,
                    cause: Cause::Overwritten,
                    ..finding(Kind::Lost, 1, 1_234_567, "copy_text text.c:120:18\nmain book.c:31:28")
                }],
            ),
        ),
        ("warning", checked),
        (
            "double_free",
            stopped(
                FaultKind::DoubleFree,
                "free_contact book.c:26:5\nmain book.c:34:5",
                "xfree memory.c:9:5\nclose_book book.c:33:5\nmain book.c:35:5",
                MAKE_CONTACT,
                Vec::new(),
            ),
        ),
        (
            // A child process came to its end.
            "double_free_in_one_of_two_processes",
            stopped(
                FaultKind::DoubleFree,
                "main book.c:34:5",
                "main book.c:33:5",
                "",
                vec![finding(Kind::Lost, 1, 4, MAKE_NAME)],
            ),
        ),
        (
            "double_free_on_one_line",
            stopped(
                FaultKind::DoubleFree,
                "free_contact book.c:25:5\nmain book.c:34:5",
                "free_contact book.c:25:5\nmain book.c:34:5",
                MAKE_NAME,
                Vec::new(),
            ),
        ),
        (
            "free_inside_a_block",
            stopped(FaultKind::InvalidFree, "main book.c:34:5", "", MAKE_CONTACT, Vec::new()),
        ),
        (
            "free_of_no_block_without_debug_info",
            stopped(FaultKind::InvalidFree, "? book+0x1180", "", "", Vec::new()),
        ),
    ]
}

/// The warning with each verdict, as validation tells them.
fn validated(warning: &Finding) -> Vec<Finding> {
    let judged = |verdict, function: &str, evidence: serde_json::Value| {
        let serde_json::Value::Object(evidence) = evidence else { unreachable!("an object") };
        let allocated = place(&format!("{function} book.c:10:25"));
        Finding { verdict: Some(verdict), allocated, evidence, ..warning.clone() }
    };
    let shell = "cd inputs/6d2460d3/files && book -x < ../stdin";
    vec![
        judged(
            Verdict::LikelyNotLeak,
            "never",
            serde_json::json!({"reason": "the path is infeasible: no input passes the branch at book.c:20, taken"}),
        ),
        judged(
            Verdict::MustLeak,
            "leaks",
            serde_json::json!({
                "reason": "the object is not freed at the end; it was lost in set_address (book.c:20)",
                "input": {"folder": "inputs/6d2460d3", "shell": shell},
            }),
        ),
        judged(
            Verdict::MayLeak,
            "unknown",
            serde_json::json!({
                "reason": "the branch at book.c:20, taken was never reached: out of runs (--runs)",
                "notes": ["the branch at book.c:99, taken matches no code: tried without it"],
            }),
        ),
        judged(
            Verdict::Bloat,
            "late",
            serde_json::json!({"reason": "all were freed, but 1 of 2 objects not used"}),
        ),
    ]
}
