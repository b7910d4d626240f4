//! A growing array, and a hash table from words to numbers: what `alloc` would
//! give, on Valgrind's memory.

use core::ops::{Deref, DerefMut};

use crate::memory;

/// Values that are copied when the list grows.
pub struct List<T: Copy> {
    start: *mut T,
    count: usize,
    room: usize,
}

impl<T: Copy> List<T> {
    pub const fn new() -> List<T> {
        List { start: core::ptr::NonNull::dangling().as_ptr(), count: 0, room: 0 }
    }

    #[inline]
    pub fn push(&mut self, value: T) {
        if self.count == self.room {
            self.grow(self.room * 2);
        }
        // SAFETY: there is room.
        unsafe { *self.start.add(self.count) = value };
        self.count += 1;
    }

    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        self.count = self.count.checked_sub(1)?;
        // SAFETY: it was there.
        Some(unsafe { *self.start.add(self.count) })
    }

    pub fn clear(&mut self) {
        self.count = 0;
    }

    pub fn truncate(&mut self, count: usize) {
        self.count = self.count.min(count);
    }

    /// Gives the memory back.
    pub fn free(&mut self) {
        if self.room > 0 {
            memory::disown(self.start.cast(), self.room * size_of::<T>());
        }
        *self = List::new();
    }

    /// Makes the list `count` long; what is new has `value`.
    pub fn resize(&mut self, count: usize, value: T) {
        if count > self.room {
            self.grow(count.max(self.room * 2));
        }
        let start = self.start;
        for index in self.count..count {
            // SAFETY: there is room.
            unsafe { *start.add(index) = value };
        }
        self.count = count;
    }

    #[cold]
    fn grow(&mut self, room: usize) {
        let size = size_of::<T>().max(1);
        let bytes = (room * size).next_multiple_of(memory::PAGE).max(4 * memory::PAGE);
        let start: *mut T = memory::own(bytes).cast();
        // SAFETY: the new place is larger, and another.
        unsafe { core::ptr::copy_nonoverlapping(self.start, start, self.count) };
        if self.room > 0 {
            memory::disown(self.start.cast(), self.room * size);
        }
        self.start = start;
        self.room = bytes / size;
    }
}

impl<T: Copy> Deref for List<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: so many were pushed.
        unsafe { core::slice::from_raw_parts(self.start, self.count) }
    }
}

impl<T: Copy> DerefMut for List<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: so many were pushed.
        unsafe { core::slice::from_raw_parts_mut(self.start, self.count) }
    }
}

/// Numbers the different keys that it is given, from 1 on.
pub struct Numbers<K: Copy + PartialEq> {
    keys: List<K>,
    /// Numbers by hash, 0 where there is none; a power of two long.
    slots: List<u32>,
}

/// A key of [`Numbers`].
pub trait Key: Copy + PartialEq {
    fn hash(&self) -> u64;
}

impl Key for (u32, u32) {
    fn hash(&self) -> u64 {
        mix(u64::from(self.0) << 32 | u64::from(self.1))
    }
}

impl Key for u64 {
    fn hash(&self) -> u64 {
        mix(*self)
    }
}

/// Spreads the bits of a word over its upper half.
pub fn mix(word: u64) -> u64 {
    let product = u128::from(word ^ 0x9e37_79b9_7f4a_7c15) * 0xd6e8_feb8_6659_fd93;
    (product >> 64) as u64 ^ product as u64
}

impl<K: Key> Numbers<K> {
    pub const fn new() -> Numbers<K> {
        Numbers { keys: List::new(), slots: List::new() }
    }

    /// The number of a key that was given before.
    pub fn find(&self, key: K) -> Option<u32> {
        let number = if self.slots.is_empty() { 0 } else { self.slots[self.slot(&key)] };
        (number != 0).then_some(number)
    }

    pub fn number(&mut self, key: K) -> u32 {
        if self.keys.len() * 2 >= self.slots.len() {
            self.rehash();
        }
        let slot = self.slot(&key);
        if self.slots[slot] == 0 {
            self.keys.push(key);
            self.slots[slot] = self.keys.len() as u32;
        }
        self.slots[slot]
    }

    /// Gives the memory back.
    pub fn free(&mut self) {
        self.keys.free();
        self.slots.free();
    }

    /// The keys by number, the first has number 1.
    pub fn keys(&self) -> &[K] {
        &self.keys
    }

    /// Where a key is, or would be.
    #[inline]
    fn slot(&self, key: &K) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = key.hash() as usize & mask;
        loop {
            match self.slots[slot] {
                0 => return slot,
                number if self.keys[number as usize - 1] == *key => return slot,
                _ => slot = (slot + 1) & mask,
            }
        }
    }

    #[cold]
    fn rehash(&mut self) {
        let count = (self.slots.len() * 2).max(1 << 12);
        self.slots.clear();
        self.slots.resize(count, 0);
        for index in 0..self.keys.len() {
            let slot = self.slot(&self.keys[index]);
            self.slots[slot] = index as u32 + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::vec::Vec;

    proptest::proptest! {
        #[test]
        fn numbers_agree_with_a_map(keys in proptest::collection::vec((0..50_u32, 0..50_u32), 0..9000)) {
            let (mut numbers, mut model) = (Numbers::new(), BTreeMap::new());
            for key in keys {
                let next = model.len() as u32 + 1;
                proptest::prop_assert_eq!(numbers.find(key), model.get(&key).copied());
                proptest::prop_assert_eq!(numbers.number(key), *model.entry(key).or_insert(next));
            }
            proptest::prop_assert_eq!(numbers.keys().len(), model.len());
        }

        #[test]
        fn lists_agree_with_vectors(values in proptest::collection::vec(0..9_u32, 0..9000)) {
            let (mut list, mut model) = (List::new(), Vec::new());
            for value in values {
                if value == 0 {
                    proptest::prop_assert_eq!(list.pop(), model.pop());
                } else {
                    list.push(value);
                    model.push(value);
                }
            }
            proptest::prop_assert_eq!(&list[..], &model[..]);
        }
    }
}
