//! Live blocks as a profile that `pprof` reads: its `profile.proto`, without
//! compression.
//!
//! Sample types: blocks and bytes in use, lost and stale, and drag (bytes times
//! heap accesses for which they lay idle).

use std::collections::HashMap;

use leakscope_core::{Amount, Frame, Live};
use prost::Message;

/// The parts of `profile.proto` that are needed, with its field numbers.
#[derive(Clone, PartialEq, Message)]
pub struct Profile {
    #[prost(message, repeated, tag = "1")]
    pub sample_type: Vec<ValueType>,
    #[prost(message, repeated, tag = "2")]
    pub sample: Vec<Sample>,
    #[prost(message, repeated, tag = "4")]
    pub location: Vec<Location>,
    #[prost(message, repeated, tag = "5")]
    pub function: Vec<Function>,
    /// The first is empty.
    #[prost(string, repeated, tag = "6")]
    pub string_table: Vec<String>,
    #[prost(int64, tag = "14")]
    pub default_sample_type: i64,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub struct ValueType {
    #[prost(int64, tag = "1")]
    pub name: i64,
    #[prost(int64, tag = "2")]
    pub unit: i64,
}

#[derive(Clone, PartialEq, Message)]
pub struct Sample {
    /// Innermost first.
    #[prost(uint64, repeated, tag = "1")]
    pub location_id: Vec<u64>,
    #[prost(int64, repeated, tag = "2")]
    pub value: Vec<i64>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Location {
    #[prost(uint64, tag = "1")]
    pub id: u64,
    #[prost(uint64, tag = "3")]
    pub address: u64,
    #[prost(message, repeated, tag = "4")]
    pub line: Vec<Line>,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub struct Line {
    #[prost(uint64, tag = "1")]
    pub function_id: u64,
    #[prost(int64, tag = "2")]
    pub line: i64,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub struct Function {
    #[prost(uint64, tag = "1")]
    pub id: u64,
    #[prost(int64, tag = "2")]
    pub name: i64,
    #[prost(int64, tag = "3")]
    pub system_name: i64,
    #[prost(int64, tag = "4")]
    pub filename: i64,
}

const TYPES: [(&str, &str); 7] = [
    ("inuse_objects", "count"),
    ("inuse_space", "bytes"),
    ("lost_objects", "count"),
    ("lost_space", "bytes"),
    ("stale_objects", "count"),
    ("stale_space", "bytes"),
    ("drag", "byte-accesses"),
];

/// `live` as bytes of a profile.
pub fn pprof(live: &[Live]) -> Vec<u8> {
    let mut tables = Tables::default();
    tables.text("");
    let sample_type = TYPES
        .iter()
        .map(|(name, unit)| ValueType { name: tables.text(name), unit: tables.text(unit) })
        .collect();
    let default_sample_type = tables.text("inuse_space");
    let sample = live
        .iter()
        .map(|live| {
            let frames = live.place.inner.iter().chain(&live.place.stack);
            let location_id = frames.map(|frame| tables.location(frame)).collect();
            let of = |Amount { blocks, bytes }| [blocks, bytes];
            let values = [of(live.in_use), of(live.lost), of(live.stale)].concat();
            let value = values.into_iter().chain([live.drag]).map(|value| value.min(i64::MAX as u64) as i64);
            Sample { location_id, value: value.collect() }
        })
        .collect();
    let Tables { texts, functions, locations, .. } = tables;
    let profile = Profile {
        sample_type,
        sample,
        location: locations,
        function: functions,
        string_table: texts,
        default_sample_type,
    };
    profile.encode_to_vec()
}

/// What a profile has once of each; ids begin with 1.
#[derive(Default)]
struct Tables {
    texts: Vec<String>,
    text_ids: HashMap<String, i64>,
    functions: Vec<Function>,
    function_ids: HashMap<(i64, i64), u64>,
    locations: Vec<Location>,
    location_ids: HashMap<(u64, Option<u32>, Option<u64>), u64>,
}

impl Tables {
    fn text(&mut self, text: &str) -> i64 {
        *self.text_ids.entry(text.to_owned()).or_insert_with(|| {
            self.texts.push(text.to_owned());
            self.texts.len() as i64 - 1
        })
    }

    fn location(&mut self, frame: &Frame) -> u64 {
        let function = self.function(frame);
        let key = (function, frame.line, frame.offset);
        *self.location_ids.entry(key).or_insert_with(|| {
            let id = self.locations.len() as u64 + 1;
            let line = Line { function_id: function, line: frame.line.unwrap_or(0).into() };
            self.locations.push(Location { id, address: frame.offset.unwrap_or(0), line: vec![line] });
            id
        })
    }

    fn function(&mut self, frame: &Frame) -> u64 {
        let name = frame.function.as_deref().or(frame.module.as_deref()).unwrap_or("?");
        let name = self.text(name);
        let filename = self.text(frame.file.as_deref().unwrap_or_default());
        *self.function_ids.entry((name, filename)).or_insert_with(|| {
            let id = self.functions.len() as u64 + 1;
            self.functions.push(Function { id, name, system_name: name, filename });
            id
        })
    }
}
