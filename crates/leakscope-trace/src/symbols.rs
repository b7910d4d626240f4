//! From return addresses to named places.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use addr2line::Loader;
use leakscope_core::{Frame, Place};
use object::Object;

use crate::record::Record;

/// Names places; keeps what it has read of each module.
pub struct Symboliser {
    program: PathBuf,
    modules: HashMap<PathBuf, Module>,
}

/// A call stack as named, and what is known about it as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Named {
    /// From the user's innermost frame to `main` or the thread's start.
    pub place: Place,
    /// The function of the innermost frame, whoever's it is.
    pub innermost: Option<String>,
    /// A frame belongs to the user's program.
    pub is_users: bool,
}

#[derive(Default)]
struct Module {
    /// The module itself, and its separate debug file if there is one.
    loaders: Vec<Loader>,
}

impl Symboliser {
    /// `program` is the user's program, wherever it lies.
    pub fn new(program: &Path) -> Symboliser {
        let program = fs::canonicalize(program).unwrap_or_else(|_| program.to_owned());
        Symboliser { program, modules: HashMap::new() }
    }

    /// The stack `id` of a record. Leading frames of the system (libc,
    /// headers of the C++ library) are left out, and so is what lies above
    /// `main`; if nothing would remain, all frames are kept.
    pub fn stack(&mut self, record: &Record, id: u32) -> Named {
        let Some((generation, addresses)) = record.stacks.get(&id) else {
            return Named { place: Place::default(), innermost: None, is_users: false };
        };
        let frames: Vec<(Frame, Owner)> =
            addresses.iter().flat_map(|&address| self.frames(record, *generation, address)).collect();
        let innermost = frames.first().and_then(|(frame, _)| frame.function.clone());
        let users = |(_, owner): &(Frame, Owner)| *owner == Owner::User;
        let (first, last) = (frames.iter().position(users), frames.iter().rposition(users));
        let stack = match (first, last) {
            (Some(first), Some(last)) => &frames[first..=cut_at_main(&frames, last)],
            _ => &frames[..],
        };
        let place = Place { stack: stack.iter().map(|(frame, _)| frame.clone()).collect() };
        Named { place, innermost, is_users: first.is_some() }
    }

    /// The frames at a return address: more than one where functions were
    /// inlined.
    fn frames(&mut self, record: &Record, generation: u32, address: u64) -> Vec<(Frame, Owner)> {
        // The call is before the address to which it returns.
        let address = address.wrapping_sub(1);
        let found = record.modules.iter().find(|(module, _)| {
            (module.first_generation..=module.last_generation).contains(&generation)
                && (module.start..module.end).contains(&address)
        });
        let Some((module, path)) = found else {
            return vec![(Frame { offset: Some(address), ..Frame::default() }, Owner::System)];
        };
        let probe = address - module.bias;
        let owner = self.owner_of(path);
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let frames =
            self.modules.entry(path.clone()).or_insert_with(|| Module::open(path)).frames(probe, &name);
        frames
            .into_iter()
            .map(|frame| {
                let in_header = frame.file.as_deref().is_some_and(is_system_path);
                (frame, if in_header { Owner::System } else { owner })
            })
            .collect()
    }

    fn owner_of(&self, module: &Path) -> Owner {
        let is_program =
            module == self.program || fs::canonicalize(module).is_ok_and(|path| path == self.program);
        match module.to_str() {
            _ if is_program => Owner::User,
            Some(path) if !path.contains('/') || is_system_path(path) => Owner::System,
            _ => Owner::User,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    User,
    System,
}

fn is_system_path(path: &str) -> bool {
    ["/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/", "/usr/include/", "/usr/libexec/"]
        .iter()
        .any(|folder| path.starts_with(folder))
        || (path.starts_with("./") && path.contains("/sysdeps/"))
}

/// Nothing above `main` is the user's.
fn cut_at_main(frames: &[(Frame, Owner)], last: usize) -> usize {
    let main = frames.iter().position(|(frame, _)| frame.function.as_deref() == Some("main"));
    main.map_or(last, |main| main.min(last))
}

impl Module {
    fn open(path: &Path) -> Module {
        let mut loaders = Vec::new();
        loaders.extend(debug_file(path).and_then(|path| Loader::new(path).ok()));
        loaders.extend(Loader::new(path).ok());
        Module { loaders }
    }

    fn frames(&self, probe: u64, module: &Option<String>) -> Vec<Frame> {
        for loader in &self.loaders {
            let frames = with_lines(loader, probe, module);
            if !frames.is_empty() {
                return frames;
            }
        }
        let symbol = self.loaders.iter().find_map(|loader| loader.find_symbol(probe));
        let function = symbol.map(|name| addr2line::demangle_auto(name.into(), None).into_owned());
        vec![Frame { function, module: module.clone(), offset: Some(probe), ..Frame::default() }]
    }
}

/// Frames from debug information, innermost first.
fn with_lines(loader: &Loader, probe: u64, module: &Option<String>) -> Vec<Frame> {
    let mut frames = Vec::new();
    let Ok(mut found) = loader.find_frames(probe) else { return frames };
    while let Ok(Some(frame)) = found.next() {
        let location = frame.location.as_ref();
        let named = frame
            .function
            .as_ref()
            .and_then(|function| function.demangle().ok().map(|name| name.into_owned()));
        let symbol =
            || loader.find_symbol(probe).map(|name| addr2line::demangle_auto(name.into(), None).into_owned());
        if location.is_none_or(|location| location.file.is_none()) {
            continue;
        }
        frames.push(Frame {
            function: named.or_else(symbol),
            file: location.and_then(|location| location.file).map(tidy),
            line: location.and_then(|location| location.line).filter(|&line| line > 0),
            column: location.and_then(|location| location.column).filter(|&column| column > 0),
            module: module.clone(),
            offset: None,
        });
    }
    frames
}

/// A path without `.` and `..`, which compilers leave in.
fn tidy(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "." => {}
            "" if !parts.is_empty() => {}
            ".." if parts.last().is_some_and(|last| !last.is_empty() && *last != "..") => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

/// Debug information that a distribution keeps apart, by build id.
fn debug_file(path: &Path) -> Option<PathBuf> {
    let bytes = fs::read(path).ok()?;
    let file = object::File::parse(&*bytes).ok()?;
    let id: String = file.build_id().ok()??.iter().map(|byte| format!("{byte:02x}")).collect();
    let path = PathBuf::from(format!("/usr/lib/debug/.build-id/{}/{}.debug", id.get(..2)?, id.get(2..)?));
    path.exists().then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_tidied() {
        for (path, tidied) in [
            ("/a/./b//c.c", "/a/b/c.c"),
            ("/a/b/../c.c", "/a/c.c"),
            ("../x.c", "../x.c"),
            ("./x.c", "x.c"),
            ("/../x.c", "/../x.c"),
        ] {
            assert_eq!(tidy(path), tidied);
        }
    }
}
