//! What the source says of ownership in attributes: `ownership_returns`,
//! `ownership_takes` and `ownership_holds`. clang keeps these to itself, so the
//! capture makes annotations of them, which are in the bitcode.

use rustc_hash::FxHashMap;

use crate::llvm::{Module, Value};
use crate::program::Ownership;

/// What annotations that the capture made begin with.
const PREFIX: &str = "leakscope.";
/// Where a module has its annotations: of each, the function and the text.
pub const ANNOTATIONS: &str = "llvm.global.annotations";

/// By function, what is said of it.
pub fn ownership<'m>(module: &'m Module) -> FxHashMap<Value<'m>, Vec<Ownership>> {
    let mut found: FxHashMap<Value, Vec<Ownership>> = FxHashMap::default();
    let all = module.globals().find(|global| global.name() == ANNOTATIONS);
    let Some(all) = all.and_then(Value::initializer) else { return found };
    for annotation in (0..).map_while(|index| all.element(index)) {
        if let (Some(function), Some(text)) = (annotation.element(0), annotation.element(1))
            && let Some(text) = text.initializer().map(letters)
            && let Some(said) = text.strip_prefix(PREFIX)
        {
            found.entry(function).or_default().extend(parse(said));
        }
    }
    found
}

fn letters(text: Value) -> String {
    let letters = (0..).map_while(|index| text.element(index)?.integer());
    letters.map(|letter| char::from(letter as u8)).take_while(|letter| *letter != '\0').collect()
}

/// `takes malloc, 1, 2`: arguments count from 1.
fn parse(said: &str) -> Vec<Ownership> {
    let mut words = said.split([' ', ',']).filter(|word| !word.is_empty());
    let verb = words.next();
    let arguments = words.filter_map(|word| word.parse::<u32>().ok()?.checked_sub(1));
    match verb {
        Some("returns") => vec![Ownership::Returns],
        Some("takes") => arguments.map(Ownership::Takes).collect(),
        Some("holds") => arguments.map(Ownership::Holds).collect(),
        _ => Vec::new(),
    }
}
