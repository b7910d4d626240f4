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

use leakscope_core::{Cause, Finding, Frame, Kind, Place, Verdict};

use crate::released;
use crate::scope::{self, Meaning};
use crate::snippet::Files;
use crate::statement::{
    assigned, declares_pointer, is_free_to_go, is_plain, is_word, split_at_word, stands_alone,
};
use crate::tree::Root;
use crate::wording;

/// What to do at the leak place of `root`, as an order to the reader.
/// `all` are the findings of the report.
pub(crate) fn fix(root: &Root, all: &[Finding], files: &mut Files, base: Option<&Path>) -> Option<String> {
    let finding = root.finding;
    let leaked = finding.leaked.as_ref()?;
    let is_counted = finding.counted.is_some() || finding.evidence.contains_key("may_be_counted");
    let is_lost = match finding.kind {
        Kind::Lost => true,
        Kind::Warning => !matches!(finding.verdict, Some(Verdict::Bloat | Verdict::LikelyNotLeak)),
        _ => false,
    };
    // Of a cycle one block is not enough.
    if !is_lost || !finding.exact || is_counted || !finding.via.is_empty() || root.cycle {
        return None;
    }
    if let Some(by) = finding.evidence.get("refused_by").and_then(serde_json::Value::as_str) {
        let order = format!("look whether `{}` kept it, and release it if not", wording::printable(by));
        return Some(order);
    }
    if finding.cause == Cause::Discarded {
        // Optimised code may not keep what the source does.
        let is_kept = |statement: String| statement.starts_with("return") || assigned(&statement).is_some();
        let keeps = leaked.headline().and_then(|frame| files.statement(frame)).is_some_and(is_kept);
        let order = "keep the result of this call, and release it when it is no longer needed";
        // An object of which a function of a library dropped what it held is no result;
        // and one of another statement is what this one was given.
        let is_result = finding.variable.is_none() && is_made_here(&finding.allocated, leaked);
        return (!keeps && is_result).then(|| order.to_owned());
    }
    if all.iter().any(|other| passes_too(other, finding, leaked)) {
        return None;
    }
    let variable = finding.variable.as_deref().filter(|name| is_plain(name))?;
    let frame =
        leaked.stack.first().filter(|&frame| leaked.inner.is_empty() && leaked.headline() == Some(frame))?;
    let statement = files.statement(frame)?;
    let above = files.lines_above(frame);
    if !is_free_to_go(finding.cause, variable, &statement)
        || !is_pointer(variable, &above) && !gets_block(finding, variable, frame, &above, files)
        || !is_written(variable, &above)
        || finding.cause == Cause::Overwritten && may_be_same(variable, &statement, &above)
        || finding.cause != Cause::ScopeEnd && is_held_by_another(variable, &above, &files.lines_below(frame))
        || finding.cause == Cause::ScopeEnd && statement.starts_with('}') && !scope::is_reached(&above)
        || is_used_further_out(finding, leaked)
        || is_moved(finding, variable, frame, &above)
        || is_copied(variable, &above)
        || released::is_behind_one(finding, frame, &above)
        || released::may_be_taken(variable, &above)
        || finding.cause != Cause::ScopeEnd && released::goes_on_there(finding, leaked, files)
    {
        return None;
    }
    let holds = !root.below.is_empty() || finding.evidence.contains_key("holds");
    let (call, model) = match finding.freed_elsewhere.first() {
        // Other calls may change or release something here with nothing in it.
        _ if finding.kind == Kind::Warning && finding.cause != Cause::ScopeEnd && leaked.stack.len() > 1 => {
            return None;
        }
        // So may other ways, unless the function releases that variable further on.
        _ if finding.kind == Kind::Warning => {
            let (call, at) = as_on_another_way(finding, variable, files)?;
            let first = if holds && call.starts_with("free(") { ", after freeing what it holds" } else { "" };
            let at = wording::location(at, base).map(|at| format!(", as in {at}")).unwrap_or_default();
            (call, format!("{first}{at}"))
        }
        Some(sibling) => {
            let (call, at) = as_sibling(finding, &sibling.place, frame, variable, files)?;
            let leaves = holds && call.starts_with("free(");
            let first = if leaves { ", after freeing what it holds" } else { "" };
            let at = wording::location(at, base).map(|at| format!(", as in {at}")).unwrap_or_default();
            (call, format!("{first}{at}"))
        }
        None if is_refilled(finding, frame, variable) => return None,
        None if holds => {
            (release(&finding.allocated, files)?.of(variable), ", after freeing what it holds".to_owned())
        }
        None => (release(&finding.allocated, files)?.of(variable), String::new()),
    };
    if call.starts_with("delete") && !is_of_type(finding, variable, &above) {
        return None;
    }
    let line = frame.line?;
    let call = match unknown_index(variable, &above) {
        Some(index) => format!("{call} for each {index}"),
        None => call,
    };
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

    /// A statement says so, and not a macro, which may do more.
    fn is_in(&self, statement: &str) -> bool {
        let word = match self {
            Release::Call(function) => function,
            Release::Delete | Release::DeleteArray => "delete",
        };
        split_at_word(statement, word).is_some()
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
        let statement = files.statement(headline)?;
        let release = release(&finding.allocated, files)?;
        let is_it = matches!(&release, Release::Call(function) if released_by.ends_with(function));
        return (is_it && release.is_in(&statement)).then(|| (release.of(variable), headline));
    }
    let statement = files.statement(headline)?;
    if split_at_word(&statement, "realloc").is_some() {
        return None;
    }
    if let Some(call) = as_same_member(&statement, variable, headline, leak, files) {
        return Some((call, headline));
    }
    let is_here = |frame: &Frame| (&frame.function, &frame.file) == (&leak.function, &leak.file);
    let name = headline.function.as_deref()?;
    let releases = RELEASERS.iter().any(|word| name.to_ascii_lowercase().contains(word));
    if releases && !is_here(headline) {
        let at = freed.stack.iter().position(|frame| frame == headline)?;
        let caller = freed.stack.get(at + 1).filter(|frame| !frame.system)?;
        let (_, arguments) =
            split_at_word(&files.statement(caller)?, name).map(|(a, b)| (a.to_owned(), b.to_owned()))?;
        let above = files.lines_above(leak);
        let is_declared =
            headline.file != leak.file || above.iter().any(|line| split_at_word(line, name).is_some());
        let takes_block = is_declared
            && released::is_given_one(&arguments)
            && released::frees_a_parameter(headline, files)
            && !released::was_called(name, variable, &above);
        return takes_block.then(|| (format!("{name}({variable})"), caller));
    }
    let all_here =
        finding.freed_elsewhere.iter().all(|sibling| sibling.place.headline().is_some_and(is_here));
    let is_local = finding.cause == Cause::ScopeEnd || !variable.contains(['>', '.', '[']);
    if is_local && !all_here || !is_here(headline) && released::frees_a_parameter(headline, files) {
        return None;
    }
    let innermost = freed.stack.first().filter(|frame| frame.is_wrapper());
    let call = match innermost.and_then(|frame| frame.function.clone()) {
        Some(wrapper) => Release::Call(wrapper),
        None => release(&finding.allocated, files)
            .filter(|release| release.is_in(&statement))
            .or_else(|| written_release(&statement))?,
    };
    Some((call.of(variable), headline))
}

/// How `variable`, or the same member of another element, is released on another
/// way, and where that is.
fn as_on_another_way<'f>(
    finding: &'f Finding,
    variable: &str,
    files: &mut Files,
) -> Option<(String, &'f Frame)> {
    finding.freed_elsewhere.iter().find_map(|sibling| {
        let frame = sibling.place.headline()?;
        Some((same_release(&files.statement(frame)?, variable)?, frame))
    })
}

/// What releases the member `variable`, if the statement frees or deletes that member
/// of another element.
fn as_same_member(
    statement: &str,
    variable: &str,
    freed: &Frame,
    leak: &Frame,
    files: &mut Files,
) -> Option<String> {
    let (holder, _) = variable.rsplit_once("->")?;
    let call = same_release(statement, variable)?;
    // What it left as it is has another owner.
    let was_called = released::was_called(freed.function.as_deref()?, holder, &files.lines_above(leak));
    // A macro may do more.
    (written_release(&call).is_some() && !was_called).then_some(call)
}

/// What releases `variable`, if the statement releases it or the same member of
/// another element.
fn same_release(statement: &str, variable: &str) -> Option<String> {
    let call = statement.strip_suffix(';')?.trim();
    let deleted =
        ["delete[] ", "delete "].iter().find_map(|word| Some((*word, call.strip_prefix(word)?, "")));
    let (word, given, end) = deleted.or_else(|| {
        let (function, given) = call.strip_suffix(')')?.split_once('(')?;
        function.trim().chars().all(is_word).then_some((&call[..function.len() + 1], given, ")"))
    })?;
    let given = given.trim();
    let member = variable.rfind("->").map(|at| &variable[at..]);
    let is_meant =
        given == variable || is_plain(given) && member.is_some_and(|member| given.ends_with(member));
    is_meant.then(|| format!("{word}{variable}{end}"))
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
        names => {
            let is_base = |name: &str, then: &str| {
                variable
                    .trim_start_matches(['*', '('])
                    .strip_prefix(name)
                    .is_some_and(|rest| rest.starts_with(then))
            };
            names.iter().all(|name| match meaning(name) {
                Meaning::Ended => false,
                Meaning::Visible { pointer, .. } => !pointer || !is_base(name, "."),
                // What optimised code has in the frame of a caller has no name here.
                Meaning::Unknown => !is_base(name, "."),
            }) && !is_object(variable, above)
        }
    }
}

/// The function with the leak gives `variable`, which is in scope, what it
/// allocates: whatever its type is called, it is a pointer.
fn gets_block(finding: &Finding, variable: &str, leak: &Frame, above: &[String], files: &mut Files) -> bool {
    if !matches!(scope::meaning(above.iter().map(String::as_str), variable), Meaning::Visible { .. }) {
        return false;
    }
    let own = |frame: &&Frame| (&frame.function, &frame.file) == (&leak.function, &leak.file);
    let statement = finding.allocated.headline().filter(own).and_then(|frame| files.statement(frame));
    let Some((_, value)) = statement.as_deref().and_then(|statement| split_at_word(statement, variable))
    else {
        return false;
    };
    let mut value = value.trim_start().strip_prefix('=').unwrap_or_default().trim_start();
    while let Some((_, cast)) = value.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
        value = cast.trim_start();
    }
    let function = &value[..value.find(|c| !is_word(c)).unwrap_or(value.len())];
    taken_back_by(function).is_some()
}

/// The last member of `variable` is declared above, and not as a pointer.
fn is_object(variable: &str, above: &[String]) -> bool {
    let Some((_, member)) = variable.rsplit_once(['>', '.']).filter(|(_, name)| name.chars().all(is_word))
    else {
        return false;
    };
    let declared = above.iter().filter(|line| line.trim_end().ends_with(';') && assigned(line).is_none());
    let mut kinds = declared.filter_map(|line| declares_pointer(line, member)).peekable();
    kinds.peek().is_some() && kinds.all(|is_pointer| !is_pointer)
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

/// The last index of `variable`, if nothing above declares it: a name for all of
/// its values.
fn unknown_index<'v>(variable: &'v str, above: &[String]) -> Option<&'v str> {
    let (_, rest) = variable.rsplit_once('[')?;
    let index = rest.split_once(']')?.0;
    let is_name =
        index.starts_with(|c: char| is_word(c) && !c.is_ascii_digit()) && index.chars().all(is_word);
    let meaning = || scope::meaning(above.iter().map(String::as_str), index);
    (is_name && meaning() == Meaning::Unknown).then_some(index)
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

/// The function with the leak did not get the block in another statement.
fn is_made_here(allocated: &Place, leaked: &Place) -> bool {
    let Some(leak) = leaked.headline() else { return false };
    let own = |frame: &&Frame| (&frame.function, &frame.file) == (&leak.function, &leak.file);
    allocated.stack.iter().find(own).is_none_or(|frame| frame.line == leak.line)
}

/// The function copied the record whose member `variable` is: whoever got the copy may have the block.
fn is_copied(variable: &str, above: &[String]) -> bool {
    let Some((record, _)) = variable.split_once('.') else { return false };
    let mut function = above.iter().rev().take_while(|line| !line.starts_with('}'));
    let copies = |statement: &str| assigned(statement).is_some_and(|value| value.trim() == record);
    function.any(|line| line.split(';').any(copies))
}

/// The function made `variable` lead to another place than the start of the block,
/// or may have: it counted it up or down, added to it, or gave its address away.
fn is_moved(finding: &Finding, variable: &str, leak: &Frame, above: &[String]) -> bool {
    if !variable.chars().all(is_word) {
        return false;
    }
    let own = |frame: &Frame| (&frame.function, &frame.file) == (&leak.function, &leak.file);
    let made = finding.allocated.stack.iter().find(|frame| own(frame)).and_then(|frame| frame.line);
    let function = above.iter().enumerate().rev().take_while(|(_, line)| !line.starts_with('}'));
    let moves = |before: &str, after: &str, line: usize| {
        let (before, after) = (before.trim_end(), after.trim_start());
        let is_given = before.ends_with('&') && !before.ends_with("&&") && made != Some(line as u32);
        let is_sum = || assigned(&format!("x {after}")).is_some_and(|value| value.contains(" + "));
        is_given
            || ["++", "--", "+=", "-="].iter().any(|sign| after.starts_with(sign))
            || ["++", "--"].iter().any(|sign| before.ends_with(sign))
            || after.starts_with('=') && is_sum()
    };
    let any_moves = |(index, line): (usize, &String)| {
        let mut rest = line.as_str();
        while let Some((before, after)) = split_at_word(rest, variable) {
            if moves(before, after, index + 1) {
                return true;
            }
            rest = after;
        }
        false
    };
    function.into_iter().any(any_moves)
}

/// A block of the same allocation is kept, or was until no code of the user's ran,
/// and came by the leak's place, or may have: it was allocated in the same way from
/// inside of the function with the leak.
fn passes_too(other: &Finding, finding: &Finding, leaked: &Place) -> bool {
    let line = |place: &Place| place.headline().map(|frame| (frame.file.clone(), frame.line));
    let function = leaked.headline().map(|frame| &frame.function);
    let way = |place: &Place| {
        let end = place.stack.iter().position(|frame| Some(&frame.function) == function)?;
        Some(place.stack[..=end].iter().map(|frame| (frame.file.clone(), frame.line)).collect::<Vec<_>>())
    };
    let same_way = way(&other.allocated).is_some_and(|other| Some(other) == way(&finding.allocated));
    let is_kept = match other.kind {
        Kind::Forgotten => true,
        _ => !other.exact && other.leaked.as_ref().map(line) == Some(line(leaked)),
    };
    is_kept && (other.allocated == finding.allocated || same_way)
}

/// A function that called the one with the leak uses the block further down:
/// optimised code may have read before what the source reads after.
fn is_used_further_out(finding: &Finding, leaked: &Place) -> bool {
    let Some(used) = finding.last_used.as_ref().and_then(Place::headline) else { return false };
    let is_below = |frame: &Frame| {
        (&frame.function, &frame.file) == (&used.function, &used.file) && frame.line < used.line
    };
    leaked.stack.iter().skip(1).any(is_below)
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
mod tests;
