//! Short texts without allocation: paths and messages.

use core::ffi::CStr;

/// Up to `N - 1` bytes, and a zero byte after them. What does not fit is cut.
pub struct Text<const N: usize> {
    bytes: [u8; N],
    count: usize,
}

impl<const N: usize> Text<N> {
    pub const fn new() -> Text<N> {
        Text { bytes: [0; N], count: 0 }
    }

    pub fn push(&mut self, bytes: &[u8]) -> &mut Text<N> {
        let fitting = bytes.len().min(N - 1 - self.count);
        self.bytes[self.count..self.count + fitting].copy_from_slice(&bytes[..fitting]);
        self.count += fitting;
        self
    }

    pub fn push_number(&mut self, number: u64) -> &mut Text<N> {
        self.push_digits(number, 10)
    }

    pub fn push_hex(&mut self, number: u64) -> &mut Text<N> {
        self.push(b"0x").push_digits(number, 16)
    }

    fn push_digits(&mut self, mut number: u64, base: u64) -> &mut Text<N> {
        let mut digits = [0; 20];
        let mut at = digits.len();
        loop {
            at -= 1;
            digits[at] = b"0123456789abcdef"[(number % base) as usize];
            number /= base;
            if number == 0 {
                return self.push(&digits[at..]);
            }
        }
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.count]
    }

    pub fn as_c_str(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.bytes).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_and_end_with_zero() {
        let mut text = Text::<8>::new();
        text.push(b"p").push_number(1205).push_hex(255).push(b"more");
        assert_eq!(text.as_bytes(), b"p12050x");
        assert_eq!(text.as_c_str().to_bytes(), b"p12050x");
        assert_eq!(Text::<8>::new().push_number(0).as_bytes(), b"0");
    }
}
