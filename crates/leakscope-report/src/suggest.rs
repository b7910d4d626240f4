//! What to write where a block was lost: only where that is sound.
//!
//! Sound means: the leak point is exact and its variable named there, neither
//! that statement nor, by another name, a later one goes on to use it, and how
//! such a block is released is known, from where its siblings were freed or from
//! how it was allocated. A sibling that was kept, or freed elsewhere, may have
//! come by this line too, with another owner; then a plain `free` would be one
//! too many, and nothing is said. All of it is read off the source; without it
//! there is no suggestion.

use std::path::Path;

use leakscope_core::{Cause, Finding, Frame, Kind, Place};

use crate::scope::{self, Meaning};
use crate::snippet::Files;
use crate::statement::{
    assigned, frees_a_name, is_free_to_go, is_plain, is_word, split_at_word, stands_alone,
};
use crate::tree::Root;
use crate::wording;

/// What to do at the leak place of `root`, as an order to the reader.
/// `all` are the findings of the report.
pub(crate) fn fix(root: &Root, all: &[Finding], files: &mut Files, base: Option<&Path>) -> Option<String> {
    let finding = root.finding;
    let leaked = finding.leaked.as_ref()?;
    let is_counted = finding.counted.is_some() || finding.evidence.contains_key("may_be_counted");
    if finding.kind != Kind::Lost || !finding.exact || is_counted || !finding.via.is_empty() {
        return None;
    }
    if finding.cause == Cause::Discarded {
        // Optimised code may not keep what the source does.
        let is_kept = |statement: String| statement.starts_with("return") || assigned(&statement).is_some();
        let keeps = leaked.headline().and_then(|frame| files.statement(frame)).is_some_and(is_kept);
        let order = "keep the result of this call, and release it when it is no longer needed";
        return (!keeps).then(|| order.to_owned());
    }
    let is_kept = |other: &Finding| other.kind == Kind::Forgotten && other.allocated == finding.allocated;
    if all.iter().any(is_kept) {
        return None;
    }
    let variable = finding.variable.as_deref().filter(|name| is_plain(name))?;
    let frame =
        leaked.stack.first().filter(|&frame| leaked.inner.is_empty() && leaked.headline() == Some(frame))?;
    let statement = files.statement(frame)?;
    let above = files.lines_above(frame);
    if !is_free_to_go(finding.cause, variable, &statement)
        || !is_pointer(variable, &above)
        || !is_written(variable, &above)
        || finding.cause == Cause::Overwritten && may_be_same(variable, &statement, &above)
        || finding.cause != Cause::ScopeEnd && is_held_by_another(variable, &above, &files.lines_below(frame))
    {
        return None;
    }
    let (call, model) = match finding.freed_elsewhere.first() {
        Some(sibling) => {
            let (call, at) = as_sibling(finding, &sibling.place, frame, variable, files)?;
            (call, wording::location(at, base).map(|at| format!(", as in {at}")).unwrap_or_default())
        }
        None if is_refilled(finding, frame, variable) => return None,
        None if !root.below.is_empty() => {
            (release(&finding.allocated, files)?.of(variable), ", after freeing what it holds".to_owned())
        }
        None => (release(&finding.allocated, files)?.of(variable), String::new()),
    };
    if call.starts_with("delete") && !is_of_type(finding, variable, &above) {
        return None;
    }
    let line = frame.line?;
    Some(if stands_alone(&statement) {
        format!("add {call} before line {line}{model}")
    } else {
        format!("add {call} in line {line}, before that{model}")
    })
}

/// How a block is given back.
#[derive(Clone, Debug, PartialEq)]
enum Release {
    Call(String),
    Delete,
    DeleteArray,
}

impl Release {
    fn of(&self, variable: &str) -> String {
        match self {
            Release::Call(function) => format!("{function}({variable})"),
            Release::Delete => format!("delete {variable}"),
            Release::DeleteArray => format!("delete[] {variable}"),
        }
    }
}

/// Functions whose result another function takes back.
const PAIRS: [(&[&str], &str); 7] = [
    (
        &[
            "malloc",
            "calloc",
            "realloc",
            "reallocarray",
            "aligned_alloc",
            "posix_memalign",
            "memalign",
            "strdup",
            "strndup",
            "asprintf",
            "vasprintf",
            "getline",
            "getdelim",
            "realpath",
            "get_current_dir_name",
        ],
        "free",
    ),
    (&["fopen", "fdopen", "tmpfile", "fmemopen"], "fclose"),
    (&["popen"], "pclose"),
    (&["opendir", "fdopendir"], "closedir"),
    (&["getaddrinfo"], "freeaddrinfo"),
    (&["g_malloc", "g_malloc0", "g_strdup", "g_strndup", "g_strdup_printf", "g_memdup2"], "g_free"),
    (&["xmalloc", "xcalloc", "xrealloc", "xstrdup", "xstrndup", "xzalloc", "xmemdup"], "free"),
];

/// Words by which functions that release a whole structure are known.
const RELEASERS: [&str; 14] = [
    "free", "destroy", "delete", "release", "dispose", "close", "cleanup", "clear", "unref", "drop",
    "deinit", "fini", "remove", "~",
];

/// How the block was asked for says how it is released.
fn release(allocated: &Place, files: &mut Files) -> Option<Release> {
    if let Some(library) = allocated.inner.last() {
        let name = library.function.as_deref()?;
        return match name.split('(').next().unwrap_or(name) {
            "operator new" if allocated.inner.len() == 1 => Some(Release::Delete),
            "operator new[]" if allocated.inner.len() == 1 => Some(Release::DeleteArray),
            name => taken_back_by(name.trim_start_matches('_')),
        };
    }
    let innermost = allocated.stack.first()?;
    let name = innermost.function.as_deref().unwrap_or_default();
    if innermost.is_wrapper() {
        return taken_back_by(name);
    }
    let statement = files.statement(innermost)?;
    // Several blocks that one statement asks for may be released in several ways.
    let mut ways = news(&statement);
    let asked =
        PAIRS.iter().filter(|(names, _)| names.iter().any(|name| split_at_word(&statement, name).is_some()));
    ways.extend(asked.map(|&(_, by)| Release::Call(by.to_owned())));
    let first = ways.pop()?;
    ways.iter().all(|way| *way == first).then_some(first)
}

/// How what each `new` of a statement makes is deleted.
fn news(statement: &str) -> Vec<Release> {
    let (mut ways, mut rest) = (Vec::new(), statement);
    while let Some((_, object)) = split_at_word(rest, "new") {
        rest = object;
        // `new (std::nothrow) T[n]`: what stands in parentheses is no bound.
        let object = object.trim_start();
        let object =
            object.strip_prefix('(').and_then(|rest| rest.split_once(')')).map_or(object, |(_, rest)| rest);
        let bound = object.find(['(', '{', ';', ',', '[']).filter(|&at| object[at..].starts_with('['));
        ways.push(if bound.is_some() { Release::DeleteArray } else { Release::Delete });
    }
    ways
}

fn taken_back_by(name: &str) -> Option<Release> {
    PAIRS.iter().find(|(names, _)| names.contains(&name)).map(|&(_, by)| Release::Call(by.to_owned()))
}

/// The call that releases `variable` as a sibling was released, and the frame
/// of the model.
fn as_sibling<'f>(
    finding: &Finding,
    freed: &'f Place,
    leak: &Frame,
    variable: &str,
    files: &mut Files,
) -> Option<(String, &'f Frame)> {
    let headline = freed.headline()?;
    if let Some(library) = freed.inner.last() {
        // Another function than the allocation's own may take this block, or
        // one that holds it.
        let released_by = library.function.as_deref()?;
        return match release(&finding.allocated, files)? {
            Release::Call(function) if released_by.ends_with(&function) => {
                Some((Release::Call(function).of(variable), headline))
            }
            _ => None,
        };
    }
    let statement = files.statement(headline)?;
    if split_at_word(&statement, "realloc").is_some() {
        return None;
    }
    let is_here = |frame: &Frame| (&frame.function, &frame.file) == (&leak.function, &leak.file);
    let name = headline.function.as_deref()?;
    let releases = RELEASERS.iter().any(|word| name.to_ascii_lowercase().contains(word));
    if releases && !is_here(headline) {
        let at = freed.stack.iter().position(|frame| frame == headline)?;
        let caller = freed.stack.get(at + 1).filter(|frame| !frame.system)?;
        let (_, arguments) =
            split_at_word(&files.statement(caller)?, name).map(|(a, b)| (a.to_owned(), b.to_owned()))?;
        let takes_block = !arguments.trim_start().starts_with("()") && frees_a_name(&statement);
        return takes_block.then(|| (format!("{name}({variable})"), caller));
    }
    let all_here =
        finding.freed_elsewhere.iter().all(|sibling| sibling.place.headline().is_some_and(is_here));
    let is_local = finding.cause == Cause::ScopeEnd || !variable.contains(['>', '.', '[']);
    if is_local && !all_here {
        return None;
    }
    let innermost = freed.stack.first().filter(|frame| frame.is_wrapper());
    let call = match innermost.and_then(|frame| frame.function.clone()) {
        Some(wrapper) => Release::Call(wrapper),
        None => release(&finding.allocated, files).or_else(|| written_release(&statement))?,
    };
    Some((call.of(variable), headline))
}

/// How a statement releases.
fn written_release(statement: &str) -> Option<Release> {
    match split_at_word(statement, "delete") {
        Some((_, rest)) if rest.trim_start().starts_with('[') => Some(Release::DeleteArray),
        Some(_) => Some(Release::Delete),
        None => split_at_word(statement, "free").map(|_| Release::Call("free".to_owned())),
    }
}

/// All names in `variable` are in scope below the lines `above`, and it is a
/// pointer, not a structure with a pointer in it. Of a member this is taken for
/// granted.
fn is_pointer(variable: &str, above: &[String]) -> bool {
    let meaning = |name: &str| scope::meaning(above.iter().map(String::as_str), name);
    match names(variable).as_slice() {
        [name] if *name == variable => matches!(meaning(name), Meaning::Visible { pointer: true, .. }),
        names => names.iter().all(|name| meaning(name) != Meaning::Ended),
    }
}

/// Elements that are known by their numbers are those of one run, unless the
/// source has the numbers too.
fn is_written(variable: &str, above: &[String]) -> bool {
    let end = |at: usize| variable[at..].find(']').map_or(variable.len(), |end| at + end + 1);
    let mut numbers = variable
        .match_indices('[')
        .filter(|(at, _)| variable[at + 1..].starts_with(|c: char| c.is_ascii_digit()));
    numbers.all(|(at, _)| above.iter().any(|line| line.contains(&variable[..end(at)])))
}

/// What takes the place of `variable` is another name for something that was got
/// through it.
fn may_be_same(variable: &str, statement: &str, above: &[String]) -> bool {
    let value = assigned(statement).unwrap_or_default().trim().trim_end_matches(';');
    let Some(base) = names(variable).first().copied().filter(|_| value.chars().all(is_word)) else {
        return false;
    };
    let function = above.iter().rev().take_while(|line| !line.starts_with('}'));
    let sets = |line: &&String| {
        let got = split_at_word(line, value).and_then(|(_, rest)| assigned(rest));
        got.is_some_and(|got| split_at_word(got, base).is_some())
    };
    !value.is_empty() && function.into_iter().any(|line| sets(&line))
}

/// Another variable got the pointer before, and stands in the lines `below`.
fn is_held_by_another(variable: &str, above: &[String], below: &[String]) -> bool {
    let function = above.iter().rev().take_while(|line| !line.starts_with('}'));
    let takes = |line: &String| {
        let (before, after) = split_at_word(line, variable)?;
        let is_whole = after.trim_start().chars().next().is_none_or(|next| ";),".contains(next));
        let taker = before.trim_end().strip_suffix('=')?.trim_end();
        let taker = taker[taker.trim_end_matches(is_word).len()..].to_owned();
        (is_whole && !taker.is_empty()).then_some(taker)
    };
    let is_used = |name: String| below.iter().any(|line| split_at_word(line, &name).is_some());
    function.filter_map(takes).any(is_used)
}

/// The names in an expression, but for members.
fn names(variable: &str) -> Vec<&str> {
    let starts = |at: usize| {
        let before = &variable[..at];
        variable[at..].starts_with(is_word)
            && !before.ends_with(|c| is_word(c) || c == '.')
            && !before.ends_with("->")
    };
    let name = |at: usize| variable[at..].split(|c| !is_word(c)).next().unwrap_or_default();
    (0..variable.len()).filter(|&at| variable.is_char_boundary(at) && starts(at)).map(name).collect()
}

/// Whether `variable` points to what was made by `new`, not to a part of it: of
/// one that has no type of its own, the way it was got must say so.
fn is_of_type(finding: &Finding, variable: &str, above: &[String]) -> bool {
    let Meaning::Visible { declaration, .. } = scope::meaning(above.iter().map(String::as_str), variable)
    else {
        return true;
    };
    let says = |word: &str| split_at_word(&declaration, word).is_some();
    let makes = |frame: &Frame| {
        let name = frame.function.as_deref().and_then(|name| name.split(['(', '<']).next());
        name.and_then(|name| name.rsplit(':').next()).is_some_and(says)
    };
    !says("auto") || says("new") || finding.allocated.stack.iter().any(makes)
}

/// The statement that loses the block also makes the next one, as in a loop:
/// before the first, a local may hold nothing that could be freed.
fn is_refilled(finding: &Finding, leak: &Frame, variable: &str) -> bool {
    let same_line = |frame: &Frame| (&frame.file, frame.line) == (&leak.file, leak.line);
    finding.cause == Cause::Overwritten
        && variable.chars().all(is_word)
        && finding.allocated.headline().is_some_and(same_line)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use leakscope_core::{Counted, SiblingFree};

    use super::*;

    /// The frames of the places that `source` marks by comments: `//lost`,
    /// `//alloc`, `//freed` and, for its caller, `//caller`.
    struct Source {
        name: &'static str,
        text: &'static str,
    }

    impl Source {
        fn frame(&self, mark: &str) -> Option<Frame> {
            let line = self.text.lines().position(|line| line.contains(mark))?;
            let header = self
                .text
                .lines()
                .take(line + 1)
                .filter(|line| line.starts_with(char::is_alphabetic))
                .last()?;
            let name = header.split('(').next()?.rsplit([' ', '*']).next()?;
            Some(Frame {
                function: Some(name.to_owned()),
                file: Some(self.name.to_owned()),
                line: Some(line as u32 + 1),
                ..Frame::default()
            })
        }

        fn place(&self, marks: &[&str]) -> Option<Place> {
            Some(Place::new(marks.iter().filter_map(|mark| self.frame(mark)).collect()))
                .filter(|place| !place.stack.is_empty())
        }

        fn finding(&self, cause: Cause, variable: &str) -> Finding {
            let allocated = self.place(&["//alloc", "//asked"]).expect("a mark");
            let freed = self.place(&["//freed", "//caller"]);
            Finding {
                leaked: self.place(&["//lost"]),
                exact: true,
                cause,
                variable: Some(variable.to_owned()),
                freed_elsewhere: freed.map(|place| SiblingFree { place, blocks: 1 }).into_iter().collect(),
                ..Finding::new(Kind::Lost, allocated)
            }
        }

        fn fix(&self, finding: &Finding, others: &[Finding]) -> Option<String> {
            let files = BTreeMap::from([(self.name.to_owned(), self.text.as_bytes().to_vec())]);
            let root = Root { finding, cycle: false, below: Vec::new() };
            fix(&root, others, &mut Files::new(&files), None)
        }
    }

    fn check(cause: Cause, variable: &str, text: &'static str, expected: &str) {
        let name = if text.contains("new ") { "a.cc" } else { "a.c" };
        let source = Source { name, text };
        let found = source.fix(&source.finding(cause, variable), &[]);
        assert_eq!(found.as_deref().unwrap_or(""), expected, "{text}");
    }

    const OVERWRITTEN: &str = "void f(char *p) {\n p = malloc(4); //alloc\n";

    #[test]
    fn a_pointer_is_released_before_it_is_overwritten() {
        let check = |statement: &str, variable: &str, expected: &str| {
            let text = format!("{OVERWRITTEN}{statement} //lost\n}}\n").leak();
            check(Cause::Overwritten, variable, text, expected);
        };
        check(" p = NULL;", "p", "add free(p) before line 3");
        check(" c->name = strdup(c->title);", "c->name", "add free(c->name) before line 3");
        check(" *out = 0;", "*out", "add free(*out) before line 3");
        check(" memset(c, 0, sizeof *c);", "c->name", "add free(c->name) before line 3");
        check(" if (x) p = NULL;", "p", "add free(p) in line 3, before that");
        // The new value is made of the old one.
        check(" p = p->next;", "p", "");
        check(" p = grow(p,\n  4);", "p", "");
        check(" c->name = join(c->name, x);", "c->name", "");
        check(" c->name = title(c);", "c->name", "");
        check(" t[i] = t[j];", "t[i]", "");
        // What is written where is not clear.
        check(" read(fd, &p, sizeof p);", "p", "");
        check(" p = NULL;", "a[i++]", "");
        check(" s->values[s->count++] = v;", "s->values[s->count]", "");
    }

    #[test]
    fn a_local_that_makes_itself_anew_may_be_empty_before() {
        let text = "void f(char *p) {\n for (;;)\n  p = malloc(4); //alloc //lost\n}\n";
        check(Cause::Overwritten, "p", text, "");
        check(Cause::Overwritten, "c->p", text, "add free(c->p) before line 3");
    }

    #[test]
    fn a_local_is_released_before_its_scope_ends() {
        let check = |statement: &str, expected: &str| {
            let text = format!("{OVERWRITTEN}{statement} //lost\n}}\n").leak();
            check(Cause::ScopeEnd, "p", text, expected);
        };
        check(" return -1;", "add free(p) before line 3");
        check(" if (!x) return -1;", "add free(p) in line 3, before that");
        check(" goto out;", "add free(p) before line 3");
        check("}", "add free(p) before line 3");
        check(" return p->size;", "");
        check(" return check(x,\n  p);", "");
        check(" { use(p); return 0; }", "");
    }

    #[test]
    fn a_structure_is_not_a_pointer() {
        let check = |declaration: &str, expected: &str| {
            let text = format!("void f() {{\n {declaration}\n g(p);\n p.x = malloc(4); //alloc\n}} //lost\n");
            check(Cause::ScopeEnd, "p", text.leak(), expected);
        };
        check("char *a, *p;", "add free(p) before line 5");
        check("char * const p = 0;", "add free(p) before line 5");
        check("auto p = make();", "add free(p) before line 5");
        check("struct pair p;", "");
        check("Widget p(1);", "");
        check("", "");
    }

    #[test]
    fn what_is_out_of_scope_is_not_released() {
        let text = "void f() {\n while (t *p = g()) {\n  p->x = malloc(4); //alloc\n }\n} //lost\n";
        check(Cause::ScopeEnd, "p", text, "");
        let text = "void f(t *h) {\n for (int i = 0; i < 4; i++)\n  h[i] = malloc(4); //alloc\n free(h); //lost\n}\n";
        check(Cause::HolderFreed, "h[i]", text, "");
        check(Cause::HolderFreed, "h[j]", text, "add free(h[j]) before line 4");
    }

    #[test]
    fn what_the_new_value_was_got_from_is_not_released() {
        let text = "void f(t *a) {\n t *p = a->top;\n while (p->next)\n  p = p->next;\n a->top = p; //lost\n a->top = malloc(4); //alloc\n}\n";
        check(Cause::Overwritten, "a->top", text, "");
        let text = "void f(t *a, t *p) {\n a->top = p; //lost\n a->top = malloc(4); //alloc\n}\n";
        check(Cause::Overwritten, "a->top", text, "add free(a->top) before line 2");
    }

    #[test]
    fn what_another_variable_still_has_is_not_released() {
        let check = |after: &str, expected: &str| {
            let text = format!(
                "void f(t *a) {{\n char *p;\n a->s = malloc(4); //alloc\n if ((p = a->s))\n  g(p);\n a->s = 0; //lost\n{after}\n}}\nint p;\n"
            );
            check(Cause::Overwritten, "a->s", text.leak(), expected);
        };
        check(" run(p);", "");
        check(" run(pp);", "add free(a->s) before line 6");
    }

    #[test]
    fn numbers_of_elements_are_those_of_one_run() {
        let text = "void f(t *a) {\n a[i].x = malloc(4); //alloc\n free(a); //lost\n}\n";
        check(Cause::HolderFreed, "a[2].x", text, "");
        let text = "void f(t *a) {\n a[2].x = malloc(4); //alloc\n free(a); //lost\n}\n";
        check(Cause::HolderFreed, "a[2].x", text, "add free(a[2].x) before line 3");
    }

    #[test]
    fn a_part_is_not_deleted() {
        let text = "void f(t *e) {\n e->a = new t(); //alloc\n auto *p = std::get_if<u>(&e->a);\n} //lost\n";
        check(Cause::ScopeEnd, "p", text, "");
        let text = "void f(t *e) {\n auto *p = new t(); //alloc\n} //lost\n";
        check(Cause::ScopeEnd, "p", text, "add delete p before line 3");
    }

    #[test]
    fn a_result_that_the_source_keeps_was_not_discarded() {
        let discarded = |statement: &str, expected: &str| {
            let text = format!("void f() {{\n {statement} //alloc //lost\n}}\n").leak();
            check(Cause::Discarded, "", text, expected);
        };
        discarded("strdup(x);", "keep the result of this call, and release it when it is no longer needed");
        discarded("char *p = strdup(x);", "");
        discarded("return make(x);", "");
    }

    #[test]
    fn what_a_block_holds_is_released_before_it() {
        let free = "void f(t *h) {\n h->name = strdup(x); //alloc\n free(h); //lost\n}\n";
        check(Cause::HolderFreed, "h->name", free, "add free(h->name) before line 3");
        check(Cause::HolderFreed, "g->name", free, "");
        let realloc = "void f(t *h) {\n h->name = strdup(x); //alloc\n h = realloc(h, 1); //lost\n}\n";
        check(Cause::HolderFreed, "h->name", realloc, "");
    }

    #[test]
    fn how_it_was_allocated_says_how_it_is_released() {
        let allocated = |allocation: &str, expected: &str| {
            let text = format!("void f() {{\n {allocation} //alloc\n return; //lost\n}}\n").leak();
            check(Cause::ScopeEnd, "p", text, expected);
        };
        allocated("auto *p = new Widget(a[1]);", "add delete p before line 3");
        allocated("auto *p = new (std::nothrow) char[n];", "add delete[] p before line 3");
        allocated("t *j = new t; auto *p = new int[n];", "");
        allocated("auto *p = new int[n], *q = new int[m];", "add delete[] p before line 3");
        allocated("auto *p = new Widget(strdup(name));", "");
        allocated("FILE *p = fopen(name, mode);", "add fclose(p) before line 3");
        allocated("char *p = read_all(file);", "");
        // The wrapper's name, not its body, is what a caller knows.
        let wrapped = |wrapper: &str| {
            format!(
                "void *{wrapper}(int n) {{\n return malloc(n); //alloc\n}}\nvoid f() {{\n char *p = {wrapper}(4); //asked\n return; //lost\n}}\n"
            )
        };
        check(Cause::ScopeEnd, "p", wrapped("xmalloc").leak(), "add free(p) before line 6");
        check(Cause::ScopeEnd, "p", wrapped("pool_malloc").leak(), "");
    }

    #[test]
    fn siblings_show_how_it_is_done() {
        // In the same function: another way out of it.
        let text = "int f(char *p) {\n p = make(); //alloc\n if (x)\n  return -1; //lost\n free(p); //freed\n return 0;\n}\n";
        check(Cause::ScopeEnd, "p", text, "add free(p) before line 4, as in a.c:5");
        let source = Source { name: "a.c", text };
        let mut finding = source.finding(Cause::ScopeEnd, "p");
        let elsewhere = Frame { function: Some("g".to_owned()), ..source.frame("//freed").expect("a mark") };
        finding.freed_elsewhere.push(SiblingFree { place: Place::new(vec![elsewhere]), blocks: 1 });
        assert_eq!(source.fix(&finding, &[]), None, "one of them had another owner");
        // By a function that releases such blocks.
        let text = "void item_free(t *i) {\n free(i); //freed\n}\n\
            void f(char *p) {\n p = make(); //alloc\n if (x)\n  return; //lost\n}\nvoid g() {\n item_free(q); //caller\n}\n";
        check(Cause::ScopeEnd, "p", text, "add item_free(p) before line 7, as in a.c:10");
        // By a function that is not given the block.
        let text = "void free_all() {\n free(i); //freed\n}\n\
            void f(char *p) {\n p = malloc(4); //alloc\n return; //lost\n}\nvoid g() {\n free_all(); //caller\n}\n";
        check(Cause::ScopeEnd, "p", text, "");
        let text = "void item_free(t *i) {\n free(i->name); //freed\n}\n\
            void f(char *p) {\n p = malloc(4); //alloc\n return; //lost\n}\nvoid g() {\n item_free(q); //caller\n}\n";
        check(Cause::ScopeEnd, "p", text, "");
        // By another owner, who may have got it through this very line.
        let text = "void g() {\n free(q); //freed\n}\nvoid f(char *p) {\n p = malloc(4); //alloc\n return; //lost\n}\n";
        check(Cause::ScopeEnd, "p", text, "");
        check(Cause::Overwritten, "p", text, "");
    }

    #[test]
    fn what_is_not_certain_is_not_suggested() {
        let source =
            Source { name: "a.c", text: "void f(char *p) {\n p = malloc(4); //alloc\n return; //lost\n}\n" };
        let certain = source.finding(Cause::ScopeEnd, "p");
        assert!(source.fix(&certain, &[]).is_some());
        let check = |finding: Finding| assert_eq!(source.fix(&finding, &[]), None, "{finding:?}");
        check(Finding { exact: false, ..certain.clone() });
        check(Finding { variable: None, ..certain.clone() });
        check(Finding { via: vec!["0".to_owned()], ..certain.clone() });
        check(Finding { kind: Kind::Forgotten, ..certain.clone() });
        check(Finding {
            counted: Some(Counted { references: 1, holders: 0, field: None }),
            ..certain.clone()
        });
        for cause in [Cause::Unwound, Cause::ThreadEnd, Cause::Returned, Cause::Unknown] {
            check(Finding { cause, ..certain.clone() });
        }
        // A sibling was kept, and may have come by here.
        let kept = Finding { kind: Kind::Forgotten, ..certain.clone() };
        assert_eq!(source.fix(&certain, &[certain.clone(), kept]), None);
        let unnamed = Source { name: "b.c", ..source };
        assert_eq!(unnamed.fix(&certain, &[]), None, "without source");
    }
}
