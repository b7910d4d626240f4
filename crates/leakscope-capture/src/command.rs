//! A compiler's command line, read as gcc and clang read it: which files are
//! sources and in what language, where the output goes, how far the
//! compilation is to run. Reads no file and runs nothing.

use std::path::{Path, PathBuf};

use crate::linker::{self, Token};

#[derive(Clone, Debug, PartialEq)]
pub struct Command {
    pub stage: Stage,
    pub output: Option<String>,
    /// The arguments in order, without the output option.
    pub words: Vec<Word>,
}

/// How far the compiler is asked to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Preprocess, print something, check the syntax, write assembler: makes
    /// neither objects nor programs.
    Probe,
    /// Objects, one for each source.
    Compile,
    /// A program, a shared library, or one object (`-r`).
    Link,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Word {
    Source {
        path: String,
        language: Language,
    },
    /// A file for the linker: an object, an archive, a library, a script.
    File(String),
    /// An option that stands alone or has its value in the same argument.
    Option(String),
    /// An option whose value is the next argument.
    Pair(String, String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Language {
    C,
    Cxx,
    PreprocessedC,
    PreprocessedCxx,
    Assembler,
    /// To be precompiled.
    Header,
    /// A language that is not captured.
    Other(String),
}

impl Language {
    /// What clang's `-x` calls it, for the languages that are captured.
    pub fn clang_name(&self) -> Option<&'static str> {
        match self {
            Language::C => Some("c"),
            Language::Cxx => Some("c++"),
            Language::PreprocessedC => Some("cpp-output"),
            Language::PreprocessedCxx => Some("c++-cpp-output"),
            _ => None,
        }
    }

    pub fn is_cxx(&self) -> bool {
        matches!(self, Language::Cxx | Language::PreprocessedCxx)
    }

    fn from_name(name: &str) -> Language {
        match name {
            "c" => Language::C,
            "c++" => Language::Cxx,
            "cpp-output" | "c-cpp-output" => Language::PreprocessedC,
            "c++-cpp-output" => Language::PreprocessedCxx,
            "assembler" | "assembler-with-cpp" => Language::Assembler,
            _ if name.contains("header") => Language::Header,
            _ => Language::Other(name.to_owned()),
        }
    }

    /// The language of a file by its ending; `None` for files that go to the
    /// linker.
    pub fn of_file(path: &str, driver: Driver) -> Option<Language> {
        let ending = Path::new(path).extension()?.to_str()?;
        let language = match ending {
            "c" => Language::C,
            "i" => Language::PreprocessedC,
            "cc" | "cp" | "cxx" | "cpp" | "CPP" | "c++" | "C" => Language::Cxx,
            "ii" => Language::PreprocessedCxx,
            "s" | "S" | "sx" => Language::Assembler,
            "h" | "hh" | "hp" | "hxx" | "hpp" | "HPP" | "h++" | "H" | "tcc" => Language::Header,
            "m" | "mi" => Language::Other("objective-c".to_owned()),
            "mm" | "M" | "mii" => Language::Other("objective-c++".to_owned()),
            "f" | "for" | "ftn" | "F" | "f90" | "F90" | "f95" | "f03" | "f08" => {
                Language::Other("fortran".to_owned())
            }
            "adb" | "ads" => Language::Other("ada".to_owned()),
            "d" | "di" => Language::Other("d".to_owned()),
            "go" => Language::Other("go".to_owned()),
            "ll" | "bc" => Language::Other("llvm ir".to_owned()),
            _ => return None,
        };
        Some(match (driver, language) {
            (Driver::Cxx, Language::C) => Language::Cxx,
            (Driver::Cxx, Language::PreprocessedC) => Language::PreprocessedCxx,
            (_, language) => language,
        })
    }
}

/// `g++` reads `a.c` as C++, `gcc` as C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Driver {
    C,
    Cxx,
}

impl Driver {
    pub fn of(compiler: &Path) -> Driver {
        match compiler.file_name() {
            Some(name) if name.to_string_lossy().contains("++") => Driver::Cxx,
            _ => Driver::C,
        }
    }
}

/// Options whose value is the next argument. Where gcc also takes the value
/// in the same argument, the bare option is meant.
#[rustfmt::skip]
const WITH_VALUE: &[&str] = &[
    // Preprocessor.
    "-A", "-D", "-F", "-I", "-U", "-cxx-isystem", "-idirafter", "-imacros", "-imultilib",
    "-include", "-include-pch", "-iprefix", "-iquote", "-isysroot", "-isystem", "-isystem-after",
    "-ivfsoverlay", "-iwithprefix", "-iwithprefixbefore", "-iwithsysroot",
    // Outputs and their names.
    "-MF", "-MJ", "-MQ", "-MT", "-aux-info", "-dumpbase", "-dumpbase-ext", "-dumpdir", "-o",
    // Linker.
    "-G", "-L", "-T", "-Tbss", "-Tdata", "-Ttext", "-e", "-l", "-rpath", "-u", "-z",
    // Handed on to a part of the compiler.
    "--param", "-Xanalyzer", "-Xassembler", "-Xclang", "-Xlinker", "-Xpreprocessor", "-mllvm",
    // What is compiled, for what, by what.
    "--sysroot", "--target", "-B", "-arch", "-gcc-toolchain", "-target", "-wrapper", "-x",
];

impl Command {
    /// Reads `arguments`, in which response files are already expanded.
    pub fn parse(driver: Driver, arguments: &[String]) -> Command {
        let mut stage = Stage::Link;
        let mut output = None;
        let mut words = Vec::with_capacity(arguments.len());
        let mut language = None;
        let mut rest = arguments.iter().cloned();
        while let Some(argument) = rest.next() {
            if argument == "-" || !argument.starts_with('-') {
                let given = language.clone().or_else(|| Language::of_file(&argument, driver));
                words.push(match given {
                    Some(language) => Word::Source { path: argument, language },
                    None => Word::File(argument),
                });
                continue;
            }
            if WITH_VALUE.contains(&argument.as_str()) {
                let Some(value) = rest.next() else { break };
                match argument.as_str() {
                    "-o" => output = Some(value),
                    "-x" => language = (value != "none").then(|| Language::from_name(&value)),
                    _ => words.push(Word::Pair(argument, value)),
                }
                continue;
            }
            if let Some(name) = argument.strip_prefix("-x") {
                language = (name != "none").then(|| Language::from_name(name));
            } else if let Some(file) = argument.strip_prefix("-o").filter(|_| !is_long_option(&argument)) {
                output = Some(file.to_owned());
            } else {
                stage = stage.min(Stage::asked_by(&argument));
                words.push(Word::Option(argument));
            }
        }
        let mut command = Command { stage, output, words };
        if !command.makes_something() {
            command.stage = Stage::Probe;
        }
        command
    }

    pub fn sources(&self) -> impl Iterator<Item = (&str, &Language)> {
        self.words.iter().filter_map(|word| match word {
            Word::Source { path, language } => Some((path.as_str(), language)),
            _ => None,
        })
    }

    pub fn reads_stdin(&self) -> bool {
        self.sources().any(|(path, _)| path == "-")
    }

    /// Where gcc puts the object of `source`, relative to its folder.
    pub fn object_of(&self, source: &str) -> PathBuf {
        match &self.output {
            Some(output) => PathBuf::from(output),
            None => PathBuf::from(Path::new(source).file_name().unwrap_or_default()).with_extension("o"),
        }
    }

    fn makes_something(&self) -> bool {
        let input = |word: &Word| match word {
            Word::Source { .. } | Word::File(_) => true,
            Word::Option(option) => option.starts_with("-l") || names_linker_input(option),
            Word::Pair(..) => false,
        };
        let header = |(_, language): (&str, &Language)| *language == Language::Header;
        let to_device = self.output.as_ref().is_some_and(|output| output.starts_with("/dev/"));
        self.words.iter().any(input) && !self.sources().any(header) && !to_device
    }
}

impl Stage {
    fn min(self, other: Stage) -> Stage {
        match (self, other) {
            (Stage::Probe, _) | (_, Stage::Probe) => Stage::Probe,
            (Stage::Compile, _) | (_, Stage::Compile) => Stage::Compile,
            (Stage::Link, Stage::Link) => Stage::Link,
        }
    }

    fn asked_by(option: &str) -> Stage {
        match option {
            "-c" | "--compile" => Stage::Compile,
            "-E" | "-S" | "-M" | "-MM" | "-###" | "-fsyntax-only" | "--analyze" | "--version" | "--help"
            | "--target-help" | "--preprocess" | "--assemble" | "-dumpversion" | "-dumpmachine"
            | "-dumpfullversion" | "-dumpspecs" => Stage::Probe,
            _ if option.starts_with("-print-") || option.starts_with("--print-") => Stage::Probe,
            _ if option.starts_with("--help=") => Stage::Probe,
            _ => Stage::Link,
        }
    }
}

fn names_linker_input(option: &str) -> bool {
    let Some(words) = option.strip_prefix("-Wl,") else { return false };
    let words: Vec<_> = words.split(',').map(str::to_owned).collect();
    linker::tokens(&words).iter().any(|token| matches!(token, Token::File(_)))
}

/// Options that begin like `-ofile` and are none.
fn is_long_option(argument: &str) -> bool {
    ["-object", "-objcmt"].iter().any(|prefix| argument.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Command {
        let words = shlex::split(line).unwrap();
        Command::parse(Driver::of(Path::new(&words[0])), &words[1..])
    }

    fn check(line: &str, stage: Stage, sources: &[(&str, Language)], output: Option<&str>) {
        let command = parse(line);
        assert_eq!(command.stage, stage, "{line}");
        let sources: Vec<_> = sources.iter().map(|(path, language)| (*path, language)).collect();
        assert_eq!(command.sources().collect::<Vec<_>>(), sources, "{line}");
        assert_eq!(command.output.as_deref(), output, "{line}");
    }

    #[test]
    fn compiles_and_links() {
        use Language::*;
        use Stage::*;
        check("gcc -c a.c", Compile, &[("a.c", C)], None);
        check(
            "gcc -c a.c b.i c.cc d.ii",
            Compile,
            &[("a.c", C), ("b.i", PreprocessedC), ("c.cc", Cxx), ("d.ii", PreprocessedCxx)],
            None,
        );
        check("g++-12 -c a.c -oa.o", Compile, &[("a.c", Cxx)], Some("a.o"));
        check("cc a.c b.o -o prog -lm", Link, &[("a.c", C)], Some("prog"));
        check("cc -x c++ a.c -x none b.c", Link, &[("a.c", Cxx), ("b.c", C)], None);
        check("cc -xc -c -", Compile, &[("-", C)], None);
        check("cc -c a.S b.s", Compile, &[("a.S", Assembler), ("b.s", Assembler)], None);
        check("cc -include x.c -I y.c -MF z.c -c a.c", Compile, &[("a.c", C)], None);
        check("cc -Xlinker x.c -D y.c -u z.c a.o", Link, &[], None);
        check("gcc -c a.f", Compile, &[("a.f", Other("fortran".to_owned()))], None);
    }

    #[test]
    fn probes() {
        for line in [
            "cc",
            "cc -v",
            "cc --version",
            "cc -dumpversion",
            "cc -dumpmachine",
            "cc -print-search-dirs",
            "cc -print-file-name=x a.o",
            "cc --help=warnings",
            "cc -E a.c",
            "cc -S a.c -o a.s",
            "cc -M a.c",
            "cc -MM -MT a.o a.c",
            "cc -fsyntax-only -c a.c",
            "cc -E -c a.c",
            "cc -c a.c -o /dev/null",
            "cc -x c -E -",
            "g++ a.h",
            "cc -x c-header a.c -o a.gch",
            "cc -### -c a.c",
        ] {
            assert_eq!(parse(line).stage, Stage::Probe, "{line}");
        }
    }

    #[test]
    fn default_objects() {
        assert_eq!(parse("cc -c ../x/a.b.c").object_of("../x/a.b.c"), Path::new("a.b.o"));
        assert_eq!(parse("cc -c a.c -o x/y").object_of("a.c"), Path::new("x/y"));
        assert_eq!(parse("cc -xc -c -").object_of("-"), Path::new("-.o"));
    }
}
