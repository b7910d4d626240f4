//! From a file back to what it was made of.

use std::env;
use std::fmt;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::debug_link::link_from_debug_info;
use crate::error::CaptureError;
use crate::inputs::{self, FileKind, Part};
use crate::marker::{self, Named};
use crate::store::{Input, Link, LinkId, Store, StoreError, UnitId};

/// The store and the link that made the program or shared library at `path`:
/// by its marker, or by its debug info where a capture nearby has its sources.
pub fn program(path: &Path) -> Result<(Store, LinkId), CaptureError> {
    let path = behind_libtool(path);
    let content = read(&path)?;
    if FileKind::of(&content) != FileKind::Shared {
        return Err(CaptureError::NotAProgram(path));
    }
    match link_of(&content)? {
        Some(found) => Ok(found),
        None => link_nearby(&path)?.ok_or(CaptureError::NotCaptured(path)),
    }
}

/// A link made up from debug info, for a program whose sources are in a
/// `.leakscope` of the current folder or of a folder above the program.
fn link_nearby(path: &Path) -> Result<Option<(Store, LinkId)>, CaptureError> {
    let program = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let folders = env::current_dir().into_iter().chain(program.ancestors().skip(1).map(Path::to_owned));
    for root in folders.filter_map(|folder| store_in(&folder)) {
        let store = Store::open(&root)?;
        match link_from_debug_info(&store, &program) {
            Ok(link) => return Ok(Some((store, link))),
            Err(CaptureError::ForeignProgram { missing, sources, .. }) if missing == sources => {}
            Err(CaptureError::NoDebugInfo(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// Where the capture of a folder lies, if it has one.
pub fn store_in(folder: &Path) -> Option<PathBuf> {
    Some(folder.join(".leakscope")).filter(|root| root.join("format").is_file())
}

pub fn link_of(content: &[u8]) -> Result<Option<(Store, LinkId)>, StoreError> {
    let mut links = marker::read(content).into_iter().filter_map(|marker| match marker.names {
        Named::Link(link) => Some((marker.store, link)),
        _ => None,
    });
    let Some((store, link)) = links.next_back() else { return Ok(None) };
    Ok(Some((Store::open(&store)?, link)))
}

/// libtool puts a shell script where the program is expected, and the program
/// into `.libs` beside it.
pub fn behind_libtool(path: &Path) -> PathBuf {
    let script = fs::read(path).unwrap_or_default();
    let beginning = String::from_utf8_lossy(&script[..script.len().min(1024)]);
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return path.to_owned() };
    if !beginning.contains("temporary wrapper script for") {
        return path.to_owned();
    }
    let relinked = format!("lt-{}", name.to_string_lossy());
    let candidates = [folder.join(".libs").join(name), folder.join(".libs").join(relinked)];
    candidates.into_iter().find(|program| program.is_file()).unwrap_or_else(|| path.to_owned())
}

/// What a file was made of. Its `Display` is a text for people.
#[derive(Clone, Debug, PartialEq)]
pub struct Composition {
    pub path: PathBuf,
    /// The compiler that linked it, if it was linked.
    pub driver: Option<PathBuf>,
    pub parts: Vec<Made>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Made {
    Unit {
        source: PathBuf,
        compiler: PathBuf,
        optimisation: String,
    },
    /// An object without bitcode.
    Uncaptured(PathBuf),
    Archive {
        path: PathBuf,
        members: Vec<Made>,
    },
    /// A captured shared library.
    Library(PathBuf),
}

/// Composition of a program, shared library, archive or object.
pub fn inspect(path: &Path) -> Result<Composition, CaptureError> {
    let path = behind_libtool(path);
    let content = read(&path)?;
    let (driver, parts) = match FileKind::of(&content) {
        FileKind::Shared => {
            let Some((store, id)) = link_of(&content)? else { return Err(CaptureError::NotCaptured(path)) };
            let link = store.link(&id)?;
            (Some(link.driver.clone()), made_by(&store, &link)?)
        }
        FileKind::Object => (None, made_of(&path, &content)?),
        FileKind::Archive => {
            let mut parts = Vec::new();
            for (name, content) in inputs::archive_members(&path, &content) {
                parts.extend(made_of(Path::new(&name), &content)?);
            }
            (None, parts)
        }
        FileKind::Other => return Err(CaptureError::NotAProgram(path)),
    };
    let captured = |part: &Made| !matches!(part, Made::Uncaptured(_));
    if driver.is_none() && !parts.iter().any(captured) {
        return Err(CaptureError::NotCaptured(path));
    }
    Ok(Composition { path, driver, parts })
}

fn made_by(store: &Store, link: &Link) -> Result<Vec<Made>, StoreError> {
    let mut parts = Vec::new();
    for argument in &link.arguments {
        match argument {
            Input::Units { units, .. } => {
                for id in units {
                    parts.push(unit(store, id)?);
                }
            }
            Input::Object { path, .. } => parts.push(Made::Uncaptured(path.clone())),
            Input::Archive { path, members } => {
                let mut of_archive = Vec::new();
                for member in members {
                    if member.units.is_empty() {
                        of_archive.push(Made::Uncaptured(PathBuf::from(&member.name)));
                    }
                    for id in &member.units {
                        of_archive.push(unit(store, id)?);
                    }
                }
                parts.push(Made::Archive { path: path.clone(), members: of_archive });
            }
            Input::Captured { path, .. } => parts.push(Made::Library(path.clone())),
            Input::Flag(_) | Input::File { .. } => {}
        }
    }
    Ok(parts)
}

fn made_of(path: &Path, content: &[u8]) -> Result<Vec<Made>, StoreError> {
    let Some(first) = marker::read(content).into_iter().next() else {
        return Ok(vec![Made::Uncaptured(path.to_owned())]);
    };
    let store = Store::open(&first.store)?;
    let made = |part| match part {
        Part::Unit(id) => unit(&store, &id),
        Part::Object(_) => Ok(Made::Uncaptured(path.to_owned())),
    };
    inputs::parts(&store, content)?.into_iter().map(made).collect()
}

fn unit(store: &Store, id: &UnitId) -> Result<Made, StoreError> {
    let unit = store.unit(id)?;
    Ok(Made::Unit { source: unit.source, compiler: unit.compiler, optimisation: unit.optimisation })
}

pub fn read(path: &Path) -> Result<Vec<u8>, CaptureError> {
    fs::read(path).map_err(|source| match source.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => CaptureError::NoSuchFile(path.to_owned()),
        ErrorKind::IsADirectory => CaptureError::Folder(path.to_owned()),
        _ => CaptureError::Io { path: path.to_owned(), source },
    })
}

impl fmt::Display for Composition {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        if let Some(driver) = &self.driver {
            write!(f, ", linked by {}", driver.display())?;
        }
        self.parts.iter().try_for_each(|part| part.write(f, 1))
    }
}

impl Made {
    fn write(&self, f: &mut fmt::Formatter, depth: usize) -> fmt::Result {
        write!(f, "\n{:1$}", "", depth * 2)?;
        match self {
            Made::Unit { source, compiler, optimisation } => {
                write!(f, "{} ({} -{optimisation})", source.display(), compiler.display())
            }
            Made::Uncaptured(path) => write!(f, "{} (not captured)", path.display()),
            Made::Library(path) => write!(f, "{} (captured shared library)", path.display()),
            Made::Archive { path, members } => {
                write!(f, "{}", path.display())?;
                members.iter().try_for_each(|member| member.write(f, depth + 1))
            }
        }
    }
}
