//! Whose a frame is, and which frames a report points at: the user's, and of
//! those the ones that say why memory was asked for.
//!
//! Whose a frame is is decided here and nowhere else, once, by the engine that
//! names the frame: only there the whole path of its module is known. Reports
//! read the answer, [`Frame::system`].

use crate::{Frame, Place};

/// Folders of installed libraries and headers: not the user's own code.
const SYSTEM_FOLDERS: [&str; 6] =
    ["/lib/", "/lib64/", "/usr/include/", "/usr/lib/", "/usr/lib64/", "/usr/libexec/"];

/// What the C library runs below `main`, which is linked into the program.
const STARTUP: [&str; 5] =
    ["_start", "__libc_start_main", "__libc_start_main_impl", "__libc_start_call_main", "__libc_csu_init"];

/// The file that a frame's code was loaded from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Module<'a> {
    /// The program that the user ran, wherever it is installed.
    Program,
    /// Another file, by its whole path; what the kernel maps has no path but a
    /// name, as in `linux-vdso.so.1`.
    Other(&'a str),
}

/// How the names of wrappers around the allocator end, as in `xmalloc`,
/// `g_strdup` or `sqlite3Malloc`. A name such as `page_alloc` may be a
/// wrapper's or a constructor's: only its callers tell.
const ALLOCATORS: [&str; 15] = [
    "malloc",
    "malloc0",
    "malloc_n",
    "ckalloc",
    "mem_alloc",
    "safe_alloc",
    "xalloc",
    "calloc",
    "realloc",
    "reallocarray",
    "zalloc",
    "strdup",
    "strndup",
    "memdup",
    "operator new",
];

/// Wrappers around `free`. Many functions that end in `free` are more than
/// that, so these are whole names.
const DEALLOCATORS: [&str; 19] = [
    "_free",
    "av_free",
    "av_freep",
    "ckfree",
    "do_free",
    "efree",
    "free_and_null",
    "freep",
    "g_free",
    "mem_free",
    "memfree",
    "my_free",
    "operator delete",
    "safe_free",
    "safefree",
    "sfree",
    "sqlite3_free",
    "xfree",
    "zfree",
];

impl Frame {
    /// The frame with [`Frame::system`] decided: code of an installed library,
    /// from an installed header, of the C library's own source, of leakscope's
    /// runtime, or below `main` is the system's.
    pub fn of_module(mut self, module: Module<'_>) -> Frame {
        let installed = |path: &str| SYSTEM_FOLDERS.iter().any(|folder| path.starts_with(folder));
        let in_module = match module {
            Module::Program => false,
            Module::Other(path) => !path.contains('/') || installed(path),
        };
        // Debug information names the C library's source relative to its
        // build, the compiler's headers by where it is installed.
        let in_source = self.file.as_deref().is_some_and(|file| {
            installed(file)
                || file.contains("/lib/gcc/")
                || file.contains("/leakscope-rt/src/")
                || !file.starts_with('/') && file.contains("sysdeps/")
        });
        let at_start = self.function.as_deref().is_some_and(|name| STARTUP.contains(&name));
        self.system = in_module || in_source || at_start;
        self
    }

    /// By what was seen or by its name a wrapper around malloc or free, which
    /// says nothing of why it was called.
    pub fn is_wrapper(&self) -> bool {
        self.wrapper
            || self.is_deallocator()
            || self.plain_name().is_some_and(|name| ALLOCATORS.iter().any(|end| name.ends_with(end)))
    }

    /// By its name a wrapper around free and nothing more.
    pub fn is_deallocator(&self) -> bool {
        self.plain_name().is_some_and(|name| DEALLOCATORS.contains(&name.as_str()))
    }

    /// The function's name in lower case, without parameters and marks at its
    /// end.
    fn plain_name(&self) -> Option<String> {
        let name = self.function.as_deref()?;
        let name = name.split('(').next().unwrap_or(name);
        Some(name.trim_end_matches(['_', '[', ']']).to_ascii_lowercase())
    }

    fn has_line(&self) -> bool {
        self.file.is_some() && self.line.is_some()
    }
}

impl Place {
    /// The frame to point at: the innermost one of the user's that is no
    /// wrapper and has a line; else of the user's with a line; else of the
    /// user's; else any.
    pub fn headline(&self) -> Option<&Frame> {
        let mut own = self.stack.iter().filter(|frame| !frame.system);
        own.clone()
            .find(|frame| frame.has_line() && !frame.is_wrapper())
            .or_else(|| own.clone().find(|frame| frame.has_line()))
            .or_else(|| own.next())
            .or_else(|| self.stack.first())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(function: &str, file: &str, module: &str) -> Frame {
        let known = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let frame = Frame {
            function: known(function),
            file: known(file),
            line: (!file.is_empty()).then_some(1),
            ..Frame::default()
        };
        frame.of_module(if module.is_empty() { Module::Program } else { Module::Other(module) })
    }

    #[test]
    fn system_frames_are_told_from_the_users() {
        let check = |function, file, module, expected| {
            assert_eq!(frame(function, file, module).system, expected, "{function} {file} {module}");
        };
        check("make_node", "/home/me/list.c", "", false);
        check("make_node", "list.c", "/home/me/liblist.so", false);
        check("parse", "/home/me/libc.so/parse.c", "", false);
        check("parse", "", "/opt/product/lib/libparse.so", false);
        check("xmlParse", "", "/usr/lib/x86_64-linux-gnu/libxml2.so.2", true);
        check("getdelim", "", "/lib/x86_64-linux-gnu/libc.so.6", true);
        check("time", "", "linux-vdso.so.1", true);
        check("std::vector::push_back", "/usr/include/c++/12/bits/stl_vector.h", "", true);
        check("_mm_malloc", "/opt/gcc/lib/gcc/x86_64-linux-gnu/12/include/mm_malloc.h", "", true);
        check("strdup", "./string/../sysdeps/x86_64/strdup.c", "", true);
        check("start_snapshots", "/build/crates/leakscope-rt/src/life.rs", "", true);
        check("_start", "", "", true);
    }

    #[test]
    fn wrappers_are_known_by_name() {
        let check = |name, expected| assert_eq!(frame(name, "a.c", "").is_wrapper(), expected, "{name}");
        for name in [
            "xmalloc",
            "g_malloc0",
            "sqlite3Malloc",
            "luaM_malloc_",
            "xstrdup",
            "operator new[](unsigned long)",
            "operator delete(void*)",
        ] {
            check(name, true);
        }
        for name in
            ["make_node", "list_free", "alloc_page", "page_alloc", "mallocate", "parse(Mallocs, realloc)"]
        {
            check(name, false);
        }
        check("xfree", true);
        assert!(Frame { wrapper: true, ..frame("grab", "a.c", "") }.is_wrapper());
    }

    #[test]
    fn the_headline_is_the_users_innermost_frame_that_says_why() {
        let check = |stack: Vec<Frame>, expected: Option<&str>| {
            let place = Place::new(stack);
            assert_eq!(place.headline().and_then(|frame| frame.function.as_deref()), expected);
        };
        let (libc, xml) = ("/lib/x86_64-linux-gnu/libc.so.6", "/opt/lib/libxml2.so.2");
        check(vec![frame("f", "a.c", ""), frame("main", "a.c", "")], Some("f"));
        check(vec![frame("getdelim", "", libc), frame("main", "a.c", "")], Some("main"));
        check(vec![frame("xmlParse", "", xml), frame("main", "a.c", "")], Some("main"));
        check(vec![frame("xmalloc", "a.c", ""), frame("make", "a.c", "")], Some("make"));
        check(vec![frame("xmalloc", "a.c", ""), frame("make", "", "")], Some("xmalloc"));
        check(vec![frame("xmlParse", "", xml)], Some("xmlParse"));
        check(vec![frame("getdelim", "", libc)], Some("getdelim"));
        check(Vec::new(), None);
    }
}
