//! The words that the terminal and the SARIF report share.

use std::path::Path;

use leakscope_core::{Cause, Finding, Frame, Kind};

use crate::paths;

/// `1,234,567`.
pub(crate) fn number(value: u64) -> String {
    let digits = value.to_string();
    let mut number = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            number.push(',');
        }
        number.push(digit);
    }
    number
}

/// `1 block`, `2 blocks`.
pub(crate) fn count(value: u64, noun: &str) -> String {
    let plural = if value == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", number(value))
}

/// `2 blocks, 48 bytes`.
pub(crate) fn size(blocks: u64, bytes: u64) -> String {
    format!("{}, {}", count(blocks, "block"), count(bytes, "byte"))
}

/// So many of a kind are named, the rest is counted or left out.
pub(crate) const FEW: usize = 3;

/// `a, b, c, …`.
pub(crate) fn few<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut names: Vec<String> = names.take(FEW + 1).map(printable).collect();
    if let Some(last) = names.get_mut(FEW) {
        *last = "…".to_owned();
    }
    names.join(", ")
}

/// How the last pointer went, to be read beside the place where it did; not
/// exact where code that was not seen had it afterwards.
pub(crate) fn lost_here(finding: &Finding) -> String {
    if is_claimed(finding) {
        return "the leak point of the warning".to_owned();
    }
    let here = if finding.exact { "lost here" } else { "last seen here" };
    format!("{here}: {}", last_pointer(finding))
}

/// Whether the leak point is what another tool says, who does not say how the
/// pointer goes there.
pub(crate) fn is_claimed(finding: &Finding) -> bool {
    finding.kind == Kind::Warning && !finding.exact
}

/// `` `list`, the last pointer, is overwritten ``.
pub(crate) fn last_pointer(finding: &Finding) -> String {
    let (cause, variable) = (finding.cause, finding.variable.as_deref());
    if is_not_released(finding) && cause != Cause::NotReleased {
        let with = if variable.is_some() { "with" } else { "a pointer with" };
        return format!("{} without dropping it", died(cause, variable, &format!("{with} a reference")));
    }
    let is_zero = finding.counted.as_ref().is_some_and(|counted| counted.references == 0);
    if is_zero && cause == Cause::NotReleased {
        return "the count is zero, and the block is used for the last time without being freed".to_owned();
    }
    let which = match cause {
        Cause::NotReleased => "a holder",
        _ if finding.exact => "the last pointer",
        _ => "the last known pointer",
    };
    died(cause, variable, which)
}

/// Whether the place is that of a forgotten reference, and not of the last
/// pointer.
pub(crate) fn is_not_released(finding: &Finding) -> bool {
    finding.evidence.contains_key("not_released")
}

/// How `which` pointer, held by `variable`, went.
pub(crate) fn died(cause: Cause, variable: Option<&str>, which: &str) -> String {
    let pointer = match variable {
        Some(variable) => format!("`{}`, {which},", printable(variable)),
        None => which.to_owned(),
    };
    let how = match cause {
        Cause::Overwritten => "is overwritten",
        Cause::ScopeEnd => "goes out of scope",
        Cause::HolderFreed => "is in the block that is freed",
        Cause::Discarded => "is the result of a call and is not kept",
        Cause::Returned => "dies with this return",
        Cause::Unwound => "is left behind by this jump or exception",
        Cause::ThreadEnd => "dies with its thread",
        Cause::NotReleased => "is used for the last time, and its reference is not dropped",
        Cause::Unknown => "is lost",
    };
    format!("{pointer} {how}")
}

/// What is said of candidates, and of the pointer that went there: a run knows
/// one place, a warning may mean several.
pub(crate) fn also(finding: &Finding) -> (&'static str, &'static str) {
    match finding.kind {
        Kind::Warning => ("also lost", "the last pointer"),
        _ => ("also possible", "an earlier pointer"),
    }
}

/// `12 siblings are freed here`: blocks of the same allocation.
pub(crate) fn freed_here(finding: &Finding, blocks: u64) -> String {
    if finding.kind == Kind::Warning {
        return "freed here on another way".to_owned();
    }
    let verb = if blocks == 1 { "is" } else { "are" };
    format!("{} {verb} freed here", count(blocks, "sibling"))
}

/// `make_node (list.c:12)`, or `xmlParse in libxml2.so.2+0x1234` where no
/// line is known.
pub(crate) fn frame(frame: &Frame, base: Option<&Path>) -> String {
    let name = frame.function.as_deref().map(|name| short_name(&printable(name)));
    match (name, location(frame, base)) {
        (Some(name), Some(at)) if frame.file.is_some() => format!("{name} ({at})"),
        (Some(name), Some(at)) => format!("{name} in {at}"),
        (Some(name), None) => name,
        (None, Some(at)) => at,
        (None, None) => "unknown code".to_owned(),
    }
}

/// `list.c:12`, else `libxml2.so.2+0x1234`.
pub(crate) fn location(frame: &Frame, base: Option<&Path>) -> Option<String> {
    if let Some(file) = &frame.file {
        let file = printable(&paths::near(file, base));
        return Some(match frame.line {
            Some(line) => format!("{file}:{line}"),
            None => file,
        });
    }
    let module = printable(frame.module.as_deref()?);
    Some(match frame.offset {
        Some(offset) => format!("{module}+{offset:#x}"),
        None => module,
    })
}

/// The name of a signal, by the numbers of Linux on x86-64.
pub(crate) fn signal(number: i32) -> Option<&'static str> {
    Some(match number {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        5 => "SIGTRAP",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        10 => "SIGUSR1",
        11 => "SIGSEGV",
        12 => "SIGUSR2",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        24 => "SIGXCPU",
        25 => "SIGXFSZ",
        31 => "SIGSYS",
        _ => return None,
    })
}

/// Names come from the target: they must not steer the terminal.
pub(crate) fn printable(name: &str) -> String {
    name.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

/// Names up to this length stay whole in a headline.
const SHORT: usize = 48;

/// A C++ name made fit for a headline: parameters go first, then template
/// arguments are folded to `<…>`.
fn short_name(name: &str) -> String {
    if name.chars().count() <= SHORT {
        return name.to_owned();
    }
    let without = fold(name, '(', ')');
    if without.chars().count() <= SHORT { without } else { fold(&without, '<', '>') }
}

/// `name` with what stands between the outermost `open` and `close` folded to
/// `…`. The operators that are written with these characters stay.
fn fold(name: &str, open: char, close: char) -> String {
    let mut folded = String::new();
    let mut depth = 0_u32;
    for c in name.chars() {
        let operator = depth == 0
            && ["operator", "operator<", "operator-", "operator>"].iter().any(|end| folded.ends_with(end));
        if c == open && !operator {
            if depth == 0 {
                folded.push(c);
                folded.push('…');
            }
            depth += 1;
        } else if c == close && depth > 0 {
            depth -= 1;
            if depth == 0 {
                folded.push(c);
            }
        } else if depth == 0 {
            folded.push(c);
        }
    }
    folded.replace("(…)", "()")
}

/// How stale blocks lay idle, in heap accesses.
pub fn staleness(finding: &Finding) -> Option<String> {
    let evidence = |name: &str| finding.evidence.get(name);
    let value = |name: &str| evidence(name).and_then(serde_json::Value::as_u64);
    let idle = |name: &str| evidence("idle")?.get(name)?.as_u64();
    let (least, most) = (idle("least")?, idle("most")?);
    let range = if least == most { number(least) } else { format!("{} to {}", number(least), number(most)) };
    let mut text = format!("idle for {range} accesses after {} in use", number(value("active")?));
    let never = value("never_accessed").unwrap_or(0);
    if never > 0 {
        text += &format!("; no access to {} of them was seen", number(never));
    }
    match evidence("trend").and_then(serde_json::Value::as_str) {
        Some("growing") => text += "; growing",
        Some("flat") => text += "; not growing",
        _ => {}
    }
    Some(text)
}

/// What was accessed before the last access to stale blocks, one line each.
pub fn burst_history(finding: &Finding) -> Vec<String> {
    let all = finding.evidence.get("burst_history").and_then(serde_json::Value::as_array);
    let text = |at: &serde_json::Value| {
        let [function, file] = ["function", "file"].map(|name| at[name].as_str());
        let line = at["line"].as_u64().map_or_else(String::new, |line| format!(":{line}"));
        Some(format!("{} {}{line}", short_name(function?), file.unwrap_or("?")))
    };
    all.into_iter().flatten().filter_map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_separators_and_nouns_their_plural() {
        let check = |value, expected| assert_eq!(count(value, "byte"), expected);
        check(0, "0 bytes");
        check(1, "1 byte");
        check(999, "999 bytes");
        check(1000, "1,000 bytes");
        check(1234567, "1,234,567 bytes");
    }

    #[test]
    fn long_names_fold() {
        let check = |name, expected| assert_eq!(short_name(name), expected);
        check("make_node", "make_node");
        check("Cache<int, long>::insert(int, long)", "Cache<int, long>::insert(int, long)");
        check("Index::insert(std::string const&, std::string const&, bool)", "Index::insert()");
        check(
            "Cache<std::basic_string<char>, std::vector<std::unique_ptr<Entry>>>::insert(std::string const&)",
            "Cache<…>::insert()",
        );
        check(
            "operator<< <std::basic_string<char>, std::vector<int>>(std::ostream&, Table const&)",
            "operator<< <…>()",
        );
        check(
            "Holder<std::basic_string<char>, std::vector<std::string>>::operator->(Very, Many, Things)",
            "Holder<…>::operator->()",
        );
    }

    #[test]
    fn frames_say_what_is_known() {
        let check =
            |frame: Frame, expected| assert_eq!(super::frame(&frame, Some(Path::new("/src"))), expected);
        let name = || Some("xmlParse".to_owned());
        let module = || Some("libxml2.so.2".to_owned());
        let file = || Some("/src/parser.c".to_owned());
        check(
            Frame { function: name(), file: file(), line: Some(9), module: module(), ..Frame::default() },
            "xmlParse (parser.c:9)",
        );
        check(
            Frame { function: name(), file: file(), module: module(), ..Frame::default() },
            "xmlParse (parser.c)",
        );
        check(
            Frame { function: name(), module: module(), offset: Some(0x1234), ..Frame::default() },
            "xmlParse in libxml2.so.2+0x1234",
        );
        check(Frame { module: module(), offset: Some(0x1234), ..Frame::default() }, "libxml2.so.2+0x1234");
        check(Frame { function: name(), ..Frame::default() }, "xmlParse");
        check(Frame { function: Some("\u{1b}[31mred".to_owned()), ..Frame::default() }, "\u{fffd}[31mred");
        check(Frame::default(), "unknown code");
    }
}
