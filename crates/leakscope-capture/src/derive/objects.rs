//! Units to objects, and objects to static libraries.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{DeriveError, Workshop, last_lines, run, write_error};
use crate::clang::CLANG;
use crate::store::{LinkKind, StoreError, Unit, UnitId, hash, unit_id};

const AR: &str = "llvm-ar-19";
const LD: &str = "ld";

/// What became of a unit.
pub enum Object {
    /// Made now.
    New(PathBuf),
    /// There already.
    Found(PathBuf),
    /// The transformation or clang would not have it, and why.
    Refused(String),
}

/// Whether clang still has to optimise a module.
#[derive(Clone, Copy)]
enum Passes {
    Run,
    Done,
}

impl Workshop<'_> {
    /// The object of a unit, transformed for what it is linked into.
    pub fn object(&self, id: &UnitId, kind: LinkKind) -> Result<Object, DeriveError> {
        let place = self.object_place(&[&id.0, self.variant.key, &format!("{kind:?}")]);
        if place.exists() {
            return Ok(Object::Found(place));
        }
        let (unit, bitcode) = self.read(id)?;
        let refused = match (self.variant.transform)(&bitcode, &unit, kind) {
            Ok(bitcode) => self.compile(&unit, &bitcode, Passes::Done, &place)?.err(),
            Err(reason) => Some(reason),
        };
        Ok(refused.map_or(Object::New(place), Object::Refused))
    }

    /// The object of a unit as the user wrote it.
    pub fn plain_object(&self, id: &UnitId) -> Result<PathBuf, DeriveError> {
        let place = self.object_place(&[&id.0, "plain"]);
        if !place.exists() {
            let (unit, bitcode) = self.read(id)?;
            let target = unit.source.clone();
            self.compile(&unit, &bitcode, Passes::Run, &place)?.map_err(|output| DeriveError::Failed {
                tool: CLANG.to_owned(),
                target,
                output,
            })?;
        }
        Ok(place)
    }

    /// One object of several, as `ld -r` made them for the user.
    pub fn joined(&self, objects: &[PathBuf]) -> Result<PathBuf, DeriveError> {
        if let [only] = objects {
            return Ok(only.clone());
        }
        let names: Vec<_> = objects.iter().map(|object| object.to_string_lossy()).collect();
        let place = self.object_place(&names.iter().map(AsRef::as_ref).collect::<Vec<_>>());
        if !place.exists() {
            let scratch = self.scratch()?;
            let made = scratch.path().join("joined.o");
            let output = run(Command::new(LD).arg("-r").args(objects).arg("-o").arg(&made))?;
            if !output.status.success() {
                let (tool, output) = (LD.to_owned(), last_lines(&output));
                return Err(DeriveError::Failed { tool, target: place, output });
            }
            self.publish(&made, &place)?;
        }
        Ok(place)
    }

    /// A static library of these members, which keep their order and their
    /// names, equal ones included.
    pub fn archive(&self, name: &Path, members: &[(String, PathBuf)]) -> Result<PathBuf, DeriveError> {
        let parts: Vec<_> = members
            .iter()
            .flat_map(|(name, object)| [name.as_bytes(), object.as_os_str().as_encoded_bytes()])
            .collect();
        let file = name.file_name().unwrap_or(name.as_os_str());
        let place = self.folder.join("archives").join(hash(&parts)).join(file);
        if place.exists() {
            return Ok(place);
        }
        // A folder for each member, because members may share a name and `ar`
        // names them after their files.
        let scratch = self.scratch()?;
        let mut list = String::new();
        for (index, (name, object)) in members.iter().enumerate() {
            let folder = scratch.path().join(index.to_string());
            let name = name.rsplit('/').next().unwrap_or(name);
            fs::create_dir(&folder)
                .and_then(|()| symlink(object, folder.join(name)))
                .map_err(|source| write_error(&folder, source))?;
            list += &format!("{}\n", quoted(&format!("{index}/{name}")));
        }
        let list_file = scratch.path().join("members");
        fs::write(&list_file, list).map_err(|source| write_error(&list_file, source))?;
        let output = run(Command::new(AR).args(["qcs", "made.a", "@members"]).current_dir(&scratch))?;
        if !output.status.success() {
            let (tool, output) = (AR.to_owned(), last_lines(&output));
            return Err(DeriveError::Failed { tool, target: name.to_owned(), output });
        }
        self.publish(&scratch.path().join("made.a"), &place)?;
        Ok(place)
    }

    fn object_place(&self, parts: &[&str]) -> PathBuf {
        let parts: Vec<&[u8]> = parts.iter().map(|part| part.as_bytes()).collect();
        self.folder.join("objects").join(format!("{}.o", hash(&parts)))
    }

    fn read(&self, id: &UnitId) -> Result<(Unit, Vec<u8>), DeriveError> {
        let path = self.store.bitcode(id);
        let damaged = |reason: &str| StoreError::Damaged { path: path.clone(), reason: reason.to_owned() };
        let bitcode = fs::read(&path).map_err(|error| damaged(&error.to_string()))?;
        let unit = self.store.unit(id)?;
        // Bitcode that was cut off can crash what reads it.
        if unit_id(&unit, &bitcode) != *id {
            return Err(damaged("it is not what was captured").into());
        }
        Ok((unit, bitcode))
    }

    /// Makes an object of `bitcode` at `place`, or says why clang does not.
    fn compile(
        &self,
        unit: &Unit,
        bitcode: &[u8],
        passes: Passes,
        place: &Path,
    ) -> Result<Result<(), String>, DeriveError> {
        let scratch = self.scratch()?;
        let (module, object) = (scratch.path().join("unit.bc"), scratch.path().join("unit.o"));
        fs::write(&module, bitcode).map_err(|source| write_error(&module, source))?;
        let mut clang = Command::new(CLANG);
        clang.args(["-c", "-Wno-override-module", "-Wno-unused-command-line-argument"]);
        let level = match (passes, &*unit.optimisation) {
            // At O0 each value has a place in the frame, and keeps it when it
            // is dead; a scan would take what is left there for a pointer.
            (Passes::Done, "O0") => "O1",
            (_, level) => level,
        };
        clang.arg(format!("-{level}")).args(&unit.codegen);
        if let Passes::Done = passes {
            clang.args(["-Xclang", "-disable-llvm-passes"]);
            // Guards compare a few bits; as constants in registers they would
            // take them from the program. So would what only their calls need,
            // out of loops in which these seldom run. A register that a function
            // would have to save first must be worth it: most of what is added
            // is left to such as seldom run. How often blocks run is computed
            // with care where two bodies of a function lead to each other.
            let flags = [
                "-disable-constant-hoisting",
                "-disable-hoisting-to-hotter-blocks=all",
                "-block-freq-ratio-threshold=1",
                "-regalloc-csr-first-time-cost=65536",
                "-use-iterative-bfi-inference",
            ];
            clang.args(flags.iter().flat_map(|flag| ["-mllvm", flag]));
        }
        let output = run(clang.args(["-x", "ir"]).arg(&module).arg("-o").arg(&object))?;
        if !output.status.success() {
            return Ok(Err(last_lines(&output)));
        }
        self.publish(&object, place).map(Ok)
    }
}

/// A word for a response file.
pub fn quoted(word: &str) -> String {
    let special = |character: char| character.is_whitespace() || "\\\"'".contains(character);
    let escaped = |character| if special(character) { vec!['\\', character] } else { vec![character] };
    if word.is_empty() { "\"\"".to_owned() } else { word.chars().flat_map(escaped).collect() }
}
