//! What a section compares, as `bench/SECTION.toml` says it: tools, and the
//! targets that their ratios are to reach.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Result, bail, ensure};
use serde::Deserialize;

use crate::data;
use crate::document::{Judged, at_most};
use crate::grid::{Grid, Quantity};
use crate::programs::Size;
use crate::variants::Variant;

/// Tools on programs. The first tool is what all others are compared with.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    pub size: Size,
    #[serde(rename = "tool")]
    pub tools: Vec<Tool>,
    #[serde(rename = "target", default)]
    targets: Vec<Target>,
}

/// How a program is run. `{leakscope}`, `{scratch}` and `{cache}` stand for
/// leakscope's executable, a folder of this run alone, and one that is kept.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tool {
    pub name: String,
    /// Which build of the program it runs.
    pub variant: Variant,
    /// What stands before the program.
    #[serde(default)]
    pub command: Vec<String>,
    /// What stands between the program and its arguments.
    #[serde(default)]
    pub end: Vec<String>,
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// What it leaves in the scratch folder, leaks or not. Without it the
    /// program ran natively, and its time says nothing about the tool.
    pub writes: Option<String>,
    /// A file of callgrind's in the scratch folder, with the instructions that
    /// it counted.
    pub counts: Option<String>,
    /// Whether one run is enough: it takes minutes, and noise is small beside that.
    #[serde(default)]
    pub once: bool,
    /// Further tools that it is compared with.
    #[serde(default)]
    pub also_over: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Target {
    tool: String,
    /// What it is compared with, if not with the first tool.
    over: Option<String>,
    quantity: Quantity,
    of: Of,
    at_most: f64,
}

/// Which ratio has to reach a target.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Of {
    /// The geometric mean over the real programs.
    Mean,
    /// The highest of a real program.
    Worst,
    #[serde(untagged)]
    Program(String),
}

/// A column of ratios: the tool's usage over the base's.
#[derive(Clone, Copy)]
pub struct Column<'a> {
    pub tool: &'a str,
    pub base: &'a str,
}

impl Comparison {
    /// The section's tools, or those of them that are wanted; the first one is
    /// always there.
    pub fn read(data: &Path, section: &str, wanted: &[String]) -> Result<Comparison> {
        let file = data.join(format!("{section}.toml"));
        let mut comparison: Comparison = data::read(&file)?;
        ensure!(!comparison.tools.is_empty(), "{} names no tool", file.display());
        let known: Vec<&str> = comparison.tools.iter().map(|tool| tool.name.as_str()).collect();
        if let Some(unknown) = comparison.named_tools().find(|tool| !known.contains(tool)) {
            bail!("{} compares with `{unknown}`, which is none of its tools", file.display());
        }
        let base = comparison.base().to_owned();
        comparison.tools.retain(|tool| wanted.is_empty() || tool.name == base || wanted.contains(&tool.name));
        Ok(comparison)
    }

    fn named_tools(&self) -> impl Iterator<Item = &str> {
        let targets = self.targets.iter().flat_map(|target| [Some(&target.tool), target.over.as_ref()]);
        let bases = self.tools.iter().flat_map(|tool| tool.also_over.iter().map(Some));
        targets.chain(bases).flatten().map(String::as_str)
    }

    pub fn base(&self) -> &str {
        &self.tools[0].name
    }

    /// All tools over the first, and where they ask for it over others.
    pub fn columns(&self) -> Vec<Column<'_>> {
        let mut columns = Vec::new();
        for tool in &self.tools[1..] {
            let bases = [self.base()].into_iter().chain(tool.also_over.iter().map(String::as_str));
            columns.extend(bases.map(|base| Column { tool: &tool.name, base }));
        }
        columns
    }

    pub fn judged(&self, grid: &Grid) -> Vec<Judged> {
        self.targets.iter().map(|target| target.judged(grid, self.base())).collect()
    }
}

impl Column<'_> {
    pub fn heading(&self, first: &str) -> String {
        if self.base == first { self.tool.to_owned() } else { format!("{} over {}", self.tool, self.base) }
    }
}

impl Target {
    fn judged(&self, grid: &Grid, first: &str) -> Judged {
        let column = Column { tool: &self.tool, base: self.over.as_deref().unwrap_or(first) };
        let (of, measured) = match &self.of {
            Of::Mean => {
                let mean = grid.mean(column, self.quantity);
                ("geometric mean of the real programs", mean.map(|mean| (mean, format!("{mean:.3}x"))))
            }
            Of::Worst => {
                let worst = grid.worst(column, self.quantity);
                ("worst real program", worst.map(|(ratio, name)| (ratio, format!("{ratio:.2}x ({name})"))))
            }
            Of::Program(name) => {
                let ratio = grid.ratio_of(name, column, self.quantity);
                (name.as_str(), ratio.map(|ratio| (ratio, format!("{ratio:.2}x"))))
            }
        };
        let over = self.over.as_ref().map(|over| format!(" over {over}")).unwrap_or_default();
        let what = format!("{}: {}{over}, {of}", self.tool, self.quantity.name());
        at_most(&what, self.at_most, "x", measured)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(section: &str, wanted: &[&str], expected: &[&str]) {
        let wanted: Vec<String> = wanted.iter().map(|&name| name.to_owned()).collect();
        let comparison = Comparison::read(data::folder(), section, &wanted).unwrap();
        let names: Vec<&str> = comparison.tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, expected);
    }

    #[test]
    fn sections_are_read_and_the_base_is_always_there() {
        check("run", &["minimal"], &["native", "minimal"]);
        let all = ["native", "valgrind none", "memcheck", "leak points", "with last use"];
        check("valgrind", &[], &all);
        check("watch", &["watched"], &["native", "watched"]);
        check("instructions", &["watched"], &["native", "watched"]);
    }
}
