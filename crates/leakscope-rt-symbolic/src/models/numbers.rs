//! Characters and numbers in text.

use core::ffi::{c_int, c_long, c_ulong};

use leakscope_wire::symbolic::Op;

use super::{found, models, pointer, size, touch};
use crate::terms::{self, Known};
use crate::{enumerate, shadow};

macro_rules! classes {
    ($($name:ident)*) => {
        models! {
            $(fn [$name](character: c_int) -> c_int = |[term]| {
                // SAFETY: libc's function takes any character.
                let of = |value: u64| Some(unsafe { real::$name(value as u32 as c_int) } as u32 as u64);
                let value = of(character as u32 as u64).unwrap_or_default() as c_int;
                (value, enumerate::function(term, 32, of))
            };)*
        }

        mod real {
            use core::ffi::c_int;

            unsafe extern "C" {
                $(pub fn $name(character: c_int) -> c_int;)*
            }
        }
    };
}

classes! {
    isalnum isalpha isblank iscntrl isdigit isgraph islower isprint ispunct isspace isupper isxdigit
    tolower toupper
    iswalnum iswalpha iswblank iswcntrl iswdigit iswgraph iswlower iswprint iswpunct iswspace iswupper
    iswxdigit towlower towupper wcwidth btowc
}

models! {
    fn [atoi](text: usize) -> c_int = |[term]| {
        // SAFETY: the caller's argument.
        let (number, _) = unsafe { parse(text, 10, [term, 0], Sign::Signed) };
        (number.value as c_int, terms::cast(Op::Trunc, 32, number.term))
    };
    fn [atol atoll](text: usize) -> c_long = |[term]| {
        // SAFETY: the caller's argument.
        let (number, _) = unsafe { parse(text, 10, [term, 0], Sign::Signed) };
        (number.value as c_long, number.term)
    };
    fn [strtol strtoll strtoimax](text: usize, end: *mut usize, base: c_int) -> c_long = |terms| {
        // SAFETY: the caller's arguments.
        let number = unsafe { convert(text, end, base, terms, Sign::Signed) };
        (number.value as c_long, number.term)
    };
    fn [strtoul strtoull strtoumax](text: usize, end: *mut usize, base: c_int) -> c_ulong = |terms| {
        // SAFETY: the caller's arguments.
        let number = unsafe { convert(text, end, base, terms, Sign::Unsigned) };
        (number.value as c_ulong, number.term)
    };
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    Signed,
    Unsigned,
}

unsafe fn convert(text: usize, end: *mut usize, base: c_int, terms: [u32; 3], sign: Sign) -> Known {
    // SAFETY: as the caller says.
    unsafe {
        let (number, after) = parse(text, base, [terms[0], terms[2]], sign);
        if !end.is_null() {
            shadow::clear(end as usize, 8);
            touch(end as usize, 8);
            *end = after;
        }
        number
    }
}

/// The number at the start of a text, and where it ends. What it looks like is
/// then known on this path; its value is a term.
///
/// # Safety
/// As for `strtol`.
unsafe fn parse(text: usize, base: c_int, [text_term, base_term]: [u32; 2], sign: Sign) -> (Known, usize) {
    pointer(text, text_term);
    size(base as usize, base_term);
    let mut end = text;
    // SAFETY: as the caller says.
    unsafe {
        let to = (&raw mut end).cast();
        let value = match sign {
            Sign::Signed => libc::strtol(text as *const _, to, base) as u64,
            Sign::Unsigned => libc::strtoul(text as *const _, to, base),
        };
        touch(text, end + 1 - text);
        let overflowed = value == i64::MAX as u64 || value == i64::MIN as u64 || value == u64::MAX;
        let byte = |at: usize| shadow::byte(at);
        let shape = Shape::of(text, end, base, byte);
        for at in text..shape.digits {
            found(class(byte(at)));
        }
        if end == text {
            found(starts_no_number(byte(shape.digits), shape.base));
            return (Known { value, term: 0 }, end);
        }
        let mut number = Known::default();
        let mut has_term = false;
        if base == 0 && shape.base == 10 {
            // With a zero it would be octal.
            found(terms::not(terms::equals(byte(shape.digits).term, b'0'.into())));
        }
        for at in shape.digits..end {
            let (is_digit, digit) = digit(byte(at), shape.base);
            found(is_digit);
            has_term |= digit.term != 0;
            number = push(number, digit, shape.base);
        }
        found(terms::not(is_any_digit(byte(end), shape.base)));
        if !has_term || overflowed || end - shape.digits > MOST_DIGITS {
            return (Known { value, term: 0 }, end);
        }
        if shape.is_negative {
            number.term = terms::binary(Op::Sub, 64, Known::default(), number);
        }
        (Known { value, term: number.term }, end)
    }
}

/// With more, products may overflow where the number does not.
const MOST_DIGITS: usize = 18;

/// One more digit at the end of a number.
pub fn push(number: Known, digit: Known, base: u64) -> Known {
    let shifted = Known {
        value: number.value.wrapping_mul(base),
        term: if number.term == 0 {
            0
        } else {
            terms::binary(Op::Mul, 64, number, Known { value: base, term: 0 })
        },
    };
    let term =
        if shifted.term == 0 && digit.term == 0 { 0 } else { terms::binary(Op::Add, 64, shifted, digit) };
    Known { value: shifted.value.wrapping_add(digit.value), term }
}

/// What stands before the digits of a number.
struct Shape {
    digits: usize,
    base: u64,
    is_negative: bool,
}

impl Shape {
    fn of(text: usize, end: usize, base: c_int, byte: impl Fn(usize) -> Known) -> Shape {
        let mut at = text;
        while is_space(byte(at).value) {
            at += 1;
        }
        let is_negative = byte(at).value == u64::from(b'-');
        if is_negative || byte(at).value == u64::from(b'+') {
            at += 1;
        }
        let is_zero = byte(at).value == u64::from(b'0');
        let prefixed = end > at + 2 && is_zero && byte(at + 1).value | 0x20 == u64::from(b'x');
        let base = match base {
            0 if prefixed => 16,
            0 if is_zero => 8,
            0 => 10,
            given => given as u64,
        };
        if base == 16 && prefixed {
            at += 2;
        }
        // No digits: the sign does not count either.
        Shape { digits: if end == text { at } else { at.min(end) }, base, is_negative }
    }
}

pub fn is_space(value: u64) -> bool {
    value == u64::from(b' ') || (9..=13).contains(&value)
}

pub fn space_term(term: u32) -> u32 {
    terms::or(terms::equals(term, u64::from(b' ')), terms::within(term, 9, 13))
}

/// That a byte before the digits is what it is: some space, or this sign.
fn class(byte: Known) -> u32 {
    if is_space(byte.value) { space_term(byte.term) } else { terms::equals(byte.term, byte.value) }
}

fn starts_no_number(byte: Known, base: u64) -> u32 {
    if byte.term == 0 {
        return 0;
    }
    let sign =
        terms::or(terms::equals(byte.term, u64::from(b'-')), terms::equals(byte.term, u64::from(b'+')));
    let any = terms::or(is_any_digit(byte, base), terms::or(sign, space_term(byte.term)));
    terms::not(any)
}

/// That a byte is a digit of any kind.
pub fn is_any_digit(byte: Known, base: u64) -> u32 {
    if byte.term == 0 {
        return 0;
    }
    let decimal = terms::within(byte.term, u64::from(b'0'), u64::from(b'0') + base.min(10) - 1);
    if base <= 10 {
        return decimal;
    }
    let letters = |first: u8| terms::within(byte.term, u64::from(first), u64::from(first) + base - 11);
    terms::or(decimal, terms::or(letters(b'a'), letters(b'A')))
}

/// That a byte is a digit, and its value: for any digit the same term, so that a number with letters is
/// one path.
pub fn digit(byte: Known, base: u64) -> (u32, Known) {
    let less = |from: Known, less: u64| {
        let wide = Known { value: from.value, term: terms::cast(Op::ZExt, 64, from.term) };
        let term =
            if from.term == 0 { 0 } else { terms::binary(Op::Sub, 64, wide, Known { value: less, term: 0 }) };
        Known { value: from.value.wrapping_sub(less), term }
    };
    let decimal = less(byte, u64::from(b'0'));
    if base <= 10 || byte.term == 0 {
        let is_decimal = (byte.value as u8).is_ascii_digit();
        let lower = Known { value: byte.value | CAPITAL, term: 0 };
        let digit = if is_decimal || base <= 10 { decimal } else { less(lower, FIRST_LETTER) };
        return (is_any_digit(byte, base), digit);
    }
    let lower = terms::binary(Op::Or, 8, byte, Known { value: CAPITAL, term: 0 });
    let letter = less(Known { value: byte.value | CAPITAL, term: lower }, FIRST_LETTER);
    let is_decimal = terms::within(byte.term, b'0'.into(), b'9'.into());
    let value = if (byte.value as u8).is_ascii_digit() { decimal.value } else { letter.value };
    (is_any_digit(byte, base), Known { value, term: terms::choose(is_decimal, 64, decimal, letter) })
}

/// What makes a capital letter a small one, and what the first of these is more than its value.
const CAPITAL: u64 = 0x20;
const FIRST_LETTER: u64 = b'a' as u64 - 10;
