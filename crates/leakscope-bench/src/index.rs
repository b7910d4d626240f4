//! `docs/BENCHMARKS.md`: the targets of every section that has a document, of
//! whatever day that is.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use crate::document;

pub fn markdown(folder: &Path, sections: &[&str]) -> String {
    let mut text = "# Benchmarks\n\nThe targets of each section, as last measured by `make bench`; its document has the \
                    tables, how they were measured, and the machine. `leakscope-bench SECTION` renews one alone.\n"
        .to_owned();
    for section in sections {
        let Ok(measured) = fs::read_to_string(folder.join(format!("{section}.md"))) else {
            let _ = write!(text, "\n## {section}\n\nNot measured yet.\n");
            continue;
        };
        let title = measured.lines().next().unwrap_or_default().trim_start_matches("# ");
        let targets = document::part(&measured, document::TARGETS).unwrap_or("No targets.");
        let date = measured.lines().find_map(|line| line.strip_prefix("| date | ")?.strip_suffix(" |"));
        let _ = write!(text, "\n## [{title}](bench/{section}.md)\n\n");
        for caveat in measured.lines().filter(|line| line.starts_with("**Not the full measurement")) {
            let _ = write!(text, "{caveat}\n\n");
        }
        let _ = write!(text, "Measured on {}.\n\n{targets}\n", date.unwrap_or("an unknown day"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_has_the_targets_of_each_document() {
        let folder = tempfile::tempdir().unwrap();
        let run = "# Leak points\n\n## Targets\n\n| a |\n\n## Machine\n\n| date | 2026-01-02 |\n";
        fs::write(folder.path().join("run.md"), run).unwrap();
        let text = markdown(folder.path(), &["run", "check"]);
        let expected = "## [Leak points](bench/run.md)\n\nMeasured on 2026-01-02.\n\n| a |\n\n## check\n\nNot measured yet.\n";
        assert!(text.ends_with(expected), "{text}");
    }
}
