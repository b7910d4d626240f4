//! Shared objects of the project that a program may load while it runs, as
//! plugins are. No link names them, so all come into question that are linked to
//! nothing.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use object::{Object, ObjectSymbol};

use super::plan::{Planned, Step};
use super::{DeriveError, Workshop};
use crate::store::{Input, LinkId, LinkKind};

/// By what programs load shared objects: libc's functions, libtool's and glib's.
const LOADERS: [&str; 7] = [
    "dlopen",
    "dlmopen",
    "lt_dlopen",
    "lt_dlopenext",
    "lt_dlopenadvise",
    "g_module_open",
    "g_module_open_full",
];

impl Workshop<'_> {
    /// Adds steps for what the program of the last one may load, in front of it, and
    /// says which they are.
    pub fn plan_modules(&self, steps: &mut Vec<Step>) -> Result<BTreeSet<LinkId>, DeriveError> {
        let mut modules = BTreeSet::new();
        if !self.variant.loads_modules || !steps.iter().any(|step| loads(&step.link.output)) {
            return Ok(modules);
        }
        let mut links = Vec::new();
        for id in self.store.links()? {
            let link = self.store.link(&id)?;
            links.push((id, link));
        }
        let linked: BTreeSet<&PathBuf> = links
            .iter()
            .flat_map(|(_, link)| &link.arguments)
            .filter_map(|input| match input {
                Input::Captured { path, .. } => Some(path),
                _ => None,
            })
            .collect();
        let program = steps.pop().expect("a plan ends with what was asked for");
        for (id, link) in &links {
            let is_module = link.kind == LinkKind::Shared && !linked.contains(&link.output);
            if is_module
                && self.latest(&link.output).as_ref() == Some(id)
                && self.plan(id, &mut Vec::new(), steps)? == Planned::Yes
            {
                modules.insert(id.clone());
            }
        }
        steps.push(program);
        Ok(modules)
    }

    /// Writes which of the `made` files stand for which of the user's.
    pub fn list_modules(&self, program: &Step, made: &[&Step]) -> Result<Option<PathBuf>, DeriveError> {
        if made.is_empty() {
            return Ok(None);
        }
        let pairs = made.iter().flat_map(|step| [&step.link.output, &step.output]);
        let list: Vec<u8> = pairs.flat_map(|path| [path.as_os_str().as_bytes(), b"\0"].concat()).collect();
        let path = program.output.with_file_name("modules");
        self.store.replace(&path, &list)?;
        Ok(Some(path))
    }
}

/// Whether a program or library loads others by name.
fn loads(path: &Path) -> bool {
    let Ok(content) = fs::read(path) else { return false };
    let Ok(file) = object::File::parse(&*content) else { return false };
    file.dynamic_symbols()
        .any(|symbol| symbol.is_undefined() && symbol.name().is_ok_and(|name| LOADERS.contains(&name)))
}
