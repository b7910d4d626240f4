//! Sizes that small blocks are rounded up to: steps of 16 bytes up to 512,
//! then eight steps for each doubling.

/// Blocks above this are large: they have chunks of their own.
pub const SMALL_MAX: usize = 32 << 10;

/// Classes are numbered from 0 on.
pub const CLASSES: usize = 32 + 6 * 8;

/// The class of blocks of `bytes`, which is from 1 to [`SMALL_MAX`].
#[inline]
pub fn of(bytes: usize) -> usize {
    if bytes <= 512 {
        return (bytes - 1) / 16;
    }
    // 513..=1024 is the first doubling, in steps of 64.
    let doubling = (bytes - 1).ilog2() as usize - 9;
    32 + doubling * 8 + (((bytes - 1) >> (doubling + 6)) - 8)
}

/// What blocks of a class take.
#[inline]
pub fn bytes(class: usize) -> usize {
    if class < 32 {
        return (class + 1) * 16;
    }
    let (doubling, step) = ((class - 32) / 8, (class - 32) % 8);
    (8 + step + 1) << (doubling + 6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_has_the_smallest_class_that_holds_it() {
        assert_eq!(of(SMALL_MAX), CLASSES - 1);
        for size in 1..=SMALL_MAX {
            let class = of(size);
            assert!(bytes(class) >= size, "{size}");
            assert!(class == 0 || bytes(class - 1) < size, "{size}");
            assert_eq!(bytes(class) % 16, 0, "{size}");
        }
    }
}
