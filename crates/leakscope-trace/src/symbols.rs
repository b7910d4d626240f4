//! From addresses in modules to frames with names and lines. Every module is
//! read when an address of it is asked for, and every address looked up once.

use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap};
use std::env;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use addr2line::Loader;
use indexmap::{IndexMap, IndexSet};
use leakscope_core as core;
use leakscope_core::Frame;
use leakscope_wire as wire;
use object::Object;
use object::elf::{PT_INTERP, ProgramHeader64};

use crate::module_file;

/// A frame that was named, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FrameId(u32);

/// A module by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModuleId(usize);

/// Names addresses; keeps what it has read of each module.
pub struct Symboliser {
    /// The user's program, and those that it runs.
    programs: BTreeSet<PathBuf>,
    modules: IndexMap<PathBuf, Module>,
    frames: IndexSet<Frame>,
    known: HashMap<(ModuleId, u64), Rc<[FrameId]>>,
}

struct Module {
    /// As frames name it.
    name: Option<String>,
    /// As it decides whose its frames are; none for the user's program.
    path: Option<String>,
    /// Code in it without debug information is the system's.
    has_libraries: bool,
    file: PathBuf,
    build_id: Vec<u8>,
    /// The separate debug file if there is one, and the module itself.
    loaders: OnceCell<Vec<Loader>>,
}

impl Symboliser {
    /// `program` is the user's program, wherever it lies.
    pub fn new(program: &Path) -> Symboliser {
        Symboliser {
            programs: BTreeSet::from([canonical(program)]),
            modules: IndexMap::new(),
            frames: IndexSet::new(),
            known: HashMap::new(),
        }
    }

    /// Says that a module is an executable: no library of the system's,
    /// although it may lie among them.
    pub fn add_program(&mut self, path: &Path) {
        self.programs.insert(canonical(path));
    }

    /// The module at `path`, or wherever one of that build id is found. With
    /// an empty id, any file at the path will do.
    pub fn module(&mut self, path: &Path, id: &[u8]) -> ModuleId {
        if let Some(index) = self.modules.get_index_of(path) {
            return ModuleId(index);
        }
        let is_program = self.programs.contains(&canonical(path));
        let module = Module {
            name: path.file_name().map(|name| name.to_string_lossy().into_owned()),
            path: (!is_program).then(|| path.to_string_lossy().into_owned()),
            has_libraries: is_program && has_libraries(path),
            file: path.to_owned(),
            build_id: id.to_owned(),
            loaders: OnceCell::new(),
        };
        ModuleId(self.modules.insert_full(path.to_owned(), module).0)
    }

    /// Whether the module is one of the system's libraries.
    pub fn is_library(&self, module: ModuleId) -> bool {
        let path = self.modules.get_index(module.0).and_then(|(_, module)| module.path.as_deref());
        path.is_some_and(|path| Frame::default().of_module(core::Module::Other(path)).system)
    }

    /// The module's file.
    pub fn path(&self, module: ModuleId) -> &Path {
        self.modules.get_index(module.0).map_or(Path::new(""), |(path, _)| path)
    }

    /// The frames at an address of a module's file, innermost first: more than
    /// one where functions were inlined.
    pub fn frames(&mut self, module: ModuleId, probe: u64) -> Rc<[FrameId]> {
        if let Some(known) = self.known.get(&(module, probe)) {
            return known.clone();
        }
        let found = self.modules[module.0].frames(probe);
        let ids: Rc<[FrameId]> = found.into_iter().map(|frame| self.id(frame)).collect();
        self.known.insert((module, probe), ids.clone());
        ids
    }

    /// Drops what was read of modules, but not the frames; what is still asked
    /// for is read again.
    pub fn forget(&mut self) {
        self.modules.values_mut().for_each(|module| drop(module.loaders.take()));
    }

    /// A frame at an address where no module was.
    pub fn unknown(&mut self, address: u64) -> FrameId {
        self.id(Frame { offset: Some(address), system: true, ..Frame::default() })
    }

    /// The frame with its function but not its line.
    pub fn without_line(&mut self, id: FrameId) -> FrameId {
        let frame = self.frame(id).clone();
        self.id(Frame { line: None, column: None, offset: None, ..frame })
    }

    /// The frame at another line of its file; one without a file stays.
    pub fn at_line(&mut self, id: FrameId, line: u32, column: Option<u32>) -> FrameId {
        let frame = self.frame(id).clone();
        if frame.file.is_none() {
            return id;
        }
        self.id(Frame { line: Some(line), column, ..frame })
    }

    /// The frame as one of the system's.
    pub fn as_system(&mut self, id: FrameId) -> FrameId {
        let frame = self.frame(id).clone();
        self.id(Frame { system: true, ..frame })
    }

    /// The frame as that of a wrapper, if it is not the system's.
    pub fn as_wrapper(&mut self, id: FrameId) -> FrameId {
        let frame = self.frame(id).clone();
        let wrapper = !frame.system;
        self.id(Frame { wrapper, ..frame })
    }

    pub fn frame(&self, id: FrameId) -> &Frame {
        &self.frames[id.0 as usize]
    }

    fn id(&mut self, frame: Frame) -> FrameId {
        FrameId(self.frames.insert_full(frame).0 as u32)
    }
}

impl Module {
    fn frames(&self, probe: u64) -> Vec<Frame> {
        let loaders = self.loaders.get_or_init(|| loaders(&self.file, &self.build_id));
        let lines = loaders.iter().map(|loader| with_lines(loader, probe));
        let mut frames = lines.into_iter().find(|frames| !frames.is_empty()).unwrap_or_else(|| {
            let function = loaders.iter().find_map(|loader| symbol(loader, probe));
            vec![Frame { function, offset: Some(probe), ..Frame::default() }]
        });
        let module = self.path.as_deref().map_or(core::Module::Program, core::Module::Other);
        for frame in &mut frames {
            frame.module.clone_from(&self.name);
            // The C library's alias for its own use of a function.
            if let Some(name) = frame.function.as_deref().and_then(|name| name.strip_prefix("__GI_")) {
                frame.function = Some(name.to_owned());
            }
            *frame = std::mem::take(frame).of_module(module);
            // What stands nowhere in a source that is known was made by the
            // compiler.
            frame.system |= frame.file.is_some() && frame.line.is_none();
            frame.system |= frame.file.is_none() && self.has_libraries;
        }
        frames
    }
}

/// Whether a program is linked statically, and has debug information: code
/// without it is the system's libraries' then.
fn has_libraries(path: &Path) -> bool {
    let Some(cache) = module_file::open(path) else { return false };
    let Ok(object::File::Elf64(file)) = object::File::parse(&cache) else { return false };
    let is_interpreter = |header: &ProgramHeader64<_>| header.p_type.get(file.endian()) == PT_INTERP;
    file.section_by_name(".debug_info").is_some() && !file.elf_program_headers().iter().any(is_interpreter)
}

/// Frames from debug information, innermost first.
fn with_lines(loader: &Loader, probe: u64) -> Vec<Frame> {
    let mut frames = Vec::new();
    let Ok(mut found) = loader.find_frames(probe) else { return frames };
    while let Ok(Some(frame)) = found.next() {
        let Some((location, file)) =
            frame.location.as_ref().and_then(|location| Some((location, location.file?)))
        else {
            continue;
        };
        let name = frame.function.as_ref().and_then(|name| Some(name.demangle().ok()?.into_owned()));
        frames.push(Frame {
            function: name.or_else(|| symbol(loader, probe)),
            file: Some(core::tidy(file)),
            line: location.line.filter(|&line| line > 0),
            column: location.column.filter(|&column| column > 0),
            ..Frame::default()
        });
    }
    frames
}

fn symbol(loader: &Loader, probe: u64) -> Option<String> {
    let name = loader.find_symbol(probe)?;
    let name = name.strip_suffix(wire::REPORTING).unwrap_or(name);
    Some(addr2line::demangle_auto(name.into(), None).into_owned())
}

/// What there is to read of a module. A path that a damaged record names may
/// be no file at all, and must not be waited for; one of another machine may be
/// another program's here.
fn loaders(path: &Path, id: &[u8]) -> Vec<Loader> {
    let (own, apart) = if is_it(path, id) { (Some(path), debug_file(path)) } else { (None, installed(id)) };
    apart.as_deref().into_iter().chain(own).filter_map(|path| Loader::new(path).ok()).collect()
}

fn is_it(path: &Path, id: &[u8]) -> bool {
    path.is_file() && (id.is_empty() || build_id(path).is_none_or(|found| found == id))
}

/// Whether the file of a module is there, at its path or where debug
/// information is kept: else there are no names.
pub fn has_names(path: &Path, id: &[u8]) -> bool {
    is_it(path, id) || installed(id).is_some()
}

/// Where distributions keep debug information, below `.build-id` by build id.
const DEBUG_FOLDER: &str = "/usr/lib/debug";

/// Names another such folder, which comes first.
const DEBUG_VARIABLE: &str = "LEAKSCOPE_DEBUG_DIR";

/// Debug information that is kept apart: by the module's build id, or in the
/// file that the module links to, beside it or in `.debug`, if that has the
/// same build id.
pub fn debug_file(path: &Path) -> Option<PathBuf> {
    let cache = module_file::open(path)?;
    let file = object::File::parse(&cache).ok()?;
    let id = file.build_id().ok()??;
    if let Some(installed) = installed(id) {
        return Some(installed);
    }
    let (name, _) = file.gnu_debuglink().ok()??;
    let name = OsStr::from_bytes(name);
    let beside = [path.with_file_name(name), path.with_file_name(".debug").join(name)];
    beside.into_iter().find(|other| other != path && build_id(other).as_deref() == Some(id))
}

/// The file with debug information of this build id, where distributions and
/// `LEAKSCOPE_DEBUG_DIR` keep them. In the latter it may also lie by itself.
fn installed(id: &[u8]) -> Option<PathBuf> {
    let hex: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    let below = format!(".build-id/{}/{}.debug", hex.get(..2)?, hex.get(2..)?);
    let given = env::var_os(DEBUG_VARIABLE).unwrap_or_default();
    let folders = [given.clone(), DEBUG_FOLDER.into()];
    let listed = folders.iter().map(|folder| Path::new(folder).join(&below));
    listed.into_iter().find(|file| file.is_absolute() && file.is_file()).or_else(|| {
        let entries = fs::read_dir(given).ok()?.flatten().map(|entry| entry.path());
        let mut files: Vec<PathBuf> = entries.filter(|file| build_id(file).as_deref() == Some(id)).collect();
        files.sort();
        files.into_iter().next()
    })
}

fn build_id(path: &Path) -> Option<Vec<u8>> {
    let cache = module_file::open(path)?;
    let file = object::File::parse(&cache).ok()?;
    Some(file.build_id().ok()??.to_vec())
}

fn canonical(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
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
            assert_eq!(core::tidy(path), tidied);
        }
    }
}
