//! Captures the compilations of one command: bitcode, source text and flags
//! of each source into the store, and a marker into each object.

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Component, Path, PathBuf};
use std::process::Stdio;

use crate::clang::{self, Source};
use crate::command::{Command, Language, Word};
use crate::marker::{self, Marker, Named};
use crate::session::Session;
use crate::store::{Blob, Store, StoreError, Unit, UnitId};

/// One call of a compiler.
pub struct Compilation {
    /// The user's compiler, and its arguments with response files expanded.
    pub compiler: PathBuf,
    pub arguments: Vec<String>,
    pub command: Command,
    pub directory: PathBuf,
    /// What was read from standard input, if a source is.
    pub stdin: Option<Vec<u8>>,
    /// `PATH` without the shims.
    pub search_path: OsString,
}

/// Why a source was not captured.
#[derive(Debug, thiserror::Error)]
pub enum NotCaptured {
    #[error("{}", clang::first_error(.0))]
    Clang(String),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Compilation {
    /// Captures the sources of a `-c` command and marks their objects.
    pub fn capture_objects(&self, session: &Session) {
        for (source, language) in self.command.sources() {
            let object = self.directory.join(self.command.object_of(source));
            if let Err(reason) = self.capture_object(session, source, language, &object) {
                session.failure(&self.directory.join(source), &self.directory, reason);
            }
        }
    }

    fn capture_object(
        &self,
        session: &Session,
        source: &str,
        language: &Language,
        object: &Path,
    ) -> Result<(), String> {
        let names = match self.capture_source(session, source, language) {
            Some(unit) => Named::Unit(unit),
            None => {
                let content = fs::read(object).map_err(|error| error.to_string())?;
                Named::Object(session.store.add_blob(&content).map_err(|error| error.to_string())?)
            }
        };
        mark(&session.store, object, vec![names])
    }

    /// Captures one source and tells of it; `None` where there is no bitcode
    /// of it.
    pub fn capture_source(&self, session: &Session, source: &str, language: &Language) -> Option<UnitId> {
        if *language == Language::Assembler {
            session.assembler(tidy(&self.directory.join(source)));
            return None;
        }
        match self.unit(&session.store, source, language) {
            Ok(unit) => {
                session.unit(&unit);
                Some(unit)
            }
            Err(reason) => {
                session.failure(&self.directory.join(source), &self.directory, reason);
                None
            }
        }
    }

    /// Compiles one source to bitcode and stores it.
    pub fn unit(&self, store: &Store, source: &str, language: &Language) -> Result<UnitId, NotCaptured> {
        if let Language::Other(language) = language {
            return Err(NotCaptured::Clang(format!("{language} is not captured, only C and C++ are")));
        }
        let path = tidy(&self.directory.join(source));
        if path.exists() && !path.is_file() && path != Path::new("/dev/null") {
            return Err(NotCaptured::Clang("it is no file, and cannot be read a second time".to_owned()));
        }
        let flags = clang::flags(&self.command);
        let stdin = self.stdin.as_deref().filter(|_| source == "-");
        let given = Source {
            path: source,
            language,
            directory: &self.directory,
            stdin,
            search_path: self.search_path.clone(),
        };
        let bitcode = clang::bitcode(&given, &flags).map_err(NotCaptured::Clang)?;
        let text = match stdin {
            Some(text) => Some(store.add_blob(text)?),
            None => fs::read(&path).ok().map(|text| store.add_blob(&text)).transpose()?,
        };
        let unit = Unit {
            source: path,
            text,
            directory: self.directory.clone(),
            compiler: self.compiler.clone(),
            arguments: self.arguments.clone(),
            optimisation: flags.optimisation,
            codegen: bitcode.codegen,
        };
        Ok(store.add_unit(&unit, &bitcode.bytes)?)
    }

    /// The object that the user's own compiler makes of `source`, for a
    /// source of a link command that has no bitcode.
    pub fn object_of(&self, store: &Store, source: &str, language: &Language) -> Result<Blob, String> {
        let failed = |error: std::io::Error| format!("cannot compile it to an object: {error}");
        let folder = tempfile::tempdir().map_err(failed)?;
        let object = folder.path().join("object.o");
        let mut command = std::process::Command::new(&self.compiler);
        for word in &self.command.words {
            match word {
                Word::Option(option) if option.starts_with("-M") || option.starts_with("-save-temps") => {}
                Word::Option(option) if option.starts_with("-l") || option.starts_with("-Wl,") => {}
                Word::Option(option) => drop(command.arg(option)),
                Word::Pair(option, _) if option.starts_with("-M") || option == "-Xlinker" => {}
                Word::Pair(option, value) => drop(command.args([option, value])),
                Word::Source { .. } | Word::File(_) => {}
            }
        }
        if let Some(name) = language.clang_name() {
            command.args(["-x", name]);
        }
        command.args(["-c", source, "-o"]).arg(&object);
        command.current_dir(&self.directory).env("PATH", &self.search_path);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(failed)?;
        if let (Some(mut pipe), Some(text)) = (child.stdin.take(), self.stdin.as_deref()) {
            // A compiler that stops early fails, which is seen below.
            let _ = pipe.write_all(text);
        }
        child.wait().map_err(failed)?;
        let content = fs::read(&object).map_err(failed)?;
        store.add_blob(&content).map_err(|error| error.to_string())
    }

    /// Tests of what the compiler can do, which are not part of the program.
    pub fn is_probe_of_configure(&self) -> bool {
        let names = self.command.words.iter().filter_map(|word| match word {
            Word::Source { path, .. } | Word::File(path) => Some(path),
            _ => None,
        });
        names.chain(&self.command.output).any(|name| is_probe(&self.directory.join(name)))
    }
}

fn is_probe(path: &Path) -> bool {
    let names = || path.components().map(|part| part.as_os_str().to_string_lossy());
    let in_cmake = names().any(|name| name == "CMakeFiles")
        && names().any(|name| name == "CMakeScratch" || name == "CMakeTmp" || name.starts_with("CompilerId"));
    let is_conftest = names().next_back().is_some_and(|name| name.starts_with("conftest"));
    // Of config.guess and of meson, in folders with a random name.
    let temporary = path.ends_with("dummy.c") && names().any(|name| name.starts_with("cg"))
        || path.file_stem() == Some("testfile".as_ref()) && names().any(|name| name.starts_with("tmp"));
    in_cmake || is_conftest || temporary || names().any(|name| name == "meson-private")
}

/// `path` without `.` and `..`, where that is the same file.
pub fn tidy(path: &Path) -> PathBuf {
    let mut tidied = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(tidied.pop()),
            _ => tidied.push(part),
        }
    }
    match (fs::canonicalize(path), fs::canonicalize(&tidied)) {
        (Ok(path), Ok(tidied)) if path != tidied => path,
        _ => tidied,
    }
}

/// Makes the file at `path` name what it was made of. Files that are not ELF,
/// as clang's objects for link-time optimisation, are known by their content.
pub fn mark(store: &Store, path: &Path, names: Vec<Named>) -> Result<(), String> {
    if let Ok(content) = fs::read(path)
        && content.starts_with(b"BC\xc0\xde")
        && let [Named::Unit(unit)] = names.as_slice()
    {
        return store.add_object(&content, unit).map_err(|error| error.to_string());
    }
    let marker = |names| Marker { names, store: store.root().to_owned() };
    let markers: Vec<_> = names.into_iter().map(marker).collect();
    marker::write(path, &markers).map_err(|error| format!("cannot mark {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_of_configure() {
        for path in [
            "/x/conftest.c",
            "/x/conftest1.o",
            "/b/CMakeFiles/CMakeScratch/TryCompile-1/src.c",
            "/b/CMakeFiles/3.25.1/CompilerIdC/CMakeCCompilerId.c",
            "/b/meson-private/tmp1/testfile.c",
            "/tmp/tmpbz8cnrvk/testfile.cpp",
            "/tmp/cgEvWSmM/dummy.c",
        ] {
            assert!(is_probe(Path::new(path)), "{path}");
        }
        for path in
            ["/x/conf.c", "/x/dummy.c", "/x/testfile.c", "/b/CMakeFiles/prog.dir/main.c.o", "/CompilerId/a.c"]
        {
            assert!(!is_probe(Path::new(path)), "{path}");
        }
    }
}
