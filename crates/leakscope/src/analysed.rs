//! A captured program, or bare source files, as the analysis of the source
//! reads it.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::{Result, bail};
use leakscope_capture::{Content, Input, Link, LinkId, Store, Unit, UnitId, capture_files, content};
use leakscope_ir::{Module, Presence, Program};
use rayon::prelude::*;

use crate::cli::ReportOptions;
use crate::files::{bare_store, is_source};
use crate::kept_check;
use crate::output::note;
use crate::sources::Captured;

pub struct Analysed {
    pub store: Store,
    pub link: LinkId,
    pub program: Program,
    pub sources: Captured,
}

/// What targets are made of, not read yet.
pub struct Parts {
    pub store: Store,
    pub sources: Captured,
    pub pieces: Vec<Piece>,
}

/// What is analysed as one: a program or library with what it is linked with,
/// or units that were not linked.
pub struct Piece {
    link: Option<LinkId>,
    units: Vec<Part>,
}

impl Analysed {
    /// One program, or source files; `flags` are for compiling these.
    pub fn read(targets: &[PathBuf], flags: &[String], options: &ReportOptions) -> Result<Analysed> {
        let Parts { store, sources, pieces } = Parts::of(targets, flags)?;
        if let Some(folder) = targets.iter().find(|target| target.is_dir()) {
            bail!("{} is a folder: give one program in it", folder.display());
        }
        let Ok([Piece { link: Some(link), units }]) = <[Piece; 1]>::try_from(pieces) else {
            bail!("expected one program, or only source files");
        };
        let program = read_units(&store, &units, options)?;
        Ok(Analysed { store, link, program, sources })
    }
}

impl Parts {
    pub fn of(targets: &[PathBuf], flags: &[String]) -> Result<Parts> {
        let (store, pieces) = if targets.iter().all(|target| is_source(target)) {
            let store = Store::create(&bare_store(targets)?)?;
            let link = capture_files(&store, targets, flags)?;
            let piece = Piece::linked(&store, link)?;
            (store, vec![piece])
        } else {
            captured(targets)?
        };
        let units = pieces.iter().flat_map(|piece| &piece.units).map(|part| &part.unit);
        let sources = Captured::of(&store, units);
        Ok(Parts { store, sources, pieces })
    }

    pub fn program(&self, piece: &Piece, options: &ReportOptions) -> Result<Program> {
        read_units(&self.store, &piece.units, options)
    }
}

impl Piece {
    fn linked(store: &Store, link: LinkId) -> Result<Piece> {
        Ok(Piece { units: units(store, &link)?, link: Some(link) })
    }

    pub fn units(&self) -> impl Iterator<Item = &UnitId> {
        self.units.iter().map(|part| &part.id)
    }
}

/// What captured files and folders are: each program and shared library on its
/// own, and what was not linked together.
fn captured(targets: &[PathBuf]) -> Result<(Store, Vec<Piece>)> {
    let mut all: Option<Content> = None;
    for target in targets {
        let content = content(target)?;
        match &mut all {
            None => all = Some(content),
            Some(all) if all.store.root() == content.store.root() => {
                all.links.extend(content.links);
                all.loose.extend(content.loose);
            }
            Some(_) => bail!("{} is of another capture: check it on its own", target.display()),
        }
    }
    let Some(Content { store, mut links, loose }) = all else { bail!("nothing to check") };
    let mut seen = BTreeSet::new();
    links.retain(|link| seen.insert(link.clone()));
    let mut pieces =
        links.into_iter().map(|link| Piece::linked(&store, link)).collect::<Result<Vec<Piece>>>()?;
    let mut seen = BTreeSet::new();
    let of_loose = loose.into_iter().filter(|unit| seen.insert(unit.clone()));
    let units: Vec<Part> = of_loose
        .map(|id| Ok(Part { unit: store.unit(&id)?, id, when: Presence::Always }))
        .collect::<Result<_>>()?;
    if !units.is_empty() {
        pieces.push(Piece { link: None, units });
    }
    Ok((store, pieces))
}

/// A captured unit of a program.
struct Part {
    id: UnitId,
    unit: Unit,
    when: Presence,
}

/// The captured units of a link and of the shared libraries that it uses, each
/// once, in the order of the link.
fn units(store: &Store, link: &LinkId) -> Result<Vec<Part>> {
    let mut seen = BTreeSet::new();
    let mut links = vec![link.clone()];
    let mut units = Vec::new();
    while let Some(id) = links.pop() {
        let link = store.link(&id)?;
        for (unit, when) in units_of(&link) {
            if seen.insert(unit.clone()) {
                units.push(Part { id: unit.clone(), unit: store.unit(unit)?, when });
            }
        }
        for input in &link.arguments {
            if let Input::Captured { link, .. } = input
                && seen.insert(UnitId(link.0.clone()))
            {
                links.push(link.clone());
            }
        }
    }
    Ok(units)
}

/// Of a static library the linker takes what is needed, unless it is told
/// otherwise, or code that was not captured may need more.
fn units_of(link: &Link) -> Vec<(&UnitId, Presence)> {
    let is_foreign = |input: &Input| matches!(input, Input::Object { .. });
    let usual = if link.arguments.iter().any(is_foreign) { Presence::Always } else { Presence::WhereNeeded };
    let mut of_archives = usual;
    let mut units = Vec::new();
    for input in &link.arguments {
        match input {
            Input::Flag(flag) if flag.ends_with("--no-whole-archive") => of_archives = usual,
            Input::Flag(flag) if flag.ends_with("--whole-archive") => of_archives = Presence::Always,
            Input::Units { units: own, .. } => {
                units.extend(own.iter().map(|unit| (unit, Presence::Always)));
            }
            Input::Archive { members, .. } => {
                let members = members.iter().flat_map(|member| &member.units);
                units.extend(members.map(|unit| (unit, of_archives)));
            }
            _ => {}
        }
    }
    units
}

/// The program that the units make; those that cannot be read are named.
fn read_units(store: &Store, units: &[Part], options: &ReportOptions) -> Result<Program> {
    let modules: Vec<Result<Module>> =
        units.par_iter().map(|part| kept_check::module(store, &part.id, &part.unit)).collect();
    let mut readable = Vec::new();
    for (module, part) in modules.into_iter().zip(units) {
        match module {
            Ok(module) => readable.push((module, part.when)),
            Err(error) => note(options, &format!("not checked: {error:#}")),
        }
    }
    if readable.is_empty() {
        bail!(
            "nothing to check: {}",
            if units.is_empty() { "the program has no captured source" } else { "no unit can be read" }
        );
    }
    Ok(leakscope_ir::link(leakscope_ir::needed(readable)))
}
