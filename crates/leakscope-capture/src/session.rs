//! What the shims of one build tell the process that started it: which store
//! they fill, through the environment, and what they did, through a file that
//! each event is appended to by one write.

use std::collections::BTreeSet;
use std::env;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::store::{Failure, LinkId, Store, UnitId};

/// The variables that make a shim capture; without them it only stands aside.
pub const STORE: &str = "LEAKSCOPE_STORE";
pub const EVENTS: &str = "LEAKSCOPE_EVENTS";

pub struct Session {
    pub store: Store,
    events: Option<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Event {
    Unit(UnitId),
    Link(LinkId),
    /// A source without bitcode by its nature.
    Assembler(PathBuf),
    Failure(Failure),
    /// A call that makes nothing which could be captured.
    Probe,
}

impl Session {
    pub fn from_environment() -> Option<Session> {
        let store = Store::open(Path::new(&env::var_os(STORE)?)).ok()?;
        Some(Session { store, events: env::var_os(EVENTS).map(PathBuf::from) })
    }

    pub fn unit(&self, id: &UnitId) {
        self.tell(&Event::Unit(id.clone()));
    }

    pub fn link(&self, id: &LinkId) {
        self.tell(&Event::Link(id.clone()));
    }

    pub fn assembler(&self, source: PathBuf) {
        self.tell(&Event::Assembler(source));
    }

    pub fn probe(&self) {
        self.tell(&Event::Probe);
    }

    /// Notes what could not be captured. Nothing here may stop a build, so
    /// where even this cannot be written, it is not.
    pub fn failure(&self, what: &Path, directory: &Path, reason: impl ToString) {
        let reason = reason.to_string();
        let failure = Failure { what: what.to_owned(), directory: directory.to_owned(), reason };
        let _ = self.store.add_failure(&failure);
        self.tell(&Event::Failure(failure));
    }

    fn tell(&self, event: &Event) {
        let Some(file) = self.events.as_ref().and_then(|path| File::options().append(true).open(path).ok())
        else {
            return;
        };
        let mut line = serde_json::to_vec(event).expect("plain data serialises");
        line.push(b'\n');
        let _ = (&file).write_all(&line);
    }
}

/// What a build's shims did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Told {
    pub units: BTreeSet<UnitId>,
    pub links: BTreeSet<LinkId>,
    pub assembler: BTreeSet<PathBuf>,
    pub failures: Vec<Failure>,
    pub probes: usize,
}

impl Told {
    /// Reads a file of events; the last line of a shim that was killed while
    /// writing is passed over.
    pub fn read(events: &Path) -> Told {
        let text = fs::read_to_string(events).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }
}

impl FromIterator<Event> for Told {
    fn from_iter<T: IntoIterator<Item = Event>>(events: T) -> Told {
        let mut told = Told::default();
        for event in events {
            match event {
                Event::Unit(id) => drop(told.units.insert(id)),
                Event::Link(id) => drop(told.links.insert(id)),
                Event::Assembler(source) => drop(told.assembler.insert(source)),
                Event::Probe => told.probes += 1,
                Event::Failure(failure) => told.failures.push(failure),
            }
        }
        told.failures.sort_by(|a, b| (&a.what, &a.reason).cmp(&(&b.what, &b.reason)));
        told.failures.dedup();
        told
    }
}
