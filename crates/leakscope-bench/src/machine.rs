//! The machine and the tools' versions, as the table's heading has them.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result};

/// Name and value, in the order in which they are shown.
pub fn describe() -> Result<Vec<(&'static str, String)>> {
    let version = |program: &str| first_line(Command::new(program).arg("--version"));
    let memory: u64 = field("/proc/meminfo", "MemTotal")?.trim_end_matches(" kB").parse()?;
    let cores = std::thread::available_parallelism()?;
    Ok(vec![
        ("date", first_line(Command::new("date").args(["-u", "+%Y-%m-%d"]))),
        ("processor", format!("{}, {cores} cores", field("/proc/cpuinfo", "model name")?)),
        ("memory", format!("{:.1} GiB", memory as f64 / (1 << 20) as f64)),
        ("kernel", first_line(Command::new("uname").args(["-sr"]))),
        ("system", field_of(&fs::read_to_string("/etc/os-release")?, "PRETTY_NAME", '=').unwrap_or_default()),
        ("gcc", version("gcc")),
        ("clang", version("clang-19")),
        ("valgrind", version("valgrind")),
        ("heaptrack", version("heaptrack")),
        ("cppcheck", version("cppcheck")),
    ])
}

fn field(file: &str, name: &str) -> Result<String> {
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {file}"))?;
    field_of(&text, name, ':').with_context(|| format!("no `{name}` in {file}"))
}

fn field_of(text: &str, name: &str, separator: char) -> Option<String> {
    let (_, value) =
        text.lines().filter_map(|line| line.split_once(separator)).find(|(key, _)| key.trim() == name)?;
    Some(value.trim().trim_matches('"').to_owned())
}

fn first_line(command: &mut Command) -> String {
    let text = command.output().map(|output| output.stdout).unwrap_or_default();
    String::from_utf8_lossy(&text).lines().next().unwrap_or("not installed").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, name: &str, separator: char, expected: Option<&str>) {
        assert_eq!(field_of(text, name, separator).as_deref(), expected);
    }

    #[test]
    fn fields_are_found() {
        check("processor\t: 0\nmodel name\t: A CPU\nmodel name\t: B\n", "model name", ':', Some("A CPU"));
        check("ID=debian\nPRETTY_NAME=\"Debian 12\"\n", "PRETTY_NAME", '=', Some("Debian 12"));
        check("ID=debian\n", "PRETTY_NAME", '=', None);
    }
}
