//! A test input: what a run is given, and the folder it is kept in.
//!
//! ```text
//! args         one a line, without the program's name
//! stdin
//! files/NAME   files that are in the program's folder
//! env          NAME=VALUE, one a line
//! fails        numbers of the calls that fail, one a line
//! ```
//!
//! Where an argument or a variable holds a line feed, all of them end with a
//! NUL instead.

mod pieces;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Component, Path};

use leakscope_solve::{InputId, Model};
use leakscope_wire::symbolic::source;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Input {
    pub args: Vec<Vec<u8>>,
    pub stdin: Vec<u8>,
    pub files: BTreeMap<String, Vec<u8>>,
    pub env: BTreeMap<String, Vec<u8>>,
    pub fails: BTreeSet<u32>,
}

/// How large inputs may get.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounds {
    pub args: u32,
    pub arg_bytes: u32,
    pub stdin_bytes: u32,
    pub file_bytes: u32,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds { args: 5, arg_bytes: 16, stdin_bytes: 64, file_bytes: 64 }
    }
}

/// What files and variables are called that a run numbered as it came to them:
/// the source of their bytes and their name.
pub type Names = BTreeMap<u16, String>;

/// The number that terms have for a value of the input.
pub fn id(source: u16, index: u32) -> InputId {
    InputId(u64::from(source) << 32 | u64::from(index))
}

fn parts(id: InputId) -> (u16, u32) {
    ((id.0 >> 32) as u16, id.0 as u32)
}

/// What a number stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    ArgumentCount,
    Stdin(usize),
    StdinSize,
    Fails(u32),
    /// A byte of an argument, from 0 on without the program's name.
    Argument(usize, usize),
    File(u16, usize),
    FileSize(u16),
    Variable(u16, usize),
    VariableSet(u16),
}

pub fn part(id: InputId) -> Option<Part> {
    let (whole, index) = parts(id);
    let at = index as usize;
    match whole {
        source::ARGUMENT_COUNT => Some(Part::ArgumentCount),
        source::STDIN => Some(Part::Stdin(at)),
        source::STDIN_SIZE => Some(Part::StdinSize),
        source::FAILS => Some(Part::Fails(index)),
        _ => {
            let number = whole % source::MOST;
            match whole - number {
                source::ARGUMENT => Some(Part::Argument(usize::from(number).checked_sub(1)?, at)),
                source::FILE => Some(Part::File(number, at)),
                source::FILE_SIZE => Some(Part::FileSize(number)),
                source::VARIABLE => Some(Part::Variable(number, at)),
                source::VARIABLE_SET => Some(Part::VariableSet(number)),
                _ => None,
            }
        }
    }
}

impl Input {
    /// The value that a part of the input has in a run with these names.
    pub fn value(&self, id: InputId, names: &Names) -> u64 {
        let file = |number: u16| names.get(&(source::FILE + number)).and_then(|name| self.files.get(name));
        let variable =
            |number: u16| names.get(&(source::VARIABLE + number)).and_then(|name| self.env.get(name));
        let byte = |bytes: Option<&Vec<u8>>, at: usize| {
            bytes.and_then(|bytes| bytes.get(at)).copied().unwrap_or(0).into()
        };
        match part(id) {
            None => 0,
            Some(Part::ArgumentCount) => self.args.len() as u64 + 1,
            Some(Part::Stdin(at)) => byte(Some(&self.stdin), at),
            Some(Part::StdinSize) => self.stdin.len() as u64,
            Some(Part::Fails(call)) => self.fails.contains(&call).into(),
            Some(Part::Argument(number, at)) => byte(self.args.get(number), at),
            Some(Part::File(number, at)) => byte(file(number), at),
            Some(Part::FileSize(number)) => file(number).map_or(0, Vec::len) as u64,
            Some(Part::Variable(number, at)) => byte(variable(number), at),
            Some(Part::VariableSet(number)) => variable(number).is_some().into(),
        }
    }

    /// How many bytes it has in all.
    pub fn size(&self) -> usize {
        let texts = self.args.iter().chain([&self.stdin]).chain(self.files.values()).chain(self.env.values());
        texts.map(Vec::len).sum()
    }

    /// The input with the values of a model in it. Counts and sizes come
    /// first, so that bytes find their room; a byte behind the end makes room
    /// for itself.
    pub fn with(&self, model: &Model, names: &Names) -> Input {
        let mut input = self.filled(model, names);
        input.end_at_zeros();
        input
    }

    /// The same, where arguments and variables may have zeros in them.
    fn filled(&self, model: &Model, names: &Names) -> Input {
        let mut input = self.clone();
        for (&id, &value) in model {
            input.resize(part(id), value, names);
        }
        for (&id, &value) in model {
            input.set(part(id), value, names);
        }
        input
    }

    fn end_at_zeros(&mut self) {
        for text in self.args.iter_mut().chain(self.env.values_mut()) {
            let end = text.iter().position(|&byte| byte == 0).unwrap_or(text.len());
            text.truncate(end);
        }
    }

    fn resize(&mut self, part: Option<Part>, value: u64, names: &Names) {
        let size = value as usize;
        match part {
            Some(Part::ArgumentCount) => self.args.resize(size.saturating_sub(1), Vec::new()),
            Some(Part::StdinSize) => self.stdin.resize(size, FILL),
            Some(Part::FileSize(number)) => {
                if let Some(name) = names.get(&(source::FILE + number)) {
                    self.files.entry(name.clone()).or_default().resize(size, FILL);
                }
            }
            Some(Part::Fails(call)) if value == 1 => drop(self.fails.insert(call)),
            Some(Part::Fails(call)) => drop(self.fails.remove(&call)),
            Some(Part::VariableSet(number)) => {
                if let Some(name) = names.get(&(source::VARIABLE + number)) {
                    if value == 1 {
                        self.env.entry(name.clone()).or_default();
                    } else {
                        self.env.remove(name);
                    }
                }
            }
            _ => {}
        }
    }

    fn set(&mut self, part: Option<Part>, value: u64, names: &Names) {
        let byte = value as u8;
        let put = |bytes: &mut Vec<u8>, at: usize| {
            if at >= bytes.len() && byte != 0 {
                bytes.resize(at, FILL);
                bytes.push(byte);
            } else if at < bytes.len() {
                bytes[at] = byte;
            }
        };
        match part {
            // What is behind the end of standard input or a file is not read.
            Some(Part::Stdin(at)) if at < self.stdin.len() => self.stdin[at] = byte,
            Some(Part::Argument(number, at)) => {
                if let Some(argument) = self.args.get_mut(number) {
                    put(argument, at);
                }
            }
            Some(Part::File(number, at)) => {
                let name = names.get(&(source::FILE + number));
                if let Some(bytes) = name.and_then(|name| self.files.get_mut(name))
                    && at < bytes.len()
                {
                    bytes[at] = byte;
                }
            }
            Some(Part::Variable(number, at)) => {
                let name = names.get(&(source::VARIABLE + number));
                if let Some(bytes) = name.and_then(|name| self.env.get_mut(name)) {
                    put(bytes, at);
                }
            }
            _ => {}
        }
    }

    pub fn write(&self, folder: &Path) -> io::Result<()> {
        fs::create_dir_all(folder)?;
        fs::write(folder.join("args"), joined(self.args.iter().cloned()))?;
        fs::write(folder.join("stdin"), &self.stdin)?;
        let variables = self.env.iter().map(|(name, value)| [name.as_bytes(), b"=", value].concat());
        fs::write(folder.join("env"), joined(variables))?;
        let fails: String = self.fails.iter().map(|call| format!("{call}\n")).collect();
        fs::write(folder.join("fails"), fails)?;
        self.write_files(&folder.join("files"))
    }

    /// The files alone, as the program finds them.
    pub fn write_files(&self, folder: &Path) -> io::Result<()> {
        fs::create_dir_all(folder)?;
        // A name that leads elsewhere is not the input's to write.
        let is_below = |name: &str| {
            let mut parts = Path::new(name).components();
            parts.all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
        };
        for (name, content) in self.files.iter().filter(|(name, _)| is_below(name)) {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().unwrap_or(folder))?;
            fs::write(path, content)?;
        }
        Ok(())
    }

    /// What is missing in the folder is empty. A folder without any of our
    /// names is taken for files that the program reads.
    pub fn read(folder: &Path) -> io::Result<Input> {
        let optional = |name: &str| match fs::read(folder.join(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            other => other,
        };
        let mut input =
            Input { args: split(&optional("args")?), stdin: optional("stdin")?, ..Input::default() };
        for variable in split(&optional("env")?) {
            let at = variable.iter().position(|&byte| byte == b'=').unwrap_or(variable.len());
            let value = variable.get(at + 1..).unwrap_or_default().to_vec();
            input.env.insert(String::from_utf8_lossy(&variable[..at]).into_owned(), value);
        }
        let fails = String::from_utf8_lossy(&optional("fails")?).into_owned();
        input.fails = fails.lines().filter_map(|line| line.trim().parse().ok()).collect();
        let files = folder.join("files");
        if files.is_dir() {
            read_files(&files, Path::new(""), &mut input.files)?;
        }
        Ok(input)
    }
}

/// Stands where a longer input needs a byte and nothing says which.
const FILL: u8 = b'a';

fn read_files(folder: &Path, under: &Path, files: &mut BTreeMap<String, Vec<u8>>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = under.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            read_files(&entry.path(), &name, files)?;
        } else {
            files.insert(name.to_string_lossy().into_owned(), fs::read(entry.path())?);
        }
    }
    Ok(())
}

fn joined(texts: impl Iterator<Item = Vec<u8>>) -> Vec<u8> {
    let texts: Vec<Vec<u8>> = texts.collect();
    let end = if texts.iter().any(|text| text.contains(&b'\n')) { 0 } else { b'\n' };
    texts.into_iter().flat_map(|text| text.into_iter().chain([end])).collect()
}

fn split(bytes: &[u8]) -> Vec<Vec<u8>> {
    let end = if bytes.contains(&0) { 0 } else { b'\n' };
    let mut texts: Vec<Vec<u8>> = bytes.split(|&byte| byte == end).map(<[u8]>::to_vec).collect();
    // After the last end there is nothing.
    if texts.last().is_some_and(Vec::is_empty) {
        texts.pop();
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_give_back_what_was_written() {
        let check = |input: Input| {
            let folder = tempfile::tempdir().expect("a folder");
            input.write(folder.path()).expect("written");
            assert_eq!(Input::read(folder.path()).expect("read"), input);
        };
        check(Input::default());
        check(Input { args: vec![b"-n".to_vec(), Vec::new(), b"x y".to_vec()], ..Input::default() });
        check(Input {
            args: vec![b"a\nb".to_vec(), Vec::new()],
            stdin: vec![0, 255, 10],
            ..Input::default()
        });
        check(Input {
            files: [("A".to_owned(), b"1".to_vec()), ("d/B".to_owned(), Vec::new())].into(),
            env: [("HOME".to_owned(), b"/x=y".to_vec())].into(),
            fails: [3, 7].into(),
            ..Input::default()
        });
    }

    #[test]
    fn a_model_changes_sizes_before_bytes() {
        let names: Names = [(source::FILE, "A".to_owned())].into();
        let base = Input { args: vec![b"ab".to_vec()], stdin: b"xyz".to_vec(), ..Input::default() };
        let check = |model: &[(InputId, u64)], expected: Input| {
            let model: Model = model.iter().copied().collect();
            let input = base.with(&model, &names);
            assert_eq!(input, expected);
            for (&id, &value) in &model {
                assert_eq!(input.value(id, &names), value, "{:?}", part(id));
            }
        };
        check(
            &[(id(source::STDIN, 4), 5), (id(source::STDIN_SIZE, 0), 5)],
            Input { stdin: b"xyza\x05".to_vec(), ..base.clone() },
        );
        check(&[(id(source::ARGUMENT + 1, 2), 99)], Input { args: vec![b"abc".to_vec()], ..base.clone() });
        check(&[(id(source::ARGUMENT + 1, 1), 0)], Input { args: vec![b"a".to_vec()], ..base.clone() });
        check(
            &[(id(source::ARGUMENT_COUNT, 0), 3), (id(source::ARGUMENT + 2, 0), 45)],
            Input { args: vec![b"ab".to_vec(), b"-".to_vec()], ..base.clone() },
        );
        check(
            &[(id(source::FILE_SIZE, 0), 1), (id(source::FILE, 0), 7), (id(source::FAILS, 2), 1)],
            Input { files: [("A".to_owned(), vec![7])].into(), fails: [2].into(), ..base.clone() },
        );
    }
}
