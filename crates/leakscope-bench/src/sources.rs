//! Debian source packages, fetched once by an apt whose lists and cache are
//! our own; the system's configuration is read and never changed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

/// The unpacked source tree of each package. Needs the network for those that
/// are not in the cache yet.
pub fn fetch(packages: &[&str], cache: &Path) -> Result<BTreeMap<String, PathBuf>> {
    let folder = cache.join("sources");
    let missing: Vec<&str> =
        packages.iter().copied().filter(|package| !folder.join(package).is_dir()).collect();
    if !missing.is_empty() {
        eprintln!("fetching sources: {}", missing.join(" "));
        let apt = Apt::new(cache)?;
        // One unreachable source is no reason to give up, but the better
        // reason to show if a package is then not found.
        let updated = apt.run(cache, &["-oAPT::Update::Error-Mode=any", "update"]);
        for package in missing {
            let partial = folder.join(format!("{package}.partial"));
            let _ = fs::remove_dir_all(&partial);
            fs::create_dir_all(&partial)?;
            if let Err(error) = apt.run(&partial, &["source", package]) {
                return Err(updated.err().unwrap_or(error));
            }
            fs::rename(&partial, folder.join(package))?;
        }
    }
    packages.iter().map(|package| Ok((package.to_string(), only_folder(&folder.join(package))?))).collect()
}

/// `package version`, as the package's changelog has it.
pub fn versions(fetched: &BTreeMap<String, PathBuf>) -> Result<Vec<String>> {
    let version = |(package, tree): (&String, &PathBuf)| {
        let changelog = fs::read_to_string(tree.join("debian/changelog"))
            .with_context(|| format!("the source of {package} has no debian/changelog"))?;
        let version = changelog.split(['(', ')']).nth(1).unwrap_or("of unknown version");
        Ok(format!("{package} {version}"))
    };
    fetched.iter().map(version).collect()
}

/// An apt-get with its own list of sources, lists and cache.
struct Apt {
    options: Vec<String>,
}

impl Apt {
    fn new(cache: &Path) -> Result<Apt> {
        let folder = cache.join("apt");
        for part in ["lists/partial", "cache/archives/partial"] {
            fs::create_dir_all(folder.join(part))?;
        }
        let (stanzas, lines) = source_lists(Path::new("/etc/apt"))?;
        // apt tells the two formats apart by the file's name, and reads every
        // file of the folder that it is given.
        let parts = folder.join("sources.list.d");
        fs::create_dir_all(&parts)?;
        fs::write(parts.join("bench.sources"), stanzas)?;
        fs::write(parts.join("bench.list"), lines)?;
        let option = |name: &str, value: &str| format!("-o{name}={value}");
        let path = |part: &str| folder.join(part).to_string_lossy().into_owned();
        Ok(Apt {
            options: vec![
                option("Dir::Etc::SourceList", "/dev/null"),
                option("Dir::Etc::SourceParts", &path("sources.list.d")),
                option("Dir::State::Lists", &path("lists")),
                option("Dir::Cache", &path("cache")),
                // The download user may not be able to enter our folders.
                option("APT::Sandbox::User", "root"),
            ],
        })
    }

    fn run(&self, folder: &Path, arguments: &[&str]) -> Result<()> {
        let output = Command::new("apt-get")
            .arg("-q")
            .args(&self.options)
            .args(arguments)
            .current_dir(folder)
            .output()
            .context("cannot run apt-get: the sources come from Debian's packages")?;
        if output.status.success() {
            return Ok(());
        }
        let stderr = String::from_utf8_lossy(&output.stderr);
        let reason = stderr.lines().find(|line| line.starts_with("E:")).unwrap_or("no reason given");
        bail!(
            "`apt-get {}` failed ({}); the first run needs the network and dpkg-dev, \
             later ones use what is kept in target/bench/sources",
            arguments.join(" "),
            reason.trim_start_matches("E: ")
        );
    }
}

/// The system's sources as deb822 stanzas and as lines, both asking for
/// source packages only.
fn source_lists(etc: &Path) -> Result<(String, String)> {
    let mut files = vec![etc.join("sources.list")];
    if let Ok(entries) = fs::read_dir(etc.join("sources.list.d")) {
        let mut parts: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        parts.sort();
        files.extend(parts);
    }
    let (mut stanzas, mut lines) = (String::new(), String::new());
    for file in files {
        let Ok(text) = fs::read_to_string(&file) else { continue };
        match file.extension().and_then(|extension| extension.to_str()) {
            Some("sources") => stanzas.push_str(&source_stanzas(&text)),
            Some("list") => lines.push_str(&source_lines(&text)),
            _ => {}
        }
    }
    ensure!(
        !(stanzas.is_empty() && lines.is_empty()),
        "no package sources in {}: the programs' sources come from Debian",
        etc.display()
    );
    Ok((stanzas, lines))
}

fn source_stanzas(text: &str) -> String {
    let mut stanzas = String::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let is_types = line.split_once(':').is_some_and(|(name, _)| name.eq_ignore_ascii_case("types"));
        stanzas.push_str(if is_types { "Types: deb-src" } else { line });
        stanzas.push('\n');
    }
    stanzas.push('\n');
    stanzas
}

fn source_lines(text: &str) -> String {
    let binary = |line: &str| line.trim().strip_prefix("deb ").map(|rest| format!("deb-src {rest}\n"));
    text.lines().filter_map(binary).collect()
}

fn only_folder(folder: &Path) -> Result<PathBuf> {
    let mut folders = fs::read_dir(folder)?.flatten().map(|entry| entry.path()).filter(|path| path.is_dir());
    match (folders.next(), folders.next()) {
        (Some(only), None) => Ok(only),
        _ => bail!("expected one source tree in {}: remove that folder to fetch it again", folder.display()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(file: &str, text: &str, expected: (&str, &str)) {
        let etc = tempfile::tempdir().unwrap();
        fs::create_dir(etc.path().join("sources.list.d")).unwrap();
        fs::write(etc.path().join(file), text).unwrap();
        let (stanzas, lines) = source_lists(etc.path()).unwrap();
        assert_eq!((stanzas.as_str(), lines.as_str()), expected);
    }

    #[test]
    fn the_systems_sources_become_source_packages() {
        check(
            "sources.list.d/debian.sources",
            "Types: deb\n# a mirror\nURIs: http://a.example/debian\nSuites: bookworm\n\ntypes: deb deb-src\n",
            ("Types: deb-src\nURIs: http://a.example/debian\nSuites: bookworm\n\nTypes: deb-src\n\n", ""),
        );
        check(
            "sources.list",
            "# deb http://off.example x main\ndeb [arch=amd64] http://a.example x main\ndeb-src http://a.example x main\n",
            ("", "deb-src [arch=amd64] http://a.example x main\n"),
        );
    }

    #[test]
    fn no_sources_is_said() {
        let etc = tempfile::tempdir().unwrap();
        let error = source_lists(etc.path()).unwrap_err().to_string();
        assert!(error.starts_with("no package sources in "), "{error}");
    }
}
