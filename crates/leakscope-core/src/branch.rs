//! What a conditional branch of unoptimised bitcode means in the source. The
//! analysis that names a path and the engine that follows one both ask here.

/// Which of a branch's two destinations is the one where the source's
/// condition holds: 0 for that of the machine's truth, 1 for the other.
///
/// For `!` clang exchanges the destinations and negates nothing. But it lays
/// out the code that a condition decides about right behind it: of the two
/// destinations the one that comes first in the function tells by its name
/// what it is. `names` are those of the blocks, `positions` their places in
/// the function; blocks of other names go as the machine does.
pub fn taken_destination(names: [&str; 2], positions: [usize; 2]) -> usize {
    let first = usize::from(positions[1] < positions[0]);
    match names[first].trim_end_matches(|digit: char| digit.is_ascii_digit()) {
        "if.then" | "land.lhs.true" | "land.rhs" | "cond.true" | "for.body" | "while.body" | "do.body"
        | "delete.notnull" => first,
        "lor.lhs.false" | "lor.rhs" | "cond.false" | "for.cond.cleanup" | "if.else" | "if.end" => 1 - first,
        _ => 0,
    }
}
