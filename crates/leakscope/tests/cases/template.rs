//! The two files of templates, and what a flow is for one source and role.

use super::Role;
use crate::support::project_file;

/// Where a block comes from. Statements are about a variable `data`.
#[derive(Clone, Debug, Default)]
pub struct Source {
    pub name: String,
    pub is_cxx: bool,
    of_type: String,
    /// Makes `data` point to memory that is nobody's to release.
    room: String,
    /// The same in the frame of the caller.
    local: String,
    make: Vec<String>,
    release: String,
}

/// How a block goes from its source to its sink.
#[derive(Clone, Debug, Default)]
pub struct Flow {
    pub name: String,
    pub is_cxx: bool,
    /// Lines at the top of each file.
    pub shared: Vec<String>,
    /// It can be run without harm.
    pub runs: bool,
    /// It is known that not all of its cases are found, or that some clean
    /// ones are.
    pub has_gap: bool,
    is_local: bool,
    /// What `$C` stands for.
    condition: String,
    /// Parts of the name of a file, and its lines.
    files: Vec<(String, Vec<String>)>,
}

pub fn sources() -> Vec<Source> {
    let read = |(name, lines): (String, Vec<String>)| {
        let mut source = Source { name, ..Source::default() };
        for line in lines.iter().filter(|line| !line.is_empty()) {
            let (key, value) =
                line.split_once(": ").unwrap_or_else(|| panic!("{line}: expected `key: value`"));
            match key {
                "language" => source.is_cxx = value == "c++",
                "type" => source.of_type = value.to_owned(),
                "room" => source.room = value.to_owned(),
                "local" => source.local = value.to_owned(),
                "alloc" | "check" | "use" => source.make.push(value.to_owned()),
                "release" => source.release = value.to_owned(),
                _ => panic!("{key}: no such key of a source"),
            }
        }
        source
    };
    sections("tests/check/sources.txt").into_iter().map(read).collect()
}

pub fn flows() -> Vec<Flow> {
    sections("tests/check/flows.txt")
        .into_iter()
        .flat_map(|(name, lines)| Flow::read(&name, &lines))
        .collect()
}

impl Flow {
    /// One flow for each of its conditions.
    fn read(name: &str, lines: &[String]) -> Vec<Flow> {
        let mut flow = Flow { name: name.to_owned(), runs: true, ..Flow::default() };
        let mut conditions = Vec::new();
        let mut file = None;
        for line in lines {
            match (line.strip_prefix("--- "), &file, line.split_once(": ")) {
                (Some("shared"), ..) => file = Some("shared"),
                (Some(part), ..) => {
                    file = Some(part);
                    flow.files.push((part.to_owned(), Vec::new()));
                }
                (None, Some("shared"), _) => flow.shared.push(line.clone()),
                (None, Some(_), _) => flow.files.last_mut().expect("a file").1.push(line.clone()),
                (None, None, Some(("language", value))) => flow.is_cxx = value == "c++",
                (None, None, Some(("local", value))) => flow.is_local = value == "yes",
                (None, None, Some(("runs", value))) => flow.runs = value == "yes",
                (None, None, Some(("gap", _))) => flow.has_gap = true,
                (None, None, Some((with, value))) if with.starts_with("with ") => {
                    conditions.push((with["with ".len()..].to_owned(), value.to_owned()));
                }
                _ => panic!("{name}: {line}: no such key of a flow"),
            }
        }
        if conditions.is_empty() {
            return vec![flow];
        }
        let variant = |(part, condition)| Flow { name: format!("{name}-{part}"), condition, ..flow.clone() };
        conditions.into_iter().map(variant).collect()
    }

    /// The files of this flow for a source in a role, under this name.
    pub fn render(&self, source: &Source, role: Role, name: &str) -> Vec<(String, Vec<String>)> {
        let room = if self.is_local { &source.local } else { &source.room };
        let (made, released, released_anyway) = match role {
            Role::Bad => (source.make.clone(), "", source.release.as_str()),
            Role::Freed => (source.make.clone(), source.release.as_str(), source.release.as_str()),
            Role::Room => (vec![room.clone()], "", ""),
        };
        let render = |line: &String| {
            let indent = &line[..line.len() - line.trim_start().len()];
            let indented = |statement: &str| format!("{indent}{statement}");
            let statement = |text: &str| indented(if text.is_empty() { ";" } else { text });
            match line.trim() {
                "$SOURCE" => made.iter().map(|statement| indented(statement)).collect(),
                // Where a block is released whatever comes, it must be one.
                "$OTHER" if role == Role::Freed => made.iter().map(|made| indented(made)).collect(),
                "$OTHER" => vec![indented(room)],
                "$SINK" => vec![statement(released)],
                "$RELEASE" => vec![statement(released_anyway)],
                _ => vec![
                    line.replace("$F", name).replace("$T", &source.of_type).replace("$C", &self.condition),
                ],
            }
        };
        self.files
            .iter()
            .map(|(part, lines)| (part.clone(), lines.iter().flat_map(render).collect()))
            .collect()
    }
}

/// The `## NAME` sections of a file; what stands before the first is prose.
fn sections(file: &str) -> Vec<(String, Vec<String>)> {
    let text = std::fs::read_to_string(project_file(file)).expect("readable");
    let mut sections: Vec<(String, Vec<String>)> = Vec::new();
    for line in text.lines() {
        match (line.strip_prefix("## "), sections.last_mut()) {
            (Some(name), _) => sections.push((name.to_owned(), Vec::new())),
            (None, Some((_, lines))) => lines.push(line.to_owned()),
            (None, None) => {}
        }
    }
    sections
}
