//! Sizes of small blocks: steps of 16 bytes up to 128, then four steps for
//! each doubling up to 1 KiB, then eight up to 32 KiB. Larger requests get whole
//! chunks. With more steps, each has less room to spare, but more of them have
//! a chunk that is mostly free.

/// Largest request that is served from a class.
pub const SMALL_MAX: usize = 32 * 1024;

pub const CLASSES: usize = MIDDLE + 5 * 8;

/// The first class of more than 128 bytes, and of more than 1 KiB.
const FEW: usize = 8;
const MIDDLE: usize = FEW + 3 * 4;

/// Blocks up to this size are cleared before they are handed out again, so
/// that a pointer left by a former owner cannot hide a leak. Larger ones are
/// mostly buffers that are filled at once.
pub const CLEARED_MAX: usize = 1024;

pub static SIZES: [u32; CLASSES] = sizes();

/// `(offset in chunk * RECIPROCALS[class]) >> 32` is the block's index.
pub static RECIPROCALS: [u32; CLASSES] = reciprocals();

/// Class of the smallest block that holds `size` bytes, for `size` up to
/// [`SMALL_MAX`].
#[inline(always)]
pub fn class_of(size: usize) -> usize {
    if size <= 128 {
        return size.saturating_sub(1) / 16;
    }
    let last = size - 1;
    let exponent = last.ilog2() as usize;
    if size <= 1024 {
        FEW + (exponent - 7) * 4 + ((last >> (exponent - 2)) & 3)
    } else {
        MIDDLE + (exponent - 10) * 8 + ((last >> (exponent - 3)) & 7)
    }
}

const fn sizes() -> [u32; CLASSES] {
    let mut sizes = [0; CLASSES];
    let mut class = 0;
    while class < CLASSES {
        sizes[class] = if class < FEW {
            16 * (class as u32 + 1)
        } else if class < MIDDLE {
            let (doubling, step) = ((class - FEW) / 4, (class - FEW) % 4);
            (128 << doubling) + (step as u32 + 1) * (32 << doubling)
        } else {
            let (doubling, step) = ((class - MIDDLE) / 8, (class - MIDDLE) % 8);
            (1024 << doubling) + (step as u32 + 1) * (128 << doubling)
        };
        class += 1;
    }
    sizes
}

const fn reciprocals() -> [u32; CLASSES] {
    let mut reciprocals = [0; CLASSES];
    let mut class = 0;
    while class < CLASSES {
        reciprocals[class] = ((1u64 << 32) / SIZES[class] as u64 + 1) as u32;
        class += 1;
    }
    reciprocals
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::CHUNK;

    #[test]
    fn every_size_gets_the_smallest_class_that_holds_it() {
        for size in 0..=SMALL_MAX {
            let class = class_of(size);
            assert!(SIZES[class] as usize >= size, "{size}");
            assert!(class == 0 || (SIZES[class - 1] as usize) < size, "{size}");
        }
        assert_eq!(SIZES[CLASSES - 1] as usize, SMALL_MAX);
    }

    #[test]
    fn reciprocals_divide_every_offset_in_a_chunk() {
        for class in 0..CLASSES {
            for offset in 0..CHUNK as u64 {
                let index = (offset * u64::from(RECIPROCALS[class])) >> 32;
                assert_eq!(index, offset / u64::from(SIZES[class]), "class {class} offset {offset}");
            }
        }
    }
}
