//! Which frames a report points at: the user's, and of those the ones that say
//! why memory was asked for.

use crate::{Frame, Place};

/// Shared objects of the C and C++ implementation itself.
const SYSTEM_MODULES: [&str; 9] = [
    "ld-linux",
    "libasan",
    "libc++",
    "libc.so",
    "libgcc_s",
    "libm.so",
    "libpthread",
    "libstdc++",
    "linux-vdso",
];

/// What the C library runs below `main`.
const STARTUP: [&str; 5] =
    ["_start", "__libc_start_main", "__libc_start_main_impl", "__libc_start_call_main", "__libc_csu_init"];

/// How the names of wrappers around the allocator end, as in `xmalloc`,
/// `g_strdup` or `sqlite3Malloc`.
const ALLOCATORS: [&str; 10] = [
    "malloc",
    "malloc0",
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
const DEALLOCATORS: [&str; 6] = ["efree", "g_free", "mem_free", "my_free", "safe_free", "xfree"];

impl Frame {
    /// Part of the system rather than of the user's program: the C and C++
    /// libraries, their headers, and what runs below `main`.
    pub fn is_system(&self) -> bool {
        let in_headers = self.file.as_deref().is_some_and(|file| {
            file.starts_with("/usr/include/") || file.starts_with("/usr/lib/") || file.contains("/lib/gcc/")
        });
        let in_module = self
            .module
            .as_deref()
            .is_some_and(|module| SYSTEM_MODULES.iter().any(|name| module.starts_with(name)));
        in_headers || in_module || self.function.as_deref().is_some_and(|name| STARTUP.contains(&name))
    }

    /// By its name a wrapper around malloc or free, which says nothing of why
    /// it was called.
    pub fn is_wrapper(&self) -> bool {
        self.function.as_deref().is_some_and(|name| {
            let name =
                name.split('(').next().unwrap_or(name).trim_end_matches(['_', '[', ']']).to_ascii_lowercase();
            ALLOCATORS.iter().any(|end| name.ends_with(end)) || DEALLOCATORS.contains(&name.as_str())
        })
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
        let mut own = self.stack.iter().filter(|frame| !frame.is_system());
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
        Frame {
            function: known(function),
            file: known(file),
            line: (!file.is_empty()).then_some(1),
            module: known(module),
            ..Frame::default()
        }
    }

    #[test]
    fn system_frames_are_told_from_the_users() {
        let check = |function, file, module, expected| {
            assert_eq!(frame(function, file, module).is_system(), expected, "{function} {file} {module}");
        };
        check("make_node", "/home/me/list.c", "a.out", false);
        check("xmlParse", "", "libxml2.so.2", false);
        check("std::vector::push_back", "/usr/include/c++/12/bits/stl_vector.h", "a.out", true);
        check("getdelim", "", "libc.so.6", true);
        check("std::string::_M_create", "", "libstdc++.so.6", true);
        check("_start", "", "a.out", true);
        check("parse", "/home/me/libc.so/parse.c", "a.out", false);
    }

    #[test]
    fn wrappers_are_known_by_name() {
        let check = |name, expected| assert_eq!(frame(name, "a.c", "a.out").is_wrapper(), expected, "{name}");
        for name in [
            "xmalloc",
            "g_malloc0",
            "sqlite3Malloc",
            "luaM_malloc_",
            "xstrdup",
            "operator new[](unsigned long)",
        ] {
            check(name, true);
        }
        for name in ["make_node", "list_free", "alloc_page", "mallocate", "parse(Mallocs, realloc)"] {
            check(name, false);
        }
        check("xfree", true);
    }

    #[test]
    fn the_headline_is_the_users_innermost_frame_that_says_why() {
        let check = |stack: Vec<Frame>, expected: Option<&str>| {
            let place = Place { stack };
            assert_eq!(place.headline().and_then(|frame| frame.function.as_deref()), expected);
        };
        check(vec![frame("f", "a.c", "a.out"), frame("main", "a.c", "a.out")], Some("f"));
        check(vec![frame("getdelim", "", "libc.so.6"), frame("main", "a.c", "a.out")], Some("main"));
        check(vec![frame("xmlParse", "", "libxml2.so.2"), frame("main", "a.c", "a.out")], Some("main"));
        check(vec![frame("xmalloc", "a.c", "a.out"), frame("make", "a.c", "a.out")], Some("make"));
        check(vec![frame("xmalloc", "a.c", "a.out"), frame("make", "", "a.out")], Some("xmalloc"));
        check(vec![frame("xmlParse", "", "libxml2.so.2")], Some("xmlParse"));
        check(vec![frame("getdelim", "", "libc.so.6")], Some("getdelim"));
        check(Vec::new(), None);
    }
}
