//! The `scanf` family.
//!
//! What the text looks like (where numbers begin and end, what is space)
//! becomes constraints; numbers, characters and strings keep their terms.
//! Floats are read as they are. Formats with positions (`%1$d`) or sets of
//! wide characters are not known here: the scan ends there.

use core::ffi::c_int;

use leakscope_wire::symbolic::{Op, What};

use super::numbers::{digit, is_any_digit, is_space, push, space_term};
use super::streams::{File, take};
use super::wanted::{self, Sample};
use super::{call_site, found, heap, models, pointer, write, write_byte};
use crate::terms::{self, Known};
use crate::{flow, shadow};

/// Arguments behind the format, in registers and on the stack. More are read
/// than there are, which does no harm.
type Rest = [usize; 12];

macro_rules! scans {
    ($(fn [$($name:ident)+]($($own:ident: $ty:ty),*) |$format:ident| $text:expr;)*) => {
        models! {
            $(fn [$($name)+](
                $($own: $ty,)* $format: usize, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize,
                g: usize, h: usize, i: usize, j: usize, k: usize, l: usize
            ) -> c_int = |[_]| {
                // SAFETY: the caller's arguments.
                (unsafe { scan(&mut $text, $format, [a, b, c, d, e, f, g, h, i, j, k, l]) }, 0)
            };)*
        }
    };
}

scans! {
    fn [sscanf __isoc99_sscanf](text: usize) |format| {
        pointer(text, 0);
        Source::Text(text)
    };
    fn [fscanf __isoc99_fscanf](file: *mut File) |format| Source::Stream(file);
    fn [scanf __isoc99_scanf]() |format| Source::Stream(super::streams::standard_input());
}

/// What is scanned.
enum Source {
    Text(usize),
    Stream(*mut File),
}

/// The next byte, seen and not taken yet; none at the end.
#[derive(Clone, Copy)]
struct Seen {
    byte: Known,
    is_end: bool,
    /// That it is there, or that the text ends, as a term.
    existence: u32,
}

struct Scanner<'a> {
    source: &'a mut Source,
    seen: Option<Seen>,
    /// Bytes so far.
    taken: u64,
    /// Parts of the format that the text had.
    matched: u32,
    /// What was scanned, and whether it depends on the input.
    scanned: Sample,
    is_open: bool,
}

impl Scanner<'_> {
    unsafe fn peek(&mut self) -> Seen {
        if let Some(seen) = self.seen {
            return seen;
        }
        // SAFETY: as the caller says.
        let seen = unsafe {
            match self.source {
                Source::Text(text) => {
                    let byte = shadow::byte(*text);
                    let term = terms::equals(byte.term, 0);
                    let is_end = byte.value == 0;
                    Seen { byte, is_end, existence: if is_end { term } else { terms::not(term) } }
                }
                Source::Stream(file) => {
                    let taken = take(*file);
                    Seen { byte: taken.byte, is_end: taken.is_end, existence: taken.existence() }
                }
            }
        };
        found(seen.existence);
        self.is_open |= seen.byte.term != 0;
        self.seen = Some(seen);
        seen
    }

    unsafe fn advance(&mut self) {
        if let Some(seen) = self.seen {
            self.scanned.push(seen.byte.value as u8);
        }
        if let (Source::Text(text), Some(Seen { is_end: false, .. })) = (&mut *self.source, self.seen) {
            *text += 1;
        }
        self.taken += 1;
        self.seen = None;
    }

    /// Tells a text that has the format, where this one has not: of a string the
    /// rest of its line is another one then.
    ///
    /// # Safety
    /// The string that is scanned ends.
    unsafe fn tell_wanted(&mut self, format: &[u8]) {
        if let Some(seen) = self.seen.filter(|seen| !seen.is_end) {
            self.scanned.push(seen.byte.value as u8);
        }
        if let Source::Text(text) = &self.source {
            // SAFETY: the string that is scanned; its end is met.
            let rest = unsafe { core::ffi::CStr::from_ptr(*text as *const _) }.to_bytes();
            let line = rest.split(|&byte| byte == b'\n').next().unwrap_or_default();
            let from = usize::from(self.seen.is_some());
            line.iter().skip(from).for_each(|&byte| self.scanned.push(byte));
        }
        let scanned = self.scanned.text();
        let line = scanned.strip_suffix(b"\n").unwrap_or(scanned);
        // What a program does with a long word, it does not with a short one.
        for letters in [SHORT, LONG] {
            let sample = sample(format, letters);
            if self.is_open && !sample.is_cut && !self.scanned.is_cut {
                wanted::tell(line, sample.text());
            }
        }
    }

    /// Gives a byte back that was only looked at.
    unsafe fn finish(&mut self) {
        let seen = self.seen.take().filter(|seen| !seen.is_end);
        if let (Source::Stream(file), Some(seen)) = (&mut *self.source, seen) {
            // SAFETY: the stream's last byte.
            unsafe { super::streams::give_back(*file, seen.byte) };
        }
    }

    unsafe fn skip_space(&mut self) {
        // SAFETY: as the caller says.
        unsafe {
            loop {
                let seen = self.peek();
                let is = !seen.is_end && is_space(seen.byte.value);
                if !seen.is_end {
                    let term = space_term(seen.byte.term);
                    found(if is { term } else { terms::not(term) });
                }
                if !is {
                    return;
                }
                self.advance();
            }
        }
    }
}

/// A conversion of the format.
struct Directive {
    assigns: bool,
    allocates: bool,
    width: usize,
    bytes: usize,
}

unsafe fn scan(source: &mut Source, format: usize, rest: Rest) -> c_int {
    let (scanned, is_open) = (Sample::default(), false);
    let mut scanner = Scanner { source, seen: None, taken: 0, matched: 0, scanned, is_open };
    // SAFETY: as the caller says.
    let format = unsafe { core::ffi::CStr::from_ptr(format as *const _) }.to_bytes();
    // SAFETY: as the caller says.
    let (count, end) = unsafe { run(&mut scanner, format, rest) };
    // SAFETY: as the caller says.
    unsafe {
        if end != End::Whole {
            scanner.tell_wanted(format);
        }
        scanner.finish();
    }
    flow::matched(call_site(), scanner.matched);
    if end == End::OfText && count == 0 { -1 } else { count }
}

/// How a scan ended.
#[derive(PartialEq)]
enum End {
    /// The text had all of the format.
    Whole,
    OfText,
    Other,
}

/// Letters of a word in a text that is made up.
const SHORT: usize = 4;
const LONG: usize = 14;

/// A text that has a format, with so many letters in its words. Numbers have room for several values.
fn sample(format: &[u8], letters: usize) -> Sample {
    let mut sample = Sample::default();
    let mut format = format.iter().copied().peekable();
    let mut is_behind_other = false;
    while let Some(byte) = format.next() {
        if byte != b'%' {
            sample.push(if is_space(byte.into()) { b' ' } else { byte });
            is_behind_other = false;
            continue;
        }
        format.next_if_eq(&b'*');
        let mut directive = Directive { assigns: true, allocates: false, width: usize::MAX, bytes: 4 };
        let kind = directive.read(&mut format);
        let (byte, most) = match kind {
            b'n' => continue,
            b'%' => (b'%', 1),
            b'[' => {
                let set = Set::read(&mut format);
                let mut likely = b"a1".iter().copied().chain(b' '..=b'~');
                (likely.find(|&byte| set.has[usize::from(byte)]).unwrap_or(b'a'), letters)
            }
            b'c' => (b'a', if directive.width == usize::MAX { 1 } else { directive.width }),
            b's' => (b'a', letters),
            _ => (b'1', 3),
        };
        if is_behind_other && !matches!(kind, b'[' | b'c' | b'%') {
            sample.push(b' ');
        }
        (0..most.min(directive.width)).for_each(|_| sample.push(byte));
        is_behind_other = true;
    }
    sample
}

/// How many were assigned, and how it ended.
unsafe fn run(scanner: &mut Scanner<'_>, format: &[u8], rest: Rest) -> (c_int, End) {
    let mut count = 0;
    let mut targets = rest.into_iter();
    // SAFETY: as the caller says.
    unsafe {
        let mut format = format.iter().copied().peekable();
        while let Some(byte) = format.next() {
            if is_space(byte.into()) {
                scanner.skip_space();
                continue;
            }
            let mut directive = Directive { assigns: true, allocates: false, width: usize::MAX, bytes: 4 };
            if byte == b'%' && format.peek() == Some(&b'*') {
                format.next();
                directive.assigns = false;
            }
            let kind = if byte == b'%' { directive.read(&mut format) } else { 0 };
            if byte != b'%' || kind == b'%' {
                if kind == b'%' {
                    scanner.skip_space();
                }
                let seen = scanner.peek();
                let is = !seen.is_end && seen.byte.value == u64::from(byte);
                if !seen.is_end {
                    let term = terms::equals(seen.byte.term, byte.into());
                    found(if is { term } else { terms::not(term) });
                }
                if !is {
                    return (count, if seen.is_end { End::OfText } else { End::Other });
                }
                scanner.advance();
                scanner.matched += 1;
                continue;
            }
            if !matches!(kind, b'c' | b'[' | b'n') {
                scanner.skip_space();
            }
            if kind != b'n' && scanner.peek().is_end {
                return (count, End::OfText);
            }
            let target = if directive.assigns { targets.next().unwrap_or(0) } else { 0 };
            let done = match kind {
                b'd' | b'u' => integer(scanner, &directive, 10, target),
                b'i' => integer(scanner, &directive, 0, target),
                b'x' | b'X' | b'p' => integer(scanner, &directive, 16, target),
                b'o' => integer(scanner, &directive, 8, target),
                b'c' => {
                    let width = if directive.width == usize::MAX { 1 } else { directive.width };
                    text(scanner, &directive, target, width, Ends::Never)
                }
                b's' => text(scanner, &directive, target, directive.width, Ends::AtSpace),
                b'[' => {
                    let set = Set::read(&mut format);
                    text(scanner, &directive, target, directive.width, Ends::Outside(&set))
                }
                b'e' | b'f' | b'g' | b'E' | b'G' | b'a' => float(scanner, &directive, target),
                b'n' => {
                    write(target, directive.bytes, Known { value: scanner.taken, term: 0 });
                    continue;
                }
                _ => None,
            };
            if done.is_none() {
                return (count, End::Other);
            }
            scanner.matched += 1;
            if directive.assigns {
                count += 1;
            }
        }
    }
    (count, End::Whole)
}

impl Directive {
    /// Reads width, size and kind.
    fn read(&mut self, format: &mut core::iter::Peekable<impl Iterator<Item = u8>>) -> u8 {
        let mut width = 0;
        while let Some(digit) = format.peek().filter(|byte| byte.is_ascii_digit()) {
            width = 10 * width + usize::from(digit - b'0');
            format.next();
        }
        if width > 0 {
            self.width = width;
        }
        loop {
            match format.next() {
                Some(b'h') => self.bytes /= 2,
                Some(b'l' | b'L' | b'j' | b'z' | b't' | b'q') => self.bytes = 8,
                Some(b'm') => self.allocates = true,
                Some(kind) => return kind,
                None => return 0,
            }
        }
    }
}

unsafe fn integer(scanner: &mut Scanner<'_>, directive: &Directive, base: u64, target: usize) -> Option<()> {
    // SAFETY: as the caller says.
    unsafe {
        let (mut base, mut bytes, mut is_negative, mut has_digits) = (base, 0, false, false);
        let mut number = Known::default();
        let seen = scanner.peek();
        if matches!(seen.byte.value as u8, b'-' | b'+') && directive.width > 0 {
            found(terms::equals(seen.byte.term, seen.byte.value));
            is_negative = seen.byte.value == u64::from(b'-');
            scanner.advance();
            bytes += 1;
        }
        while bytes < directive.width {
            let seen = scanner.peek();
            if seen.is_end {
                break;
            }
            let value = (seen.byte.value as u8).to_ascii_lowercase();
            if base == 0 {
                base = if value == b'0' { 8 } else { 10 };
            }
            let is_prefix = value == b'x' && has_digits && number.value == 0 && matches!(base, 8 | 16);
            if is_prefix && bytes <= 2 {
                found(terms::equals(seen.byte.term, seen.byte.value));
                base = 16;
                scanner.advance();
                bytes += 1;
                continue;
            }
            let worth = (value as char).to_digit(36).map_or(u64::MAX, u64::from);
            if worth >= base {
                found(terms::not(is_any_digit(seen.byte, base)));
                break;
            }
            let (is_digit, worth_term) = digit(seen.byte, base);
            found(is_digit);
            number = push(number, worth_term, base);
            has_digits = true;
            scanner.advance();
            bytes += 1;
        }
        if !has_digits {
            return None;
        }
        if is_negative {
            let term =
                if number.term == 0 { 0 } else { terms::binary(Op::Sub, 64, Known::default(), number) };
            number = Known { value: number.value.wrapping_neg(), term };
        }
        if directive.assigns {
            let term = terms::extract(number.term, 0, 8 * directive.bytes as u8);
            write(target, directive.bytes, Known { value: number.value, term });
        }
        Some(())
    }
}

/// Where a string in the text ends.
enum Ends<'a> {
    Never,
    AtSpace,
    Outside(&'a Set),
}

/// The bytes between `%[` and `]`.
struct Set {
    has: [bool; 256],
}

impl Set {
    fn read(format: &mut impl Iterator<Item = u8>) -> Set {
        let mut has = [false; 256];
        let mut next = format.next();
        let turned = next == Some(b'^');
        if turned {
            next = format.next();
        }
        let mut last = None;
        let mut is_first = true;
        while let Some(byte) = next {
            if byte == b']' && !is_first {
                break;
            }
            is_first = false;
            next = format.next();
            match (byte, last, next) {
                (b'-', Some(low), Some(high)) if high != b']' => {
                    (low..=high).for_each(|byte: u8| has[usize::from(byte)] = true);
                    next = format.next();
                }
                _ => has[usize::from(byte)] = true,
            }
            last = Some(byte);
        }
        if turned {
            has.iter_mut().for_each(|member| *member = !*member);
        }
        Set { has }
    }

    /// That a byte is a member, as a term.
    fn term(&self, byte: u32) -> u32 {
        let mut any = 0;
        let mut start = 0;
        while start < 256 {
            let end = (start..256).find(|&at| self.has[at] != self.has[start]).unwrap_or(256);
            if self.has[start] {
                any = terms::or(any, terms::within(byte, start as u64, end as u64 - 1));
            }
            start = end;
        }
        any
    }
}

unsafe fn text(
    scanner: &mut Scanner<'_>,
    directive: &Directive,
    target: usize,
    width: usize,
    ends: Ends<'_>,
) -> Option<()> {
    // SAFETY: as the caller says.
    unsafe {
        let mut bytes = 0;
        let (mut to, mut room) = (target, usize::MAX);
        if directive.assigns && directive.allocates {
            room = 64;
            to = heap::new_in_library(room) as usize;
        }
        while bytes < width {
            let seen = scanner.peek();
            if seen.is_end {
                break;
            }
            let (is_over, over) = match &ends {
                Ends::Never => (false, 0),
                Ends::AtSpace => (is_space(seen.byte.value), space_term(seen.byte.term)),
                Ends::Outside(set) => {
                    (!set.has[seen.byte.value as usize & 0xff], terms::not(set.term(seen.byte.term)))
                }
            };
            found(if is_over { over } else { terms::not(over) });
            if is_over {
                break;
            }
            if directive.assigns && directive.allocates && bytes + 2 > room {
                room *= 2;
                to = heap::resize(to as *mut _, room) as usize;
            }
            if directive.assigns && to != 0 {
                write_byte(to + bytes, seen.byte);
            }
            scanner.advance();
            bytes += 1;
        }
        let is_string = !matches!(ends, Ends::Never);
        if directive.assigns && to != 0 {
            if is_string {
                write_byte(to + bytes, Known::default());
            }
            super::touch(to, bytes + usize::from(is_string));
        }
        if directive.assigns && directive.allocates {
            write(target, 8, Known { value: to as u64, term: 0 });
        }
        (bytes > 0).then_some(())
    }
}

/// A float is read by libc, from a copy of its text.
unsafe fn float(scanner: &mut Scanner<'_>, directive: &Directive, target: usize) -> Option<()> {
    let mut copy = [0u8; 64];
    let mut bytes = 0;
    let mut has_term = false;
    // SAFETY: as the caller says; the copy ends with a NUL.
    unsafe {
        while bytes < directive.width.min(copy.len() - 1) {
            let seen = scanner.peek();
            let byte = seen.byte.value as u8;
            if seen.is_end || !(byte.is_ascii_alphanumeric() || b"+-.".contains(&byte)) {
                break;
            }
            has_term |= seen.byte.term != 0;
            copy[bytes] = byte;
            bytes += 1;
            scanner.advance();
        }
        if has_term {
            flow::note(call_site(), What::Float);
        }
        let mut end = core::ptr::null_mut();
        let value = libc::strtod(copy.as_ptr().cast(), &mut end);
        if core::ptr::eq(end.cast(), copy.as_ptr()) {
            return None;
        }
        if directive.assigns {
            if directive.bytes == 8 {
                write(target, 8, Known { value: value.to_bits(), term: 0 });
            } else {
                write(target, 4, Known { value: u64::from((value as f32).to_bits()), term: 0 });
            }
        }
    }
    Some(())
}
