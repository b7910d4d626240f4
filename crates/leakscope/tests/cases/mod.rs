//! Programs made by crossing each source of `tests/check/sources.txt` with
//! each flow of `tests/check/flows.txt`, in a leaking and two clean roles.
//! Nothing is random: the same files give the same programs.

mod template;

use std::collections::BTreeMap;

use serde_json::Value;
use template::{Flow, Source, flows, sources};

use crate::support::frame_place;

/// What the case does with its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Allocated and never released.
    Bad,
    /// Allocated and released.
    Freed,
    /// Nothing is allocated, nothing released.
    Room,
}

impl Role {
    const ALL: [Role; 3] = [Role::Bad, Role::Freed, Role::Room];

    fn prefix(self) -> &'static str {
        match self {
            Role::Bad => "bad",
            Role::Freed => "freed",
            Role::Room => "room",
        }
    }
}

/// A source through a flow.
#[derive(Clone, Debug, Default)]
pub struct Case {
    pub source: Source,
    pub flow: Flow,
}

impl Case {
    pub fn is_cxx(&self) -> bool {
        self.source.is_cxx || self.flow.is_cxx
    }
}

/// Every case there is, in the order of the files: by flow, then by source.
pub fn all() -> Vec<Case> {
    let sources = sources();
    let cases =
        |flow: Flow| sources.clone().into_iter().map(move |source| Case { source, flow: flow.clone() });
    flows().into_iter().flat_map(cases).collect()
}

/// One program that holds any number of cases of one language.
pub struct Program {
    /// Names and texts; all but one that has a function `main`.
    pub files: Vec<(String, String)>,
    /// The function of each case and role.
    pub functions: Vec<(String, Role)>,
    /// By `file:line`: the case, as an index, and the role.
    owners: BTreeMap<String, (usize, Role)>,
    cases: Vec<Case>,
}

impl Program {
    pub fn of(cases: Vec<Case>) -> Program {
        let extension = if cases.iter().any(Case::is_cxx) { "cc" } else { "c" };
        let mut files: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut owners = BTreeMap::new();
        let mut functions = Vec::new();
        for (index, case) in cases.iter().enumerate() {
            for role in Role::ALL {
                let name =
                    format!("{}_{}_{}", role.prefix(), case.flow.name, case.source.name).replace('-', "_");
                for (part, lines) in case.flow.render(&case.source, role, &name) {
                    // Cases of one flow share a file, and what stands at its top.
                    let file = format!("{}_{part}.{extension}", case.flow.name);
                    let text = files.entry(file.clone()).or_insert_with(|| {
                        [vec!["#include \"support.h\"".to_owned()], case.flow.shared.clone()].concat()
                    });
                    text.push(String::new());
                    for line in lines {
                        text.push(line);
                        owners.insert(format!("{file}:{}", text.len()), (index, role));
                    }
                }
                functions.push((name, role));
            }
        }
        let mut files: Vec<(String, String)> =
            files.into_iter().map(|(name, lines)| (name, lines.join("\n") + "\n")).collect();
        files.push(("support.h".to_owned(), SUPPORT_H.to_owned()));
        files.push((format!("support.{extension}"), SUPPORT.to_owned()));
        Program { files, functions, owners, cases }
    }

    pub fn is_cxx(&self) -> bool {
        self.cases.iter().any(Case::is_cxx)
    }

    /// A source that calls every function.
    pub fn main(&self) -> String {
        self.calls("", |name| format!("    {name}();\n"))
    }

    /// A source that calls every function many times, as chance decides what
    /// some do, and prints the names of those after which the heap has grown.
    pub fn prove(&self) -> String {
        self.calls("#include <malloc.h>\n", |name| {
            format!(
                "    before = mallinfo2().uordblks;\n    for (int i = 0; i < 64; i++) {name}();\n    \
                 if (mallinfo2().uordblks > before) fprintf(stderr, \"{name}\\n\");\n"
            )
        })
    }

    fn calls(&self, head: &str, call: impl Fn(&str) -> String) -> String {
        let names = || self.functions.iter().map(|(name, _)| name.as_str());
        let declared: String = names().map(|name| format!("void {name}(void);\n")).collect();
        let called: String = names().map(call).collect();
        // The first print makes the stream's buffer.
        let start = "    size_t before = 0;\n    print_number(before);\n";
        format!(
            "#include \"support.h\"\n{head}{declared}\nint main(void)\n{{\n{start}{called}    return 0;\n}}\n"
        )
    }

    /// What the findings of a report in JSON say of each case.
    pub fn judge(&self, report: &Value) -> Vec<Judged> {
        let mut judged: Vec<Judged> =
            self.cases.iter().map(|case| Judged { case: case.clone(), ..Judged::default() }).collect();
        for finding in report["findings"].as_array().expect("findings") {
            // Containers allocate in headers that are not the program's.
            let frames = ["allocated", "leaked"].map(|place| finding[place]["stack"].as_array()).into_iter();
            let places = frames.flatten().flatten().map(frame_place);
            let owned = places.filter_map(|place| self.owners.get(&place).map(|owner| (place, owner))).next();
            match owned {
                Some((_, &(case, Role::Bad))) => judged[case].found += 1,
                Some((place, &(case, _))) => judged[case].wrong.push(place),
                None => panic!("a finding of no case: {finding}"),
            }
        }
        judged
    }
}

/// What was found of a case.
#[derive(Clone, Debug, Default)]
pub struct Judged {
    pub case: Case,
    /// Findings in the leaking role.
    pub found: usize,
    /// Places of findings in the clean roles.
    pub wrong: Vec<String>,
}

/// Found, missed and wrong by flow and by source, as a table.
pub fn table(judged: &[Judged]) -> String {
    let mut table = String::new();
    for (title, key) in [
        ("flow", (|judged: &Judged| judged.case.flow.name.clone()) as fn(&Judged) -> String),
        ("source", |judged| judged.case.source.name.clone()),
        ("all", |_| "all".to_owned()),
    ] {
        let mut rows: BTreeMap<String, [usize; 3]> = BTreeMap::new();
        for judged in judged {
            let row = rows.entry(key(judged)).or_default();
            row[usize::from(judged.found == 0)] += 1;
            row[2] += judged.wrong.len();
        }
        table += &format!("{title:32} found missed  false\n");
        for (name, [found, missed, wrong]) in rows {
            table += &format!("{name:32} {found:5} {missed:6} {wrong:6}\n");
        }
        table += "\n";
    }
    table
}

const SUPPORT_H: &str = include_str!("support.h.txt");
const SUPPORT: &str = include_str!("support.c.txt");
