//! What was solved, on disk: a search that is interrupted asks nothing twice
//! when it is begun again, and ends as it would have without.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::solve::Turned;

/// Answers by the hash of the path that was asked for.
#[derive(Debug, Default)]
pub struct Journal {
    known: FxHashMap<u64, Turned>,
    file: Option<File>,
}

#[derive(Serialize, Deserialize)]
struct Line {
    path: u64,
    turned: Turned,
}

impl Journal {
    /// The journal in a file, which is made if it is not there. `key` names
    /// the search: a journal of another one is begun anew. A line that an
    /// interruption cut off is passed over.
    pub fn open(path: &Path, key: &str) -> io::Result<Journal> {
        let text = fs::read_to_string(path).unwrap_or_default();
        let mut lines = text.lines();
        if lines.next() != Some(key) {
            let mut file = File::create(path)?;
            writeln!(file, "{key}")?;
            return Ok(Journal { known: FxHashMap::default(), file: Some(file) });
        }
        let read = |line: &str| serde_json::from_str::<Line>(line).ok();
        let known = lines.filter_map(read).map(|line| (line.path, line.turned)).collect();
        let mut file = File::options().append(true).open(path)?;
        if !text.ends_with('\n') {
            writeln!(file)?;
        }
        Ok(Journal { known, file: Some(file) })
    }

    pub fn get(&self, path: u64) -> Option<&Turned> {
        self.known.get(&path)
    }

    pub fn len(&self) -> usize {
        self.known.len()
    }

    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// A disk that is full costs only the resuming.
    pub fn add(&mut self, path: u64, turned: &Turned) {
        if self.known.contains_key(&path) {
            return;
        }
        let line = Line { path, turned: turned.clone() };
        if let (Some(file), Ok(text)) = (&mut self.file, serde_json::to_string(&line)) {
            let _ = writeln!(file, "{text}");
        }
        self.known.insert(path, line.turned);
    }
}
