//! What the files of a link are made of: by their markers units, objects and
//! captured libraries; archives by their members.

use std::fs;
use std::path::{Path, PathBuf};

use object::read::archive::ArchiveFile;

use crate::compile::tidy;
use crate::marker::{self, Marker, Named};
use crate::store::{Input, LinkId, Member, Store, StoreError, UnitId};

/// Where a link takes place.
pub struct Place<'a> {
    pub store: &'a Store,
    pub directory: &'a Path,
    /// The folders that `-l` looks in before the system's.
    pub folders: Vec<PathBuf>,
    pub prefer: Prefer,
}

/// Which of `libx.so` and `libx.a` the linker takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefer {
    Shared,
    Static,
}

/// A part of an object: `ld -r` makes one of many.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    Unit(UnitId),
    Object(crate::store::Blob),
}

impl Place<'_> {
    /// An input named by its path.
    pub fn file(&self, given: &str) -> Result<Vec<Input>, StoreError> {
        let path = tidy(&self.directory.join(given));
        let flag = || Ok(vec![Input::Flag(given.to_owned())]);
        if is_system(&path) {
            return flag();
        }
        let Ok(content) = fs::read(&path) else { return flag() };
        match FileKind::of(&content) {
            FileKind::Archive => Ok(vec![self.archive(path, &content)?]),
            FileKind::Shared => match captured(self.store, &content) {
                Some(link) => Ok(vec![Input::Captured { path, link }]),
                None => flag(),
            },
            FileKind::Object => self.object(path, &content),
            FileKind::Other => Ok(vec![Input::File {
                before: String::new(),
                file: self.store.add_blob(&content)?,
                after: String::new(),
            }]),
        }
    }

    /// An input named by `-l`; `None` where the flag serves as it is.
    pub fn library(&self, name: &str) -> Result<Option<Vec<Input>>, StoreError> {
        let names = match (name.strip_prefix(':'), self.prefer) {
            (Some(file), _) => vec![file.to_owned()],
            (None, Prefer::Shared) => vec![format!("lib{name}.so"), format!("lib{name}.a")],
            (None, Prefer::Static) => vec![format!("lib{name}.a")],
        };
        let candidates =
            self.folders.iter().flat_map(|folder| names.iter().map(move |name| folder.join(name)));
        let Some(path) = candidates.into_iter().find(|path| path.is_file()) else { return Ok(None) };
        let path = path.to_string_lossy();
        let inputs = self.file(&path)?;
        let as_it_is = |input: &Input| matches!(input, Input::Flag(_) | Input::File { .. });
        Ok(if inputs.iter().all(as_it_is) { None } else { Some(inputs) })
    }

    /// An option that names a file which the linker reads.
    pub fn reads(&self, before: &str, path: &str) -> Result<Input, StoreError> {
        match fs::read(self.directory.join(path)) {
            Ok(content) => Ok(Input::File {
                before: before.to_owned(),
                file: self.store.add_blob(&content)?,
                after: String::new(),
            }),
            // The linker looks for scripts in its own folders too.
            Err(_) => Ok(Input::Flag(format!("{before}{path}"))),
        }
    }

    fn object(&self, path: PathBuf, content: &[u8]) -> Result<Vec<Input>, StoreError> {
        let object = self.store.add_blob(content)?;
        let parts = parts(self.store, content)?;
        let units: Vec<_> = parts.iter().filter_map(unit).cloned().collect();
        if units.is_empty() {
            return Ok(vec![Input::Object { object, path }]);
        }
        if units.len() == parts.len() {
            return Ok(vec![Input::Units { units, object: Some(object), path }]);
        }
        let input = |part| match part {
            Part::Unit(unit) => Input::Units { units: vec![unit], object: None, path: path.clone() },
            Part::Object(object) => Input::Object { object, path: path.clone() },
        };
        Ok(parts.into_iter().map(input).collect())
    }

    fn archive(&self, path: PathBuf, content: &[u8]) -> Result<Input, StoreError> {
        let mut members = Vec::new();
        for (name, content) in archive_members(&path, content) {
            let parts = parts(self.store, &content)?;
            let units: Vec<_> = parts.iter().filter_map(unit).cloned().collect();
            if units.is_empty() {
                let object = Some(self.store.add_blob(&content)?);
                members.push(Member { name, units, object });
                continue;
            }
            members.push(Member { name: name.clone(), units, object: None });
            for part in parts {
                if let Part::Object(object) = part {
                    members.push(Member { name: name.clone(), units: Vec::new(), object: Some(object) });
                }
            }
        }
        Ok(Input::Archive { path, members })
    }
}

pub fn unit(part: &Part) -> Option<&UnitId> {
    match part {
        Part::Unit(unit) => Some(unit),
        Part::Object(_) => None,
    }
}

/// What an object is made of, brought into `store` where it is in another.
/// Empty if that is not fully known.
pub fn parts(store: &Store, content: &[u8]) -> Result<Vec<Part>, StoreError> {
    let markers = marker::read(content);
    if markers.is_empty() {
        return Ok(store.object(content).into_iter().map(Part::Unit).collect());
    }
    let mut parts = Vec::with_capacity(markers.len());
    for Marker { names, store: holder } in markers {
        let Ok(holder) = Store::open(&holder) else { return Ok(Vec::new()) };
        match names {
            Named::Unit(unit) => match store.import_unit(&holder, &unit) {
                Ok(unit) => parts.push(Part::Unit(unit)),
                Err(StoreError::Damaged { .. }) => return Ok(Vec::new()),
                Err(error) => return Err(error),
            },
            Named::Object(blob) => match fs::read(holder.blob(&blob)) {
                Ok(content) => parts.push(Part::Object(store.add_blob(&content)?)),
                Err(_) => return Ok(Vec::new()),
            },
            Named::Link(_) => {}
        }
    }
    Ok(parts)
}

/// The link that made a shared library, if it is in this store.
fn captured(store: &Store, content: &[u8]) -> Option<LinkId> {
    marker::read(content).into_iter().find_map(|marker| match marker.names {
        Named::Link(link) if store.link(&link).is_ok() => Some(link),
        _ => None,
    })
}

/// Name and content of each member. Those of a thin archive are files beside
/// it; one that is gone is left out.
pub fn archive_members(path: &Path, content: &[u8]) -> Vec<(String, Vec<u8>)> {
    let Ok(archive) = ArchiveFile::parse(content) else { return Vec::new() };
    let folder = path.parent().unwrap_or(Path::new("."));
    let member = |member: object::read::archive::ArchiveMember| {
        let name = String::from_utf8_lossy(member.name()).into_owned();
        if member.is_thin() {
            let content = fs::read(folder.join(&name)).ok()?;
            let name = Path::new(&name).file_name()?.to_string_lossy().into_owned();
            return Some((name, content));
        }
        Some((name, member.data(content).ok()?.to_vec()))
    };
    archive.members().filter_map(Result::ok).filter_map(member).collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    Object,
    /// A shared library, or a program.
    Shared,
    Archive,
    Other,
}

impl FileKind {
    pub fn of(content: &[u8]) -> FileKind {
        if content.starts_with(b"!<arch>\n") || content.starts_with(b"!<thin>\n") {
            return FileKind::Archive;
        }
        if content.starts_with(b"BC\xc0\xde") {
            return FileKind::Object;
        }
        match object::File::parse(content).map(|file| object::Object::kind(&file)) {
            Ok(object::ObjectKind::Relocatable) => FileKind::Object,
            Ok(object::ObjectKind::Dynamic | object::ObjectKind::Executable) => FileKind::Shared,
            _ => FileKind::Other,
        }
    }
}

/// Files that are there when the link is run again.
fn is_system(path: &Path) -> bool {
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    ["/lib", "/lib64", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libx32"]
        .iter()
        .any(|folder| path.starts_with(folder))
}
