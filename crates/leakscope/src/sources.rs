//! Source text for reports: as it was captured, else as it is on disk.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;

use leakscope_capture::{Store, Unit};
use leakscope_report::Sources;

/// Captured texts by the path of their source.
#[derive(Default)]
pub struct Captured {
    texts: HashMap<PathBuf, PathBuf>,
}

impl Captured {
    /// The texts of these units.
    pub fn of<'a>(store: &Store, units: impl IntoIterator<Item = &'a Unit>) -> Captured {
        let text = |unit: &Unit| Some((unit.source.clone(), store.blob(unit.text.as_ref()?)));
        Captured { texts: units.into_iter().filter_map(text).collect() }
    }
}

impl Sources for Captured {
    fn text(&self, file: &str) -> Option<Cow<'_, [u8]>> {
        let path = PathBuf::from(file);
        let captured = self.texts.get(&path).and_then(|blob| fs::read(blob).ok());
        captured.or_else(|| fs::read(&path).ok()).map(Cow::Owned)
    }
}
