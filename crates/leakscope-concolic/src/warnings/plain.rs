//! Lists of `file TAB line TAB kind`, with `END_PATH` between warnings.

use super::{Warnings, WarningsError};
use crate::warning::{MarkKind, PathMark, Spot, Warning};

const END: &str = "END_PATH";

pub fn parse(text: &str) -> Result<Warnings, WarningsError> {
    let mut read = Warnings::default();
    let mut marks = Vec::new();
    for (index, text) in text.lines().enumerate() {
        let line = text.trim();
        if line == END {
            finish(&mut read, std::mem::take(&mut marks));
        } else if !line.is_empty() && !line.starts_with('#') {
            marks.push(mark(line, index + 1)?);
        }
    }
    finish(&mut read, marks);
    Ok(read)
}

fn mark(text: &str, line: usize) -> Result<PathMark, WarningsError> {
    let unknown = || WarningsError::Unknown { line, text: text.to_owned() };
    let mut fields = text.split('\t').map(str::trim);
    let (Some(file), Some(number), Some(kind)) = (fields.next(), fields.next(), fields.next()) else {
        return Err(unknown());
    };
    let kind = match kind {
        "MA" => MarkKind::Allocation,
        "BT" => MarkKind::BranchTaken,
        "BF" => MarkKind::BranchNotTaken,
        "PP" => MarkKind::Point,
        "LK" => MarkKind::Leak,
        other => return Err(WarningsError::Kind { line, text: other.to_owned() }),
    };
    Ok(PathMark { kind, spot: Spot::new(file, number.parse().map_err(|_| unknown())?) })
}

fn finish(read: &mut Warnings, marks: Vec<PathMark>) {
    if !marks.is_empty() {
        read.warnings.push(Warning::of_marks(marks));
    }
}
