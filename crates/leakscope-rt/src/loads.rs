//! Shared objects that the program loads while it runs: where the project made
//! them, the derived ones are loaded instead. Which they are stands in a file
//! (`leakscope_wire::env::MODULES`).

use core::ffi::{CStr, c_char, c_int};
use core::sync::atomic::{AtomicUsize, Ordering};

#[cfg(not(test))]
use crate::foreign::answer_or_go_on;
use crate::sys::{self, File};
use crate::waits;

/// The file in memory; 0 where nothing is known.
static FILE: AtomicUsize = AtomicUsize::new(0);
static BYTES: AtomicUsize = AtomicUsize::new(0);

/// Reads the file.
pub fn open(path: &[u8]) {
    if let Some((place, bytes)) = File::keep(path, 0) {
        BYTES.store(bytes, Ordering::Relaxed);
        FILE.store(place, Ordering::Relaxed);
    }
}

/// Stands in for `dlopen`.
///
/// # Safety
/// As for the C function.
#[cfg(not(test))]
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlopen() {
    answer_or_go_on!(instead, real);
}

extern "C" fn real() -> usize {
    static REAL: AtomicUsize = AtomicUsize::new(0);
    waits::real(&REAL, c"dlopen")
}

/// The derived module for the file that is asked for, loaded; 0 if there is none.
///
/// # Safety
/// `name` is null or a C string.
#[cfg_attr(test, allow(dead_code))]
unsafe extern "C" fn instead(name: *const c_char, flags: c_int) -> usize {
    type Dlopen = unsafe extern "C" fn(*const c_char, c_int) -> usize;
    let (file, real) = (FILE.load(Ordering::Relaxed), real());
    if name.is_null() || file == 0 || real == 0 {
        return 0;
    }
    // SAFETY: so many bytes were allocated, and are not written any more.
    let list = unsafe { core::slice::from_raw_parts(file as *const u8, BYTES.load(Ordering::Relaxed)) };
    // SAFETY: as the caller says.
    let wanted = unsafe { CStr::from_ptr(name) };
    let Some(path) = sys::keeping_errno(|| derived(list, wanted)) else { return 0 };
    // SAFETY: libc's function has this type; with a whole path, it does not matter who
    // calls it.
    unsafe { core::mem::transmute::<usize, Dlopen>(real)(path.as_ptr(), flags) }
}

/// What stands in the list for the file that is `wanted`.
fn derived<'l>(list: &'l [u8], wanted: &CStr) -> Option<&'l CStr> {
    let mut rest = list;
    let mut next = || {
        let path = CStr::from_bytes_until_nul(rest).ok().filter(|path| !path.is_empty())?;
        rest = &rest[path.count_bytes() + 1..];
        Some(path)
    };
    while let (Some(own), Some(derived)) = (next(), next()) {
        if is_same(wanted, own) {
            return Some(derived);
        }
    }
    None
}

/// Whether `wanted` is the file that the project made, or a copy of it that was
/// installed. A name without a folder is looked for by the loader: the first of that
/// name is taken.
fn is_same(wanted: &CStr, own: &CStr) -> bool {
    let named_alike = file_name(wanted) == file_name(own);
    if !wanted.to_bytes().contains(&b'/') {
        return named_alike;
    }
    let (Some(one), Some(other)) = (status(wanted), status(own)) else { return false };
    (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino) || named_alike && one.st_size == other.st_size
}

fn file_name(path: &CStr) -> &[u8] {
    path.to_bytes().rsplit(|&byte| byte == b'/').next().unwrap_or_default()
}

fn status(path: &CStr) -> Option<libc::stat> {
    // SAFETY: a query into a local structure, which zeros are valid for.
    unsafe {
        let mut status: libc::stat = core::mem::zeroed();
        (libc::stat(path.as_ptr(), &mut status) == 0).then_some(status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_by_name_and_by_what_they_are() {
        let folder = std::env::temp_dir().join(std::format!("leakscope-loads-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("copy")).expect("writable");
        for (name, text) in
            [("a.so", "one"), ("b.so", "four"), ("copy/b.so", "five"), ("copy/a.so", "longer")]
        {
            std::fs::write(folder.join(name), text).expect("writable");
        }
        std::os::unix::fs::symlink(folder.join("a.so"), folder.join("link.so")).expect("writable");
        let path = |name: &str| std::format!("{}/{name}", folder.display());
        let list = std::format!("{}\0/d/a\0{}\0/d/b\0\0\0", path("a.so"), path("b.so"));
        let find = |wanted: &str| {
            let wanted = std::ffi::CString::new(wanted).expect("no zero byte");
            derived(list.as_bytes(), &wanted).map(|path| path.to_str().expect("text"))
        };
        assert_eq!(find(&path("a.so")), Some("/d/a"));
        assert_eq!(find(&path("./copy/../a.so")), Some("/d/a"));
        assert_eq!(find(&path("link.so")), Some("/d/a"));
        assert_eq!(find("b.so"), Some("/d/b"));
        // An installed copy has the size, another module has not.
        assert_eq!(find(&path("copy/b.so")), Some("/d/b"));
        assert_eq!(find(&path("copy/a.so")), None);
        assert_eq!(find(&path("gone.so")), None);
        assert_eq!(find("c.so"), None);
        std::fs::remove_dir_all(&folder).expect("it is there");
    }
}
