//! Makes a variant of a captured program, without the user's build.
//!
//! The links to run are planned first (`plan`). Each unit is transformed and
//! becomes an object (`objects`); the recorded link is run again with those
//! in place and a runtime added (`relink`). The project's own shared
//! libraries are made the same way, and the program finds them before any
//! other; so are those that it may load while it runs (`modules`), which a list
//! leads to. All of it lies under `derived/NAME/` in the store:
//!
//! ```text
//! objects/HASH.o              one unit
//! archives/HASH/libx.a        a static library, remade
//! lib/HASH/libx.so.1          a shared library
//! programs/HASH/prog          what was asked for
//! programs/HASH/modules       which derived files stand for what it may load
//! …/HASH/record.json          what a link kept of the user's own objects
//! ```
//!
//! A hash names everything that decides the content, and files appear by
//! rename: what is there is complete and is used again, and several derives at
//! once do not disturb each other. What a transformation means is not known
//! here, nor is a system library's change noticed that only `-l` names.

mod modules;
mod objects;
mod plan;
mod relink;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use objects::Object;
use plan::{Record, Step, units_of};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::store::{LinkId, LinkKind, Store, StoreError, Unit, UnitId};

/// What is made of every unit, and what comes into the program beside them.
#[derive(Clone, Copy)]
pub struct Variant<'a> {
    /// A folder name, like "track".
    pub name: &'a str,
    /// Changes whenever the transformation or the runtime does.
    pub key: &'a str,
    /// Bitcode to bitcode, the unit's optimisation included, for what is linked:
    /// a unit that is in a shared library may be in the program too. An error
    /// keeps the user's own object.
    pub transform: &'a Transform<'a>,
    /// Objects, and archives to be taken whole, for executables.
    pub runtime: &'a [PathBuf],
    /// Objects for executables that hold no code but what was derived.
    pub whole: &'a [PathBuf],
    /// More flags for the compiler driver that links an executable.
    pub link_flags: &'a [String],
    /// Whether the runtime puts derived files in the place of what a program loads
    /// while it runs.
    pub loads_modules: bool,
}

pub type Transform<'a> = dyn Fn(&[u8], &Unit, LinkKind) -> Result<Vec<u8>, String> + Sync + 'a;

/// A variant of a program, ready to run.
#[derive(Clone, Debug, PartialEq)]
pub struct Derived {
    pub program: PathBuf,
    /// The derived shared libraries that it loads, and that it may load while it runs.
    pub libraries: Vec<PathBuf>,
    /// A list of the latter, each behind the user's own file, all ended by zero bytes.
    pub modules: Option<PathBuf>,
    /// All units in it and in them, whether instrumented or not.
    pub units: Vec<UnitId>,
    /// Units made into objects now, and those that were there already.
    pub rebuilt: usize,
    pub reused: usize,
    /// Links run now.
    pub relinked: usize,
    pub kept: Vec<Kept>,
}

/// Something that is in the program without the transformation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    pub input: PathBuf,
    pub reason: String,
}

#[derive(Debug, thiserror::Error)]
pub enum DeriveError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("cannot run {program}: {source}; is it installed?")]
    Tool { program: String, source: std::io::Error },
    #[error("cannot link {}: {} is gone; build the program again", program.display(), file.display())]
    Vanished { program: PathBuf, file: PathBuf },
    #[error("{tool} cannot make {}: {output}", target.display())]
    Failed { tool: String, target: PathBuf, output: String },
}

/// Makes `variant` of what `link` links, or finds it made. `progress` is told
/// how many units and links are done, and of how many.
pub fn derive(
    store: &Store,
    link: &LinkId,
    variant: &Variant<'_>,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<Derived, DeriveError> {
    let workshop = Workshop { store, variant, folder: store.root().join("derived").join(variant.name) };
    workshop.sweep();
    let mut steps = Vec::new();
    workshop.plan(link, &mut Vec::new(), &mut steps)?;
    let needed: BTreeSet<LinkId> = steps.iter().map(|step| step.id.clone()).collect();
    let modules = workshop.plan_modules(&mut steps)?;
    let pending: Vec<&Step> = steps.iter().filter(|step| step.record().is_none()).collect();

    let units = units_of(pending.iter().copied());
    let shared = units_of(steps.iter().filter(|step| step.link.kind == LinkKind::Shared));
    let (done, total) = (AtomicUsize::new(0), units.len() + pending.len());
    // Only a count: nothing else is published through it.
    let advance = || progress(done.fetch_add(1, Ordering::Relaxed) + 1, total);
    let objects = units
        .par_iter()
        .map(|id| {
            let kind = if shared.contains(id) { LinkKind::Shared } else { LinkKind::Executable };
            let object = workshop.object(id, kind)?;
            advance();
            Ok(((*id).clone(), object))
        })
        .collect::<Result<BTreeMap<_, _>, DeriveError>>()?;
    let mut kept = Vec::new();
    for step in &pending {
        match workshop.relink(step, &steps, &objects) {
            // The program runs without it.
            Err(error) if !needed.contains(&step.id) => {
                kept.push(Kept { input: step.link.output.clone(), reason: error.to_string() });
            }
            linked => linked?,
        }
        advance();
    }

    let rebuilt = objects.values().filter(|object| matches!(object, Object::New(_))).count();
    let records: Vec<Record> = steps.iter().filter_map(Step::record).collect();
    let mut units = units_of(steps.iter());
    let all = units.iter().map(|&unit| unit.clone()).collect();
    records.iter().flat_map(|record| &record.refused).for_each(|unit| _ = units.remove(unit));
    let program = steps.last().expect("a plan ends with what was asked for");
    let made: Vec<&Step> =
        steps.iter().filter(|step| modules.contains(&step.id) && step.output.exists()).collect();
    Ok(Derived {
        program: program.output.clone(),
        libraries: program.libraries.iter().chain(made.iter().map(|step| &step.output)).cloned().collect(),
        modules: workshop.list_modules(program, &made)?,
        units: all,
        rebuilt,
        reused: units.len().saturating_sub(rebuilt),
        relinked: pending.len(),
        kept: records.into_iter().flat_map(|record| record.kept).chain(kept).collect(),
    })
}

/// How the names of folders for half-made files begin.
const SCRATCH: &str = "tmp-";

/// Where one variant is made.
struct Workshop<'a> {
    store: &'a Store,
    variant: &'a Variant<'a>,
    folder: PathBuf,
}

impl Workshop<'_> {
    /// Removes what derives left that were killed: half-made files of an age
    /// that no derive under way has.
    fn sweep(&self) {
        let day = Duration::from_secs(24 * 60 * 60);
        let old = |entry: &fs::DirEntry| {
            let modified = entry.metadata().and_then(|state| state.modified());
            modified.is_ok_and(|time| time.elapsed().is_ok_and(|age| age > day))
        };
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            if entry.file_name().as_encoded_bytes().starts_with(SCRATCH.as_bytes()) && old(&entry) {
                // Another derive may be doing the same.
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }

    /// A folder for half-made files, gone with its handle.
    fn scratch(&self) -> Result<tempfile::TempDir, DeriveError> {
        fs::create_dir_all(&self.folder)
            .and_then(|()| tempfile::Builder::new().prefix(SCRATCH).tempdir_in(&self.folder))
            .map_err(|source| write_error(&self.folder, source))
    }

    /// Puts a finished file in its place.
    fn publish(&self, file: &Path, place: &Path) -> Result<(), DeriveError> {
        fs::create_dir_all(place.parent().unwrap_or(&self.folder))
            .and_then(|()| fs::rename(file, place))
            .map_err(|source| write_error(place, source))
    }
}

fn write_error(path: &Path, source: std::io::Error) -> DeriveError {
    StoreError::Write { path: path.to_owned(), source }.into()
}

/// Runs a tool to its end; whether it did its work is in the output.
fn run(command: &mut Command) -> Result<Output, DeriveError> {
    command.env("LC_ALL", "C").stdin(Stdio::null()).output().map_err(|source| DeriveError::Tool {
        program: command.get_program().to_string_lossy().into_owned(),
        source,
    })
}

/// The end of what a tool said, where the error is.
fn last_lines(output: &Output) -> String {
    const LINES: usize = 20;
    let text = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = text.lines().collect();
    match lines.len() {
        0 => format!("it ended with {} and said nothing", output.status),
        count => lines[count.saturating_sub(LINES)..].join("\n"),
    }
}
