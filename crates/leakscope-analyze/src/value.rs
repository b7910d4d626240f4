//! Abstract values: constants, addresses, and symbols that stand for what is
//! not known but has one identity (SPARROW's explore-addresses among them).

use std::cmp::Ordering;
use std::sync::Arc;

use leakscope_ir::{Binary, BlockId, Compare, FuncId, GlobalId, ValueId, VariableId};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::shared::Key;

/// A symbol of one procedure; see [`SymbolKey`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SymbolId(pub u32);

/// A heap block of one procedure: an allocation site, and whether it is the
/// most recent block of the site or all older ones (recency abstraction).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct HeapId(u32);

/// What an address or a number is counted from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Base {
    Symbol(SymbolId),
    Local(ValueId),
    Global(GlobalId),
    Heap(HeapId),
    Function(FuncId),
}

/// Distance from a base; `Any` for elements that an unknown index chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Offset {
    At(i64),
    Any,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Value {
    /// Anything but a pointer to a block that is followed.
    Top,
    /// A null pointer is 0.
    Int(i64),
    /// For symbols of numbers, the symbol plus a constant.
    Sum(Base, Offset),
    /// One of these, none of them a set or record.
    OneOf(Arc<[Value]>),
    /// A structure in registers, flattened.
    Record(Arc<[Value]>),
}

/// What a symbol stands for. The same key is the same value in one case.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum SymbolKey {
    Parameter(u32),
    /// What memory held when the procedure was entered.
    Content(Base, Offset),
    /// The elements of a container at this address.
    Elements(Base, Offset),
    Binary(Binary, Value, Value),
    Compare(Compare, Value, Value),
    /// An instruction's result, until it runs again; a call may bring several.
    Result(ValueId, u32),
    /// What differed where cases met.
    Joined(Point, Holder),
}

/// Where cases meet: at the start of a block or after a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Point {
    Block(BlockId),
    Call(ValueId),
    Exit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Holder {
    Value(ValueId),
    Cell(Base, Offset),
    Member(u32),
    Result,
}

/// Alternatives that a value keeps apart; more are a symbol.
const MAX_ALTERNATIVES: usize = 8;
/// Distances from one base that are kept apart.
const MAX_OFFSETS: usize = 3;
/// Dereferences in an access path: SPARROW's k.
pub const MAX_DEPTH: u8 = 5;
/// Dereferences up to which it is told what becomes of something.
const NEAR: u8 = 3;
/// Operations in a symbol.
const MAX_OPERATIONS: u8 = 6;

/// The symbols of one procedure.
#[derive(Clone, Debug)]
pub struct Symbols {
    /// Dereferences in an access path.
    pub max_depth: u8,
    keys: Vec<SymbolKey>,
    depths: Vec<Depth>,
    /// For each symbol, a mark for every base that it is made of; a quick no.
    marks: Vec<u64>,
    ids: FxHashMap<SymbolKey, SymbolId>,
    results: FxHashMap<ValueId, Vec<SymbolId>>,
    /// Where cases met and symbols came to be.
    points: FxHashSet<Point>,
    /// Some symbol stands for the elements of a container.
    has_elements: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Depth {
    dereferences: u8,
    operations: u8,
    /// Made of what the caller knows, so that it can be named there.
    is_input: bool,
}

impl Base {
    /// Its place in the order of all bases.
    fn rank(self) -> u64 {
        let (kind, id) = match self {
            Base::Symbol(id) => (0, id.0),
            Base::Local(id) => (1, id.0),
            Base::Global(id) => (2, id.0),
            Base::Heap(id) => (3, id.0),
            Base::Function(id) => (4, id.0),
        };
        kind << 32 | u64::from(id)
    }
}

impl Ord for Base {
    fn cmp(&self, other: &Base) -> Ordering {
        self.rank().cmp(&other.rank())
    }
}

impl PartialOrd for Base {
    fn partial_cmp(&self, other: &Base) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Key for Base {
    type Order = u64;
    fn order(self) -> u64 {
        self.rank()
    }
}

macro_rules! key_by_number {
    ($($id:ty)*) => {$(
        impl Key for $id {
            type Order = u32;
            fn order(self) -> u32 {
                self.0
            }
        }
    )*};
}

key_by_number! { SymbolId HeapId VariableId }

/// Cells of one base follow each other, those of any index last.
impl Key for (Base, Offset) {
    type Order = u128;
    fn order(self) -> u128 {
        let (is_any, at) = match self.1 {
            Offset::At(at) => (0, at.cast_unsigned() ^ 1 << 63),
            Offset::Any => (1, 0),
        };
        u128::from(self.0.rank() << 1 | is_any) << 64 | u128::from(at)
    }
}

impl HeapId {
    pub fn recent(site: usize) -> HeapId {
        HeapId(site as u32 * 2)
    }

    pub fn older(self) -> HeapId {
        HeapId(self.0 | 1)
    }

    pub fn is_older(self) -> bool {
        self.0 & 1 == 1
    }

    pub fn site(self) -> usize {
        (self.0 / 2) as usize
    }
}

impl Offset {
    pub fn plus(self, bytes: i64) -> Offset {
        match self {
            Offset::At(at) => Offset::At(at.wrapping_add(bytes)),
            Offset::Any => Offset::Any,
        }
    }

    pub fn and(self, other: Offset) -> Offset {
        match other {
            Offset::At(bytes) => self.plus(bytes),
            Offset::Any => Offset::Any,
        }
    }
}

impl Value {
    pub const NULL: Value = Value::Int(0);

    pub fn address(base: Base) -> Value {
        Value::Sum(base, Offset::At(0))
    }

    pub fn symbol(id: SymbolId) -> Value {
        Value::address(Base::Symbol(id))
    }

    /// The alternatives, or the value itself; members for a record.
    pub fn parts(&self) -> &[Value] {
        match self {
            Value::OneOf(parts) | Value::Record(parts) => parts,
            other => std::slice::from_ref(other),
        }
    }

    pub fn heap_blocks(&self) -> impl Iterator<Item = HeapId> {
        self.parts().iter().flat_map(Value::parts).filter_map(|part| match part {
            Value::Sum(Base::Heap(block), _) => Some(*block),
            _ => None,
        })
    }

    pub fn has_heap(&self) -> bool {
        match self {
            Value::Sum(base, _) => matches!(base, Base::Heap(_)),
            Value::OneOf(parts) | Value::Record(parts) => parts.iter().any(Value::has_heap),
            Value::Top | Value::Int(_) => false,
        }
    }

    pub fn bases(&self) -> impl Iterator<Item = (Base, Offset)> {
        self.parts().iter().flat_map(Value::parts).filter_map(|part| match part {
            Value::Sum(base, offset) => Some((*base, *offset)),
            _ => None,
        })
    }

    /// One value that is any of `parts`; `None` where they are too many to be
    /// kept apart.
    pub fn one_of(parts: impl IntoIterator<Item = Value>) -> Option<Value> {
        let mut all: Vec<Value> = Vec::new();
        for part in parts {
            all.extend_from_slice(part.parts());
        }
        all.sort();
        all.dedup();
        if all.first() == Some(&Value::Top) {
            all.retain(|part| !matches!(part, Value::Int(_)));
        }
        forget_offsets(&mut all);
        match all.len() {
            0 => Some(Value::Top),
            1 => all.pop(),
            2..=MAX_ALTERNATIVES => Some(Value::OneOf(all.into())),
            _ => None,
        }
    }

    /// Each alternative changed.
    pub fn map(&self, mut change: impl FnMut(&Value) -> Value) -> Value {
        match self {
            Value::OneOf(parts) => Value::one_of(parts.iter().map(change)).unwrap_or(Value::Top),
            Value::Record(parts) => Value::Record(parts.iter().map(change).collect()),
            other => change(other),
        }
    }

    pub fn plus(&self, offset: Offset) -> Value {
        if offset == Offset::At(0) {
            return self.clone();
        }
        self.map(|part| match (part, offset) {
            (Value::Sum(base, at), _) => Value::Sum(*base, at.and(offset)),
            (Value::Int(number), Offset::At(bytes)) => Value::Int(number.wrapping_add(bytes)),
            _ => Value::Top,
        })
    }

    pub fn member(&self, index: usize) -> Value {
        match self {
            Value::Record(parts) => parts.get(index).cloned().unwrap_or(Value::Top),
            _ => Value::Top,
        }
    }
}

impl Default for Symbols {
    fn default() -> Symbols {
        Symbols {
            max_depth: MAX_DEPTH,
            keys: Vec::new(),
            depths: Vec::new(),
            marks: Vec::new(),
            ids: FxHashMap::default(),
            results: FxHashMap::default(),
            points: FxHashSet::default(),
            has_elements: false,
        }
    }
}

impl Symbols {
    pub fn key(&self, id: SymbolId) -> &SymbolKey {
        &self.keys[id.0 as usize]
    }

    pub fn has_elements(&self) -> bool {
        self.has_elements
    }

    /// Near enough to the arguments that callers care what becomes of it.
    pub fn is_near_input(&self, id: SymbolId) -> bool {
        let depth = self.depths[id.0 as usize];
        depth.is_input && depth.dereferences <= NEAR
    }

    /// The same of what it points to.
    pub fn has_near_members(&self, id: SymbolId) -> bool {
        self.depths[id.0 as usize].dereferences < NEAR
    }

    pub fn is_input(&self, id: SymbolId) -> bool {
        self.depths[id.0 as usize].is_input
    }

    pub fn len(&self) -> usize {
        self.keys.len()
    }

    pub fn all(&self) -> impl Iterator<Item = SymbolId> + use<> {
        (0..self.keys.len() as u32).map(SymbolId)
    }

    /// The symbol for `key`, unless it would be too deep.
    pub fn get(&mut self, key: SymbolKey) -> Option<SymbolId> {
        if let Some(&known) = self.ids.get(&key) {
            return Some(known);
        }
        let depth = self.depth(&key);
        if depth.dereferences > self.max_depth || depth.operations > MAX_OPERATIONS {
            return None;
        }
        let id = SymbolId(self.keys.len() as u32);
        self.keys.push(key.clone());
        self.has_elements |= matches!(key, SymbolKey::Elements(..));
        match key {
            SymbolKey::Result(result, _) => self.results.entry(result).or_default().push(id),
            SymbolKey::Joined(point, _) => drop(self.points.insert(point)),
            _ => {}
        }
        self.depths.push(depth);
        let marks = self.marks_of(&key) | mark(Base::Symbol(id));
        self.marks.push(marks);
        self.ids.insert(key, id);
        Some(id)
    }

    /// The same symbols with their keys changed, which stay different.
    pub fn map(&self, change: impl FnMut(&SymbolKey) -> SymbolKey) -> Symbols {
        Symbols::of(self.max_depth, self.keys.iter().map(change))
    }

    pub fn of(max_depth: u8, keys: impl Iterator<Item = SymbolKey>) -> Symbols {
        let mut symbols = Symbols::default();
        for key in keys {
            symbols.get(key);
        }
        // Some may be from before the bound was lowered.
        symbols.max_depth = max_depth;
        symbols
    }

    /// Symbols of what an instruction brings.
    pub fn results_of(&self, result: ValueId) -> Vec<SymbolId> {
        self.results.get(&result).cloned().unwrap_or_default()
    }

    /// Whether some symbol stands for what differed there.
    pub fn has_joined_at(&self, point: Point) -> bool {
        self.points.contains(&point)
    }

    /// The symbol for `key` if there is one.
    pub fn find(&self, key: &SymbolKey) -> Option<SymbolId> {
        self.ids.get(key).copied()
    }

    pub fn value(&mut self, key: SymbolKey) -> Value {
        self.get(key).map_or(Value::Top, Value::symbol)
    }

    fn depth(&self, key: &SymbolKey) -> Depth {
        match key {
            SymbolKey::Parameter(_) => Depth { is_input: true, ..Depth::default() },
            SymbolKey::Content(base, _) => {
                let depth = self.depth_of_base(*base);
                Depth { dereferences: depth.dereferences + 1, ..depth }
            }
            SymbolKey::Elements(base, _) => self.depth_of_base(*base),
            // A test for null is one, of however many elements.
            SymbolKey::Compare(_, Value::OneOf(parts), Value::NULL) => {
                let depth = self.depth_of_parts(parts);
                Depth { operations: depth.operations + 1, ..depth }
            }
            SymbolKey::Binary(_, left, right) | SymbolKey::Compare(_, left, right) => {
                let (left, right) = (self.depth_of_value(left), self.depth_of_value(right));
                Depth {
                    dereferences: left.dereferences.max(right.dereferences),
                    operations: left.operations + right.operations + 1,
                    is_input: left.is_input && right.is_input,
                }
            }
            SymbolKey::Result(..) | SymbolKey::Joined(..) => Depth::default(),
        }
    }

    fn depth_of_base(&self, base: Base) -> Depth {
        match base {
            Base::Symbol(id) => self.depths[id.0 as usize],
            Base::Global(_) | Base::Function(_) => Depth { is_input: true, ..Depth::default() },
            Base::Local(_) | Base::Heap(_) => Depth::default(),
        }
    }

    fn depth_of_value(&self, value: &Value) -> Depth {
        match value {
            Value::Int(_) => Depth { is_input: true, ..Depth::default() },
            Value::Sum(base, _) => self.depth_of_base(*base),
            Value::OneOf(parts) if parts.len() <= 3 => self.depth_of_parts(parts),
            _ => Depth { operations: MAX_OPERATIONS, ..Depth::default() },
        }
    }

    fn depth_of_parts(&self, parts: &[Value]) -> Depth {
        if parts.contains(&Value::Top) {
            return Depth { operations: MAX_OPERATIONS, ..Depth::default() };
        }
        let depths = parts.iter().map(|part| self.depth_of_value(part));
        let deepest = depths.reduce(|a, b| Depth {
            dereferences: a.dereferences.max(b.dereferences),
            operations: a.operations.max(b.operations),
            is_input: a.is_input && b.is_input,
        });
        deepest.unwrap_or_default()
    }

    /// Marks of a base and all that it is made of.
    pub fn marks(&self, base: Base) -> u64 {
        match base {
            Base::Symbol(id) => self.marks[id.0 as usize],
            base => mark(base),
        }
    }

    /// Whether something with these marks can be made of the symbol, or share
    /// what both are made of.
    pub fn is_marked(&self, marks: u64, id: SymbolId) -> bool {
        self.marks[id.0 as usize] & marks != 0
    }

    fn marks_of(&self, key: &SymbolKey) -> u64 {
        let of_base = |base: Base| match base {
            Base::Symbol(id) => self.marks[id.0 as usize],
            base => mark(base),
        };
        let of_value = |value: &Value| value.bases().fold(0, |marks, (base, _)| marks | of_base(base));
        match key {
            SymbolKey::Content(base, _) | SymbolKey::Elements(base, _) => of_base(*base),
            SymbolKey::Binary(_, left, right) | SymbolKey::Compare(_, left, right) => {
                of_value(left) | of_value(right)
            }
            SymbolKey::Parameter(_) | SymbolKey::Result(..) | SymbolKey::Joined(..) => 0,
        }
    }

    /// An argument, or a number that is computed from arguments alone.
    pub fn is_of_parameters(&self, id: SymbolId) -> bool {
        let of_value = |value: &Value| match value {
            Value::Int(_) => true,
            Value::Sum(Base::Symbol(id), _) => self.is_of_parameters(*id),
            _ => false,
        };
        match self.key(id) {
            SymbolKey::Parameter(_) => true,
            SymbolKey::Binary(_, left, right) | SymbolKey::Compare(_, left, right) => {
                of_value(left) && of_value(right)
            }
            _ => false,
        }
    }

    /// An argument, or what memory held: nothing that is computed.
    pub fn is_of_memory(&self, id: SymbolId) -> bool {
        match self.key(id) {
            SymbolKey::Parameter(_) => true,
            SymbolKey::Content(base, _) | SymbolKey::Elements(base, _) => match base {
                Base::Symbol(id) => self.is_of_memory(*id),
                _ => true,
            },
            _ => false,
        }
    }

    /// Whether `id` is `other` or made of it.
    pub fn mentions(&self, id: SymbolId, other: Base) -> bool {
        if self.marks[id.0 as usize] & mark(other) == 0 {
            return false;
        }
        let in_value = |value: &Value| value.bases().any(|(base, _)| self.base_mentions(base, other));
        match self.key(id) {
            _ if Base::Symbol(id) == other => true,
            SymbolKey::Content(base, _) | SymbolKey::Elements(base, _) => self.base_mentions(*base, other),
            SymbolKey::Binary(_, left, right) | SymbolKey::Compare(_, left, right) => {
                in_value(left) || in_value(right)
            }
            _ => false,
        }
    }

    /// The object that a base is a part of.
    pub fn owner(&self, base: Base) -> Base {
        match base {
            Base::Symbol(id) if self.has_elements => match self.key(id) {
                SymbolKey::Elements(outer, _) => self.owner(*outer),
                _ => base,
            },
            _ => base,
        }
    }

    pub fn base_mentions(&self, base: Base, other: Base) -> bool {
        base == other || matches!(base, Base::Symbol(id) if self.mentions(id, other))
    }
}

/// Keys alone: all else follows from them.
impl Serialize for Symbols {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.max_depth, &self.keys).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Symbols {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Symbols, D::Error> {
        let (max_depth, keys): (u8, Vec<SymbolKey>) = Deserialize::deserialize(deserializer)?;
        Ok(Symbols::of(max_depth, keys.into_iter()))
    }
}

/// Of one base with many distances, sorted, none is known.
fn forget_offsets(parts: &mut Vec<Value>) {
    let base = |part: &Value| match part {
        Value::Sum(base, _) => Some(*base),
        _ => None,
    };
    if parts.len() <= MAX_OFFSETS {
        return;
    }
    let mut start = 0;
    while start < parts.len() {
        let group = parts[start..].iter().take_while(|part| base(part) == base(&parts[start])).count();
        if let (Some(base), true) = (base(&parts[start]), group > MAX_OFFSETS) {
            parts.splice(start..start + group, [Value::Sum(base, Offset::Any)]);
        }
        start += 1;
    }
}

/// A bit for a base, as a quick test of what is made of what.
pub fn mark(base: Base) -> u64 {
    let number = match base {
        Base::Symbol(id) => id.0,
        Base::Local(id) => id.0.wrapping_mul(5) + 1,
        Base::Global(id) => id.0.wrapping_mul(7) + 2,
        Base::Heap(id) => id.0.wrapping_mul(11) + 3,
        Base::Function(id) => id.0.wrapping_mul(13) + 4,
    };
    1 << (number.wrapping_mul(0x9e37_79b1) >> 26)
}
