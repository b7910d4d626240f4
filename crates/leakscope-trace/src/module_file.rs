//! The files of modules, as records name them. A record that is damaged may
//! name anything.

use std::fs::File;
use std::path::Path;

use object::ReadCache;

/// What is no file is not opened: a pipe would be waited for.
pub fn open(path: &Path) -> Option<ReadCache<File>> {
    if !path.is_file() {
        return None;
    }
    File::open(path).ok().map(ReadCache::new)
}
