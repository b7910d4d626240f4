//! Code that a pattern names: by function, by file, or by line; as addresses
//! in a module's file.

use std::ops::Range;
use std::path::Path;

use leakscope_core::suppress::matches;

use crate::dwarf::{Debug, is_function};

/// Ranges of the module's code that `pattern` names: `function`, `file.c` or
/// `file.c:12`, matched as in suppressions. Inlined functions count.
pub fn code_ranges(module: &Path, pattern: &str) -> Vec<Range<u64>> {
    let Some(debug) = Debug::read(module) else { return Vec::new() };
    let mut ranges = Vec::new();
    let at_line = pattern.rsplit_once(':').and_then(|(file, line)| Some((file, line.parse::<u32>().ok()?)));
    let (file, line) = at_line.map_or((pattern, None), |(file, line)| (file, Some(line)));
    // A file is named from the start of its name, or of a folder's.
    let file = format!("/{file}$");
    let mut known = (String::new(), false);
    debug.for_each_line(|(start, end), path, at| {
        if known.0 != path {
            known = (path.to_owned(), matches(&file, &format!("/{path}")));
        }
        if start < end && known.1 && line.is_none_or(|line| line == at) {
            ranges.push(start..end);
        }
    });
    if line.is_none() {
        debug.for_each(|die, entry, _| {
            let named = || debug.full_name(die, entry).is_some_and(|name| matches(pattern, &name));
            if is_function(entry.tag()) && named() {
                ranges.extend(debug.ranges(die, entry).into_iter().map(|(start, end)| start..end));
            }
        });
    }
    merged(ranges)
}

fn merged(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.retain(|range| range.start < range.end);
    ranges.sort_by_key(|range| (range.start, range.end));
    let mut merged: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_touch_are_one() {
        assert_eq!(merged(vec![5..9, 1..3, 3..4, 6..7, 8..12, 2..2]), [1..4, 5..12]);
    }
}
