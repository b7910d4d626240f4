//! What each operation makes of numbers: the one definition that the
//! simplifier and the evaluation share.

use crate::term::{Binary, Compare, mask, signed};

pub fn binary(op: Binary, a: u64, b: u64, bits: u32) -> u64 {
    let (sa, sb) = (signed(a, bits), signed(b, bits));
    let all = mask(bits);
    let result = match op {
        Binary::Add => a.wrapping_add(b),
        Binary::Sub => a.wrapping_sub(b),
        Binary::Mul => a.wrapping_mul(b),
        Binary::UDiv => a.checked_div(b).unwrap_or(all),
        Binary::URem => a.checked_rem(b).unwrap_or(a),
        Binary::SDiv if sb == 0 => {
            if sa < 0 {
                1
            } else {
                all
            }
        }
        Binary::SDiv => sa.wrapping_div(sb) as u64,
        Binary::SRem if sb == 0 => a,
        Binary::SRem => sa.wrapping_rem(sb) as u64,
        Binary::And => a & b,
        Binary::Or => a | b,
        Binary::Xor => a ^ b,
        Binary::Shl if b >= bits.into() => 0,
        Binary::Shl => a << b,
        Binary::LShr if b >= bits.into() => 0,
        Binary::LShr => a >> b,
        Binary::AShr => (sa >> b.min(u64::from(bits) - 1)) as u64,
    };
    result & all
}

pub fn compare(op: Compare, a: u64, b: u64, bits: u32) -> bool {
    match op {
        Compare::Eq => a == b,
        Compare::Ult => a < b,
        Compare::Ule => a <= b,
        Compare::Slt => signed(a, bits) < signed(b, bits),
        Compare::Sle => signed(a, bits) <= signed(b, bits),
    }
}
