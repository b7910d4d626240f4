//! Paths as a reader wants them: short, and relative to where they stand.

use std::path::{Component, Path, PathBuf};

/// `file` relative to `base` where it lies inside, else as it is; `.` and
/// `..` are resolved by name alone.
pub(crate) fn relative(file: &str, base: Option<&Path>) -> String {
    let file = resolved(Path::new(file));
    let inside = base.and_then(|base| file.strip_prefix(resolved(base)).ok());
    inside.unwrap_or(&file).to_string_lossy().into_owned()
}

/// The same for people: also `../src/list.c`, for who stands in a folder for builds
/// beside the sources.
pub(crate) fn near(file: &str, base: Option<&Path>) -> String {
    const UP: usize = 2;
    // What all files of a machine or a user have in common brings nothing near.
    const COMMON: usize = 3;
    let path = resolved(Path::new(file));
    let base = base.map(resolved).unwrap_or_default();
    let above = base.ancestors().enumerate().skip(1).take(UP);
    let mut common = above.filter(|(_, folder)| folder.components().count() >= COMMON);
    match common.find_map(|(up, folder)| Some((up, path.strip_prefix(folder).ok()?))) {
        Some((up, rest)) if !path.starts_with(&base) => format!("{}{}", "../".repeat(up), rest.display()),
        _ => relative(file, Some(&base)),
    }
}

fn resolved(path: &Path) -> PathBuf {
    let mut resolved = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir
                if matches!(resolved.components().next_back(), Some(Component::Normal(_))) =>
            {
                resolved.pop();
            }
            component => resolved.push(component),
        }
    }
    resolved
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_relative_where_they_lie_inside() {
        let check = |file, base, expected| assert_eq!(relative(file, Some(Path::new(base))), expected);
        check("/home/me/list/list.c", "/home/me/list", "list.c");
        check("/home/me/list/build/../src/./list.c", "/home/me/list/", "src/list.c");
        check("/home/me/listing/list.c", "/home/me/list", "/home/me/listing/list.c");
        check("./src/list.c", "/home/me/list", "src/list.c");
        check("../list.c", "/home/me/list", "../list.c");
        assert_eq!(relative("/a/b.c", None), "/a/b.c");
    }

    #[test]
    fn what_is_near_is_told_from_here() {
        let check = |file, base, expected| assert_eq!(near(file, Some(Path::new(base))), expected);
        check("/home/me/list/src/list.c", "/home/me/list/build", "../src/list.c");
        check("/home/me/list/src/list.c", "/home/me/list/build/debug", "../../src/list.c");
        check("/home/me/list/list.c", "/home/me/list", "list.c");
        check("/home/you/list/list.c", "/home/me/list", "/home/you/list/list.c");
        check("/usr/include/list.h", "/usr/src/list", "/usr/include/list.h");
        check("src/list.c", "/home/me/list", "src/list.c");
        assert_eq!(near("/a/b.c", None), "/a/b.c");
    }
}
