//! What instrumented code calls where a value has a term, and where the driver
//! wants to know of a place.

use core::slice;

use leakscope_wire::symbolic::{Event, EventKind, Op, Place, What, Why};

use crate::terms::{self, Known};
use crate::{enumerate, objects, places, shadow, shared, thread};

/// Set in a kind of operation whose result is turned, above op and bits.
const TURNED: u32 = 1 << 16;

fn op_of(kind: u32) -> (Op, u8) {
    (Op::from_u8(kind as u8).unwrap_or(Op::Add), (kind >> 8) as u8)
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub extern "C" fn __leakscope_sym_binary(kind: u32, a_term: u32, b_term: u32, a: u64, b: u64) -> u32 {
    let (op, bits) = op_of(kind);
    let term = terms::binary(op, bits, Known { value: a, term: a_term }, Known { value: b, term: b_term });
    if kind & TURNED != 0 { terms::not(term) } else { term }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub extern "C" fn __leakscope_sym_cast(kind: u32, term: u32) -> u32 {
    let (op, bits) = op_of(kind);
    terms::cast(op, bits, term)
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub extern "C" fn __leakscope_sym_select(
    bits: u32,
    condition: u32,
    then_term: u32,
    else_term: u32,
    then: u64,
    otherwise: u64,
) -> u32 {
    let (then, otherwise) =
        (Known { value: then, term: then_term }, Known { value: otherwise, term: else_term });
    terms::choose(condition, bits as u8, then, otherwise)
}

/// The term of an address some steps on.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub extern "C" fn __leakscope_sym_step(
    base_term: u32,
    index_term: u32,
    base: u64,
    index: u64,
    stride: u64,
) -> u32 {
    let index = Known { value: index, term: index_term };
    let mut distance = Known { value: index.value.wrapping_mul(stride), term: index.term };
    if index.term != 0 && stride != 1 {
        distance.term = terms::binary(Op::Mul, 64, index, Known { value: stride, term: 0 });
    }
    terms::binary(Op::Add, 64, Known { value: base, term: base_term }, distance)
}

/// A load of at most 8 bytes is about to happen: the term of what it reads.
///
/// # Safety
/// The memory can be read.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn __leakscope_sym_load(address: usize, term: u32, bytes: usize, place: usize) -> u32 {
    objects::used(address, place);
    if term != 0 {
        if let Some(loaded) = enumerate::load(term, bytes) {
            return loaded;
        }
        pin_address(address, term, place);
    }
    // SAFETY: as the caller says.
    unsafe { shadow::load(address, bytes) }
}

/// What a function that only puts out was given.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub extern "C" fn __leakscope_sym_uses(address: usize, place: usize) {
    objects::used(address, place);
}

fn pin_address(address: usize, term: u32, place: usize) {
    terms::pin(Known { value: address as u64, term }, Why::Address, places::number(place));
}

/// A store of at most 8 bytes is about to happen.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub extern "C" fn __leakscope_sym_store(
    address: usize,
    term: u32,
    bytes: usize,
    value_term: u32,
    value: u64,
    place: usize,
) {
    objects::used(address, place);
    if term != 0 {
        pin_address(address, term, place);
    }
    if value_term == 0 {
        shadow::clear(address, bytes);
    } else {
        shadow::store(address, bytes, Known { value, term: value_term });
    }
}

/// Memory is read, or written without terms.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub extern "C" fn __leakscope_sym_read(address: usize, term: u32, place: usize) {
    objects::used(address, place);
    if term != 0 {
        pin_address(address, term, place);
    }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub extern "C" fn __leakscope_sym_clear(address: usize, term: u32, bytes: usize, place: usize) {
    __leakscope_sym_read(address, term, place);
    shadow::clear(address, bytes);
}

/// Memory of so many bytes is about to be copied; terms of all three.
///
/// # Safety
/// The memory can be read.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn __leakscope_sym_copy(
    to: usize,
    from: usize,
    bytes: usize,
    terms: u64,
    size: u32,
    place: usize,
) {
    if bytes == 0 {
        return pin_size(bytes, size, place);
    }
    __leakscope_sym_read(from, (terms >> 32) as u32, place);
    __leakscope_sym_read(to, terms as u32, place);
    pin_size(bytes, size, place);
    // SAFETY: as the caller says.
    unsafe { shadow::copy(to, from, bytes) };
}

/// Memory is about to be filled with a byte.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub extern "C" fn __leakscope_sym_fill(
    to: usize,
    byte: u32,
    bytes: usize,
    terms: u64,
    size: u32,
    place: usize,
) {
    pin_size(bytes, size, place);
    if bytes == 0 {
        return;
    }
    __leakscope_sym_read(to, terms as u32, place);
    fill(to, Known { value: u64::from(byte as u8), term: (terms >> 32) as u32 }, bytes);
}

/// Memory has one value, or is about to have it.
pub fn fill(to: usize, byte: Known, bytes: usize) {
    if byte.term == 0 {
        return shadow::clear(to, bytes);
    }
    let byte = Known { term: terms::extract(byte.term, 0, 8), ..byte };
    for at in to..to + bytes {
        shadow::set(at, byte);
    }
}

pub fn pin_size(bytes: usize, term: u32, place: usize) {
    terms::pin(Known { value: bytes as u64, term }, Why::Size, places::number(place));
}

/// An argument that is passed as a copy: where the caller has it, or 0.
///
/// # Safety
/// Both can be read.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn __leakscope_sym_passed(copy: usize, original: usize, bytes: usize) {
    if original == 0 {
        return shadow::clear(copy, bytes);
    }
    // SAFETY: as the caller says.
    unsafe { shadow::copy(copy, original, bytes) };
}

/// Passes a wanted place: what is used from here on is told again.
fn pass(place: &Place) -> u32 {
    if place.flags & u32::from(Place::WANTED) != 0 {
        objects::new_epoch();
    }
    places::number(core::ptr::from_ref(place) as usize)
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub extern "C" fn __leakscope_sym_branch(place: &Place, term: u32, holds: bool) {
    let taken = holds != (place.traits & Place::REVERSED != 0);
    if !places::count(place, taken.into()) && term == 0 {
        return;
    }
    let event = shared::event(EventKind::Branch, pass(place));
    shared::tell(Event { taken: taken.into(), term, value: holds.into(), ..event });
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub extern "C" fn __leakscope_sym_switch(place: &Place, term: u32, value: u64) {
    let at = core::ptr::from_ref(place) as u64;
    let cases = Place::target(at, Place::DETAIL_AT, place.detail) as *const u64;
    // SAFETY: so many cases are there, data of the program.
    let cases = unsafe { slice::from_raw_parts(cases, place.cases as usize) };
    let case = cases.iter().position(|&case| case == value).map_or(0, |index| index + 1);
    if !places::count(place, case) && term == 0 {
        return;
    }
    let event = shared::event(EventKind::Switch, pass(place));
    shared::tell(Event {
        taken: (case != 0).into(),
        detail: case as u16,
        term,
        value: value as u32,
        ..event
    });
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub extern "C" fn __leakscope_sym_point(place: &Place) {
    shared::tell(shared::event(EventKind::Point, pass(place)));
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub extern "C" fn __leakscope_sym_enter(place: &Place) {
    let event = shared::event(EventKind::Call, pass(place));
    shared::tell(Event { value: places::here(), ..event });
}

#[cfg_attr(not(test), unsafe(no_mangle))]
pub extern "C" fn __leakscope_sym_leave(place: &Place) {
    shared::tell(shared::event(EventKind::Return, pass(place)));
}

/// A value with a term is taken as it is, without a constraint.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub extern "C" fn __leakscope_sym_note(place: usize, _term: u32, what: u32) {
    let event = shared::event(EventKind::Note, places::number(place));
    shared::tell(Event { detail: what as u16, ..event });
}

/// The same, where the runtime itself says so.
pub fn note(place: usize, what: What) {
    shared::tell(Event { detail: what as u16, ..shared::event(EventKind::Note, places::number(place)) });
}

/// How far a model came in what it looks for.
pub fn matched(place: usize, parts: u32) {
    let event = shared::event(EventKind::Note, places::number(place));
    shared::tell(Event { detail: What::Matched as u16, value: parts, ..event });
}

/// A function that knows nothing of terms got so many arguments.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub extern "C" fn __leakscope_sym_foreign(place: usize, arguments: usize) {
    let thread = thread::current();
    thread.callee = 0;
    if thread.arguments[..arguments.min(thread::ARGUMENTS)].iter().any(|&term| term as u32 != 0) {
        note(place, What::Foreign);
    }
}

/// The bytes of a number in the opposite order.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub extern "C" fn __leakscope_sym_swap(term: u32, value: u64) -> u32 {
    let bytes = usize::from(terms::bits(term) / 8);
    let mut parts = [Known::default(); 8];
    for (index, part) in parts[..bytes].iter_mut().enumerate() {
        let low = 8 * (bytes - 1 - index);
        *part = Known { value: value >> low & 0xff, term: terms::extract(term, low as u16, 8) };
    }
    shadow::number(&parts[..bytes])
}

/// Whether an operation overflows, as a term; `TURNED` here means signed.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub extern "C" fn __leakscope_sym_overflow(kind: u32, a_term: u32, b_term: u32, a: u64, b: u64) -> u32 {
    let ((op, bits), signed) = (op_of(kind), kind & TURNED != 0);
    let widen = if signed { Op::SExt } else { Op::ZExt };
    let (a, b) = (Known { value: a, term: a_term }, Known { value: b, term: b_term });
    if bits <= 32 {
        let wide = |known: Known| Known {
            value: if signed {
                leakscope_wire::symbolic::signed(known.value, bits) as u64
            } else {
                known.value
            },
            term: terms::cast(widen, 64, known.term),
        };
        let result = terms::binary(op, 64, wide(a), wide(b));
        let again = terms::cast(widen, 64, terms::extract(result, 0, bits));
        let same =
            terms::binary(Op::Eq, 64, Known { value: 0, term: result }, Known { value: 0, term: again });
        return if result == 0 || again == 0 { 0 } else { terms::not(same) };
    }
    let result = Known { value: 0, term: terms::binary(op, bits, a, b) };
    match (op, signed) {
        (Op::Add, false) => terms::binary(Op::Ult, bits, result, a),
        (Op::Sub, false) => terms::binary(Op::Ult, bits, a, b),
        (Op::Add | Op::Sub, true) => {
            let (x, y) = if op == Op::Add { (result, b) } else { (a, b) };
            let first = terms::binary(Op::Xor, bits, result, a);
            let second = terms::binary(Op::Xor, bits, x, y);
            let both = terms::binary(
                Op::And,
                bits,
                Known { value: 0, term: first },
                Known { value: 0, term: second },
            );
            terms::extract(both, u16::from(bits) - 1, 1)
        }
        _ => 0,
    }
}
