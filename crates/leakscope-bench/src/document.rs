//! The documents that sections write: tables, targets, the machine. Markdown,
//! and nothing of what is measured.

use std::fmt::{self, Write};

use crate::machine;

/// One section's document, `docs/bench/SECTION.md`.
pub struct Document {
    text: String,
}

impl Document {
    pub fn new(title: &str, introduction: &str, caveats: &[&str]) -> Document {
        let mut document = Document { text: format!("# {title}\n\n") };
        document.paragraph(introduction);
        for caveat in caveats {
            document.paragraph(&format!("**Not the full measurement: {caveat}.**"));
        }
        document
    }

    pub fn heading(&mut self, heading: &str) {
        let _ = write!(self.text, "## {heading}\n\n");
    }

    pub fn paragraph(&mut self, text: &str) {
        let _ = write!(self.text, "{text}\n\n");
    }

    pub fn table(&mut self, table: &Table) {
        let _ = writeln!(self.text, "{table}");
    }

    /// What the index shows too.
    pub fn targets(&mut self, judged: &[Judged]) {
        self.heading(TARGETS);
        self.table(&targets(judged));
    }

    pub fn list(&mut self, items: &[String]) {
        for item in items {
            let _ = writeln!(self.text, "- {item}");
        }
        self.text.push('\n');
    }

    /// The whole text, with the machine at its end.
    pub fn finished(mut self) -> anyhow::Result<String> {
        self.heading("Machine");
        let mut table = Table::plain(["", ""]);
        for (name, value) in machine::describe()? {
            table.row([name, &value]);
        }
        let _ = write!(self.text, "{table}");
        Ok(self.text)
    }
}

pub const TARGETS: &str = "Targets";

/// The part of a document under a heading, without the heading.
pub fn part<'a>(document: &'a str, heading: &str) -> Option<&'a str> {
    let (_, rest) = document.split_once(&format!("\n## {heading}\n\n"))?;
    Some(rest.split("\n## ").next().unwrap_or(rest).trim_end())
}

/// Rows of cells. Numbers stand to the right, so all columns but the first do.
pub struct Table {
    columns: usize,
    text: String,
}

impl Table {
    pub fn new<T: AsRef<str>>(headings: impl IntoIterator<Item = T>) -> Table {
        Table::aligned(headings, "---:|")
    }

    /// All columns to the left, for words.
    pub fn plain<T: AsRef<str>>(headings: impl IntoIterator<Item = T>) -> Table {
        Table::aligned(headings, "---|")
    }

    fn aligned<T: AsRef<str>>(headings: impl IntoIterator<Item = T>, further: &str) -> Table {
        let mut table = Table { columns: 0, text: String::new() };
        table.columns = table.row(headings);
        let _ = writeln!(table.text, "|---|{}", further.repeat(table.columns - 1));
        table
    }

    /// Adds a row and returns how many cells it has.
    pub fn row<T: AsRef<str>>(&mut self, cells: impl IntoIterator<Item = T>) -> usize {
        let cells: Vec<String> = cells.into_iter().map(|cell| cell.as_ref().replace('|', "\\|")).collect();
        debug_assert!(self.columns == 0 || self.columns == cells.len());
        let _ = writeln!(self.text, "| {} |", cells.join(" | "));
        cells.len()
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A target beside what was measured.
pub struct Judged {
    what: String,
    target: String,
    measured: String,
    met: String,
}

/// A figure that must not be above the limit; `measured` also has the words to show.
pub fn at_most(what: &str, limit: f64, unit: &str, measured: Option<(f64, String)>) -> Judged {
    judged(what, format!("at most {}", figure(limit, unit)), measured, |value| (limit - value, "above", unit))
}

/// A figure that must not be below the limit.
pub fn at_least(what: &str, limit: f64, unit: &str, measured: Option<(f64, String)>) -> Judged {
    judged(what, format!("at least {}", figure(limit, unit)), measured, |value| {
        (value - limit, "below", unit)
    })
}

fn judged<'a>(
    what: &str,
    target: String,
    measured: Option<(f64, String)>,
    margin: impl Fn(f64) -> (f64, &'static str, &'a str),
) -> Judged {
    let (measured, met) = match measured {
        None => ("not measured".to_owned(), "-".to_owned()),
        Some((value, shown)) => match margin(value) {
            (margin, ..) if margin >= 0.0 => (shown, "yes".to_owned()),
            (margin, side, unit) => (shown, format!("no, {} {side}", figure(-margin, unit))),
        },
    };
    Judged { what: what.to_owned(), target, measured, met }
}

/// With as many digits as mean something: ratios have two, or three if they
/// would be 0 without, others none unless they are small.
fn figure(value: f64, unit: &str) -> String {
    let digits = match unit {
        "x" if value >= 0.005 => 2,
        "x" => 3,
        _ if value >= 100.0 || value.fract() == 0.0 => 0,
        _ => 1,
    };
    format!("{value:.digits$}{unit}")
}

pub fn targets(judged: &[Judged]) -> Table {
    let mut table = Table::plain(["", "target", "measured", "met"]);
    for Judged { what, target, measured, met } in judged {
        table.row([what, target, measured, met]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(judged: Judged, expected: &str) {
        let text = targets(&[judged]).to_string();
        assert_eq!(text.lines().last(), Some(expected));
    }

    #[test]
    fn targets_are_judged() {
        let measured = |value: f64| Some((value, value.to_string()));
        check(at_most("a", 2.0, "x", measured(2.0)), "| a | at most 2.00x | 2 | yes |");
        check(at_most("a", 2.0, "x", measured(2.5)), "| a | at most 2.00x | 2.5 | no, 0.50x above |");
        check(at_least("a", 90.0, "%", measured(76.0)), "| a | at least 90% | 76 | no, 14% below |");
        check(at_most("a", 0.5, "x", measured(0.501)), "| a | at most 0.50x | 0.501 | no, 0.001x above |");
        check(
            at_least("a", 20_000.0, "", measured(4457.6)),
            "| a | at least 20000 | 4457.6 | no, 15542 below |",
        );
        check(at_least("a", 90.0, "%", None), "| a | at least 90% | not measured | - |");
    }

    #[test]
    fn a_part_is_found() {
        let text = "# T\n\nIntro.\n\n## Targets\n\n| a |\n|---|\n\n## Next\n\nMore.\n";
        assert_eq!(part(text, "Targets"), Some("| a |\n|---|"));
        assert_eq!(part(text, "Next"), Some("More."));
        assert_eq!(part(text, "Other"), None);
    }
}
