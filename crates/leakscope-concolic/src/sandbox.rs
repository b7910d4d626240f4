//! What a run may not do: write outside its folder, outlive its driver, fill
//! the disk, or have a terminal.
//!
//! Writes are held back by Landlock, where the kernel has it; it needs no
//! privileges and lasts for all that the program starts.

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The largest file that a run may write.
const FILE_BYTES: u64 = 64 << 20;

/// Prepared before the fork: afterwards nothing may allocate.
pub struct Sandbox {
    /// Descriptor of the Landlock rules; `None` where the kernel has none.
    rules: Option<i32>,
    seconds: u64,
}

#[repr(C)]
struct Ruleset {
    handled_access_fs: u64,
}

#[repr(C, packed)]
struct PathBeneath {
    allowed_access: u64,
    parent_fd: i32,
}

const WRITE_FILE: u64 = 1 << 1;
const TRUNCATE: u64 = 1 << 14;
/// Write, remove and make anything, refer across folders, truncate.
const CHANGES: u64 = WRITE_FILE | 0x1ff0 | 1 << 13 | TRUNCATE;

impl Sandbox {
    /// Writing is allowed below `folders` and to devices that keep nothing.
    pub fn new(folders: &[&Path], seconds: u64) -> Sandbox {
        let rules = rules(folders).ok();
        Sandbox { rules, seconds }
    }

    /// Whether writes elsewhere are held back.
    pub fn holds_back_writes(&self) -> bool {
        self.rules.is_some()
    }

    /// Called between fork and exec.
    pub fn enter(&self) -> io::Result<()> {
        let limit = |what, most: u64| {
            let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
            // SAFETY: a limit of our own process, and what to set it to.
            unsafe { libc::setrlimit(what, &limit) }
        };
        // SAFETY: calls that neither allocate nor touch memory of ours.
        unsafe {
            libc::setsid();
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
            // Two runs on one input are to have the same addresses.
            libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong);
        }
        limit(libc::RLIMIT_CORE, 0);
        limit(libc::RLIMIT_FSIZE, FILE_BYTES);
        limit(libc::RLIMIT_CPU, self.seconds + 1);
        let Some(rules) = self.rules else { return Ok(()) };
        // SAFETY: the descriptor is that of our rules.
        match unsafe { libc::syscall(libc::SYS_landlock_restrict_self, rules, 0) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        if let Some(rules) = self.rules {
            // SAFETY: ours, and not used again.
            unsafe { libc::close(rules) };
        }
    }
}

fn rules(folders: &[&Path]) -> io::Result<i32> {
    // SAFETY: asks only for the version.
    let known =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<Ruleset>(), 0, 1) };
    // Before version 3 truncation cannot be handled, before 2 referring.
    let handled = match known {
        ..1 => return Err(io::ErrorKind::Unsupported.into()),
        1 => CHANGES & !(TRUNCATE | 1 << 13),
        2 => CHANGES & !TRUNCATE,
        _ => CHANGES,
    };
    let set = Ruleset { handled_access_fs: handled };
    // SAFETY: the structure and its size.
    let rules = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, &set, size_of::<Ruleset>(), 0) };
    if rules < 0 {
        return Err(io::Error::last_os_error());
    }
    let rules = rules as i32;
    for folder in folders {
        allow(rules, folder, handled);
    }
    for device in ["/dev/null", "/dev/zero", "/dev/full"] {
        allow(rules, Path::new(device), handled & (WRITE_FILE | TRUNCATE));
    }
    Ok(rules)
}

/// What is not there needs no rule.
fn allow(rules: i32, path: &Path, access: u64) {
    let Ok(path) = CString::new(path.as_os_str().as_bytes()) else { return };
    // SAFETY: a path that ends with a zero; the rule and its descriptor live
    // through the call.
    unsafe {
        let descriptor = libc::open(path.as_ptr(), libc::O_PATH | libc::O_CLOEXEC);
        if descriptor >= 0 {
            let rule = PathBeneath { allowed_access: access, parent_fd: descriptor };
            libc::syscall(libc::SYS_landlock_add_rule, rules, 1, &rule, 0);
            libc::close(descriptor);
        }
    }
}
