//! Paths as a reader wants them: short, and relative to where they stand.

use std::path::{Component, Path, PathBuf};

/// `file` relative to `base` where it lies inside, else as it is; `.` and
/// `..` are resolved by name alone.
pub(crate) fn relative(file: &str, base: Option<&Path>) -> String {
    let file = resolved(Path::new(file));
    let inside = base.and_then(|base| file.strip_prefix(resolved(base)).ok());
    inside.unwrap_or(&file).to_string_lossy().into_owned()
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
}
