//! What was solved, on disk: a search that is interrupted asks nothing twice
//! when it is begun again, and ends as it would have without.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use leakscope_solve::{InputId, Model};

use crate::solve::Turned;

/// Answers by the hash of the path that was asked for, in the order in which they
/// were given: all but the last of a path put it off.
#[derive(Debug, Default)]
pub struct Journal {
    known: FxHashMap<u64, Vec<Entry>>,
    file: Option<File>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    turned: Turned,
    /// What the solver found, which other questions are tried with.
    model: Option<Vec<(u64, u64)>>,
}

#[derive(Serialize, Deserialize)]
struct Line {
    path: u64,
    #[serde(flatten)]
    entry: Entry,
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
        let mut known: FxHashMap<u64, Vec<Entry>> = FxHashMap::default();
        for Line { path, entry } in lines.filter_map(|line| serde_json::from_str(line).ok()) {
            known.entry(path).or_default().push(entry);
        }
        let mut file = File::options().append(true).open(path)?;
        if !text.ends_with('\n') {
            writeln!(file)?;
        }
        Ok(Journal { known, file: Some(file) })
    }

    /// The answer for a path that was put off so often before.
    pub fn get(&self, path: u64, put_off: usize) -> Option<(Turned, Option<Model>)> {
        let Entry { turned, model } = self.known.get(&path)?.get(put_off)?;
        let model =
            model.as_ref().map(|model| model.iter().map(|&(id, value)| (InputId(id), value)).collect());
        Some((turned.clone(), model))
    }

    pub fn len(&self) -> usize {
        self.known.values().map(Vec::len).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// A disk that is full costs only the resuming.
    pub fn add(&mut self, path: u64, put_off: usize, turned: &Turned, model: Option<&Model>) {
        let known = self.known.entry(path).or_default();
        if known.len() != put_off {
            return;
        }
        let model = model.map(|model| model.iter().map(|(id, &value)| (id.0, value)).collect());
        let line = Line { path, entry: Entry { turned: turned.clone(), model } };
        if let (Some(file), Ok(text)) = (&mut self.file, serde_json::to_string(&line)) {
            let _ = writeln!(file, "{text}");
        }
        known.push(line.entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::Input;

    #[test]
    fn answers_of_one_path_come_again_in_their_order() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("journal");
        let model: Model = [(InputId(7), 65)].into();
        let answers = [(Turned::Postponed, None), (Turned::To(Input::default()), Some(model))];
        let mut journal = Journal::open(&path, "key").expect("opened");
        for (put_off, (turned, model)) in answers.iter().enumerate() {
            journal.add(3, put_off, turned, model.as_ref());
            // A search that goes on adds what is there already.
            journal.add(3, put_off, turned, model.as_ref());
        }
        let journal = Journal::open(&path, "key").expect("opened");
        assert_eq!([journal.get(3, 0), journal.get(3, 1)], answers.map(Some));
        assert_eq!((journal.get(3, 2), journal.len()), (None, 2));
    }
}
