//! What was measured of tools on programs: ratios, geometric means, and the
//! tables that show them.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::comparison::{Column, Comparison};
use crate::document::Table;
use crate::measure::Usage;

/// The best of a tool's runs of one program, or why there is none.
pub type Cell = Result<Usage, String>;

pub struct Row {
    pub name: String,
    pub about: String,
    /// Built from a Debian source package, and so part of the means.
    pub real: bool,
    /// By the tool's name.
    pub cells: BTreeMap<String, Cell>,
}

pub struct Grid {
    pub rows: Vec<Row>,
}

/// What a table shows of a run.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Quantity {
    Time,
    Elapsed,
    Memory,
    Instructions,
}

impl Quantity {
    pub fn name(self) -> &'static str {
        match self {
            Quantity::Time => "processor time",
            Quantity::Elapsed => "elapsed time",
            Quantity::Memory => "peak memory",
            Quantity::Instructions => "instructions",
        }
    }

    pub fn heading(self) -> &'static str {
        match self {
            Quantity::Time => "Processor time",
            Quantity::Elapsed => "Elapsed time",
            Quantity::Memory => "Peak memory",
            Quantity::Instructions => "Instructions",
        }
    }

    pub fn of(self, usage: &Usage) -> f64 {
        match self {
            Quantity::Time => usage.cpu.as_secs_f64(),
            Quantity::Elapsed => usage.elapsed.as_secs_f64(),
            Quantity::Memory => usage.peak_kib as f64 / 1024.0,
            Quantity::Instructions => usage.instructions as f64 / 1e6,
        }
    }

    fn shown(self, usage: &Usage) -> String {
        match self {
            Quantity::Time | Quantity::Elapsed => format!("{:.2} s", self.of(usage)),
            Quantity::Memory => format!("{:.1} MiB", self.of(usage)),
            Quantity::Instructions => format!("{:.0} M", self.of(usage)),
        }
    }
}

impl Row {
    pub fn usage(&self, tool: &str) -> Result<&Usage, &str> {
        match self.cells.get(tool) {
            Some(Ok(usage)) => Ok(usage),
            Some(Err(error)) => Err(error),
            None => Err("-"),
        }
    }

    pub fn ratio(&self, column: Column, quantity: Quantity) -> Result<f64, &str> {
        Ok(quantity.of(self.usage(column.tool)?) / quantity.of(self.usage(column.base)?))
    }
}

impl Grid {
    /// The geometric mean over the real programs, if every one has a number.
    pub fn mean(&self, column: Column, quantity: Quantity) -> Option<f64> {
        geometric_mean(self.real_rows().map(|row| row.ratio(column, quantity).ok()))
    }

    /// The highest ratio over the real programs, and whose it is, if every one
    /// has a number.
    pub fn worst(&self, column: Column, quantity: Quantity) -> Option<(f64, &str)> {
        let ratios: Option<Vec<(f64, &str)>> = self
            .real_rows()
            .map(|row| Some((row.ratio(column, quantity).ok()?, row.name.as_str())))
            .collect();
        ratios?.into_iter().max_by(|a, b| a.0.total_cmp(&b.0))
    }

    pub fn ratio_of(&self, program: &str, column: Column, quantity: Quantity) -> Option<f64> {
        self.rows.iter().find(|row| row.name == program)?.ratio(column, quantity).ok()
    }

    fn real_rows(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| row.real)
    }

    /// The programs' ratios, and their means.
    pub fn table(&self, comparison: &Comparison, quantity: Quantity) -> Table {
        let mut table = self.ratios(comparison, quantity);
        let means = comparison.columns().into_iter().map(|column| {
            self.mean(column, quantity).map_or("-".to_owned(), |mean| format!("**{mean:.2}x**"))
        });
        table.row(["**geometric mean, real programs**".to_owned(), String::new()].into_iter().chain(means));
        table
    }

    /// A row for each program: the first tool's figure, then ratios.
    pub fn ratios(&self, comparison: &Comparison, quantity: Quantity) -> Table {
        let columns = comparison.columns();
        let base = comparison.base();
        let headings = columns.iter().map(|column| column.heading(base));
        let mut table = Table::new(["program".to_owned(), base.to_owned()].into_iter().chain(headings));
        for row in &self.rows {
            let native = row.usage(base).map_or_else(str::to_owned, |usage| quantity.shown(usage));
            let ratios = columns.iter().map(|column| shown(row.ratio(*column, quantity)));
            table.row([row.name.clone(), native].into_iter().chain(ratios));
        }
        table
    }

    /// A row for each program: what it does.
    pub fn workloads(&self) -> Table {
        let mut table = Table::plain(["program", "workload"]);
        for row in &self.rows {
            table.row([&row.name, &row.about]);
        }
        table
    }
}

/// None if there are no ratios, or one is missing: a failure is not averaged away.
pub fn geometric_mean(ratios: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let logarithms: Vec<f64> = ratios.map(|ratio| ratio.map(f64::ln)).collect::<Option<_>>()?;
    let count = Some(logarithms.len()).filter(|&count| count > 0)?;
    Some((logarithms.iter().sum::<f64>() / count as f64).exp())
}

/// A ratio, or why there is none, short enough for a cell.
pub fn shown(ratio: Result<f64, &str>) -> String {
    match ratio {
        Ok(ratio) if ratio >= 10.0 => format!("{ratio:.1}x"),
        Ok(ratio) => format!("{ratio:.2}x"),
        Err(error) => error.split(" (see ").next().unwrap_or(error).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn usage(seconds: u64, mebibytes: u64) -> Cell {
        let time = Duration::from_secs(seconds);
        Ok(Usage { cpu: time, elapsed: time, peak_kib: mebibytes << 10, instructions: 0 })
    }

    fn row(name: &str, real: bool, cells: [Cell; 3]) -> Row {
        let tools = ["native", "ours", "theirs"].map(str::to_owned);
        Row {
            name: name.to_owned(),
            about: String::new(),
            real,
            cells: tools.into_iter().zip(cells).collect(),
        }
    }

    /// Every expected line is in the tables and targets that the rows give.
    fn check(rows: Vec<Row>, expected: &[&str]) {
        let comparison: Comparison = toml::from_str(
            "size = 'full'
             tool = [
                 { name = 'native', variant = 'clang' },
                 { name = 'ours', variant = 'track', also_over = ['theirs'] },
                 { name = 'theirs', variant = 'clang' },
             ]
             target = [
                 { tool = 'ours', quantity = 'time', of = 'mean', at_most = 1.1 },
                 { tool = 'ours', quantity = 'memory', of = 'worst', at_most = 1.3 },
                 { tool = 'ours', over = 'theirs', quantity = 'time', of = 'heap', at_most = 1.0 },
             ]",
        )
        .unwrap();
        let grid = Grid { rows };
        let mut text = crate::document::targets(&comparison.judged(&grid)).to_string();
        for quantity in [Quantity::Time, Quantity::Memory] {
            text += &grid.table(&comparison, quantity).to_string();
        }
        for line in expected {
            assert!(text.lines().any(|found| found == *line), "no line `{line}` in\n{text}");
        }
    }

    #[test]
    fn ratios_means_and_targets() {
        check(
            vec![
                row("a", true, [usage(10, 10), usage(10, 11), usage(20, 20)]),
                row("b", true, [usage(10, 10), usage(40, 12), usage(20, 20)]),
                row("heap", false, [usage(1, 1), usage(2, 1), usage(4, 1)]),
            ],
            &[
                "| program | native | ours | ours over theirs | theirs |",
                "| a | 10.00 s | 1.00x | 0.50x | 2.00x |",
                "| a | 10.0 MiB | 1.10x | 0.55x | 2.00x |",
                "| **geometric mean, real programs** |  | **2.00x** | **1.00x** | **2.00x** |",
                "| ours: processor time, geometric mean of the real programs | at most 1.10x | 2.000x | no, 0.90x above |",
                "| ours: peak memory, worst real program | at most 1.30x | 1.20x (b) | yes |",
                "| ours: processor time over theirs, heap | at most 1.00x | 0.50x | yes |",
            ],
        );
    }

    #[test]
    fn a_failure_is_shown_and_never_averaged_away() {
        let failed = || Err("failed: signal: 11 (SIGSEGV) (see /somewhere)".to_owned());
        check(
            vec![
                row("a", true, [usage(10, 10), failed(), usage(20, 20)]),
                row("heap", false, [usage(1, 1), usage(2, 1), failed()]),
            ],
            &[
                "| a | 10.00 s | failed: signal: 11 (SIGSEGV) | failed: signal: 11 (SIGSEGV) | 2.00x |",
                "| **geometric mean, real programs** |  | - | - | **2.00x** |",
                "| ours: processor time, geometric mean of the real programs | at most 1.10x | not measured | - |",
                "| ours: processor time over theirs, heap | at most 1.00x | not measured | - |",
            ],
        );
    }
}
