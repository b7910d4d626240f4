//! A source as bitcode: the user's flags translated for clang-19, and clang
//! run beside the user's own compiler.
//!
//! OpenMP pragmas are not followed: the user's link has another OpenMP
//! library than the one clang's code wants, and a program must be right
//! without them.

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{self, Stdio};

use crate::command::{Command, Language, Word};

/// The compiler that makes the bitcode.
pub const CLANG: &str = "clang-19";

/// Attributes that clang leaves out of the bitcode, as annotations, which it
/// does not.
const OWNERSHIP: [&str; 3] = [
    r##"-Downership_returns(...)=annotate("leakscope.returns "#__VA_ARGS__)"##,
    r##"-Downership_takes(...)=annotate("leakscope.takes "#__VA_ARGS__)"##,
    r##"-Downership_holds(...)=annotate("leakscope.holds "#__VA_ARGS__)"##,
];

/// How clang is to compile the sources of one command, and what must be known
/// later to make objects of the bitcode.
#[derive(Clone, Debug, PartialEq)]
pub struct Flags {
    pub clang: Vec<String>,
    /// As in [`crate::Unit`].
    pub optimisation: String,
    pub codegen: Vec<String>,
}

/// One source to be compiled.
pub struct Source<'a> {
    pub path: &'a str,
    pub language: &'a Language,
    pub directory: &'a Path,
    /// The text where the source is read from standard input.
    pub stdin: Option<&'a [u8]>,
    /// Where programs are looked for.
    pub search_path: OsString,
}

/// A compiled source.
pub struct Bitcode {
    pub bytes: Vec<u8>,
    /// [`Flags::codegen`] without what clang does not know.
    pub codegen: Vec<String>,
}

/// Bitcode of `source`, or clang's messages.
pub fn bitcode(source: &Source, flags: &Flags) -> Result<Bitcode, String> {
    let mut arguments = flags.clang.clone();
    loop {
        let (bytes, messages) = run(source, &arguments)?;
        if let Some(bytes) = bytes {
            let known = |flag: &&String| arguments.contains(flag);
            return Ok(Bitcode { bytes, codegen: flags.codegen.iter().filter(known).cloned().collect() });
        }
        let before = arguments.len();
        arguments.retain(|flag| !rejects(&messages, flag));
        if arguments.len() == before {
            match remedy(&messages).filter(|remedy| !arguments.contains(&remedy[1])) {
                Some(remedy) => arguments.extend(remedy),
                None => return Err(messages),
            }
        }
    }
}

/// The line of clang's messages that says best what went wrong.
pub fn first_error(messages: &str) -> &str {
    let error = messages.lines().find(|line| line.contains("error:"));
    error.or_else(|| messages.lines().next()).unwrap_or("clang failed without a message")
}

fn run(source: &Source, arguments: &[String]) -> Result<(Option<Vec<u8>>, String), String> {
    let language = source.language.clang_name().ok_or("this language is not captured")?;
    let mut command = process::Command::new(CLANG);
    command
        .args(["-c", "-emit-llvm", "-g", "-Xclang", "-disable-llvm-passes", "-fno-discard-value-names"])
        .args(["-Wno-everything", "-Qunused-arguments", "-fno-color-diagnostics"])
        .args(OWNERSHIP)
        .args(arguments)
        .args(["-x", language, source.path, "-o", "-"])
        .current_dir(source.directory)
        .env("PATH", &source.search_path)
        // These make a compiler write further files, which the user's own has done.
        .env_remove("DEPENDENCIES_OUTPUT")
        .env_remove("SUNPRO_DEPENDENCIES")
        .stdin(if source.stdin.is_some() { Stdio::piped() } else { Stdio::null() })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let failed = |error| format!("cannot run {CLANG}: {error}; install the package {CLANG}");
    let mut child = command.spawn().map_err(failed)?;
    if let (Some(mut pipe), Some(text)) = (child.stdin.take(), source.stdin) {
        // A compiler that stops early says so by itself.
        let _ = pipe.write_all(text);
    }
    let output = child.wait_with_output().map_err(failed)?;
    let messages = String::from_utf8_lossy(&output.stderr).into_owned();
    Ok((output.status.success().then_some(output.stdout), messages))
}

/// Whether clang complains of `flag` itself, so that it is to be left out.
fn rejects(messages: &str, flag: &str) -> bool {
    messages.lines().filter(|line| line.contains("error: ")).any(|line| {
        let mut quoted = line.split('\'').skip(1).step_by(2);
        if line.contains("unknown target CPU") {
            return quoted.any(|cpu| flag.starts_with("-m") && flag.ends_with(&format!("={cpu}")));
        }
        let of_a_flag =
            ["unknown argument", "unsupported option", "unsupported argument", "invalid argument"];
        of_a_flag.iter().any(|complaint| line.contains(complaint))
            && quoted.any(|name| flag == name || name.ends_with('=') && flag.starts_with(name))
    })
}

/// Flags that help against what only gcc knows.
fn remedy(messages: &str) -> Option<[String; 2]> {
    if messages.contains("file not found") {
        return Some(["-idirafter".to_owned(), gcc_headers()?]);
    }
    // The attribute may name a deallocator, in `omp.h` for one.
    let attribute = messages.contains("'__malloc__' attribute takes no arguments");
    attribute.then(|| ["-D".to_owned(), "__malloc__(...)=__malloc__".to_owned()])
}

/// The folder of the headers that gcc brings: `omp.h`, `quadmath.h`, ….
fn gcc_headers() -> Option<String> {
    let folders = fs::read_dir("/usr/lib/gcc/x86_64-linux-gnu").ok()?;
    let headers = folders.filter_map(|entry| Some(entry.ok()?.path().join("include")));
    headers.filter(|folder| folder.is_dir()).max()?.into_os_string().into_string().ok()
}

/// The flags of a whole command, for each of its sources.
pub fn flags(command: &Command) -> Flags {
    let mut flags = Flags { clang: Vec::new(), optimisation: "O0".to_owned(), codegen: Vec::new() };
    let mut words = command.words.iter().peekable();
    while let Some(word) = words.next() {
        match word {
            Word::Option(option) => flags.option(option),
            Word::Pair(option, value) if option == "-Xclang" && value == "-include-pch" => {
                words.next();
            }
            Word::Pair(option, value) => flags.pair(option, value),
            Word::Source { .. } | Word::File(_) => {}
        }
    }
    flags.finish();
    flags
}

/// Beginnings of options that must not reach our clang: they write further
/// files, change warnings or debug info, are for the linker, or belong to an
/// instrumentation that is not ours.
#[rustfmt::skip]
const LEFT_OUT: &[&str] = &[
    // Write further files or messages.
    "-###", "-M", "-Q", "-aux-info", "-dump", "-fcallgraph-info", "-fdump", "-fopt-info",
    "-fsave-optimization-record", "-fstack-usage", "-ftime", "-save-temps", "--save-temps", "-time",
    // Warnings.
    "-W", "-fanalyzer", "-fdiagnostics", "-fmax-errors", "-fmessage-length", "-fno-diagnostics",
    "-pedantic", "-w",
    // Debug info.
    "-fcompare-debug", "-fdebug-", "-fno-working-directory", "-frecord", "-g",
    // Linker, link-time optimisation.
    "-L", "-fembed-bitcode", "-ffat-lto-objects", "-flto", "-fno-fat-lto-objects", "-fno-lto",
    "-fuse-ld", "-fwhole-program", "-l", "-specs",
    // Instrumentation, plugins, gcc's own tuning.
    "--coverage", "--param=", "-fcoverage", "-fopenmp", "-fplugin", "-fprofile", "-fsanitize",
    "-ftest-coverage", "-pass-exit-codes",
];

/// Beginnings of options that decide how code is generated from bitcode.
#[rustfmt::skip]
const CODEGEN: &[&str] = &[
    // Position independence.
    "-fPIC", "-fPIE", "-fpic", "-fpie", "-fno-PIC", "-fno-PIE", "-fno-pic", "-fno-pie", "-fno-plt",
    "-ftls-model=",
    // Sections.
    "-ffunction-sections", "-fno-function-sections", "-fdata-sections", "-fno-data-sections",
    "-funique-section-names", "-fno-unique-section-names",
    // Instructions.
    "-fno-jump-tables", "-ffp-contract=", "-m",
];

impl Flags {
    fn option(&mut self, option: &str) {
        match option {
            "-c" | "-v" | "-p" | "-pg" | "-s" | "-shared" | "-static" | "-static-pie" | "-pie"
            | "-no-pie" | "-rdynamic" | "-r" | "-nostdlib" | "-nostartfiles" | "-nodefaultlibs"
            | "-emit-llvm" => {}
            "-static-libgcc" | "-static-libstdc++" => {}
            _ if option.starts_with("-O") => self.optimise(&option[2..]),
            _ if option.starts_with("-Wp,") => self.preprocessor(option[4..].split(',')),
            _ if option.starts_with("-ffile-prefix-map=") => {
                self.clang.push(option.replacen("file", "macro", 1));
            }
            _ if LEFT_OUT.iter().any(|left_out| option.starts_with(left_out)) => {}
            _ => {
                if CODEGEN.iter().any(|codegen| option.starts_with(codegen)) {
                    self.codegen.push(option.to_owned());
                }
                self.clang.push(option.to_owned());
            }
        }
    }

    fn pair(&mut self, option: &str, value: &str) {
        match option {
            "-Xpreprocessor" => self.preprocessor([value].into_iter()),
            "-D" | "-U" | "-I" | "-F" | "-A" | "--sysroot" | "-target" | "--target" | "-Xclang" => {
                self.clang.extend([option.to_owned(), value.to_owned()]);
            }
            _ if option.starts_with("-i") && option != "-include-pch" => {
                self.clang.extend([option.to_owned(), value.to_owned()]);
            }
            _ => {}
        }
    }

    /// Options for the preprocessor alone; `-MD file` and its like write.
    fn preprocessor<'a>(&mut self, mut options: impl Iterator<Item = &'a str>) {
        while let Some(option) = options.next() {
            match option {
                "-MD" | "-MMD" | "-MF" | "-MT" | "-MQ" => {
                    options.next();
                }
                _ if option.starts_with("-M") => {}
                _ => self.clang.extend(["-Xpreprocessor".to_owned(), option.to_owned()]),
            }
        }
    }

    /// The last level counts.
    fn optimise(&mut self, level: &str) {
        if level == "fast" {
            self.clang.push("-ffast-math".to_owned());
        }
        self.optimisation = match level {
            "0" => "O0",
            "" | "1" | "g" => "O1",
            "2" => "O2",
            "s" => "Os",
            "z" => "Oz",
            _ => "O3",
        }
        .to_owned();
    }

    /// Nothing is optimised, but the level decides which macros there are and
    /// what functions and loops are marked with: below -O2 none of these may be
    /// unrolled. gcc assumes strict aliasing from -O2 on, clang always.
    fn finish(&mut self) {
        let level: &[&str] = match self.optimisation.as_str() {
            "O0" => &["-O1", "-U__OPTIMIZE__", "-D__NO_INLINE__=1"],
            "Os" => &["-Os"],
            "Oz" => &["-Oz"],
            "O1" => &["-O1"],
            _ => &["-O2"],
        };
        let aliasing = ["-fstrict-aliasing", "-fno-strict-aliasing"];
        if matches!(self.optimisation.as_str(), "O0" | "O1")
            && !self.clang.iter().any(|flag| aliasing.contains(&flag.as_str()))
        {
            self.clang.insert(0, "-fno-strict-aliasing".to_owned());
        }
        self.clang.splice(0..0, level.iter().map(|flag| flag.to_string()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::Driver;

    fn translate(line: &str) -> Flags {
        flags(&Command::parse(Driver::C, &shlex::split(line).unwrap()))
    }

    fn check(line: &str, clang: &str) {
        assert_eq!(translate(line).clang.join(" "), clang, "{line}");
    }

    #[test]
    fn flags_are_translated() {
        check("-O2 -c a.c", "-O2");
        check("-Os -c a.c", "-Os");
        check("-O2 -g3 -Wall -Werror -DX=1 -I y -std=c99 -c a.c", "-O2 -DX=1 -I y -std=c99");
        check("-O3 -MD -MF x -MT y -MMD -MP -Wp,-MD,dep,-DY -c a.c", "-O2 -Xpreprocessor -DY");
        check("-O2 -flto=auto -fsanitize=address -fprofile-arcs --coverage -c a.c", "-O2");
        check(
            "-O2 -ffile-prefix-map=/x=. -fdebug-prefix-map=/x=. -gsplit-dwarf -c a.c",
            "-O2 -fmacro-prefix-map=/x=.",
        );
        check("-Ofast -save-temps -pipe -c a.c", "-O2 -ffast-math -pipe");
        check("-O2 -include x.h -isystem y -imacros z -c a.c", "-O2 -include x.h -isystem y -imacros z");
        check("-O2 -L. -lfoo -Wl,-z,now -Wa,-x -Xlinker x a.c -o p -shared", "-O2");
        check(
            "-O2 -Xclang -include-pch -Xclang p.pch -Xclang -include -Xclang p.h -c a.c",
            "-O2 -Xclang -include -Xclang p.h",
        );
        check("-c a.c", "-O1 -U__OPTIMIZE__ -D__NO_INLINE__=1 -fno-strict-aliasing");
        check("-O1 -fstrict-aliasing -c a.c", "-O1 -fstrict-aliasing");
    }

    #[test]
    fn levels_and_code_generation() {
        let levels =
            [("-O", "O1"), ("-Og", "O1"), ("-O2 -O0", "O0"), ("-Ofast", "O3"), ("-O9", "O3"), ("-Oz", "Oz")];
        for (given, expected) in levels {
            assert_eq!(translate(&format!("{given} -c a.c")).optimisation, expected, "{given}");
        }
        let codegen = translate("-fPIC -O2 -march=native -fno-common -ffunction-sections -c a.c").codegen;
        assert_eq!(codegen, ["-fPIC", "-march=native", "-ffunction-sections"]);
    }

    #[test]
    fn rejected_flags_are_recognised() {
        let messages = "clang-19: error: unknown argument: '-fipa-x'\n\
                        clang-19: error: unknown argument '-fy'; did you mean '-fz'?\n\
                        clang-19: error: unsupported argument 'foo' to option '-fexcess-precision='\n\
                        error: unknown target CPU 'znver9'\n\
                        a.c:1:2: error: use of undeclared identifier '-DX'\n";
        for (flag, expected) in [
            ("-fipa-x", true),
            ("-fy", true),
            ("-fexcess-precision=foo", true),
            ("-march=znver9", true),
            ("-DX", false),
            ("-O1", false),
        ] {
            assert_eq!(rejects(messages, flag), expected, "{flag}");
        }
    }
}
