//! `getopt` and its kin, which look at arguments byte by byte.
//!
//! Done here as glibc does it, in the order of arguments or with those that
//! are no options moved behind. A letter that is an option is returned with
//! its term, so that the program's switch over it is one over the input; for
//! the name of a long option each name it could be is a constraint. Which
//! options there are is told, too ([`told`]).

mod told;

use core::ffi::{CStr, c_char, c_int};
use core::sync::atomic::{AtomicUsize, Ordering};

use leakscope_wire::symbolic::{Op, TakesArgument};

use super::{found, models, touch};
use crate::terms::{self, Known};
use crate::{inputs, shadow};

/// As in `<getopt.h>`.
#[repr(C)]
pub struct LongOption {
    name: *const c_char,
    takes: c_int,
    flag: *mut c_int,
    value: c_int,
}

/// What all of them are given.
struct Call {
    count: c_int,
    /// Of the count.
    term: u32,
    arguments: *mut usize,
    letters: usize,
    options: *const LongOption,
    index: *mut c_int,
    /// Long options may begin with one dash.
    only: Only,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Only {
    Short,
    Long,
}

models! {
    fn [getopt __posix_getopt](count: c_int, arguments: *mut usize, letters: usize) -> c_int = |[term]| {
        let call = Call {
            count, term, arguments, letters,
            options: core::ptr::null(), index: core::ptr::null_mut(), only: Only::Short,
        };
        // SAFETY: the caller's arguments.
        unsafe { next(&call) }
    };
    fn [getopt_long](
        count: c_int, arguments: *mut usize, letters: usize, options: *const LongOption, index: *mut c_int
    ) -> c_int = |[term]| {
        // SAFETY: the caller's arguments.
        unsafe { next(&Call { count, term, arguments, letters, options, index, only: Only::Short }) }
    };
    fn [getopt_long_only](
        count: c_int, arguments: *mut usize, letters: usize, options: *const LongOption, index: *mut c_int
    ) -> c_int = |[term]| {
        // SAFETY: the caller's arguments.
        unsafe { next(&Call { count, term, arguments, letters, options, index, only: Only::Long }) }
    };
}

unsafe extern "C" {
    static mut optarg: usize;
    static mut optind: c_int;
    static mut opterr: c_int;
    static mut optopt: c_int;
}

/// The rest of an argument with several letters, or 0.
static REST: AtomicUsize = AtomicUsize::new(0);
/// Arguments that were skipped: from the first to before the second.
static SKIPPED: [AtomicUsize; 2] = [AtomicUsize::new(1), AtomicUsize::new(1)];

const QUESTION: c_int = b'?' as c_int;
const COLON: c_int = b':' as c_int;

/// That a byte is, or is not, what is compared with.
fn decide(byte: Known, wanted: u8) -> bool {
    let is = byte.value == u64::from(wanted);
    let term = terms::equals(byte.term, wanted.into());
    found(if is { term } else { terms::not(term) });
    is
}

/// A byte of an argument, which may be thought longer than it is.
pub unsafe fn at(text: usize, index: usize) -> Known {
    // SAFETY: as the caller says.
    unsafe {
        let length = libc::strlen(text as *const _);
        if index <= length {
            return shadow::byte(text + index);
        }
        inputs::imagined(text, text + length, index - length).unwrap_or_default()
    }
}

/// Whether there is an argument of that number.
fn is_there(call: &Call, index: c_int) -> bool {
    let more = terms::any_binary(Op::Slt, 32, Known { value: index as u64, term: 0 }, call.count());
    let is = index < call.count;
    found(if is { more } else { terms::not(more) });
    is
}

impl Call {
    fn count(&self) -> Known {
        Known { value: self.count as u64, term: self.term }
    }
}

/// The argument of that number.
unsafe fn argument(call: &Call, index: c_int) -> usize {
    // SAFETY: below the count.
    unsafe { *call.arguments.add(index as usize) }
}

/// Whether an argument begins as an option does.
unsafe fn is_option(text: usize) -> bool {
    // SAFETY: as the caller says.
    unsafe {
        let (first, second) = (at(text, 0), at(text, 1));
        let is = first.value == u64::from(b'-') && second.value != 0;
        let term =
            terms::and(terms::equals(first.term, u64::from(b'-')), terms::not(terms::equals(second.term, 0)));
        found(if is { term } else { terms::not(term) });
        is
    }
}

unsafe fn is_end_of_options(text: usize) -> bool {
    // SAFETY: as the caller says.
    unsafe {
        let bytes = [at(text, 0), at(text, 1), at(text, 2)];
        let wanted = [b'-', b'-', 0];
        let mut term = 0;
        for (byte, wanted) in bytes.iter().zip(wanted) {
            if byte.term == 0 && byte.value != u64::from(wanted) {
                return false;
            }
            term = terms::and(term, terms::equals(byte.term, wanted.into()));
        }
        let is = bytes.iter().zip(wanted).all(|(byte, wanted)| byte.value == u64::from(wanted));
        found(if is { term } else { terms::not(term) });
        is
    }
}

fn skipped() -> [usize; 2] {
    [0, 1].map(|index| SKIPPED[index].load(Ordering::Relaxed))
}

fn set_skipped(first: usize, end: usize) {
    SKIPPED[0].store(first, Ordering::Relaxed);
    SKIPPED[1].store(end, Ordering::Relaxed);
}

/// Moves the arguments that were skipped behind those that came after them.
unsafe fn exchange(call: &Call, now: usize) {
    let [first, end] = skipped();
    // SAFETY: indices up to the count.
    let moved = unsafe { core::slice::from_raw_parts_mut(call.arguments.add(first), now - first) };
    shadow::clear(moved.as_ptr() as usize, 8 * moved.len());
    moved.rotate_left(end - first);
    set_skipped(first + (now - end), now);
}

unsafe fn next(call: &Call) -> (c_int, u32) {
    // SAFETY: as the caller says; libc's variables are the program's.
    unsafe {
        shadow::clear(&raw const optarg as usize, 8);
        for variable in [&raw const optind, &raw const optopt] {
            shadow::clear(variable as usize, 4);
        }
        optarg = 0;
        told::tell(call);
        if optind == 0 {
            optind = 1;
            REST.store(0, Ordering::Relaxed);
            set_skipped(1, 1);
        }
        let mut text = REST.load(Ordering::Relaxed);
        if text == 0 || *(text as *const u8) == 0 {
            if let Some(ended) = advance(call) {
                return ended;
            }
            text = argument(call, optind);
            if !call.options.is_null() {
                if decide(at(text, 1), b'-') {
                    return long(call, text + 2, c"--").unwrap_or((QUESTION, 0));
                }
                let is_more = *((text + 2) as *const u8) != 0 || !is_letter(call, text + 1);
                let is_long = call.only == Only::Long && is_more;
                if let Some(result) = is_long.then(|| long(call, text + 1, c"-")).flatten() {
                    return result;
                }
            }
            text += 1;
        }
        short(call, text)
    }
}

/// The long options with their numbers.
unsafe fn long_options(call: &Call) -> impl Iterator<Item = (usize, &'static LongOption)> + Clone {
    let (list, is_there) = (call.options, !call.options.is_null());
    // SAFETY: the list ends with an option without a name.
    let options = (0..).take_while(move |_| is_there).map(move |index| (index, unsafe { &*list.add(index) }));
    options.take_while(|(_, option)| !option.name.is_null())
}

/// Goes to the next argument that is an option; what is returned if there is
/// none.
unsafe fn advance(call: &Call) -> Option<(c_int, u32)> {
    // SAFETY: as the caller says.
    unsafe {
        let order = *(call.letters as *const u8);
        let in_order = order == b'+' || !libc::getenv(c"POSIXLY_CORRECT".as_ptr()).is_null();
        // The program may have gone back.
        let [first, end] = skipped().map(|index| index.min(optind as usize));
        set_skipped(first, end);
        if !in_order && order != b'-' {
            if first != end && end != optind as usize {
                exchange(call, optind as usize);
            } else if end != optind as usize {
                set_skipped(optind as usize, end);
            }
            while is_there(call, optind) && !is_option(argument(call, optind)) {
                optind += 1;
            }
            set_skipped(skipped()[0], optind as usize);
        }
        if is_there(call, optind) && is_end_of_options(argument(call, optind)) {
            optind += 1;
            let [first, end] = skipped();
            if first != end && end != optind as usize {
                exchange(call, optind as usize);
            } else if first == end {
                set_skipped(optind as usize, end);
            }
            set_skipped(skipped()[0], call.count as usize);
            optind = call.count;
        }
        if optind >= call.count {
            let [first, end] = skipped();
            if first != end {
                optind = first as c_int;
            }
            return Some((-1, 0));
        }
        let text = argument(call, optind);
        if is_option(text) {
            return None;
        }
        if in_order {
            return Some((-1, 0));
        }
        optarg = text;
        optind += 1;
        Some((1, 0))
    }
}

/// Whether `name` is that of an option, up to its end or `=`: as a value and a
/// term. A shorter name is one too where only one option begins with it, which
/// is found by libc's rules from the values.
unsafe fn names(name: usize, option: &LongOption) -> Known {
    // SAFETY: as the caller says.
    unsafe {
        let own = CStr::from_ptr(option.name).to_bytes();
        let mut is = Known { value: 1, term: 0 };
        for (index, &wanted) in own.iter().enumerate() {
            let byte = at(name, index);
            is.value &= u64::from(byte.value == u64::from(wanted));
            if byte.term == 0 && byte.value != u64::from(wanted) {
                return Known::default();
            }
            is.term = terms::and(is.term, terms::equals(byte.term, wanted.into()));
        }
        let end = at(name, own.len());
        is.value &= u64::from(end.value == 0 || end.value == u64::from(b'='));
        if end.term == 0 && is.value == 0 {
            return Known { value: 0, term: 0 };
        }
        let ends = terms::or(terms::equals(end.term, 0), terms::equals(end.term, u64::from(b'=')));
        Known { value: is.value, term: terms::and(is.term, ends) }
    }
}

/// A long option, written behind `dashes`; none if it may be a short one.
unsafe fn long(call: &Call, name: usize, dashes: &CStr) -> Option<(c_int, u32)> {
    // SAFETY: as the caller says.
    unsafe {
        let length = (0..).find(|&index| matches!((name as *const u8).add(index).read(), 0 | b'='))?;
        let given = core::slice::from_raw_parts(name as *const u8, length);
        touch(name, length + 1);
        let options = long_options(call);
        let (mut exact, mut partial) = (None, None);
        let mut is_ambiguous = false;
        for (index, option) in options.clone() {
            let own = CStr::from_ptr(option.name).to_bytes();
            let is = names(name, option);
            found(if is.value != 0 { is.term } else { terms::not(is.term) });
            if own == given {
                exact = Some((index, option));
                break;
            }
            if own.starts_with(given) {
                match partial {
                    None => partial = Some((index, option)),
                    Some((_, other)) => is_ambiguous |= call.only == Only::Long || !other.means(option),
                }
            }
        }
        if exact.is_none() && is_ambiguous {
            if complains(call) {
                say(call, c"%s: option '%s%s' is ambiguous; possibilities:", dashes, name as *const c_char);
                for (_, option) in options {
                    if CStr::from_ptr(option.name).to_bytes().starts_with(given) {
                        libc::fprintf(stderr, c" '%s%s'".as_ptr(), dashes.as_ptr(), option.name);
                    }
                }
                libc::fprintf(stderr, c"\n".as_ptr());
            }
            return Some(refused(0));
        }
        let Some((index, option)) = exact.or(partial) else {
            if dashes == c"-" && is_letter(call, name) {
                return None;
            }
            if complains(call) {
                say(call, c"%s: unrecognized option '%s%s'\n", dashes, name as *const c_char);
            }
            return Some(refused(0));
        };
        optind += 1;
        REST.store(0, Ordering::Relaxed);
        if decide(at(name, length), b'=') {
            if option.takes == 0 {
                if complains(call) {
                    say(call, c"%s: option '%s%s' doesn't allow an argument\n", dashes, option.name);
                }
                optopt = option.value;
                return Some((QUESTION, 0));
            }
            optarg = name + length + 1;
        } else if option.takes == 1 {
            if !is_there(call, optind) {
                if complains(call) {
                    say(call, c"%s: option '%s%s' requires an argument\n", dashes, option.name);
                }
                optopt = option.value;
                return Some((missing(call), 0));
            }
            optarg = argument(call, optind);
            optind += 1;
        }
        if !call.index.is_null() {
            shadow::clear(call.index as usize, 4);
            *call.index = index as c_int;
        }
        if !option.flag.is_null() {
            shadow::clear(option.flag as usize, 4);
            *option.flag = option.value;
            return Some((0, 0));
        }
        Some((option.value, 0))
    }
}

impl LongOption {
    /// Whether another option does the same.
    fn means(&self, other: &LongOption) -> bool {
        self.takes == other.takes && self.flag == other.flag && self.value == other.value
    }
}

/// What is returned for an argument that is no option.
unsafe fn refused(letter: c_int) -> (c_int, u32) {
    REST.store(0, Ordering::Relaxed);
    // SAFETY: libc's variables.
    unsafe {
        optind += 1;
        optopt = letter;
    }
    (QUESTION, 0)
}

/// Whether the first byte of a text is an option's letter.
unsafe fn is_letter(call: &Call, text: usize) -> bool {
    // SAFETY: as the caller says.
    unsafe {
        let letter = *(text as *const u8);
        letter != 0 && letters(call).any(|(own, _)| own == letter)
    }
}

/// The letters that are options.
unsafe fn letters(call: &Call) -> impl Iterator<Item = (u8, TakesArgument)> {
    // SAFETY: as the caller says.
    let text = unsafe { list(call) };
    text.iter().enumerate().filter(|&(_, &byte)| byte != b':' && byte != b';').map(move |(index, &byte)| {
        let colons = text[index + 1..].iter().take_while(|&&byte| byte == b':').count();
        (byte, [TakesArgument::No, TakesArgument::Always, TakesArgument::Optionally][colons.min(2)])
    })
}

unsafe fn short(call: &Call, text: usize) -> (c_int, u32) {
    // SAFETY: as the caller says.
    unsafe {
        let letter = shadow::byte(text);
        touch(text, 1);
        REST.store(text + 1, Ordering::Relaxed);
        let own = letters(call).find(|&(own, _)| letter.value == u64::from(own));
        let of = |wanted: Option<TakesArgument>| {
            letters(call)
                .filter(|&(_, takes)| wanted.is_none_or(|wanted| wanted == takes))
                .fold(0, |any, (own, _)| terms::or(any, terms::equals(letter.term, own.into())))
        };
        let Some((_, takes)) = own else {
            found(terms::not(of(None)));
            if complains(call) {
                let format = c"%s: invalid option -- '%c'\n";
                libc::fprintf(stderr, format.as_ptr(), argument(call, 0), letter.value as c_int);
            }
            optopt = letter.value as c_int;
            finish(text);
            return (QUESTION, 0);
        };
        found(of(Some(takes)));
        let term = terms::cast(Op::ZExt, 32, letter.term);
        let rest = at(text, 1);
        if takes == TakesArgument::No {
            finish(text);
            return (letter.value as c_int, term);
        }
        let is_attached = !decide(rest, 0);
        REST.store(0, Ordering::Relaxed);
        optind += 1;
        if is_attached {
            optarg = text + 1;
        } else if takes == TakesArgument::Always {
            if !is_there(call, optind) {
                if complains(call) {
                    let format = c"%s: option requires an argument -- '%c'\n";
                    libc::fprintf(stderr, format.as_ptr(), argument(call, 0), letter.value as c_int);
                }
                optopt = letter.value as c_int;
                return (missing(call), 0);
            }
            optarg = argument(call, optind);
            optind += 1;
        }
        (letter.value as c_int, term)
    }
}

/// Goes to the next argument after the last letter of one.
unsafe fn finish(text: usize) {
    // SAFETY: as the caller says.
    unsafe {
        if decide(at(text, 1), 0) {
            REST.store(0, Ordering::Relaxed);
            optind += 1;
        }
    }
}

/// What is returned where an argument is missing.
unsafe fn missing(call: &Call) -> c_int {
    // SAFETY: as the caller says.
    if unsafe { list(call) }.first() == Some(&b':') { COLON } else { QUESTION }
}

/// Whether what is wrong is said.
unsafe fn complains(call: &Call) -> bool {
    // SAFETY: as the caller says.
    unsafe { opterr != 0 && list(call).first() != Some(&b':') }
}

/// Says what is wrong, as libc does.
unsafe fn say(call: &Call, format: &CStr, dashes: &CStr, name: *const c_char) {
    // SAFETY: a format of three strings.
    unsafe { libc::fprintf(stderr, format.as_ptr(), argument(call, 0), dashes.as_ptr(), name) };
}

/// The letters without what says in which order arguments come.
unsafe fn list(call: &Call) -> &'static [u8] {
    // SAFETY: as the caller says.
    let list = unsafe { CStr::from_ptr(call.letters as *const c_char) }.to_bytes();
    list.strip_prefix(b"+").or(list.strip_prefix(b"-")).unwrap_or(list)
}

unsafe extern "C" {
    static stderr: *mut libc::FILE;
}
