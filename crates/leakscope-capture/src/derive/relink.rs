//! The recorded link, run again: our objects in the place of the user's, a
//! runtime in front of them, and without the flags that do not fit.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::objects::{Object, quoted};
use super::plan::{Record, Step};
use super::{DeriveError, Kept, Workshop, last_lines, run, write_error};
use crate::store::{Blob, Input, Link, LinkKind, Member, StoreError, UnitId};

type Objects = BTreeMap<UnitId, Object>;

/// Beginnings of driver options that a relink leaves out: our objects are
/// native code without a sanitizer, given by files whose language the driver
/// sees, and nothing but the output is to be written or stripped.
const UNFIT: &[&str] = &[
    "-ffat-lto-objects",
    "-flto",
    "-fno-fat-lto-objects",
    "-fno-use-linker-plugin",
    "-fsanitize",
    "-fsplit-lto-unit",
    "-fthinlto",
    "-funified-lto",
    "-fuse-linker-plugin",
    "-fwhole-program-vtables",
    "-save-temps",
    "--save-temps",
    "-x",
];

/// What stands for a driver option instead: a runtime reaches libc's own
/// functions through the loader, which a static program does not have.
const LOADED: [(&str, &str); 2] = [("-static", "-no-pie"), ("-static-pie", "-pie")];

/// The file name by which a program that needs this output looks for it.
pub fn output_name(link: &Link) -> PathBuf {
    let Ok(words) = words::<Infallible>(link, |_| Ok(Vec::new()));
    let mut words = words.iter().filter_map(Word::for_linker);
    while let Some(word) = words.next() {
        let name = match option(word) {
            Some("soname" | "h") => words.next(),
            Some(name) => name.strip_prefix("soname="),
            None => None,
        };
        if let Some(name) = name.and_then(|name| Path::new(name).file_name()) {
            return PathBuf::from(name);
        }
    }
    PathBuf::from(link.output.file_name().unwrap_or("a.out".as_ref()))
}

impl Workshop<'_> {
    /// Links `step` of the plan `steps`, and records what was kept in it.
    pub fn relink(&self, step: &Step, steps: &[Step], objects: &Objects) -> Result<(), DeriveError> {
        let link = &step.link;
        let vanished =
            |file: &Path| DeriveError::Vanished { program: link.output.clone(), file: file.to_owned() };
        if !link.directory.is_dir() {
            return Err(vanished(&link.directory));
        }
        let mut record = Record::default();
        let words = words(link, |input| self.files(input, steps, objects, &mut record))?;
        let named_files: Vec<PathBuf> = words.iter().filter_map(|word| word.file(&link.directory)).collect();

        let scratch = self.scratch()?;
        let made = scratch.path().join("made");
        let mut command = vec!["-g".to_owned()];
        command.extend(search_folders(&step.libraries));
        if link.kind == LinkKind::Executable {
            command.extend(self.variant.runtime.iter().flat_map(|file| whole(file)));
            if record.kept.is_empty() && !has_foreign_code(link) {
                command.extend(self.variant.whole.iter().map(|file| text(file)));
            }
        }
        command.extend(fitting(words, link));
        if link.kind == LinkKind::Executable {
            command.extend_from_slice(self.variant.link_flags);
        }
        // The capture may hold flags of a compile, which clang finds unused.
        command.extend(["-Wno-unused-command-line-argument".to_owned(), "-o".to_owned(), text(&made)]);

        let list = scratch.path().join("arguments");
        let lines: String = command.iter().map(|word| quoted(word) + "\n").collect();
        fs::write(&list, lines).map_err(|source| write_error(&list, source))?;
        let driver = driver(link);
        let output =
            run(Command::new(&driver).arg(format!("@{}", list.display())).current_dir(&link.directory))?;
        if !output.status.success() {
            return Err(match named_files.iter().find(|file| !file.exists()) {
                Some(file) => vanished(file),
                None => DeriveError::Failed {
                    tool: text(&driver),
                    target: link.output.clone(),
                    output: last_lines(&output),
                },
            });
        }
        self.publish(&made, &step.output)?;
        let record = serde_json::to_vec_pretty(&record).expect("plain data serialises");
        Ok(self.store.write(&step.record_path(), &record)?)
    }

    /// The files that stand for an input now.
    fn files(
        &self,
        input: &Input,
        steps: &[Step],
        objects: &Objects,
        record: &mut Record,
    ) -> Result<Vec<String>, DeriveError> {
        let files = match input {
            Input::Units { units, object, path } => {
                self.units(units, object.as_ref(), path, objects, record)?
            }
            Input::Object { object, path } => self.units(&[], Some(object), path, objects, record)?,
            Input::Archive { path, members } => {
                let member = |member: &Member| {
                    let name = path.join(&member.name);
                    let files = self.units(&member.units, member.object.as_ref(), &name, objects, record)?;
                    Ok((member.name.clone(), self.joined(&files)?))
                };
                let members = members.iter().map(member).collect::<Result<Vec<_>, DeriveError>>()?;
                vec![self.archive(path, &members)?]
            }
            Input::Captured { link, .. } => {
                steps.iter().filter(|step| step.id == *link).map(|step| step.output.clone()).collect()
            }
            Input::File { file, .. } => vec![self.blob(file)?],
            Input::Flag(_) => Vec::new(),
        };
        Ok(files.iter().map(|file| text(file)).collect())
    }

    /// The objects of `units`; or the user's own `object` where it was not
    /// captured or cannot be derived.
    fn units(
        &self,
        units: &[UnitId],
        object: Option<&Blob>,
        path: &Path,
        objects: &Objects,
        record: &mut Record,
    ) -> Result<Vec<PathBuf>, DeriveError> {
        let mut files = Vec::new();
        let mut refused = units.is_empty().then_some("not captured");
        for unit in units {
            match &objects[unit] {
                Object::New(file) | Object::Found(file) => files.push(file.clone()),
                Object::Refused(reason) => {
                    record.refused.insert(unit.clone());
                    refused = refused.or(Some(reason));
                }
            }
        }
        let Some(reason) = refused else { return Ok(files) };
        record.kept.push(Kept { input: path.to_owned(), reason: reason.to_owned() });
        match object {
            Some(object) => Ok(vec![self.blob(object)?]),
            None if units.is_empty() => {
                let reason = "neither a unit nor an object is recorded for it".to_owned();
                Err(StoreError::Damaged { path: path.to_owned(), reason }.into())
            }
            None => units.iter().map(|unit| self.plain_object(unit)).collect(),
        }
    }

    fn blob(&self, blob: &Blob) -> Result<PathBuf, StoreError> {
        let path = self.store.blob(blob);
        match path.exists() {
            true => Ok(path),
            false => Err(StoreError::Damaged { path, reason: "the file is missing".to_owned() }),
        }
    }
}

/// Makes the loader find the derived libraries before any others: only the
/// older kind of run path comes before `LD_LIBRARY_PATH`.
fn search_folders(libraries: &[PathBuf]) -> Vec<String> {
    let folders = libraries.iter().filter_map(|library| library.parent()).map(text);
    let mut flags: Vec<String> = folders.flat_map(|folder| ["-rpath".to_owned(), folder]).collect();
    if !flags.is_empty() {
        flags.push("--disable-new-dtags".to_owned());
    }
    flags.into_iter().flat_map(|flag| Word::Linker(flag).arguments()).collect()
}

/// A word of the link command, by who reads it.
#[derive(PartialEq)]
enum Word {
    Driver(String),
    Linker(String),
}

impl Word {
    fn for_linker(&self) -> Option<&str> {
        match self {
            Word::Linker(word) => Some(word),
            Word::Driver(_) => None,
        }
    }

    fn arguments(self) -> Vec<String> {
        match self {
            Word::Driver(word) => vec![word],
            Word::Linker(word) => vec!["-Xlinker".to_owned(), word],
        }
    }

    /// The file that the word seems to name.
    fn file(&self, directory: &Path) -> Option<PathBuf> {
        let Word::Driver(word) = self else { return None };
        let library =
            [".a", ".o", ".so"].iter().any(|ending| word.ends_with(ending)) || word.contains(".so.");
        let path = !word.starts_with('-') && (library || word.contains('/'));
        path.then(|| directory.join(word))
    }
}

/// The recorded command, with what `files` gives for each input.
fn words<E>(link: &Link, mut files: impl FnMut(&Input) -> Result<Vec<String>, E>) -> Result<Vec<Word>, E> {
    let mut words = Vec::new();
    let mut value_for_linker = false;
    for input in &link.arguments {
        let files = files(input)?;
        // A file within a flag stands as a character that no flag has.
        let flag = match input {
            Input::Flag(flag) => flag.clone(),
            Input::File { before, after, .. } => format!("{before}\0{after}"),
            _ => {
                words.extend(files.into_iter().map(Word::Driver));
                continue;
            }
        };
        let word = |text: &str| text.replace('\0', &files.concat());
        if std::mem::take(&mut value_for_linker) {
            words.push(Word::Linker(word(&flag)));
        } else if flag == "-Xlinker" {
            value_for_linker = true;
        } else if flag == "-z" {
            value_for_linker = true;
            words.push(Word::Linker(flag));
        } else if let Some(list) = flag.strip_prefix("-Wl,") {
            words.extend(list.split(',').map(|text| Word::Linker(word(text))));
        } else {
            words.push(Word::Driver(word(&flag)));
        }
    }
    Ok(words)
}

/// The words that a relink gives again.
fn fitting(words: Vec<Word>, link: &Link) -> Vec<String> {
    let shared = link.kind == LinkKind::Shared;
    let origin = text(link.output.parent().unwrap_or(&link.directory));
    let mut fitting = Vec::new();
    let mut words = words.into_iter().peekable();
    while let Some(word) = words.next() {
        let fits = match &word {
            Word::Driver(flag) => {
                if flag == "-x" {
                    words.next();
                }
                flag != "-s" && !UNFIT.iter().any(|start| flag.starts_with(start))
            }
            Word::Linker(flag) => match option(flag) {
                Some("s" | "S" | "strip-all" | "strip-debug" | "enable-new-dtags") => false,
                Some("Map" | "dependency-file") => {
                    words.next();
                    false
                }
                // The runtime that a library calls is in the program.
                Some("z") => !(shared && words.next_if_eq(&Word::Linker("defs".to_owned())).is_some()),
                Some("zdefs" | "no-undefined" | "no-allow-shlib-undefined") => !shared,
                Some(name) => {
                    !["Map=", "dependency-file=", "plugin-opt"].iter().any(|start| name.starts_with(start))
                }
                None => true,
            },
        };
        if fits {
            // The loader would look beside the derived file.
            let moved = |word: String| word.replace("${ORIGIN}", &origin).replace("$ORIGIN", &origin);
            let word = match word {
                Word::Driver(flag) if !shared => Word::Driver(loaded(flag)),
                word => word,
            };
            fitting.extend(word.arguments().into_iter().map(moved));
        }
    }
    fitting
}

/// A driver option for a program that a loader loads.
fn loaded(flag: String) -> String {
    LOADED.iter().find(|(unloaded, _)| *unloaded == flag).map_or(flag, |(_, loaded)| (*loaded).to_owned())
}

/// The name of a linker option, which one dash and two begin alike.
fn option(word: &str) -> Option<&str> {
    word.strip_prefix("--").or_else(|| word.strip_prefix('-'))
}

/// A file of the runtime. Nothing asks for a member of it by name, so an
/// archive is taken whole.
fn whole(file: &Path) -> Vec<String> {
    let flag = |name: &str| Word::Linker(name.to_owned()).arguments();
    match file.extension() {
        Some(archive) if archive == "a" => {
            [flag("--whole-archive"), vec![text(file)], flag("--no-whole-archive")].concat()
        }
        _ => vec![text(file)],
    }
}

/// Whether a link takes code from static libraries that were not captured:
/// those named as such, and those of which there is no shared one.
fn has_foreign_code(link: &Link) -> bool {
    let flags: Vec<&str> = link
        .arguments
        .iter()
        .filter_map(|input| match input {
            Input::Flag(flag) => Some(flag.as_str()),
            _ => None,
        })
        .collect();
    let folders = || flags.iter().filter_map(|flag| flag.strip_prefix("-L"));
    let find = |file: &str| {
        folders().map(|folder| link.directory.join(folder).join(file)).find(|path| path.exists()).or_else(
            || {
                let found =
                    Command::new(driver(link)).arg(format!("-print-file-name={file}")).output().ok()?;
                let path = PathBuf::from(String::from_utf8_lossy(&found.stdout).trim_end());
                path.is_absolute().then_some(path)
            },
        )
    };
    // What glibc took into itself is left as an archive without members.
    let is_empty = |path: PathBuf| fs::metadata(path).is_ok_and(|found| found.len() <= 8);
    let is_shared = |name: &str| {
        find(&format!("lib{name}.so")).is_some() || find(&format!("lib{name}.a")).is_some_and(is_empty)
    };
    flags.iter().any(|flag| {
        flag.starts_with("-static-lib")
            || flag.contains("-Bstatic")
            || flag.contains("-dn")
            || flag.ends_with(".a")
            || flag.ends_with(".o")
            || flag.strip_prefix("-l").is_some_and(|name| !is_shared(name))
    })
}

/// The user's driver, or clang where it is no longer there.
fn driver(link: &Link) -> PathBuf {
    let cxx = link.driver.to_string_lossy().contains("++");
    match link.driver.exists() {
        true => link.driver.clone(),
        false => PathBuf::from(if cxx { "clang++-19" } else { "clang-19" }),
    }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
