//! Derives programs, runs them, and reads what they tell.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use leakscope_wire::env;
use leakscope_wire::symbolic::{
    Event, EventKind, FAILS, Header, Node, Op, PATTERNS, PLACES, PLACES_SECTION, Place, View, Why, apply,
    source, wants,
};
use object::{Object, ObjectSection};
use zerocopy::{FromBytes, IntoBytes};

use crate::support::{leakscope, project_file};

/// A derived program beside the plain one, in a folder of its own.
pub struct Program {
    folder: tempfile::TempDir,
}

/// What a run is to tell, and what is to fail in it.
#[derive(Default)]
pub struct Wanted<'a> {
    /// Bits of [`wants`].
    pub more: u32,
    /// Lines all of whose places are wanted.
    pub lines: &'a [u32],
    /// Numbers of calls.
    pub fails: &'a [u32],
}

/// What a run told.
pub struct Run {
    /// The program's own output and how it ended.
    pub output: (String, Option<i32>),
    nodes: Vec<Node>,
    events: Vec<Event>,
    values: Vec<u64>,
    places: HashMap<u32, Place>,
    /// Names, each with how it takes an argument.
    pub options: Vec<String>,
}

impl Program {
    pub fn of_file(name: &str) -> Program {
        let path = project_file("crates/leakscope/tests/symbolic/programs").join(name);
        let source = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Program::of_source(name.rsplit('.').next().unwrap_or("c"), &source)
    }

    /// `language` is how the file's name ends.
    pub fn of_source(language: &str, source: &str) -> Program {
        let program = Program { folder: tempfile::tempdir().expect("a temporary folder") };
        let file = format!("program.{language}");
        fs::write(program.path(&file), source).expect("writable");
        let compiler = if language == "cc" { "c++" } else { "cc" };
        succeed(
            leakscope()
                .args(["build", "-q", "--", compiler, "-g", "-w", &file, "-o", "program"])
                .current_dir(&program.folder),
        );
        succeed(
            leakscope()
                .args(["derive", "-q", "--engine", "symbolic", "program", "-o", "derived"])
                .current_dir(&program.folder),
        );
        program
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The program as the user built it.
    pub fn plain(&self, arguments: &[&str], input: &str) -> (String, Option<i32>) {
        self.start("program", arguments, input, &[])
    }

    /// All objects are told.
    pub fn run(&self, arguments: &[&str], input: &str) -> Run {
        let run = self.run_with(arguments, input, &Wanted { more: wants::ALL_OBJECTS, ..Wanted::default() });
        assert_eq!(self.start("derived", arguments, input, &[]), run.output, "without anybody to tell");
        run
    }

    pub fn run_with(&self, arguments: &[&str], input: &str, wanted: &Wanted) -> Run {
        let shared = self.path("shared");
        let all = wants::ARGUMENTS | wants::STDIN | wants::FILES | wants::FAILURES | wanted.more;
        let mut header = Header::new(all, 1 << 14, 1 << 18, 1 << 16);
        let pattern = b"*.txt\0";
        header.pattern_bytes = pattern.len() as u32;
        header.fails = wanted.fails.len() as u32;
        let mut bytes = header.as_bytes().to_vec();
        bytes.resize(header.file_bytes(), 0);
        bytes[FAILS..][..4 * wanted.fails.len()].copy_from_slice(wanted.fails.as_bytes());
        bytes[PATTERNS..][..pattern.len()].copy_from_slice(pattern);
        // The program is the first module, and its places count from 1.
        for (number, place) in self.places(1) {
            bytes[PLACES + number as usize] = u8::from(wanted.lines.contains(&place.line));
        }
        fs::write(&shared, bytes).expect("writable");
        let variable = [(env::SYMBOLIC, shared.display().to_string())];
        let output = self.start("derived", arguments, input, &variable);

        let bytes = fs::read(&shared).expect("the shared file");
        let view = View::new(&bytes).expect("a file of the format");
        assert_eq!(view.header.limits, 0);
        let (nodes, events) = (view.nodes().to_vec(), view.events().to_vec());
        let mut files = HashMap::from([(source::STDIN, input.as_bytes().to_vec())]);
        for event in events.iter().filter(|event| event.kind == EventKind::Source as u8) {
            let name = String::from_utf8_lossy(view.name(event.value)).into_owned();
            files.insert(event.detail, fs::read(self.path(&name)).unwrap_or_default());
        }
        let values = values(&nodes, arguments, &files);
        let places = self.places(view.modules()[0].base);
        let is_option = |event: &&Event| event.kind == EventKind::Option as u8;
        let option =
            |event: &Event| format!("{} {}", String::from_utf8_lossy(view.name(event.value)), event.detail);
        let options = events.iter().filter(is_option).map(option).collect();
        Run { output, nodes, events, values, places, options }
    }

    fn start(
        &self,
        program: &str,
        arguments: &[&str],
        input: &str,
        variables: &[(&str, String)],
    ) -> (String, Option<i32>) {
        fs::write(self.path("stdin"), input).expect("writable");
        fs::write(self.path("input.txt"), "magic 12\nrest of the file\n").expect("writable");
        let output: Output = Command::new(self.path(program))
            .args(arguments)
            .envs(variables.iter().map(|(name, value)| (name, value)))
            .current_dir(&self.folder)
            .stdin(fs::File::open(self.path("stdin")).unwrap())
            .stderr(Stdio::null())
            .output()
            .expect("it starts");
        (String::from_utf8_lossy(&output.stdout).into_owned(), output.status.code())
    }

    /// The places of the program by their numbers.
    fn places(&self, base: u32) -> HashMap<u32, Place> {
        let bytes = fs::read(self.path("derived")).expect("the program");
        let file = object::File::parse(&*bytes).expect("an executable");
        let section = file.section_by_name(PLACES_SECTION).expect("places").data().expect("data");
        section
            .chunks_exact(size_of::<Place>())
            .zip(base..)
            .map(|(bytes, number)| (number, Place::read_from_bytes(bytes).expect("as long as a place")))
            .collect()
    }
}

fn succeed(command: &mut Command) {
    let output = command.output().expect("it starts");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// The value of each node under the input of the run.
fn values(nodes: &[Node], arguments: &[&str], files: &HashMap<u16, Vec<u8>>) -> Vec<u64> {
    let byte = |bytes: Option<&[u8]>, at: u32| {
        u64::from(bytes.and_then(|bytes| bytes.get(at as usize)).copied().unwrap_or(0))
    };
    let mut values = vec![0; nodes.len()];
    for (index, node) in nodes.iter().enumerate().skip(1) {
        let op = Op::from_u8(node.op).unwrap_or_else(|| panic!("node {index} is {node:?}"));
        let operands = &[node.a, node.b, node.c][..op.operands()];
        assert!(
            operands.iter().all(|&operand| (1..index).contains(&(operand as usize))),
            "{index}: {node:?}"
        );
        let value = |position: usize| operands.get(position).map_or(0, |&operand| values[operand as usize]);
        values[index] = match op {
            Op::Const => node.value(),
            Op::Input => match (node.imm & 0xf000, node.imm) {
                (_, source::ARGUMENT_COUNT) => arguments.len() as u64 + 1,
                (_, source::STDIN_SIZE) => files[&source::STDIN].len() as u64,
                (_, source::FAILS) => 0,
                (source::ARGUMENT, from) => {
                    byte(arguments.get(usize::from(from & 0xfff) - 1).map(|text| text.as_bytes()), node.a)
                }
                (source::FILE_SIZE, from) => files[&(from - 0x1000)].len() as u64,
                (_, from) => byte(files.get(&from).map(Vec::as_slice), node.a),
            },
            _ => apply(node, nodes[node.a as usize].bits, value(0), value(1), value(2)),
        };
    }
    values
}

impl Run {
    fn kind(event: &Event) -> EventKind {
        EventKind::from_u8(event.kind).unwrap_or_else(|| panic!("an event of no kind: {event:?}"))
    }

    /// How many branches depend on the input.
    pub fn symbolic(&self) -> usize {
        let is_branch = |event: &&Event| matches!(Run::kind(event), EventKind::Branch | EventKind::Switch);
        self.events.iter().filter(is_branch).filter(|event| event.term != 0).count()
    }

    /// Events whose term has another value than the program saw.
    pub fn wrong(&self) -> Vec<String> {
        let is_wrong = |event: &&Event| {
            let value = self.values[event.term as usize];
            event.term != 0
                && match Run::kind(event) {
                    EventKind::Branch => value != u64::from(event.value),
                    EventKind::Switch => value as u32 != event.value,
                    EventKind::Constraint => value != 1,
                    _ => false,
                }
        };
        let tell = |event: &Event| format!("line {}: {}", self.line(event), self.term(event.term));
        self.events.iter().filter(is_wrong).map(tell).collect()
    }

    fn line(&self, event: &Event) -> u32 {
        self.places.get(&event.place).map_or(0, |place| place.line)
    }

    /// Branches and constraints as text.
    pub fn told(&self) -> Vec<String> {
        let tell = |event: &Event| {
            let line = self.line(event);
            let what = match Run::kind(event) {
                EventKind::Branch if event.taken != 0 => "taken".to_owned(),
                EventKind::Branch => "not".to_owned(),
                EventKind::Switch => format!("case {}", event.detail),
                EventKind::Constraint => match Why::from_u16(event.detail)? {
                    Why::Model => "found".to_owned(),
                    Why::Address => return Some(format!("{line} address")),
                    Why::Size => "size".to_owned(),
                },
                _ => return None,
            };
            Some(format!("{line} {what} {}", self.term(event.term)))
        };
        self.events.iter().filter_map(tell).collect()
    }

    /// Births of objects, with the lines of the calls around, uses, ends, and
    /// wanted lines that were passed.
    pub fn objects(&self) -> Vec<String> {
        let mut told: Vec<String> = Vec::new();
        for event in &self.events {
            let line = self.line(event);
            match Run::kind(event) {
                EventKind::Allocated => told.push(format!("{} of {} bytes: {line}", event.value, event.term)),
                EventKind::Frame => *told.last_mut().expect("after a birth") += &format!(" < {line}"),
                EventKind::Freed => told.push(format!("{} freed: {line}", event.value)),
                EventKind::Used => told.push(format!("{} used: {line}", event.value)),
                EventKind::Point => told.push(format!("passed: {line}")),
                _ => {}
            }
        }
        told
    }

    fn term(&self, term: u32) -> String {
        let node = &self.nodes[term as usize];
        let Some(op) = Op::from_u8(node.op) else { return String::new() };
        let operands = &[node.a, node.b, node.c][..op.operands()];
        match op {
            Op::Const => node.value().to_string(),
            Op::Input => match (node.imm & 0xf000, node.imm) {
                (_, source::ARGUMENT_COUNT) => "argc".to_owned(),
                (_, source::STDIN) => format!("stdin[{}]", node.a),
                (_, source::STDIN_SIZE) => "size".to_owned(),
                (source::ARGUMENT, from) => format!("arg{}[{}]", from & 0xfff, node.a),
                (_, from) => format!("input {from:x}[{}]", node.a),
            },
            _ => {
                let operands: Vec<String> = operands.iter().map(|&operand| self.term(operand)).collect();
                format!("{op:?}({})", operands.join(","))
            }
        }
    }
}
