//! Suppressions: findings that the user has chosen not to see.
//!
//! The format is LeakSanitizer's, so that an old file can be brought along:
//! one `leak:pattern` on a line, `#` starts a comment line. To it we add
//! `forgotten:pattern`, for blocks that stay reachable only, and `id:prefix`,
//! for one finding. Lines for other tools are left alone and listed in
//! [`Suppressions::ignored`].
//!
//! As in LeakSanitizer, the first rule that matches takes the finding, and
//! what only suppressed blocks reach is suppressed with them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Finding, Kind, Place, Report, Totals};

/// The rules of one file, in its order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Suppressions {
    rules: Vec<Rule>,
    /// Lines that are valid for another tool and mean nothing here.
    pub ignored: Vec<Ignored>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ignored {
    pub line: usize,
    pub text: String,
}

/// What one rule suppressed; rules that matched nothing are not listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SuppressionUse {
    /// The rule as written.
    pub rule: String,
    pub line: usize,
    #[serde(flatten)]
    pub totals: Totals,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SuppressError {
    #[error("suppressions, line {line}: expected `leak:pattern`, found {text:?}")]
    NotARule { line: usize, text: String },
    #[error("suppressions, line {line}: the pattern is empty; write `{kind}:*` if all findings are meant")]
    EmptyPattern { line: usize, kind: String },
    #[error(
        "suppressions, line {line}: expected at least {MIN_ID} hexadecimal digits of a finding's id, found {text:?}"
    )]
    BadId { line: usize, text: String },
    #[error("suppressions, line {line}: this Valgrind block has no closing brace; remove it or close it")]
    OpenBlock { line: usize },
}

/// Shorter ids could match findings by chance.
const MIN_ID: usize = 6;

#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    line: usize,
    text: String,
    selects: Selects,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Selects {
    Any(String),
    Forgotten(String),
    Id(String),
}

/// Reads the text of a suppressions file.
pub fn parse(text: &str) -> Result<Suppressions, SuppressError> {
    let mut suppressions = Suppressions::default();
    let mut lines = text.lines().map(str::trim).enumerate().map(|(index, text)| (index + 1, text));
    while let Some((line, text)) = lines.next() {
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        if text == "{" {
            lines.find(|&(_, text)| text == "}").ok_or(SuppressError::OpenBlock { line })?;
            suppressions.ignored.push(Ignored { line, text: "{ … }".to_owned() });
            continue;
        }
        let owned = text.to_owned();
        let Some((kind, pattern)) = text.split_once(':') else {
            return Err(SuppressError::NotARule { line, text: owned });
        };
        let selects = match kind {
            "leak" => Selects::Any(pattern.to_owned()),
            "forgotten" => Selects::Forgotten(pattern.to_owned()),
            "id" if pattern.len() < MIN_ID || !pattern.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
                return Err(SuppressError::BadId { line, text: pattern.to_owned() });
            }
            "id" => Selects::Id(pattern.to_ascii_lowercase()),
            _ => {
                suppressions.ignored.push(Ignored { line, text: owned });
                continue;
            }
        };
        if pattern.is_empty() {
            return Err(SuppressError::EmptyPattern { line, kind: kind.to_owned() });
        }
        suppressions.rules.push(Rule { line, text: owned, selects });
    }
    Ok(suppressions)
}

impl Suppressions {
    fn rule_for(&self, finding: &Finding) -> Option<usize> {
        self.rules.iter().position(|rule| match &rule.selects {
            Selects::Any(pattern) => on_stack(pattern, finding),
            Selects::Forgotten(pattern) => finding.kind == Kind::Forgotten && on_stack(pattern, finding),
            Selects::Id(prefix) => finding.id.starts_with(prefix),
        })
    }
}

impl Report {
    /// Takes out the findings that `suppressions` name, and counts them in
    /// `summary.suppressed` and, by rule, in `suppressions`.
    pub fn suppress(&mut self, suppressions: &Suppressions) {
        let mut matched: BTreeMap<String, usize> = BTreeMap::new();
        for finding in &self.findings {
            if let Some(rule) = suppressions.rule_for(finding) {
                matched.insert(finding.id.clone(), rule);
            }
        }
        let mut through: BTreeMap<String, usize> = BTreeMap::new();
        for finding in self.findings.iter().filter(|finding| !matched.contains_key(&finding.id)) {
            let roots: Option<Vec<usize>> = finding.via.iter().map(|id| matched.get(id).copied()).collect();
            if let Some(&rule) = roots.as_deref().and_then(<[usize]>::first) {
                through.insert(finding.id.clone(), rule);
            }
        }
        matched.append(&mut through);

        let mut uses = vec![Totals::default(); suppressions.rules.len()];
        for finding in &self.findings {
            if let Some(&rule) = matched.get(&finding.id) {
                uses[rule].add(finding);
                self.summary.suppressed.add(finding);
            }
        }
        self.suppressions.extend(
            suppressions
                .rules
                .iter()
                .zip(uses)
                .filter(|(_, totals)| totals.findings > 0)
                .map(|(rule, totals)| SuppressionUse { rule: rule.text.clone(), line: rule.line, totals }),
        );
        self.retain(|finding| !matched.contains_key(&finding.id));
    }
}

/// Whether any frame of the allocation, the user's or not, matches by
/// function, file or module.
fn on_stack(pattern: &str, finding: &Finding) -> bool {
    let Place { stack, inner } = &finding.allocated;
    inner
        .iter()
        .chain(stack)
        .flat_map(|frame| [&frame.function, &frame.file, &frame.module])
        .flatten()
        .any(|name| matches(pattern, name))
}

/// LeakSanitizer's template match: a substring match where `*` stands for
/// anything and `^` and `$` tie the pattern to the ends. Each piece takes its
/// first occurrence and the search never goes back, so that `b$` does not match
/// `bab`; a file means here what it means there.
pub fn matches(pattern: &str, name: &str) -> bool {
    if name.is_empty() {
        return false;
    }
    let (mut rest, mut name) = (pattern, name);
    let mut anchored = false;
    if let Some(after) = rest.strip_prefix('^') {
        (rest, anchored) = (after, true);
    }
    let mut after_star = false;
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('*') {
            (rest, anchored, after_star) = (after, false, true);
            continue;
        }
        if rest.starts_with('$') {
            return name.is_empty() || after_star;
        }
        let (piece, after) = rest.split_at(rest.find(['*', '$']).unwrap_or(rest.len()));
        match name.find(piece) {
            Some(at) if at == 0 || !anchored => name = &name[at + piece.len()..],
            _ => return false,
        }
        (rest, anchored, after_star) = (after, false, false);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Command, Engine, Frame, Target};

    fn finding(kind: Kind, function: &str, file: &str, module: &str) -> Finding {
        let frame = |function: &str| Frame {
            function: Some(function.to_owned()),
            file: Some(file.to_owned()),
            module: Some(module.to_owned()),
            ..Frame::default()
        };
        let inner = Frame {
            function: Some(format!("{function}_inner")),
            module: Some("libc.so.6".to_owned()),
            ..Frame::default()
        };
        let place = Place { stack: vec![frame(function), frame("main")], inner: vec![inner] };
        let mut finding = Finding::new(kind, place);
        (finding.blocks, finding.bytes) = (Some(1), Some(16));
        finding
    }

    fn report(findings: Vec<Finding>) -> Report {
        let target = Target { program: "a.out".to_owned(), args: Vec::new(), exit: None };
        Report::new(Command::Run, Engine::Track, target, findings)
    }

    #[test]
    fn patterns_match_as_in_leaksanitizer() {
        let check = |pattern, name, expected| {
            assert_eq!(matches(pattern, name), expected, "{pattern:?} against {name:?}");
        };
        check("make", "make_node", true);
        check("node", "make_node", true);
        check("list", "make_node", false);
        check("make*de", "make_node", true);
        check("node*make", "make_node", false);
        check("*", "x", true);
        check("*", "", false);
        check("^make", "make_node", true);
        check("^node", "make_node", false);
        check("^*node", "make_node", true);
        check("node$", "make_node", true);
        check("make$", "make_node", false);
        check("make*$", "make_node", true);
        check("^make_node$", "make_node", true);
        check("^make_node$", "make_nodes", false);
        check("b$", "bab", false);
        check("b*b$", "bab", true);
        check("Ünïcode", "fÜnïcode", true);
    }

    #[test]
    fn bad_lines_are_named() {
        let check = |text, expected: &str| assert_eq!(parse(text).unwrap_err().to_string(), expected);
        check("# ok\n\n  make_node", "suppressions, line 3: expected `leak:pattern`, found \"make_node\"");
        check(
            "leak: \r\n",
            "suppressions, line 1: the pattern is empty; write `leak:*` if all findings are meant",
        );
        check(
            "id:9f",
            "suppressions, line 1: expected at least 6 hexadecimal digits of a finding's id, found \"9f\"",
        );
        check(
            "leak:a\n{\n  Memcheck:Leak",
            "suppressions, line 2: this Valgrind block has no closing brace; remove it or close it",
        );
    }

    #[test]
    fn lines_for_other_tools_are_ignored_and_listed() {
        let rules =
            parse("race:worker\n{\n  name\n  Memcheck:Leak\n  fun:malloc\n}\nleak:make_node\n").unwrap();
        let ignored: Vec<_> =
            rules.ignored.iter().map(|ignored| (ignored.line, ignored.text.as_str())).collect();
        assert_eq!(ignored, [(1, "race:worker"), (2, "{ … }")]);
        assert_eq!(rules.rules.len(), 1);
    }

    #[test]
    fn rules_take_findings_by_function_file_module_kind_and_id() {
        let check = |rules: &str, expected: &[&str]| {
            let mut report = report(vec![
                finding(Kind::Lost, "make_node", "/src/list.c", "a.out"),
                finding(Kind::Lost, "parse", "/src/xml.c", "libxml2.so.2"),
                finding(Kind::Forgotten, "cache", "/src/cache.c", "a.out"),
            ]);
            report.suppress(&parse(rules).unwrap());
            let mut left: Vec<&str> = report
                .findings
                .iter()
                .filter_map(|finding| finding.allocated.stack[0].function.as_deref())
                .collect();
            left.sort_unstable();
            assert_eq!(left, expected, "after {rules:?}");
        };
        check("", &["cache", "make_node", "parse"]);
        check("leak:make_node", &["cache", "parse"]);
        check("leak:xml.c$", &["cache", "make_node"]);
        check("leak:libxml2", &["cache", "make_node"]);
        check("leak:main", &[]);
        check("leak:^parse_inner$", &["cache", "make_node"]);
        check("leak:libc.so", &[]);
        check("leak:cache", &["make_node", "parse"]);
        check("forgotten:*", &["make_node", "parse"]);
        check("forgotten:make_node", &["cache", "make_node", "parse"]);
        let id = &report(vec![finding(Kind::Lost, "parse", "/src/xml.c", "libxml2.so.2")]).findings[0].id;
        check(&format!("id:{}", id[..8].to_uppercase()), &["cache", "make_node"]);
    }

    #[test]
    fn the_first_rule_counts_and_takes_what_only_its_blocks_reach() {
        let mut child = finding(Kind::Lost, "make_name", "/src/list.c", "a.out");
        child.via = vec!["0".to_owned()];
        let mut shared = finding(Kind::Lost, "make_page", "/src/list.c", "a.out");
        shared.via = vec!["0".to_owned(), "1".to_owned()];
        let mut report = report(vec![
            finding(Kind::Lost, "make_node", "/src/list.c", "a.out"),
            finding(Kind::Lost, "make_tree", "/src/list.c", "a.out"),
            child,
            shared,
        ]);
        report.suppress(&parse("leak:nothing\nleak:make_node\nleak:node").unwrap());
        let totals = Totals { findings: 2, blocks: 2, bytes: 32 };
        let used = SuppressionUse { rule: "leak:make_node".to_owned(), line: 2, totals };
        assert_eq!(report.suppressions, [used]);
        assert_eq!(report.summary.suppressed, totals);
        assert_eq!(report.summary.lost, totals, "make_tree and make_page are left");
    }
}
