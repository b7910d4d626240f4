//! The `.leakscope/` folder: content-addressed, written by many processes at
//! once, usable after an interrupted build.
//!
//! ```text
//! format            the version of this layout
//! units/ID.bc       unoptimised bitcode with debug info
//! units/ID.json     where it came from ([`Unit`])
//! blobs/HASH        files that a link needs later, and the sources
//! objects/HASH      the unit of an object that cannot name it itself
//! links/ID.json     a link command, its inputs named ([`Link`])
//! failures/ID.json  what was not captured ([`Failure`])
//! shims/            stand-ins for the compilers
//! derived/          variants, by content hash
//! ```
//!
//! Files appear by rename, so a reader never sees half of one, and two
//! writers of the same content do not disturb each other.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// Version of the layout; other versions are refused, never guessed at.
pub const FORMAT: &str = "leakscope-store/1";

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("no capture at {}: run `leakscope build -- <your build command>` first", .0.display())]
    Missing(PathBuf),
    #[error("{} has format {found:?}, this leakscope reads {FORMAT:?}: remove the folder and capture again", path.display())]
    Format { path: PathBuf, found: String },
    #[error("the capture is damaged at {}: {reason}; remove it and capture again", path.display())]
    Damaged { path: PathBuf, reason: String },
    #[error("cannot write {}: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
}

#[derive(Clone, Debug)]
pub struct Store {
    root: PathBuf,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UnitId(pub String);

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LinkId(pub String);

/// A stored file, by the hash of its content.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Blob(pub String);

/// One compiled translation unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Unit {
    /// Absolute path of the primary source, and its text as compiled.
    pub source: PathBuf,
    pub text: Option<Blob>,
    pub directory: PathBuf,
    /// The user's compiler (real path) and its arguments as given.
    pub compiler: PathBuf,
    pub arguments: Vec<String>,
    /// Without the dash: "O0", "O1", "O2", "O3", "Os", "Oz".
    pub optimisation: String,
    /// Flags that decide code generation and are given again when the module
    /// becomes an object: `-fPIC`, `-mcmodel=…`, `-ffunction-sections`, ….
    pub codegen: Vec<String>,
}

/// One link of an executable or shared object. `arguments` holds the user's
/// command in order, with each file that the link reads replaced by an
/// [`Input`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// Absolute path of what was linked.
    pub output: PathBuf,
    pub directory: PathBuf,
    /// The compiler driver that linked (real path): `gcc`, `clang++-19`, ….
    pub driver: PathBuf,
    pub kind: LinkKind,
    pub arguments: Vec<Input>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinkKind {
    Executable,
    Shared,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Input {
    /// Given again as it is: `-Wl,-z,now`, `-L…`, `-pthread`. The output
    /// option and its value are left out.
    Flag(String),
    /// An object of one captured unit; of several after `ld -r`. `object` is
    /// kept for when a unit cannot be derived.
    Units { units: Vec<UnitId>, object: Option<Blob>, path: PathBuf },
    /// An object that was not captured (assembler, foreign code), kept whole.
    Object { object: Blob, path: PathBuf },
    /// A static library of the project: its members in order. `thin` archives
    /// are recorded as ordinary ones.
    Archive { path: PathBuf, members: Vec<Member> },
    /// A shared library of the project that was itself captured.
    Captured { path: PathBuf, link: LinkId },
    /// A flag that names a file, as a version script does: `before` + the
    /// file + `after` make the argument again.
    File { before: String, file: Blob, after: String },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Member {
    pub name: String,
    pub units: Vec<UnitId>,
    /// Present where `units` is empty.
    pub object: Option<Blob>,
}

/// A unit or link that was not captured, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    pub what: PathBuf,
    pub directory: PathBuf,
    pub reason: String,
}

impl Store {
    /// The store at `root`, made if there is none.
    pub fn create(root: &Path) -> Result<Store, StoreError> {
        let store = Store { root: std::path::absolute(root).unwrap_or_else(|_| root.to_owned()) };
        let format = store.root.join("format");
        if format.exists() {
            // One of another version is left as it is.
            Store::open(root)?;
        }
        for folder in ["units", "blobs", "objects", "links", "failures", "derived"] {
            let path = store.root.join(folder);
            fs::create_dir_all(&path).map_err(|source| StoreError::Write { path, source })?;
        }
        store.write(&format, FORMAT.as_bytes())?;
        Store::open(&store.root)
    }

    /// The store at `root`, which must be there and of this format.
    pub fn open(root: &Path) -> Result<Store, StoreError> {
        let root = std::path::absolute(root).unwrap_or_else(|_| root.to_owned());
        match fs::read_to_string(root.join("format")) {
            Ok(found) if found.trim() == FORMAT => Ok(Store { root }),
            Ok(found) => Err(StoreError::Format { path: root, found: found.trim().to_owned() }),
            Err(_) => Err(StoreError::Missing(root)),
        }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn add_unit(&self, unit: &Unit, bitcode: &[u8]) -> Result<UnitId, StoreError> {
        let id = unit_id(unit, bitcode);
        self.write(&self.bitcode(&id), bitcode)?;
        self.write(&self.root.join(format!("units/{}.json", id.0)), &to_json(unit))?;
        Ok(id)
    }

    pub fn unit(&self, id: &UnitId) -> Result<Unit, StoreError> {
        self.read_json(&self.root.join(format!("units/{}.json", id.0)))
    }

    /// Path of a unit's bitcode.
    pub fn bitcode(&self, id: &UnitId) -> PathBuf {
        self.root.join(format!("units/{}.bc", id.0))
    }

    /// The ids of all units, in order.
    pub fn units(&self) -> Result<Vec<UnitId>, StoreError> {
        Ok(self.names("units")?.into_iter().map(UnitId).collect())
    }

    /// The ids of all links, in order.
    pub fn links(&self) -> Result<Vec<LinkId>, StoreError> {
        Ok(self.names("links")?.into_iter().map(LinkId).collect())
    }

    fn names(&self, of: &str) -> Result<Vec<String>, StoreError> {
        let folder = self.root.join(of);
        let damaged =
            |error: io::Error| StoreError::Damaged { path: folder.clone(), reason: error.to_string() };
        let mut ids = Vec::new();
        for entry in fs::read_dir(&folder).map_err(damaged)? {
            let name = entry.map_err(damaged)?.file_name();
            if let Some(id) = name.to_str().and_then(|name| name.strip_suffix(".json")) {
                ids.push(id.to_owned());
            }
        }
        ids.sort();
        Ok(ids)
    }

    /// Brings a unit of another store, with its source, into this one.
    pub fn import_unit(&self, from: &Store, id: &UnitId) -> Result<UnitId, StoreError> {
        let unit = from.unit(id)?;
        if from.root == self.root {
            return Ok(id.clone());
        }
        let damaged =
            |path: PathBuf| move |error: io::Error| StoreError::Damaged { path, reason: error.to_string() };
        if let Some(text) = &unit.text {
            self.add_blob(&fs::read(from.blob(text)).map_err(damaged(from.blob(text)))?)?;
        }
        let bitcode = fs::read(from.bitcode(id)).map_err(damaged(from.bitcode(id)))?;
        self.add_unit(&unit, &bitcode)
    }

    /// Remembers which unit an object was made of, by the object's content.
    pub fn add_object(&self, content: &[u8], unit: &UnitId) -> Result<(), StoreError> {
        self.write(&self.root.join("objects").join(hash(&[content])), unit.0.as_bytes())
    }

    /// The unit of an object that was remembered.
    pub fn object(&self, content: &[u8]) -> Option<UnitId> {
        fs::read_to_string(self.root.join("objects").join(hash(&[content]))).ok().map(UnitId)
    }

    pub fn add_link(&self, link: &Link) -> Result<LinkId, StoreError> {
        let json = to_json(link);
        let id = LinkId(hash(&[&json]));
        self.write(&self.root.join(format!("links/{}.json", id.0)), &json)?;
        Ok(id)
    }

    pub fn link(&self, id: &LinkId) -> Result<Link, StoreError> {
        self.read_json(&self.root.join(format!("links/{}.json", id.0)))
    }

    pub fn add_blob(&self, content: &[u8]) -> Result<Blob, StoreError> {
        let blob = Blob(hash(&[content]));
        self.write(&self.blob(&blob), content)?;
        Ok(blob)
    }

    /// Path of a stored file.
    pub fn blob(&self, blob: &Blob) -> PathBuf {
        self.root.join("blobs").join(&blob.0)
    }

    pub fn add_failure(&self, failure: &Failure) -> Result<(), StoreError> {
        let json = to_json(failure);
        self.write(&self.root.join(format!("failures/{}.json", hash(&[&json]))), &json)
    }

    /// Puts `content` at `path` by rename. A file of the same name is the
    /// same content, so nothing is written where one is.
    pub fn write(&self, path: &Path, content: &[u8]) -> Result<(), StoreError> {
        if path.exists() {
            return Ok(());
        }
        self.replace(path, content)
    }

    /// The same for a file whose name says nothing of its content.
    pub fn replace(&self, path: &Path, content: &[u8]) -> Result<(), StoreError> {
        let error = |source| StoreError::Write { path: path.to_owned(), source };
        let folder = path.parent().unwrap_or(&self.root);
        fs::create_dir_all(folder).map_err(error)?;
        let mut file = tempfile::NamedTempFile::new_in(folder).map_err(error)?;
        file.write_all(content).map_err(error)?;
        file.persist(path).map_err(|failed| error(failed.error))?;
        Ok(())
    }

    /// Removes what killed writers left. Not for while others write.
    pub fn remove_unfinished(&self) {
        for folder in ["units", "blobs", "objects", "links", "failures"] {
            let entries = fs::read_dir(self.root.join(folder)).into_iter().flatten().flatten();
            let unfinished =
                entries.filter(|entry| entry.file_name().as_encoded_bytes().starts_with(b".tmp"));
            for entry in unfinished {
                // One that stays does no harm.
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    fn read_json<T: DeserializeOwned>(&self, path: &Path) -> Result<T, StoreError> {
        let damaged = |reason: String| StoreError::Damaged { path: path.to_owned(), reason };
        let text = fs::read(path).map_err(|error| damaged(error.to_string()))?;
        serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))
    }
}

/// The id of a unit: the hash of the bitcode and of everything that decides
/// what is made of it.
pub fn unit_id(unit: &Unit, bitcode: &[u8]) -> UnitId {
    UnitId(hash(&[bitcode, &to_json(unit)]))
}

/// Hash of the parts, as hexadecimal digits that fit a file name.
pub fn hash(parts: &[&[u8]]) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hasher.finalize().to_hex()[..32].to_owned()
}

fn to_json<T: Serialize>(value: &T) -> Vec<u8> {
    serde_json::to_vec_pretty(value).expect("plain data serialises")
}
