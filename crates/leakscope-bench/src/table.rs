//! The results as `docs/BENCHMARKS.md`: ratios, geometric means, targets.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::measure::Usage;
use crate::tools::Tool;

/// The best of a tool's runs of one program, or why there is none.
pub type Cell = Result<Usage, String>;

pub struct Row {
    pub name: String,
    pub about: String,
    /// Built from a Debian source package, and so part of the means.
    pub real: bool,
    pub cells: BTreeMap<Tool, Cell>,
}

pub struct Results {
    pub rows: Vec<Row>,
    pub tools: Vec<Tool>,
    pub rounds: u32,
    /// What keeps these results from being the full measurement.
    pub caveats: Vec<&'static str>,
    pub machine: Vec<(&'static str, String)>,
    pub packages: Vec<String>,
}

/// What a table shows of a run.
#[derive(Clone, Copy)]
enum Quantity {
    Cpu,
    Peak,
}

impl Quantity {
    fn ratio(self, usage: &Usage, base: &Usage) -> f64 {
        match self {
            Quantity::Cpu => usage.cpu_ratio(base),
            Quantity::Peak => usage.peak_ratio(base),
        }
    }

    fn absolute(self, usage: &Usage) -> String {
        match self {
            Quantity::Cpu => format!("{:.2} s", usage.cpu.as_secs_f64()),
            Quantity::Peak => format!("{:.1} MiB", usage.peak_kib as f64 / 1024.0),
        }
    }
}

/// A column of ratios: the tool's usage over the base's.
#[derive(Clone, Copy)]
struct Column {
    heading: &'static str,
    tool: Tool,
    base: Tool,
}

pub fn markdown(results: &Results) -> String {
    let mut text = String::from("# Benchmarks\n\n");
    text += "Written by `make bench`. Ratios are to the native program by clang-19, the compiler behind leakscope's \
             and LeakSanitizer's programs; 1.00x is no cost. ";
    text += "leakscope's ratio to the program by gcc, which is what Debian ships, stands beside it.\n\n";
    for caveat in &results.caveats {
        let _ = write!(text, "**Not the full measurement: {caveat}.**\n\n");
    }
    targets(&mut text, results);
    let _ = write!(text, "## Processor time\n\n");
    ratios(&mut text, results, Quantity::Cpu);
    let _ = write!(text, "## Peak memory\n\n");
    ratios(&mut text, results, Quantity::Peak);
    programs(&mut text, results);
    method(&mut text, results);
    machine(&mut text, results);
    text
}

fn targets(text: &mut String, results: &Results) {
    text.push_str("## Targets\n\n| leakscope | target | measured | met |\n|---|---|---|---|\n");
    let over_native = Column { heading: "", tool: Tool::Leakscope, base: Tool::Native };
    let mut limit = |name: &str, limit: f64, measured: Option<(f64, String)>| {
        let (measured, met) = match measured {
            None => ("not measured".to_owned(), "-".to_owned()),
            Some((ratio, shown)) if ratio <= limit => (shown, "yes".to_owned()),
            Some((ratio, shown)) => (shown, format!("no, {:.2} above", ratio - limit)),
        };
        let _ = writeln!(text, "| {name} | at most {limit:.2}x | {measured} | {met} |");
    };
    for (name, quantity, highest) in
        [("processor time", Quantity::Cpu, 1.5), ("peak memory", Quantity::Peak, 1.3)]
    {
        if let Quantity::Cpu = quantity {
            let mean = results.mean(over_native, quantity).map(|mean| (mean, format!("{mean:.3}x")));
            limit("processor time, geometric mean over the real programs", 1.1, mean);
        }
        limit(&format!("{name}, worst real program"), highest, results.worst(over_native, quantity));
    }
    for row in results.rows.iter().filter(|row| !row.real) {
        let measured = row.ratio(over_native, Quantity::Cpu).ok();
        let lsan = row.ratio(Column { tool: Tool::Lsan, ..over_native }, Quantity::Cpu).ok();
        let (shown, met) = match (measured, lsan) {
            (Some(ours), Some(lsan)) => (
                format!("{ours:.2}x, LeakSanitizer {lsan:.2}x"),
                if ours < lsan { "yes".to_owned() } else { format!("no, {:.2} above", ours - lsan) },
            ),
            _ => ("not measured".to_owned(), "-".to_owned()),
        };
        let _ = writeln!(text, "| processor time, {} | below LeakSanitizer | {shown} | {met} |", row.name);
    }
    text.push('\n');
}

fn ratios(text: &mut String, results: &Results, quantity: Quantity) {
    let columns = results.columns();
    let headings: Vec<&str> = columns.iter().map(|column| column.heading).collect();
    let _ = writeln!(text, "| program | native | {} |", headings.join(" | "));
    let _ = writeln!(text, "|---|---:|{}", "---:|".repeat(columns.len()));
    for row in results.rows.iter() {
        let native = row.usage(Tool::Native).map_or_else(str::to_owned, |usage| quantity.absolute(usage));
        let cells: Vec<String> = columns.iter().map(|column| shown(row.ratio(*column, quantity))).collect();
        let _ = writeln!(text, "| {} | {native} | {} |", row.name, cells.join(" | "));
    }
    let means: Vec<String> = columns
        .iter()
        .map(|column| {
            results.mean(*column, quantity).map_or("-".to_owned(), |mean| format!("**{mean:.2}x**"))
        })
        .collect();
    let _ = writeln!(text, "| **geometric mean, real programs** | | {} |\n", means.join(" | "));
}

fn programs(text: &mut String, results: &Results) {
    text.push_str("## Programs\n\n| program | workload |\n|---|---|\n");
    for row in &results.rows {
        let _ = writeln!(text, "| {} | {} |", row.name, row.about);
    }
    let _ = writeln!(
        text,
        "\nReal programs are built from Debian's source packages ({}); the others are in `bench/`.\n",
        results.packages.join(", ")
    );
}

fn method(text: &mut String, results: &Results) {
    let _ = write!(
        text,
        "## How it was measured\n\n\
         - Processor time is user plus system time of the program and of the children it waited for; peak memory is \
         the largest resident set. Each is the lowest of all rounds (here {}), in each of which all tools run in turn. Memcheck runs once.\n\
         - All builds are `-O2 -g`: native by clang-19 (with `-gdwarf-4`, for Debian's valgrind) and by gcc; LeakSanitizer by clang-19 with \
         `-fsanitize=leak -fno-omit-frame-pointer`; leakscope's by `leakscope build` around the gcc build and \
         `leakscope derive --engine track`.\n\
         - `leakscope valgrind` is `leakscope run --engine valgrind` on the native program, report included, once \
         without last uses and once with them; beside it Valgrind without a tool's work.\n\
         - Memcheck (`--leak-check=full`) and heaptrack run the native program by clang-19. Heaptrack is preloaded \
         and writes its raw record; its compression and interpretation are not counted.\n\
         - LeakSanitizer and leakscope look for leaks at exit and write what they found; neither's symbolising is counted.\n\
         - A program's exit code, its standard output and the files that it writes must be those of the native run; \
         otherwise the cell says so and has no number.\n\n",
        results.rounds
    );
}

fn machine(text: &mut String, results: &Results) {
    text.push_str("## Machine\n\n| | |\n|---|---|\n");
    for (name, value) in &results.machine {
        let _ = writeln!(text, "| {name} | {value} |");
    }
}

/// A ratio, or why there is none, short enough for a cell.
fn shown(ratio: Result<f64, &str>) -> String {
    match ratio {
        Ok(ratio) if ratio >= 10.0 => format!("{ratio:.1}x"),
        Ok(ratio) => format!("{ratio:.2}x"),
        Err(error) => error.split(" (see ").next().unwrap_or(error).replace('|', "\\|"),
    }
}

impl Row {
    fn usage(&self, tool: Tool) -> Result<&Usage, &str> {
        match self.cells.get(&tool) {
            Some(Ok(usage)) => Ok(usage),
            Some(Err(error)) => Err(error),
            None => Err("-"),
        }
    }

    fn ratio(&self, column: Column, quantity: Quantity) -> Result<f64, &str> {
        Ok(quantity.ratio(self.usage(column.tool)?, self.usage(column.base)?))
    }
}

impl Results {
    /// All tools but the native program, over the native program; leakscope
    /// also over the program by gcc.
    fn columns(&self) -> Vec<Column> {
        let mut columns = Vec::new();
        for tool in self.tools.iter().copied().filter(|tool| *tool != Tool::Native) {
            columns.push(Column { heading: tool.name(), tool, base: Tool::Native });
            if tool == Tool::Leakscope && self.tools.contains(&Tool::Gcc) {
                columns.push(Column { heading: "leakscope over gcc", tool, base: Tool::Gcc });
            }
        }
        columns
    }

    /// The geometric mean over the real programs, if every one has a number.
    fn mean(&self, column: Column, quantity: Quantity) -> Option<f64> {
        let logarithms: Option<Vec<f64>> =
            self.real_rows().map(|row| row.ratio(column, quantity).ok().map(f64::ln)).collect();
        let logarithms = logarithms.filter(|logarithms| !logarithms.is_empty())?;
        Some((logarithms.iter().sum::<f64>() / logarithms.len() as f64).exp())
    }

    /// The highest ratio over the real programs and how it is shown, if every
    /// one has a number.
    fn worst(&self, column: Column, quantity: Quantity) -> Option<(f64, String)> {
        let ratios: Option<Vec<(f64, &str)>> = self
            .real_rows()
            .map(|row| Some((row.ratio(column, quantity).ok()?, row.name.as_str())))
            .collect();
        let (ratio, name) = ratios?.into_iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
        Some((ratio, format!("{ratio:.2}x ({name})")))
    }

    fn real_rows(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| row.real)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn usage(seconds: u64, mebibytes: u64) -> Cell {
        Ok(Usage { cpu: Duration::from_secs(seconds), peak_kib: mebibytes << 10 })
    }

    fn row(name: &str, real: bool, cells: [Cell; 4]) -> Row {
        let tools = [Tool::Native, Tool::Gcc, Tool::Leakscope, Tool::Lsan];
        Row {
            name: name.to_owned(),
            about: String::new(),
            real,
            cells: tools.into_iter().zip(cells).collect(),
        }
    }

    /// Every expected line is in the table that the rows give.
    fn check(rows: Vec<Row>, expected: &[&str]) {
        let results = Results {
            rows,
            tools: vec![Tool::Native, Tool::Gcc, Tool::Leakscope, Tool::Lsan],
            rounds: 5,
            caveats: vec![],
            machine: vec![],
            packages: vec![],
        };
        let text = markdown(&results);
        for line in expected {
            assert!(text.lines().any(|found| found == *line), "no line `{line}` in\n{text}");
        }
    }

    #[test]
    fn ratios_means_and_targets() {
        check(
            vec![
                row("a", true, [usage(10, 10), usage(8, 10), usage(10, 11), usage(20, 20)]),
                row("b", true, [usage(10, 10), usage(10, 10), usage(40, 12), usage(20, 20)]),
                row("heap", false, [usage(1, 1), usage(1, 1), usage(2, 1), usage(3, 1)]),
            ],
            &[
                "| program | native | gcc | leakscope | leakscope over gcc | LeakSanitizer |",
                "| a | 10.00 s | 0.80x | 1.00x | 1.25x | 2.00x |",
                "| a | 10.0 MiB | 1.00x | 1.10x | 1.10x | 2.00x |",
                "| **geometric mean, real programs** | | **0.89x** | **2.00x** | **2.24x** | **2.00x** |",
                "| processor time, geometric mean over the real programs | at most 1.10x | 2.000x | no, 0.90 above |",
                "| processor time, worst real program | at most 1.50x | 4.00x (b) | no, 2.50 above |",
                "| peak memory, worst real program | at most 1.30x | 1.20x (b) | yes |",
                "| processor time, heap | below LeakSanitizer | 2.00x, LeakSanitizer 3.00x | yes |",
            ],
        );
    }

    #[test]
    fn a_failure_is_shown_and_never_averaged_away() {
        let failed = || Err("failed: signal: 11 (SIGSEGV)".to_owned());
        check(
            vec![
                row("a", true, [usage(10, 10), usage(10, 10), failed(), usage(20, 20)]),
                row("heap", false, [usage(1, 1), usage(1, 1), usage(2, 1), failed()]),
            ],
            &[
                "| a | 10.00 s | 1.00x | failed: signal: 11 (SIGSEGV) | failed: signal: 11 (SIGSEGV) | 2.00x |",
                "| **geometric mean, real programs** | | **1.00x** | - | - | **2.00x** |",
                "| processor time, geometric mean over the real programs | at most 1.10x | not measured | - |",
                "| processor time, heap | below LeakSanitizer | not measured | - |",
            ],
        );
    }
}
