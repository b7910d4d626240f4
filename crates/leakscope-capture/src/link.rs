//! Captures a link: the user's command with each file that it reads replaced
//! by what is known of it, so that it can be run again with other objects
//! when those files are gone.

use std::collections::VecDeque;
use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use crate::command::Word;
use crate::compile::{Compilation, mark, tidy};
use crate::inputs::{self, Place};
use crate::linker::{self, Token};
use crate::marker::{self, Named};
use crate::real::find_in;
use crate::response;
use crate::session::Session;
use crate::store::{Input, Link, LinkKind, StoreError};

/// Captures a link that succeeded, and marks its output.
pub fn capture(session: &Session, compilation: &Compilation, linker: Option<&linker::Name>) {
    let output = compilation.command.output.as_deref().unwrap_or("a.out");
    let output = tidy(&compilation.directory.join(output));
    if let Err(reason) = try_capture(session, compilation, linker, &output) {
        session.failure(&output, &compilation.directory, reason);
    }
}

fn try_capture(
    session: &Session,
    compilation: &Compilation,
    linker: Option<&linker::Name>,
    output: &Path,
) -> Result<(), String> {
    let mut reading = Reading::new(session, compilation);
    reading.read(&compilation.command.words).map_err(|error| error.to_string())?;
    let Reading { arguments, kind, .. } = reading;
    let Some(kind) = kind else { return mark_relocatable(session, output, &arguments) };
    let driver = match linker {
        Some(_) => ["gcc", "cc", "clang"]
            .iter()
            .find_map(|name| find_in(&compilation.search_path, OsStr::new(name)))
            .ok_or("it was linked by ld itself, and there is no compiler to do it again")?,
        None => compilation.compiler.clone(),
    };
    let directory = compilation.directory.clone();
    let link = Link { output: output.to_owned(), directory, driver, kind, arguments };
    let id = session.store.add_link(&link).map_err(|error| error.to_string())?;
    mark(&session.store, output, vec![Named::Link(id.clone())])?;
    session.link(&id);
    Ok(())
}

/// After `-r`: the linker has joined the markers of its inputs; those of
/// sources in the command itself, and of inputs for link-time optimisation,
/// are still to be put there.
fn mark_relocatable(session: &Session, output: &Path, arguments: &[Input]) -> Result<(), String> {
    let content = fs::read(output).map_err(|error| error.to_string())?;
    let joined = marker::read(&content).len();
    let mut names = Vec::new();
    for argument in arguments {
        match argument {
            Input::Units { units, .. } => names.extend(units.iter().cloned().map(Named::Unit)),
            Input::Object { object, .. } => names.push(Named::Object(object.clone())),
            _ => {}
        }
    }
    if names.len() > joined { mark(&session.store, output, names) } else { Ok(()) }
}

/// The state of reading a link command.
struct Reading<'a> {
    session: &'a Session,
    compilation: &'a Compilation,
    place: Place<'a>,
    arguments: Vec<Input>,
    /// `None` once `-r` was seen.
    kind: Option<LinkKind>,
}

impl<'a> Reading<'a> {
    fn new(session: &'a Session, compilation: &'a Compilation) -> Reading<'a> {
        let place = Place {
            store: &session.store,
            directory: &compilation.directory,
            folders: folders(compilation),
            prefer: inputs::Prefer::Shared,
        };
        Reading { session, compilation, place, arguments: Vec::new(), kind: Some(LinkKind::Executable) }
    }

    fn read(&mut self, words: &[Word]) -> Result<(), StoreError> {
        let mut words: VecDeque<&Word> = words.iter().collect();
        while let Some(word) = words.pop_front() {
            match word {
                Word::Source { path, language } => self.source(path, language)?,
                Word::File(path) => self.arguments.extend(self.place.file(path)?),
                Word::Option(option) if option.starts_with("-Wl,") => self.linker_words(word, &mut words)?,
                Word::Pair(option, _) if option == "-Xlinker" => self.linker_words(word, &mut words)?,
                Word::Option(option) => self.option(option)?,
                Word::Pair(option, value) => self.pair(option, value)?,
            }
        }
        Ok(())
    }

    fn source(&mut self, source: &str, language: &crate::command::Language) -> Result<(), StoreError> {
        let path = tidy(&self.compilation.directory.join(source));
        if let Some(unit) = self.compilation.capture_source(self.session, source, language) {
            self.arguments.push(Input::Units { units: vec![unit], object: None, path });
            return Ok(());
        }
        match self.compilation.object_of(&self.session.store, source, language) {
            Ok(object) => self.arguments.push(Input::Object { object, path }),
            Err(reason) => self.session.failure(&path, &self.compilation.directory, reason),
        }
        Ok(())
    }

    fn option(&mut self, option: &str) -> Result<(), StoreError> {
        match option {
            "-shared" | "--shared" => self.kind = self.kind.and(Some(LinkKind::Shared)),
            "-r" | "--relocatable" => self.kind = None,
            "-static" | "--static" | "-static-pie" => self.place.prefer = inputs::Prefer::Static,
            _ => {}
        }
        let writes = ["-M", "-Wp,", "-save-temps", "--save-temps", "-dump", "-fdump", "-time"];
        if option == "-v" || writes.iter().any(|beginning| option.starts_with(beginning)) {
            return Ok(());
        }
        if let Some(name) = option.strip_prefix("-l").filter(|name| !name.is_empty()) {
            let flag = option.to_owned();
            self.arguments.extend(self.place.library(name)?.unwrap_or_else(|| vec![Input::Flag(flag)]));
        } else if let Some(script) = option.strip_prefix("-T") {
            self.arguments.push(self.place.reads("-T", script)?);
        } else {
            self.arguments.push(Input::Flag(option.to_owned()));
        }
        Ok(())
    }

    fn pair(&mut self, option: &str, value: &str) -> Result<(), StoreError> {
        match option {
            "-l" => return self.option(&format!("-l{value}")),
            "-T" => self.arguments.push(self.place.reads("-T", value)?),
            _ if option.starts_with("-M") || option.starts_with("-dump") || option == "-aux-info" => {}
            _ => self.arguments.extend([option, value].map(|word| Input::Flag(word.to_owned()))),
        }
        Ok(())
    }

    /// `first` and the words for the linker that follow it at once: an option
    /// and its value may stand in two of them.
    fn linker_words(&mut self, first: &Word, words: &mut VecDeque<&Word>) -> Result<(), StoreError> {
        let mut arguments = linker_arguments(first).unwrap_or_default();
        while let Some(more) = words.front().and_then(|word| linker_arguments(word)) {
            arguments.extend(more);
            words.pop_front();
        }
        for token in linker::tokens(&response::expand(arguments, &self.compilation.directory)) {
            match token {
                Token::Option(option) => {
                    match option[0].as_str() {
                        "-shared" | "-Bshareable" => self.kind = self.kind.and(Some(LinkKind::Shared)),
                        "-r" | "-i" | "--relocatable" => self.kind = None,
                        "-Bstatic" | "-dn" | "-non_shared" | "-static" => {
                            self.place.prefer = inputs::Prefer::Static;
                        }
                        "-Bdynamic" | "-dy" | "-call_shared" => self.place.prefer = inputs::Prefer::Shared,
                        _ => {}
                    }
                    self.flags(option);
                }
                Token::File(path) => self.arguments.extend(self.place.file(&path)?),
                Token::Library(name) => match self.place.library(&name)? {
                    Some(inputs) => self.arguments.extend(inputs),
                    None => self.flags(vec![format!("-l{name}")]),
                },
                Token::SearchPath(folder) => self.flags(vec![format!("-L{folder}")]),
                Token::Reads { option, path } => {
                    let option = format!("-Wl,{option}");
                    self.arguments.push(self.place.reads(&option, &path)?);
                }
                Token::Output(_) | Token::Writes => {}
            }
        }
        Ok(())
    }

    fn flags(&mut self, tokens: Vec<String>) {
        if tokens.iter().any(|token| token.contains(',')) {
            let flags = tokens.into_iter().flat_map(|token| ["-Xlinker".to_owned(), token]);
            self.arguments.extend(flags.map(Input::Flag));
        } else {
            self.arguments.push(Input::Flag(format!("-Wl,{}", tokens.join(","))));
        }
    }
}

fn linker_arguments(word: &Word) -> Option<Vec<String>> {
    match word {
        Word::Option(option) => Some(option.strip_prefix("-Wl,")?.split(',').map(str::to_owned).collect()),
        Word::Pair(option, value) if option == "-Xlinker" => Some(vec![value.clone()]),
        _ => None,
    }
}

/// The folders in which `-l` is looked for before the system's own. A `-L`
/// counts for every `-l`, also for those before it.
fn folders(compilation: &Compilation) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for word in &compilation.command.words {
        match word {
            Word::Pair(option, folder) if option == "-L" => folders.push(folder.clone()),
            Word::Option(option) if option.starts_with("-L") => folders.push(option[2..].to_owned()),
            word => {
                for token in linker::tokens(&linker_arguments(word).unwrap_or_default()) {
                    if let Token::SearchPath(folder) = token {
                        folders.push(folder);
                    }
                }
            }
        }
    }
    let given = folders.into_iter().map(|folder| compilation.directory.join(folder));
    let path = env::var_os("LIBRARY_PATH").unwrap_or_default();
    let inherited = env::split_paths(&path).filter(|folder| !folder.as_os_str().is_empty());
    given.chain(inherited.map(|folder| compilation.directory.join(folder))).collect()
}
