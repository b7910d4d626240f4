//! Captures without a build: bare source files, and the entries of a
//! `compile_commands.json`.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;
use serde::Deserialize;

use crate::build::BuildSummary;
use crate::clang::CLANG;
use crate::command::{Command, Driver, Language};
use crate::compile::{Compilation, NotCaptured};
use crate::error::CaptureError;
use crate::real::{find_in, search_path_without_shims};
use crate::response;
use crate::session::{Event, Told};
use crate::store::{Failure, Input, Link, LinkId, LinkKind, Store};

/// Captures `files` as the sources of one program, compiled with `flags`. The
/// first that does not compile ends it, with clang's own message.
pub fn capture_files(store: &Store, files: &[PathBuf], flags: &[String]) -> Result<LinkId, CaptureError> {
    let directory = env::current_dir().map_err(|source| CaptureError::Io { path: ".".into(), source })?;
    let mut driver = "clang-19";
    let mut sources = Vec::with_capacity(files.len());
    for file in files {
        if !file.exists() {
            return Err(CaptureError::NoSuchFile(file.clone()));
        }
        let path = file.to_string_lossy().into_owned();
        match Language::of_file(&path, Driver::C) {
            Some(language) if language.clang_name().is_some() => {
                if language.is_cxx() {
                    driver = "clang++-19";
                }
                sources.push((path, language));
            }
            _ => return Err(CaptureError::NotASource(file.clone())),
        }
    }
    let search_path = search_path_without_shims();
    let in_path = |name: &str| find_in(&search_path, OsStr::new(name)).unwrap_or_else(|| name.into());
    let capture = |(path, language): &(String, Language)| {
        let mut arguments = flags.to_vec();
        arguments.extend(["-c".to_owned(), path.clone()]);
        let compilation = Compilation {
            compiler: in_path(CLANG),
            command: Command::parse(Driver::C, &arguments),
            arguments,
            directory: directory.clone(),
            stdin: None,
            search_path: search_path.clone(),
        };
        let unit = compilation.unit(store, path, language).map_err(|reason| match reason {
            NotCaptured::Clang(messages) => CaptureError::Source { path: path.into(), messages },
            NotCaptured::Store(error) => error.into(),
        })?;
        Ok(Input::Units { units: vec![unit], object: None, path: directory.join(path) })
    };
    let mut arguments: Vec<Input> = sources.par_iter().map(capture).collect::<Result<_, CaptureError>>()?;
    arguments.extend(["-lm", "-pthread"].map(|flag| Input::Flag(flag.to_owned())));
    let name = files.first().and_then(|file| file.file_stem()).unwrap_or(OsStr::new("a.out"));
    let link = Link {
        output: directory.join(name),
        driver: in_path(driver),
        kind: LinkKind::Executable,
        arguments,
        directory,
    };
    Ok(store.add_link(&link)?)
}

/// An entry of `compile_commands.json`.
#[derive(Deserialize)]
struct Entry {
    directory: PathBuf,
    file: PathBuf,
    arguments: Option<Vec<String>>,
    command: Option<String>,
}

/// Captures each entry of a compilation database. `progress` is told how many
/// of how many are done.
pub fn build_compdb(
    store: &Store,
    path: &Path,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<BuildSummary, CaptureError> {
    let text = fs::read(path).map_err(|_| CaptureError::NoSuchFile(path.to_owned()))?;
    let entries: Vec<Entry> = serde_json::from_slice(&text).map_err(|error| {
        CaptureError::NotACompilationDatabase { path: path.to_owned(), reason: error.to_string() }
    })?;
    let beside = path.parent().and_then(|folder| std::path::absolute(folder).ok()).unwrap_or_default();
    let done = AtomicUsize::new(0);
    let events: Vec<Event> = entries
        .par_iter()
        .flat_map_iter(|entry| {
            let events = capture_entry(store, entry, &beside);
            // Only a count: nothing else is read by it.
            progress(done.fetch_add(1, Ordering::Relaxed) + 1, entries.len());
            events
        })
        .collect();
    let told: Told = events.into_iter().collect();
    for failure in &told.failures {
        store.add_failure(failure)?;
    }
    Ok(BuildSummary::new(None, told))
}

fn capture_entry(store: &Store, entry: &Entry, beside: &Path) -> Vec<Event> {
    let directory = beside.join(&entry.directory);
    let failure = |what: &Path, reason: String| {
        Event::Failure(Failure { what: directory.join(what), directory: directory.clone(), reason })
    };
    let words = match (&entry.arguments, &entry.command) {
        (Some(arguments), _) => Some(arguments.clone()),
        (None, Some(command)) => shlex::split(command),
        (None, None) => None,
    };
    let Some((compiler, arguments)) = words.as_deref().and_then(<[String]>::split_first) else {
        return vec![failure(&entry.file, "its entry has no command that can be read".to_owned())];
    };
    let (compiler, arguments) = match arguments.split_first() {
        Some((launched, rest)) if is_launcher(compiler) => (launched, rest),
        _ => (compiler, arguments),
    };
    let search_path = search_path_without_shims();
    let found = if Path::new(compiler).components().count() > 1 {
        Some(directory.join(compiler))
    } else {
        find_in(&search_path, OsStr::new(compiler))
    };
    let arguments = response::expand(arguments.to_vec(), &directory);
    let compilation = Compilation {
        command: Command::parse(Driver::of(Path::new(compiler)), &arguments),
        compiler: found.unwrap_or_else(|| compiler.into()),
        arguments,
        directory: directory.clone(),
        stdin: None,
        search_path,
    };
    let capture = |(source, language): (&str, &Language)| match compilation.unit(store, source, language) {
        Ok(unit) => Event::Unit(unit),
        Err(reason) => failure(Path::new(source), reason.to_string()),
    };
    let sources = compilation.command.sources();
    sources.filter(|(_, language)| **language != Language::Assembler).map(capture).collect()
}

fn is_launcher(program: &str) -> bool {
    let name = Path::new(program).file_name().and_then(OsStr::to_str);
    name.is_some_and(|name| crate::real::LAUNCHERS.contains(&name))
}
