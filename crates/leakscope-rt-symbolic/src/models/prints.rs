//! `sprintf` and its kin: libc writes the text, and terms go where the bytes
//! went that have one.
//!
//! Strings and characters keep their terms, decimal numbers become terms of
//! their digits, with their count as a constraint. Other conversions of values
//! from the input are taken as they are, with a note. Behind a directive that
//! is not known here (`%Lf`, `%m`, `%ls`) nothing has terms.

use core::ffi::{CStr, c_char, c_int};

use leakscope_wire::symbolic::{Op, What, signed};

use super::{call_site, found, heap, models, strings, touch, write};
use crate::terms::{self, Known};
use crate::{flow, shadow, thread};

/// As x86-64 has it.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct VaList {
    general: u32,
    floats: u32,
    stack: usize,
    registers: usize,
}

/// A call with arguments behind `...`: registers, and a list of the arguments
/// that have no name.
#[repr(C)]
struct Variadic {
    general: [usize; 6],
    floats: [[u64; 2]; 8],
    list: VaList,
    own: usize,
}

/// A function with arguments behind `...`, which Rust cannot write: so many of
/// the arguments have names.
macro_rules! variadic {
    ($($name:ident: $named:literal, $then:path;)*) => {
        $(
            #[cfg(not(test))]
            core::arch::global_asm!(
                concat!(".globl __leakscope_model_", stringify!($name)),
                concat!(".type __leakscope_model_", stringify!($name), ",@function"),
                concat!("__leakscope_model_", stringify!($name), ":"),
                $crate::models::around::opens_frame!(),
                "sub rsp, 224",
                "mov [rsp], rdi",
                "mov [rsp + 8], rsi",
                "mov [rsp + 16], rdx",
                "mov [rsp + 24], rcx",
                "mov [rsp + 32], r8",
                "mov [rsp + 40], r9",
                "movaps [rsp + 48], xmm0",
                "movaps [rsp + 64], xmm1",
                "movaps [rsp + 80], xmm2",
                "movaps [rsp + 96], xmm3",
                "movaps [rsp + 112], xmm4",
                "movaps [rsp + 128], xmm5",
                "movaps [rsp + 144], xmm6",
                "movaps [rsp + 160], xmm7",
                concat!("mov dword ptr [rsp + 176], 8 * ", $named),
                "mov dword ptr [rsp + 180], 48",
                "lea rax, [rbp + 16]",
                "mov [rsp + 184], rax",
                "mov [rsp + 192], rsp",
                concat!("lea rax, [rip + __leakscope_model_", stringify!($name), "]"),
                "mov [rsp + 200], rax",
                "mov rdi, rsp",
                "call {then}",
                "leave",
                ".cfi_def_cfa rsp, 8",
                "ret",
                ".cfi_endproc",
                then = sym $then,
            );
        )*
    };
}

variadic! {
    sprintf: 2, to_text;
    __sprintf_chk: 4, to_text_checked;
    snprintf: 3, to_room;
    __snprintf_chk: 5, to_room_checked;
    asprintf: 2, to_new;
    __asprintf_chk: 3, to_new_checked;
}

models! {
    fn [vsprintf](to: usize, format: usize, list: *mut VaList) -> c_int = |[_]| {
        // SAFETY: the caller's arguments.
        (unsafe { print(to, NO_LIMIT, format, list, &[]) }, 0)
    };
    fn [__vsprintf_chk](to: usize, _flag: c_int, _size: usize, format: usize, list: *mut VaList) -> c_int = |[_]| {
        // SAFETY: the caller's arguments.
        (unsafe { print(to, NO_LIMIT, format, list, &[]) }, 0)
    };
    fn [vsnprintf](to: usize, room: usize, format: usize, list: *mut VaList) -> c_int = |[_]| {
        // SAFETY: the caller's arguments.
        (unsafe { print(to, room, format, list, &[]) }, 0)
    };
    fn [__vsnprintf_chk](
        to: usize, room: usize, _flag: c_int, _size: usize, format: usize, list: *mut VaList
    ) -> c_int = |[_]| {
        // SAFETY: the caller's arguments.
        (unsafe { print(to, room, format, list, &[]) }, 0)
    };
    fn [vasprintf](to: usize, format: usize, list: *mut VaList) -> c_int = |[_]| {
        // SAFETY: the caller's arguments.
        (unsafe { print_new(to, format, list, &[]) }, 0)
    };
    fn [__vasprintf_chk](to: usize, _flag: c_int, format: usize, list: *mut VaList) -> c_int = |[_]| {
        // SAFETY: the caller's arguments.
        (unsafe { print_new(to, format, list, &[]) }, 0)
    };
}

/// Room that is as large as the text will be.
const NO_LIMIT: usize = c_int::MAX as usize;

/// Terms of arguments.
type Terms = [u32; thread::ARGUMENTS];

/// A call that was made, with terms of the arguments without names.
fn begun(call: &Variadic, named: usize) -> (Terms, usize) {
    (thread::arguments(call.own), named)
}

extern "C" fn to_text(call: &mut Variadic) -> c_int {
    let (terms, named) = begun(call, 2);
    // SAFETY: the caller's arguments.
    unsafe { print(call.general[0], NO_LIMIT, call.general[1], &mut call.list, &terms[named..]) }
}

extern "C" fn to_text_checked(call: &mut Variadic) -> c_int {
    let (terms, named) = begun(call, 4);
    // SAFETY: the caller's arguments.
    unsafe { print(call.general[0], NO_LIMIT, call.general[3], &mut call.list, &terms[named..]) }
}

extern "C" fn to_room(call: &mut Variadic) -> c_int {
    let (terms, named) = begun(call, 3);
    // SAFETY: the caller's arguments.
    unsafe { print(call.general[0], call.general[1], call.general[2], &mut call.list, &terms[named..]) }
}

extern "C" fn to_room_checked(call: &mut Variadic) -> c_int {
    let (terms, named) = begun(call, 5);
    // SAFETY: the caller's arguments.
    unsafe { print(call.general[0], call.general[1], call.general[4], &mut call.list, &terms[named..]) }
}

extern "C" fn to_new(call: &mut Variadic) -> c_int {
    let (terms, named) = begun(call, 2);
    // SAFETY: the caller's arguments.
    unsafe { print_new(call.general[0], call.general[1], &mut call.list, &terms[named..]) }
}

extern "C" fn to_new_checked(call: &mut Variadic) -> c_int {
    let (terms, named) = begun(call, 3);
    // SAFETY: the caller's arguments.
    unsafe { print_new(call.general[0], call.general[2], &mut call.list, &terms[named..]) }
}

unsafe fn print_new(to: usize, format: usize, list: *mut VaList, terms: &[u32]) -> c_int {
    // SAFETY: as the caller says.
    unsafe {
        let mut copy = *list;
        let length = real::vsnprintf(core::ptr::null_mut(), 0, format as *const c_char, &mut copy);
        let text = if length < 0 { 0 } else { heap::new_in_library(length as usize + 1) as usize };
        if text == 0 {
            return -1;
        }
        print(text, length as usize + 1, format, list, terms);
        write(to, 8, Known { value: text as u64, term: 0 });
        length
    }
}

unsafe fn print(to: usize, room: usize, format: usize, list: *mut VaList, terms: &[u32]) -> c_int {
    // SAFETY: as the caller says.
    unsafe {
        let arguments = *list;
        let length = real::vsnprintf(to as *mut c_char, room, format as *const c_char, list);
        thread::returns(0, 0);
        if length >= 0 && room > 0 {
            let written = (length as usize).min(room - 1);
            shadow::clear(to, written + 1);
            let text = CStr::from_ptr(format as *const c_char).to_bytes();
            Printer { to, end: to + written, at: to, arguments, terms: terms.iter() }.run(text);
            touch(to, written + 1);
        }
        length
    }
}

/// What libc printed, once more.
struct Printer<'a> {
    to: usize,
    end: usize,
    at: usize,
    arguments: VaList,
    terms: core::slice::Iter<'a, u32>,
}

/// A directive as it stands in the format.
struct Directive<'a> {
    /// From `%` on.
    text: &'a [u8],
    stars: [c_int; 2],
    star_count: usize,
    is_left: bool,
    width: usize,
    precision: Option<usize>,
    /// Bytes of a number.
    bytes: usize,
    kind: u8,
}

impl Printer<'_> {
    /// # Safety
    /// The text was printed with these arguments.
    unsafe fn run(&mut self, format: &[u8]) {
        let mut rest = format;
        while let Some((&byte, more)) = rest.split_first() {
            if byte != b'%' {
                (self.at, rest) = (self.at + 1, more);
                continue;
            }
            // SAFETY: as the caller says.
            let done = unsafe {
                let directive = self.directive(rest);
                rest = &rest[directive.text.len()..];
                self.print(&directive)
            };
            if done.is_none() {
                return;
            }
        }
    }

    unsafe fn general(&mut self) -> Known {
        let list = &mut self.arguments;
        // SAFETY: as the caller says.
        let value = unsafe {
            if list.general < 48 {
                list.general += 8;
                *((list.registers + list.general as usize - 8) as *const u64)
            } else {
                list.stack += 8;
                *((list.stack - 8) as *const u64)
            }
        };
        Known { value, term: self.terms.next().copied().unwrap_or(0) }
    }

    unsafe fn float(&mut self) -> f64 {
        let list = &mut self.arguments;
        self.terms.next();
        // SAFETY: as the caller says.
        unsafe {
            if list.floats < 176 {
                list.floats += 16;
                *((list.registers + list.floats as usize - 16) as *const f64)
            } else {
                list.stack += 8;
                *((list.stack - 8) as *const f64)
            }
        }
    }

    unsafe fn directive<'f>(&mut self, format: &'f [u8]) -> Directive<'f> {
        let mut found = Directive {
            text: format,
            stars: [0; 2],
            star_count: 0,
            is_left: false,
            width: 0,
            precision: None,
            bytes: 4,
            kind: 0,
        };
        let mut is_precise = false;
        for (index, &byte) in format.iter().enumerate().skip(1) {
            match byte {
                b'-' => found.is_left = true,
                b'0' if found.width == 0 && !is_precise => {}
                b'+' | b' ' | b'#' | b'\'' => {}
                b'0'..=b'9' => {
                    let number = if is_precise { found.precision.get_or_insert(0) } else { &mut found.width };
                    *number = 10 * *number + usize::from(byte - b'0');
                }
                b'*' => {
                    // SAFETY: as the caller says.
                    let value = unsafe { self.general() }.value as c_int;
                    found.stars[found.star_count.min(1)] = value;
                    found.star_count += 1;
                    if is_precise {
                        found.precision = usize::try_from(value).ok();
                    } else {
                        found.is_left |= value < 0;
                        found.width = value.unsigned_abs() as usize;
                    }
                }
                b'.' => {
                    is_precise = true;
                    found.precision = Some(0);
                }
                b'h' => found.bytes /= 2,
                b'l' | b'j' | b'z' | b't' | b'q' => found.bytes = 8,
                kind => {
                    found.kind = kind;
                    found.text = &format[..=index];
                    break;
                }
            }
        }
        found
    }

    /// Goes over what a directive printed; none if that is not known.
    unsafe fn print(&mut self, directive: &Directive<'_>) -> Option<()> {
        // SAFETY: as the caller says.
        unsafe {
            match directive.kind {
                b'%' => self.at += 1,
                b's' if directive.bytes != 8 => {
                    let text = self.general().value as usize;
                    let most = directive.precision.unwrap_or(usize::MAX);
                    let length = if text == 0 { 6.min(most) } else { strings::limited_length(text, most) };
                    let start = self.padded(directive, length);
                    if text != 0 {
                        (0..length).for_each(|at| self.put(start + at, shadow::byte(text + at)));
                    }
                }
                b'c' if directive.bytes != 8 => {
                    let byte = self.general();
                    let start = self.padded(directive, 1);
                    self.put(
                        start,
                        Known { value: byte.value & 0xff, term: terms::extract(byte.term, 0, 8) },
                    );
                }
                b'd' | b'i' | b'u' | b'x' | b'X' | b'o' | b'p' => {
                    let number = self.general();
                    let length = directive.length(number.value)?;
                    let is_plain =
                        directive.text.len() <= 4 && directive.precision.is_none() && directive.width == 0;
                    if number.term != 0 && is_plain && matches!(directive.kind, b'd' | b'i' | b'u') {
                        self.digits(directive, number, length);
                    } else if number.term != 0 {
                        flow::note(call_site(), What::Operation);
                    }
                    self.at += length;
                }
                b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A' => {
                    let number = self.float();
                    self.at += directive.length_of_float(number)?;
                }
                b'n' => _ = self.general(),
                _ => return None,
            }
            Some(())
        }
    }

    /// Goes over a text that may be padded: where it begins.
    fn padded(&mut self, directive: &Directive<'_>, length: usize) -> usize {
        let padding = directive.width.saturating_sub(length);
        let start = if directive.is_left { self.at } else { self.at + padding };
        self.at += padding + length;
        start
    }

    fn put(&self, at: usize, byte: Known) {
        if byte.term != 0 && (self.to..self.end).contains(&at) {
            shadow::set(at, byte);
        }
    }

    /// A decimal number as terms of its digits.
    fn digits(&self, directive: &Directive<'_>, number: Known, length: usize) {
        let bits = 8 * directive.bytes.clamp(1, 8) as u8;
        let is_signed = directive.kind != b'u';
        let value = if is_signed { signed(number.value, bits) as u64 } else { number.value };
        let op = if is_signed { Op::SExt } else { Op::ZExt };
        let wide = Known { value, term: terms::cast(op, 64, terms::extract(number.term, 0, bits)) };
        let is_negative = is_signed && (value as i64) < 0;
        let below = if is_signed { terms::compare(Op::Slt, wide.term, 0) } else { 0 };
        found(if is_negative { below } else { terms::not(below) });
        let size = if is_negative {
            Known {
                value: value.wrapping_neg(),
                term: terms::any_binary(Op::Sub, 64, Known::default(), wide),
            }
        } else {
            wide
        };
        let count = (length - usize::from(is_negative)) as u32;
        if size.term == 0 || count > 19 {
            return;
        }
        let least = if count == 1 { 0 } else { 10u64.pow(count - 1) };
        found(terms::within(size.term, least, 10u64.pow(count).wrapping_sub(1)));
        let constant = |value| Known { value, term: 0 };
        for index in 0..count {
            let power = 10u64.pow(index);
            let shifted =
                Known { value: size.value / power, term: terms::binary(Op::UDiv, 64, size, constant(power)) };
            let digit = Known { value: 0, term: terms::binary(Op::URem, 64, shifted, constant(10)) };
            let letter = terms::binary(Op::Add, 64, digit, constant(48));
            let value = 48 + size.value / power % 10;
            self.put(
                self.at + length - 1 - index as usize,
                Known { value, term: terms::extract(letter, 0, 8) },
            );
        }
    }
}

impl Directive<'_> {
    /// The directive alone, as a C string.
    fn alone(&self) -> Option<[u8; 40]> {
        let mut text = [0; 40];
        text.get_mut(..self.text.len()).filter(|_| self.text.len() < 40)?.copy_from_slice(self.text);
        Some(text)
    }

    /// How much it prints for a number.
    fn length(&self, number: u64) -> Option<usize> {
        let text = self.alone()?;
        let format = text.as_ptr().cast();
        let none = core::ptr::null_mut();
        // SAFETY: a format for these arguments; nothing is written.
        let length = unsafe {
            match self.star_count {
                0 => libc::snprintf(none, 0, format, number),
                1 => libc::snprintf(none, 0, format, self.stars[0], number),
                _ => libc::snprintf(none, 0, format, self.stars[0], self.stars[1], number),
            }
        };
        usize::try_from(length).ok()
    }

    fn length_of_float(&self, number: f64) -> Option<usize> {
        let text = self.alone()?;
        let format = text.as_ptr().cast();
        let none = core::ptr::null_mut();
        // SAFETY: a format for these arguments; nothing is written.
        let length = unsafe {
            match self.star_count {
                0 => libc::snprintf(none, 0, format, number),
                1 => libc::snprintf(none, 0, format, self.stars[0], number),
                _ => libc::snprintf(none, 0, format, self.stars[0], self.stars[1], number),
            }
        };
        usize::try_from(length).ok()
    }
}

mod real {
    use core::ffi::{c_char, c_int};

    unsafe extern "C" {
        pub fn vsnprintf(
            to: *mut c_char,
            room: usize,
            format: *const c_char,
            list: *mut super::VaList,
        ) -> c_int;
    }
}
