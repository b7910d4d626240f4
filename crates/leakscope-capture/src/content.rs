//! What a captured file or folder has to read for an analysis of source.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::CaptureError;
use crate::inputs::{self, FileKind};
use crate::marker;
use crate::program::{behind_libtool, link_of, program, read, store_in};
use crate::store::{Input, LinkId, Store, StoreError, Unit, UnitId};

pub struct Content {
    pub store: Store,
    /// Programs and shared libraries.
    pub links: Vec<LinkId>,
    /// What was compiled for archives, or for nothing yet.
    pub loose: Vec<UnitId>,
}

/// The content of a program, a library, an object, or of all in a folder.
pub fn content(path: &Path) -> Result<Content, CaptureError> {
    if path.is_dir() {
        return of_folder(path);
    }
    let path = &behind_libtool(path);
    let bytes = read(path)?;
    let objects = match FileKind::of(&bytes) {
        FileKind::Object => vec![bytes],
        FileKind::Archive => {
            inputs::archive_members(path, &bytes).into_iter().map(|(_, content)| content).collect()
        }
        FileKind::Shared | FileKind::Other => {
            let (store, link) = program(path)?;
            return Ok(Content { store, links: vec![link], loose: Vec::new() });
        }
    };
    let named = objects.iter().flat_map(|object| marker::read(object)).next();
    let store = match named {
        Some(marker) => Store::open(&marker.store)?,
        None => store_around(path)?.ok_or_else(|| CaptureError::NotCaptured(path.clone()))?,
    };
    let mut loose = Vec::new();
    for object in &objects {
        loose.extend(inputs::parts(&store, object)?.iter().filter_map(inputs::unit).cloned());
    }
    if loose.is_empty() {
        return Err(CaptureError::NotCaptured(path.clone()));
    }
    Ok(Content { store, links: Vec::new(), loose })
}

/// What lies in a folder as it was built last. Sources that are gone again, as
/// those by which `configure` tries the compiler, do not count.
fn of_folder(folder: &Path) -> Result<Content, CaptureError> {
    let not_captured = || CaptureError::Folder(folder.to_owned());
    let folder = fs::canonicalize(folder).map_err(|_| not_captured())?;
    let store = store_around(&folder.join("any"))?.ok_or_else(not_captured)?;
    let mut links = Vec::new();
    let mut linked = BTreeSet::new();
    for id in store.links()? {
        let link = store.link(&id)?;
        let is_current = || {
            let content = fs::read(&link.output).ok()?;
            Some(link_of(&content).ok()??.1 == id)
        };
        if !link.output.starts_with(&folder) || is_current() != Some(true) {
            continue;
        }
        for input in &link.arguments {
            // Of an archive a program has what it needs, which may not be all.
            if let Input::Units { units, .. } = input {
                linked.extend(units.iter().cloned());
            }
        }
        links.push((link.output, id));
    }
    links.sort();
    // Of each source as it was compiled last.
    let mut sources: BTreeMap<PathBuf, _> = BTreeMap::new();
    for id in store.units()? {
        let Unit { source, .. } = store.unit(&id)?;
        if source.starts_with(&folder) && source.is_file() {
            let time = fs::metadata(store.bitcode(&id)).and_then(|metadata| metadata.modified()).ok();
            let newest = sources.entry(source).or_insert((false, None, id.clone()));
            newest.0 |= linked.contains(&id);
            if time >= newest.1 {
                (newest.1, newest.2) = (time, id);
            }
        }
    }
    let loose = sources.into_values().filter(|(is_linked, ..)| !is_linked).map(|(_, _, id)| id).collect();
    let content = Content { store, links: links.into_iter().map(|(_, id)| id).collect(), loose };
    if content.links.is_empty() && content.loose.is_empty() { Err(not_captured()) } else { Ok(content) }
}

/// The capture in the folder of a file, or in the next above it.
fn store_around(path: &Path) -> Result<Option<Store>, StoreError> {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    path.ancestors().skip(1).find_map(store_in).map(|root| Store::open(&root)).transpose()
}
