//! Which links make a variant, in which order, and where their outputs lie.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{DeriveError, Kept, Workshop, relink};
use crate::program::program;
use crate::store::{Input, Link, LinkId, LinkKind, UnitId, hash};

/// One link to be there in the end.
pub struct Step {
    pub id: LinkId,
    pub link: Link,
    /// Names the link and all that it needs.
    fingerprint: String,
    pub output: PathBuf,
    /// The derived libraries that it needs, directly or not.
    pub libraries: Vec<PathBuf>,
}

#[derive(PartialEq)]
pub enum Planned {
    Yes,
    Circular,
}

/// What was not transformed in a link.
#[derive(Default, Serialize, Deserialize)]
pub struct Record {
    pub refused: BTreeSet<UnitId>,
    pub kept: Vec<Kept>,
}

impl Step {
    pub fn record_path(&self) -> PathBuf {
        self.output.with_file_name("record.json")
    }

    /// What an earlier derive noted, if what it made is there.
    pub fn record(&self) -> Option<Record> {
        let text = self.output.exists().then(|| fs::read(self.record_path()).ok())??;
        serde_json::from_slice(&text).ok()
    }
}

impl Workshop<'_> {
    /// Adds the step for `id` to `steps`, after those that it needs; unless
    /// it needs one of the `open` steps, which need it.
    pub fn plan(
        &self,
        id: &LinkId,
        open: &mut Vec<LinkId>,
        steps: &mut Vec<Step>,
    ) -> Result<Planned, DeriveError> {
        if steps.iter().any(|step| step.id == *id) {
            return Ok(Planned::Yes);
        }
        if open.contains(id) {
            return Ok(Planned::Circular);
        }
        open.push(id.clone());
        let planned = self.plan_open(id, open, steps);
        open.pop();
        planned
    }

    fn plan_open(
        &self,
        id: &LinkId,
        open: &mut Vec<LinkId>,
        steps: &mut Vec<Step>,
    ) -> Result<Planned, DeriveError> {
        let mut link = self.store.link(id)?;
        let mut parts = vec![id.0.clone(), self.variant.key.to_owned(), self.folder.display().to_string()];
        let mut libraries = Vec::new();
        for input in &mut link.arguments {
            match input {
                Input::Captured { path, link } => {
                    // A library may have been linked again without what needs
                    // it, even with what needs it.
                    match self.latest(path) {
                        Some(latest) if self.plan(&latest, open, steps)? == Planned::Yes => *link = latest,
                        _ if self.plan(link, open, steps)? == Planned::Yes => {}
                        _ => return Ok(Planned::Circular),
                    }
                    let needed = steps.iter().find(|step| step.id == *link).expect("it was just planned");
                    parts.push(needed.fingerprint.clone());
                    for library in needed.libraries.iter().chain([&needed.output]) {
                        if !libraries.contains(library) {
                            libraries.push(library.clone());
                        }
                    }
                }
                Input::Flag(flag) => parts.extend(file_state(&link.directory.join(flag))),
                _ => {}
            }
        }
        let folder = match link.kind {
            LinkKind::Executable => {
                parts.extend_from_slice(self.variant.link_flags);
                "programs"
            }
            LinkKind::Shared => "lib",
        };
        let fingerprint = hash(&parts.iter().map(String::as_bytes).collect::<Vec<_>>());
        let output = self.folder.join(folder).join(&fingerprint).join(relink::output_name(&link));
        steps.push(Step { id: id.clone(), link, fingerprint, output, libraries });
        Ok(Planned::Yes)
    }

    /// The link that made the library that is at `path` now.
    pub fn latest(&self, path: &Path) -> Option<LinkId> {
        let (store, link) = program(path).ok()?;
        (store.root() == self.store.root() && store.link(&link).is_ok()).then_some(link)
    }
}

/// Every unit in the outputs of `steps`.
pub fn units_of<'a>(steps: impl Iterator<Item = &'a Step>) -> BTreeSet<&'a UnitId> {
    let mut units = BTreeSet::new();
    for input in steps.flat_map(|step| &step.link.arguments) {
        match input {
            Input::Units { units: of_object, .. } => units.extend(of_object),
            Input::Archive { members, .. } => units.extend(members.iter().flat_map(|member| &member.units)),
            _ => {}
        }
    }
    units
}

/// Changes when a file does that a flag names.
fn file_state(path: &Path) -> Option<String> {
    let state = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    Some(format!("{} {} {}.{}", path.display(), state.len(), state.mtime(), state.mtime_nsec()))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::derive::{Variant, run};
    use crate::marker::{self, Marker, Named};
    use crate::store::{Store, Unit};

    /// A store, and libraries that say which of its links made them.
    struct Project(tempfile::TempDir, Store);

    impl Project {
        fn link(&self, name: &str, version: &str, needs: &[(&str, &LinkId)]) -> LinkId {
            let captured = |&(name, link): &(&str, &LinkId)| Input::Captured {
                path: self.0.path().join(name),
                link: link.clone(),
            };
            let flags = [Input::Flag("-shared".to_owned()), Input::Flag(format!("-D{version}"))];
            let link = Link {
                output: self.0.path().join(name),
                directory: self.0.path().to_owned(),
                driver: "gcc".into(),
                kind: LinkKind::Shared,
                arguments: flags.into_iter().chain(needs.iter().map(captured)).collect(),
            };
            let id = self.1.add_link(&link).unwrap();
            let path = self.0.path().join(name);
            run(Command::new("gcc").args(["-shared", "-x", "c", "/dev/null", "-o"]).arg(&path)).unwrap();
            let marker = Marker { names: Named::Link(id.clone()), store: self.1.root().to_owned() };
            marker::write(&path, &[marker]).unwrap();
            id
        }

        fn check_plan(&self, link: &LinkId, expected: &[&LinkId]) {
            let transform = |bitcode: &[u8], _: &Unit, _: LinkKind| Ok(bitcode.to_vec());
            let variant = Variant {
                name: "v",
                key: "",
                transform: &transform,
                runtime: &[],
                whole: &[],
                link_flags: &[],
                loads_modules: false,
            };
            let workshop = Workshop { store: &self.1, variant: &variant, folder: self.1.root().to_owned() };
            let mut steps = Vec::new();
            workshop.plan(link, &mut Vec::new(), &mut steps).unwrap();
            assert_eq!(steps.iter().map(|step| &step.id).collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn libraries_are_those_linked_last() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::create(&folder.path().join("store")).unwrap();
        let project = Project(folder, store);
        let a1 = project.link("liba.so", "1", &[]);
        let b1 = project.link("libb.so", "1", &[("liba.so", &a1)]);
        project.check_plan(&b1, &[&a1, &b1]);
        let a2 = project.link("liba.so", "2", &[]);
        project.check_plan(&b1, &[&a2, &b1]);
        // Now they need each other, and the first link of one breaks the circle.
        let a3 = project.link("liba.so", "3", &[("libb.so", &b1)]);
        project.check_plan(&b1, &[&a1, &b1]);
        project.check_plan(&a3, &[&a1, &b1, &a3]);
    }
}
