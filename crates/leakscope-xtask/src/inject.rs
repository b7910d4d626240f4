//! Leaks to find and leaks to rule out, put into a C source at places chosen
//! by a seed (the paper's experiment 1).
//!
//! Each is a block that is allocated, used, and then one of three: nobody
//! frees it (its `free` is left out); a global map keeps it, which is read and
//! freed at the end; or the map is freed and not read. What is true is
//! written down.
//!
//! Besides, frees of the program's own are taken out: those of a variable that
//! its function gets from one call only, so that it is known which allocation
//! leaks. The warning is about that call, and leaks where the free was.

use std::fmt::Write;

/// What becomes of an injected block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Leak,
    Read,
    Unread,
}

pub struct Injected {
    pub source: String,
    /// `file TAB line TAB kind`, a path for each.
    pub warnings: String,
    /// `allocation line TAB verdict`.
    pub truth: String,
}

const HEADER: &str = "\
#include <stdlib.h>
static char *inject_map[2][4096];
static int inject_used[2];
static volatile int inject_sum;
static void inject_end (void)
{
  for (int i = 0; i < inject_used[0]; i++)
    inject_sum += *inject_map[0][i];
  for (int map = 0; map < 2; map++)
    for (int i = 0; i < inject_used[map]; i++)
      free (inject_map[map][i]);
}
static void inject_keep (char *block, int map)
{
  if (!inject_used[0] && !inject_used[1])
    atexit (inject_end);
  if (inject_used[map] < 4096)
    inject_map[map][inject_used[map]++] = block;
  else
    free (block);
}
static void inject_point (void)
{
  inject_sum++;
}
";

/// How many of each.
#[derive(Clone, Copy, Debug)]
pub struct Counts {
    /// Blocks that are put in.
    pub blocks: usize,
    /// Frees that are taken out.
    pub frees: usize,
}

pub fn inject(text: &str, name: &str, counts: Counts, seed: u64) -> Injected {
    let lines: Vec<&str> = text.lines().collect();
    let mut random = Random(seed);
    let places = random.choose(places(&lines), counts.blocks);
    // Not from the same numbers: which frees go does not change the blocks.
    let frees = Random(!seed).choose(frees(&lines), counts.frees);

    let mut injected = Injected { source: String::new(), warnings: String::new(), truth: String::new() };
    let mut line = 0;
    let mut put = |source: &mut String, text: &str| {
        source.push_str(text);
        source.push('\n');
        line += 1;
        line
    };
    // What the source includes may have to come first, as config.h does.
    let function = lines.iter().position(|line| line.starts_with('{')).unwrap_or(0);
    let includes = lines[..function].iter().rposition(|line| line.starts_with("#include"));
    if includes.is_none() {
        HEADER.lines().for_each(|line| {
            put(&mut injected.source, line);
        });
    }
    // Where lines of the original are.
    let mut now = vec![0; lines.len()];
    for (index, text) in lines.iter().enumerate() {
        let free = frees.iter().find(|free| free.line == index);
        now[index] = put(&mut injected.source, &free.map_or((*text).to_owned(), |free| free.left_out(text)));
        if let Some(free) = free {
            let allocation = now[free.allocation];
            injected.add(name, allocation, now[index], "must-leak");
        }
        if Some(index) == includes {
            HEADER.lines().for_each(|line| {
                put(&mut injected.source, line);
            });
        }
        let Ok(number) = places.binary_search(&index) else { continue };
        let kind = [Kind::Leak, Kind::Read, Kind::Unread][random.below(3)];
        let block = format!("inject_{number}");
        let allocation = put(&mut injected.source, &format!("{{ char *{block} = malloc (16);"));
        put(&mut injected.source, &format!("  if ({block}) {{ *{block} = 1;"));
        match kind {
            Kind::Leak => put(&mut injected.source, &format!("  inject_sum += *{block};")),
            Kind::Read => put(&mut injected.source, &format!("  inject_keep ({block}, 0);")),
            Kind::Unread => put(&mut injected.source, &format!("  inject_keep ({block}, 1);")),
        };
        let leak = put(&mut injected.source, "  inject_point ();");
        put(&mut injected.source, "} }");
        let verdict = match kind {
            Kind::Leak => "must-leak",
            Kind::Read => "likely-not-leak",
            Kind::Unread => "bloat",
        };
        injected.add(name, allocation, leak, verdict);
    }
    injected
}

impl Injected {
    fn add(&mut self, name: &str, allocation: usize, leak: usize, verdict: &str) {
        let _ = writeln!(self.warnings, "{name}\t{allocation}\tMA\n{name}\t{leak}\tLK\nEND_PATH");
        let _ = writeln!(self.truth, "{allocation}\t{verdict}");
    }
}

/// A free of the program's own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Free {
    line: usize,
    allocation: usize,
    variable: String,
}

impl Free {
    /// The line without the call: the variable is still read there.
    fn left_out(&self, text: &str) -> String {
        let indent: String = text.chars().take_while(|letter| letter.is_whitespace()).collect();
        format!("{indent}(void) ({} != 0);", self.variable)
    }
}

/// Frees of a variable that is set once in its function, by a call.
fn frees(lines: &[&str]) -> Vec<Free> {
    let mut frees = Vec::new();
    let mut start = 0;
    for (index, line) in lines.iter().enumerate() {
        if line.starts_with('{') {
            start = index;
        }
        let Some(variable) = freed(line) else { continue };
        let length = lines[start..].iter().position(|line| line.starts_with('}')).unwrap_or(0);
        let mut sets = (start..start + length).filter(|&at| sets(lines[at], variable));
        if let (Some(allocation), None) = (sets.next(), sets.next())
            && allocation < index
            && lines[allocation].contains(" (")
        {
            frees.push(Free { line: index, allocation, variable: variable.to_owned() });
        }
    }
    frees
}

/// The variable that a line frees, and does nothing else.
fn freed(line: &str) -> Option<&str> {
    let inside = line.trim().strip_prefix("free")?.trim_start().strip_prefix('(')?.strip_suffix(");")?;
    inside.chars().all(|letter| letter.is_alphanumeric() || letter == '_').then_some(inside)
}

/// Whether a line sets a variable to something that is not null.
fn sets(line: &str, variable: &str) -> bool {
    let is_of_name = |letter: char| letter.is_alphanumeric() || "_.>".contains(letter);
    line.match_indices(variable).any(|(at, _)| {
        let after = line[at + variable.len()..].trim_start();
        !line[..at].ends_with(is_of_name)
            && after.strip_prefix('=').is_some_and(|value| !value.starts_with('=') && value.trim() != "NULL;")
    })
}

/// Lines behind which a statement may stand: whole statements that are no
/// branch's only one and do not leave.
fn places(lines: &[&str]) -> Vec<usize> {
    let mut places = Vec::new();
    let mut in_function = false;
    for (index, line) in lines.iter().enumerate() {
        match line.chars().next() {
            Some('{') => in_function = true,
            Some('}') => in_function = false,
            _ => {}
        }
        let text = line.trim();
        let before = lines[..index].iter().rev().map(|line| line.trim()).find(|line| !line.is_empty());
        let is_statement = text.ends_with(';') && text.contains(['(', '=']) && !text.starts_with('}');
        let leaves =
            ["return", "break", "continue", "goto", "exit", "static", "for", "while", "else", "if", "case"]
                .iter()
                .any(|word| text.starts_with(word));
        let stands_alone = before.is_some_and(|before| before.ends_with([';', '{', '}']));
        if in_function && line.starts_with(' ') && is_statement && !leaves && stands_alone {
            places.push(index);
        }
    }
    places
}

/// SplitMix64.
struct Random(u64);

impl Random {
    /// So many of a list, in their order.
    fn choose<T: Ord>(&mut self, mut list: Vec<T>, count: usize) -> Vec<T> {
        for index in (1..list.len()).rev() {
            list.swap(index, self.below(index + 1));
        }
        list.truncate(count);
        list.sort_unstable();
        list
    }

    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ mixed >> 31) % bound as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "\
int
main (int argc, char **argv)
{
  int a = f (argc);
  if (a)
    g (a);
  else
    h (a);
  while (a--)
    {
      g (1);
      break;
    }
  return h (2);
}
";

    #[test]
    fn statements_are_put_where_they_change_no_other() {
        assert_eq!(places(&SOURCE.lines().collect::<Vec<_>>()), [3, 10]);
    }

    #[test]
    fn a_free_is_taken_out_where_its_allocation_is_known() {
        let source = "\
int
f (char *given)
{
  char *text = copy (given);
  char *other = NULL;
  other = copy (given);
  other = copy (text);
  free (given);
  free (other);
  if (text == 0)
    free (text);
  return 0;
}
";
        let lines: Vec<&str> = source.lines().collect();
        assert_eq!(frees(&lines), [Free { line: 10, allocation: 3, variable: "text".to_owned() }]);
        let injected = inject(source, "a.c", Counts { blocks: 0, frees: 5 }, 1);
        let at = |wanted: &str| injected.source.lines().position(|line| line == wanted).map(|at| at + 1);
        let allocation = at("  char *text = copy (given);").expect("kept");
        let leak = at("    (void) (text != 0);").expect("put in");
        assert_eq!(injected.warnings, format!("a.c\t{allocation}\tMA\na.c\t{leak}\tLK\nEND_PATH\n"));
        assert_eq!(injected.truth, format!("{allocation}\tmust-leak\n"));
        assert!(injected.source.contains("  free (other);"));
    }

    #[test]
    fn the_same_seed_gives_the_same_source_and_the_truth_names_its_lines() {
        let counts = Counts { blocks: 2, frees: 0 };
        let first = inject(SOURCE, "a.c", counts, 7);
        assert_eq!(first.source, inject(SOURCE, "a.c", counts, 7).source);
        let lines: Vec<&str> = first.source.lines().collect();
        assert_eq!(first.truth.lines().count(), 2);
        for truth in first.truth.lines() {
            let (line, verdict) = truth.split_once('\t').expect("a line and a verdict");
            let at: usize = line.parse().expect("a number");
            assert!(lines[at - 1].contains("= malloc (16);"), "{}", lines[at - 1]);
            let keeps = ["inject_sum", "inject_keep (inject_0, 0)", "inject_keep (inject_0, 1)"];
            let told = ["must-leak", "likely-not-leak", "bloat"].iter().position(|&told| told == verdict);
            let expected = keeps[told.expect("a verdict")].replace("inject_0", "inject_");
            let found = lines[at + 1].replace(['0', '1'], "");
            assert!(found.contains(expected.replace(['0', '1'], "").trim_end_matches(')')), "{found}");
        }
        for mark in first.warnings.lines().filter(|line| line.ends_with("LK")) {
            let line: usize = mark.split('\t').nth(1).and_then(|line| line.parse().ok()).expect("a line");
            assert_eq!(lines[line - 1].trim(), "inject_point ();");
        }
    }
}
