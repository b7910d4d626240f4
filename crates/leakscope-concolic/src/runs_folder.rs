//! The folder that runs have theirs in, in memory where that is possible: nothing
//! of a run is kept. What a search that was killed left behind, the next one removes.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

pub struct RunsFolder {
    folder: tempfile::TempDir,
    /// The folder, locked as long as this process lives.
    _held: File,
}

const PREFIX: &str = "leakscope-runs-";

/// A folder that is younger may be about to be locked.
const YOUNG: Duration = Duration::from_secs(60);

impl RunsFolder {
    /// Where it is to be, and it.
    pub fn new() -> (PathBuf, io::Result<RunsFolder>) {
        let shared = Path::new("/dev/shm");
        let parent = if shared.is_dir() { shared.to_owned() } else { std::env::temp_dir() };
        let made = RunsFolder::within(&parent);
        (parent, made)
    }

    fn within(parent: &Path) -> io::Result<RunsFolder> {
        remove_abandoned(parent);
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent)?;
        let held = File::open(folder.path())?;
        is_free(&held);
        Ok(RunsFolder { folder, _held: held })
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Removes folders that nobody holds. What cannot be removed stays: it is another user's.
fn remove_abandoned(parent: &Path) {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX)) {
        let is_old = |since: SystemTime| since.elapsed().is_ok_and(|age| age > YOUNG);
        let changed = entry.metadata().and_then(|metadata| metadata.modified());
        if changed.is_ok_and(is_old) && File::open(entry.path()).is_ok_and(|folder| is_free(&folder)) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Takes the lock of a folder, if nobody has it.
fn is_free(folder: &File) -> bool {
    // SAFETY: a descriptor that is open.
    unsafe { libc::flock(folder.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_killed_left_is_removed() {
        let parent = tempfile::tempdir().expect("a folder");
        let held = RunsFolder::within(parent.path()).expect("a folder");
        let left = |name: &str| {
            let folder = parent.path().join(name);
            fs::create_dir_all(folder.join("0")).expect("made");
            folder
        };
        let (old, young, foreign) = (left("leakscope-runs-a"), left("leakscope-runs-b"), left("other"));
        let past = SystemTime::now() - 2 * YOUNG;
        for folder in [held.path(), &old, &foreign] {
            File::open(folder).expect("open").set_modified(past).expect("aged");
        }
        RunsFolder::within(parent.path()).expect("a folder");
        let there = [held.path(), &old, &young, &foreign].map(Path::exists);
        assert_eq!(there, [true, false, true, true]);
    }
}
