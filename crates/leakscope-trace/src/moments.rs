//! The moment at which a finding's first block was lost, as another run of the
//! program can stop at it: part of a finding's `evidence`.

use leakscope_wire as wire;
use serde_json::{Value, json};

use crate::record::Record;

/// Ordered by what happens first, as far as numbers tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment {
    /// Which of the allocation stack's blocks it is.
    pub ordinal: u32,
    /// Which death of a pointer to it.
    pub stamp: u32,
    /// Of the allocation stack.
    pub identity: u64,
    /// The process that lost it.
    pub pid: u32,
}

impl Moment {
    pub(crate) fn of(record: &Record, block: usize) -> Option<Moment> {
        let &wire::Moment { identity, ordinal, stamp } = record.moments.get(block)?;
        let known = ordinal > 0 && stamp > 0;
        known.then_some(Moment { ordinal, stamp, identity, pid: record.header.pid })
    }

    pub(crate) fn to_json(self) -> Value {
        let Moment { ordinal, stamp, identity, pid } = self;
        json!({"pid": pid, "stack": format!("{identity:016x}"), "ordinal": ordinal, "stamp": stamp})
    }

    /// What a finding's `evidence.moment` says.
    pub fn from_json(value: &Value) -> Option<Moment> {
        let number = |name: &str| u32::try_from(value.get(name)?.as_u64()?).ok();
        let identity = u64::from_str_radix(value.get("stack")?.as_str()?, 16).ok()?;
        Some(Moment { ordinal: number("ordinal")?, stamp: number("stamp")?, identity, pid: number("pid")? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_come_back_from_json() {
        let moment = Moment { ordinal: 3, stamp: 7, identity: u64::MAX - 1, pid: 12 };
        assert_eq!(Moment::from_json(&moment.to_json()), Some(moment));
        assert_eq!(Moment::from_json(&json!({"pid": 12})), None);
    }
}
