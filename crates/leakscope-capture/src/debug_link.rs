//! A link made up from a program's debug info, for programs that were not
//! linked under capture: a `compile_commands.json` has no links.
//!
//! What debug info does not tell is lost: the order of the inputs, linker
//! flags, assembler objects. Where a source is not in the store, there is no
//! link; nothing is guessed.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use gimli::{AttributeValue, DW_AT_producer, EndianSlice, LittleEndian, SectionId};
use object::elf::{DT_NEEDED, DT_RPATH, DT_RUNPATH, DT_SONAME, ET_EXEC, FileHeader64, PT_INTERP};
use object::read::elf::{ElfFile, FileHeader, ProgramHeader};
use object::{Object, ObjectSection, ObjectSymbol};

use crate::compile::tidy;
use crate::error::CaptureError;
use crate::store::{Input, Link, LinkId, LinkKind, Store, Unit, UnitId};

type Elf<'data> = ElfFile<'data, FileHeader64<object::LittleEndian>>;

/// Stores a link for `program`, made of the captured units of its sources, its
/// shared libraries and its search path. A unit whose source has changed since
/// is not the program's.
pub fn link_from_debug_info(store: &Store, program: &Path) -> Result<LinkId, CaptureError> {
    let content = fs::read(program).map_err(|_| CaptureError::NoSuchFile(program.to_owned()))?;
    let elf = Elf::parse(&content).map_err(|_| CaptureError::NotAProgram(program.to_owned()))?;
    let sources = compiled_sources(&elf).filter(|sources| !sources.is_empty());
    let sources = sources.ok_or_else(|| CaptureError::NoDebugInfo(program.to_owned()))?;
    let known = captured_units(store)?;
    let mut missing = Vec::new();
    let mut chosen: Vec<(UnitId, Unit)> = Vec::new();
    for source in &sources {
        match known.get(&source.path).and_then(|units| source.best_of(units)) {
            Some(unit) => chosen.push(unit),
            None => missing.push(source.path.clone()),
        }
    }
    let Some((_, first)) = chosen.first().filter(|_| missing.is_empty()) else {
        let first = missing.first().cloned().unwrap_or_default();
        return Err(CaptureError::ForeignProgram {
            path: program.to_owned(),
            missing: missing.len(),
            sources: sources.len(),
            first,
        });
    };
    let output = tidy(&std::path::absolute(program).unwrap_or_else(|_| program.to_owned()));
    let dynamic = Dynamic::of(&elf, &output);
    let kind = dynamic.kind(&elf);
    let (driver, directory) = (first.compiler.clone(), first.directory.clone());
    let units = chosen.into_iter().map(|(id, unit)| Input::Units {
        units: vec![id],
        object: None,
        path: unit.source,
    });
    let mut arguments: Vec<Input> = dynamic.flags(&elf, kind).into_iter().map(Input::Flag).collect();
    arguments.extend(units);
    for library in &dynamic.needed {
        let beside = dynamic.search.iter().map(|folder| folder.join(library)).find(|path| path.is_file());
        arguments.push(match beside {
            Some(path) => match link_from_debug_info(store, &path) {
                Ok(link) => Input::Captured { path, link },
                Err(_) => Input::Flag(path.to_string_lossy().into_owned()),
            },
            None => Input::Flag(format!("-l:{library}")),
        });
    }
    Ok(store.add_link(&Link { output, directory, driver, kind, arguments })?)
}

/// A compile unit of the debug info.
struct Compiled {
    path: PathBuf,
    directory: PathBuf,
    /// The compiler and, from gcc, its flags.
    producer: String,
}

impl Compiled {
    /// Of several captures of one source, as libtool makes, the one that was
    /// compiled most alike.
    fn best_of(&self, units: &[(UnitId, Unit)]) -> Option<(UnitId, Unit)> {
        let has = |flag: &str| self.producer.split(' ').any(|word| word == flag);
        let likeness = |(_, unit): &&(UnitId, Unit)| {
            let position_independent = unit.codegen.iter().any(|flag| flag == "-fPIC");
            let same = [
                unit.directory == self.directory,
                has("-fPIC") == position_independent,
                has(&format!("-{}", unit.optimisation)),
            ];
            same.into_iter().filter(|same| *same).count()
        };
        units.iter().max_by_key(likeness).cloned()
    }
}

fn captured_units(store: &Store) -> Result<BTreeMap<PathBuf, Vec<(UnitId, Unit)>>, CaptureError> {
    let mut units: BTreeMap<PathBuf, Vec<_>> = BTreeMap::new();
    for id in store.units()? {
        let unit = store.unit(&id)?;
        let text = |path| fs::read(path).ok();
        let captured = unit.text.as_ref().and_then(|blob| text(store.blob(blob)));
        if captured.is_some() && text(unit.source.clone()).is_some_and(|now| Some(now) != captured) {
            continue;
        }
        units.entry(unit.source.clone()).or_default().push((id, unit));
    }
    Ok(units)
}

/// The compile units, without those of assembler; `None` if the debug info
/// cannot be read.
fn compiled_sources(elf: &Elf) -> Option<Vec<Compiled>> {
    let load = |id: SectionId| -> object::Result<Cow<[u8]>> {
        let section = elf.section_by_name(id.name());
        section.map_or(Ok(Cow::Borrowed(&[][..])), |section| section.uncompressed_data())
    };
    let sections = gimli::DwarfSections::load(load).ok()?;
    let dwarf = sections.borrow(|section| EndianSlice::new(section, LittleEndian));
    let mut sources = Vec::new();
    let mut headers = dwarf.units();
    while let Some(header) = headers.next().ok()? {
        let unit = dwarf.unit(header).ok()?;
        let (Some(name), Some(directory)) = (unit.name, unit.comp_dir) else { continue };
        let root = unit.entries_tree(None).ok()?.root().ok()?.entry().clone();
        let producer = root.attr_value(DW_AT_producer);
        let producer = producer.and_then(|value: AttributeValue<_>| dwarf.attr_string(&unit, value).ok());
        let producer = producer.map_or(String::new(), |text| text.to_string_lossy().into_owned());
        if producer.starts_with("GNU AS") {
            continue;
        }
        let directory = PathBuf::from(directory.to_string_lossy().as_ref());
        let path = tidy(&directory.join(name.to_string_lossy().as_ref()));
        sources.push(Compiled { path, directory, producer });
    }
    Some(sources)
}

/// What the dynamic section says.
struct Dynamic {
    needed: Vec<String>,
    soname: Option<String>,
    /// As written, and with `$ORIGIN` replaced.
    run_path: Vec<String>,
    search: Vec<PathBuf>,
}

impl Dynamic {
    fn of(elf: &Elf, program: &Path) -> Dynamic {
        let mut dynamic =
            Dynamic { needed: Vec::new(), soname: None, run_path: Vec::new(), search: Vec::new() };
        let origin = program.parent().unwrap_or(Path::new("/")).to_string_lossy().into_owned();
        let Ok(table) = elf.elf_dynamic_table() else { return dynamic };
        for entry in table.iter() {
            let text = || table.string(entry).map(|text| String::from_utf8_lossy(text).into_owned()).ok();
            match entry.tag {
                // The compiler adds these itself.
                DT_NEEDED => dynamic.needed.extend(
                    text().filter(|name| !name.starts_with("libc.so") && !name.starts_with("ld-linux")),
                ),
                DT_SONAME => dynamic.soname = text(),
                DT_RUNPATH | DT_RPATH => {
                    for folder in text().unwrap_or_default().split(':').filter(|folder| !folder.is_empty()) {
                        let found = folder.replace("${ORIGIN}", &origin).replace("$ORIGIN", &origin);
                        dynamic.search.push(PathBuf::from(&found));
                        dynamic.run_path.push(found);
                    }
                }
                _ => {}
            }
        }
        dynamic
    }

    fn kind(&self, elf: &Elf) -> LinkKind {
        match has_interpreter(elf) || is_fixed(elf) {
            true => LinkKind::Executable,
            false => LinkKind::Shared,
        }
    }

    fn flags(&self, elf: &Elf, kind: LinkKind) -> Vec<String> {
        let mut flags = Vec::new();
        match kind {
            LinkKind::Shared => {
                flags.push("-shared".to_owned());
                flags.extend(self.soname.iter().map(|name| format!("-Wl,-soname,{name}")));
            }
            LinkKind::Executable => {
                if !has_interpreter(elf) {
                    flags.push("-static".to_owned());
                } else if is_fixed(elf) {
                    flags.push("-no-pie".to_owned());
                }
                let exports_main = |symbol: &object::read::elf::ElfSymbol<_>| {
                    symbol.is_definition() && symbol.name() == Ok("main")
                };
                if elf.dynamic_symbols().any(|symbol| exports_main(&symbol)) {
                    flags.push("-rdynamic".to_owned());
                }
            }
        }
        flags.extend(self.run_path.iter().map(|folder| format!("-Wl,-rpath,{folder}")));
        flags
    }
}

fn has_interpreter(elf: &Elf) -> bool {
    elf.elf_program_headers().iter().any(|header| header.p_type(elf.endian()) == PT_INTERP)
}

fn is_fixed(elf: &Elf) -> bool {
    elf.elf_header().e_type(elf.endian()) == ET_EXEC
}
