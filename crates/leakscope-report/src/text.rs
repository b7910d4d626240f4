//! The terminal report.
//!
//! What stopped the program, if something did. Then each finding as one story:
//! what was lost in one line; the source of the places, first where it was
//! lost with what to do there, then where it was allocated, last used, and
//! where its siblings are freed; who called; where else it may have been lost.
//! Then the totals, and one line on what to do next.

use std::cmp::Reverse;
use std::fmt::Write;
use std::path::PathBuf;

use annotate_snippets::renderer::{AnsiColor, Effects, Style};
use annotate_snippets::{AnnotationKind, Level};
use leakscope_core::{
    Command, Engine, Exit, Finding, Frame, Kind, Place, Report, SiblingFree, Totals, Verdict,
};

use crate::hint;
use crate::snippet::{self, Files, Sources, Spot};
use crate::stack::{self, Line};
use crate::suggest;
use crate::tree::{self, Root};
use crate::verdicts;
use crate::wording::{self, FEW};

#[derive(Clone, Debug)]
pub struct TextOptions {
    pub color: bool,
    /// Source lines are cut to this many columns.
    pub width: usize,
    /// Show at most so many findings.
    pub max: Option<usize>,
    pub show_forgotten: bool,
    /// Paths inside this folder are shown relative to it.
    pub base_dir: Option<PathBuf>,
}

impl Default for TextOptions {
    fn default() -> TextOptions {
        TextOptions { color: false, width: 100, max: None, show_forgotten: false, base_dir: None }
    }
}

/// The report as an engineer reads it.
pub fn text(report: &Report, sources: &dyn Sources, options: &TextOptions) -> String {
    let page = Page { report, options };
    let mut files = Files::new(sources);
    let mut out = page.fault(&mut files);
    out += &page.crash();
    let roots: Vec<Root> = tree::roots(&report.findings)
        .into_iter()
        .filter(|root| options.show_forgotten || root.finding.kind != Kind::Forgotten)
        .collect();
    let (shown, cut) = roots.split_at(options.max.unwrap_or(roots.len()).min(roots.len()));
    let mut group = None;
    for root in shown {
        if report.validation.is_some() && group != root.finding.verdict {
            group = root.finding.verdict;
            let _ = writeln!(out, "{}\n", page.paint(BOLD, &verdicts::heading(report, group)));
        }
        out += &page.finding(root, &mut files);
        out.push('\n');
    }
    out += &page.cut(cut);
    out += &page.outcome();
    out += &match &report.validation {
        Some(validation) => page.verdicts(validation),
        None => page.totals(&roots),
    };
    if let Some(hint) = hint::next_step(report) {
        let _ = writeln!(out, "{}{hint}", page.paint(HINT, "hint: "));
    }
    out
}

pub(crate) const LOST: Style = AnsiColor::BrightRed.on_default().effects(Effects::BOLD);
const FORGOTTEN: Style = AnsiColor::Yellow.on_default().effects(Effects::BOLD);
const FINE: Style = AnsiColor::BrightGreen.on_default().effects(Effects::BOLD);
const HINT: Style = AnsiColor::BrightCyan.on_default().effects(Effects::BOLD);
pub(crate) const BOLD: Style = Style::new().effects(Effects::BOLD);
pub(crate) const DIM: Style = Style::new().effects(Effects::DIMMED);

/// Lines of the allocation's stack, and of any other.
pub(crate) const ALLOCATION_LINES: usize = 12;
pub(crate) const OTHER_LINES: usize = 5;
/// Other places where the block may have been lost.
const CANDIDATES: usize = 2;
/// Names up to this width are aligned in a stack; longer ones stand out.
const NAME_COLUMN: usize = 40;
/// Digits of an id that are enough to name it in a suppression.
pub(crate) const ID_DIGITS: usize = 8;

pub(crate) struct Page<'a> {
    pub report: &'a Report,
    pub options: &'a TextOptions,
}

impl Page<'_> {
    pub(crate) fn paint(&self, style: Style, text: &str) -> String {
        if self.options.color { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }

    pub(crate) fn frame(&self, frame: &Frame) -> String {
        wording::frame(frame, self.options.base_dir.as_deref())
    }

    pub(crate) fn place(&self, place: &Place) -> String {
        place.headline().map_or_else(|| "unknown code".to_owned(), |frame| self.frame(frame))
    }

    /// The signal that killed the program.
    fn crashed(&self) -> Option<i32> {
        match self.report.target.exit {
            Some(Exit::Signal(signal)) => Some(signal),
            _ => None,
        }
    }

    fn crash(&self) -> String {
        let program = wording::printable(&self.report.target.program);
        if self.report.fault.is_some() {
            return format!("{program}: stopped there; its heap was not searched for leaks\n\n");
        }
        let Some(signal) = self.crashed() else {
            return String::new();
        };
        let killed = self.paint(LOST, &format!("killed by {}", signal_name(signal)));
        format!("{program}: {killed}; what follows is how the heap stood then\n\n")
    }

    fn finding(&self, root: &Root, files: &mut Files) -> String {
        let finding = root.finding;
        let mut out = self.headline(root);
        out += &self.verdict(finding);
        let level = if finding.kind == Kind::Lost { Level::ERROR } else { Level::WARNING };
        let spots = self.spots(root, files);
        out += &self.snippets(level, spots, files);
        out += &self.stacks(finding);
        out += &self.way(finding, files);
        out += &self.notes(finding);
        out += &self.below(root);
        out
    }

    /// The source of `spots`, and a line for each whose source is not to be
    /// had.
    pub(crate) fn snippets(&self, level: Level<'_>, spots: Vec<Spot>, files: &mut Files) -> String {
        let (mut out, missing) = snippet::render(level, spots, files, self.options);
        if !out.is_empty() {
            out.push('\n');
        }
        for spot in missing {
            // The headline or the stack says where it was allocated.
            if spot.label != ALLOCATED {
                let help = spot.help.map(|help| format!("; {help}")).unwrap_or_default();
                let _ = writeln!(out, "  {}: {}{help}", self.frame(spot.frame), spot.label);
            }
        }
        out
    }

    fn headline(&self, root: &Root) -> String {
        let finding = root.finding;
        let (style, kind) = match finding.kind {
            Kind::Lost => (LOST, "lost"),
            Kind::Forgotten => (FORGOTTEN, "forgotten"),
            Kind::Stale => (FORGOTTEN, "stale"),
            Kind::Warning => (FORGOTTEN, "warning"),
        };
        let at = self.place(&finding.allocated);
        let size = wording::size(finding.blocks.unwrap_or(0), finding.bytes.unwrap_or(0));
        let says = match (finding.kind, finding.verdict) {
            (Kind::Warning, Some(Verdict::MustLeak)) => format!("block leaks for certain, allocated in {at}"),
            (Kind::Warning, Some(Verdict::Bloat)) => format!("block is freed late, allocated in {at}"),
            (Kind::Warning, Some(Verdict::LikelyNotLeak)) => {
                format!("block likely does not leak, allocated in {at}")
            }
            (Kind::Warning, _) => format!("block may leak, allocated in {at}"),
            _ if root.cycle => format!("{size} in a cycle, allocated in {at}"),
            _ => format!("{size}, allocated in {at}"),
        };
        let lost = match &finding.leaked {
            Some(place) => format!(", {} {}", lost_in(finding), self.place(place)),
            None if matches!(finding.kind, Kind::Forgotten | Kind::Stale) => {
                let used = finding.last_used.as_ref();
                used.map(|place| format!(", last used in {}", self.place(place))).unwrap_or_default()
            }
            None => String::new(),
        };
        let id = self.paint(DIM, &format!("[{}]", short_id(finding)));
        format!(
            "{} {} {id}\n",
            self.paint(style, &format!("{kind}:")),
            self.paint(BOLD, &format!("{says}{lost}"))
        )
    }

    /// The places of `finding`, the one to look at first in front.
    fn spots<'f>(&self, root: &Root<'f>, files: &mut Files) -> Vec<Spot<'f>> {
        let finding = root.finding;
        let lost = wording::lost_here(finding);
        let siblings = siblings(finding).into_iter().enumerate().map(|(index, (place, blocks))| {
            let model = if index == 0 { ": the place to copy the fix from" } else { "" };
            (place.headline(), wording::freed_here(finding, blocks) + model)
        });
        let leaked = finding.leaked.as_ref().map(|place| (place.headline(), lost));
        let last_used =
            finding.last_used.as_ref().map(|place| (place.headline(), "last used here".to_owned()));
        let allocated = (finding.allocated.headline(), ALLOCATED.to_owned());
        let places = leaked.into_iter().chain([allocated]).chain(brought(finding)).chain(last_used);
        let mut spots = spots(places.chain(siblings.take(FEW)));
        if let Some(first) = spots.first_mut() {
            first.help = suggest::fix(root, &self.report.findings, files, self.options.base_dir.as_deref());
        }
        spots
    }

    fn stacks(&self, finding: &Finding) -> String {
        let folded = |place| stack::folded(place, OTHER_LINES);
        let leaked = finding.leaked.as_ref().map(|place| (lost_in(finding), folded(place)));
        let allocated = ("allocated in", stack::folded(&finding.allocated, ALLOCATION_LINES));
        let last_used = finding.last_used.as_ref().map(|place| ("last used in", folded(place)));
        self.titled_stacks(leaked.into_iter().chain([allocated]).chain(last_used).collect())
    }

    /// The stacks that say more than their first frame, one frame on a line.
    pub(crate) fn titled_stacks(&self, mut stacks: Vec<(&str, Vec<Line>)>) -> String {
        stacks.retain(|(_, lines)| lines.len() > 1);
        let widths = stacks.iter().flat_map(|(_, lines)| lines).map(|line| match line {
            Line::Frame(frame, _) => function(frame).chars().count(),
            _ => 0,
        });
        let column = widths.filter(|&width| width <= NAME_COLUMN).max().unwrap_or(0);
        let mut out = String::new();
        for (title, lines) in stacks {
            for (index, line) in lines.into_iter().enumerate() {
                let title = self.paint(DIM, &format!("{:12}", if index == 0 { title } else { "" }));
                let _ = writeln!(out, "  {title}  {}", self.stack_line(line, column));
            }
        }
        out
    }

    fn stack_line(&self, line: Line, column: usize) -> String {
        match line {
            Line::Frame(frame, times) => {
                let at = wording::location(frame, self.options.base_dir.as_deref()).unwrap_or_default();
                let times = if times > 1 { format!("  {times} times") } else { String::new() };
                format!("{:column$}  {}", function(frame), self.paint(DIM, &format!("{at}{times}")))
            }
            Line::System(count) => {
                self.paint(DIM, &format!("… {}", wording::count(count as u64, "system frame")))
            }
            Line::Omitted(count) => {
                self.paint(DIM, &format!("… {}", wording::count(count as u64, "more frame")))
            }
        }
    }

    fn notes(&self, finding: &Finding) -> String {
        let mut out = wording::staleness(finding).map(|line| format!("  {line}\n")).unwrap_or_default();
        match finding.evidence.get("inexact").and_then(|reason| reason.as_str()) {
            Some(reason) => out += &format!("  {}\n", wording::printable(reason)),
            None if finding.leaked.is_some() && !finding.exact && !wording::is_claimed(finding) => {
                out += "  the block was lost after that, in code that is not tracked\n";
            }
            None => {}
        }
        let holders = finding.evidence.get("held_by").and_then(|held_by| held_by.as_array());
        let texts = holders.into_iter().flatten().filter_map(|holder| holder.get("text")?.as_str());
        for (index, text) in texts.enumerate() {
            let title = self.paint(DIM, &format!("{:12}", if index == 0 { "held by" } else { "" }));
            let _ = writeln!(out, "  {title}  {}", wording::printable(text));
        }
        for (index, text) in wording::burst_history(finding).iter().enumerate() {
            let title = self.paint(DIM, &format!("{:12}", if index == 0 { "before that" } else { "" }));
            let _ = writeln!(out, "  {title}  {}", wording::printable(text));
        }
        let more = finding.evidence.get("refused_also").and_then(serde_json::Value::as_u64).unwrap_or(0);
        if more > 0 {
            let (blocks, are) = (wording::count(more, "more block"), if more == 1 { "is" } else { "are" });
            let hint = "whoever refuses them could release them";
            let _ = writeln!(out, "  {blocks} {are} lost in the same way by other callers: {hint}");
        }
        let (also, which) = wording::also(finding);
        for (index, candidate) in finding.candidates.iter().take(CANDIDATES).enumerate() {
            let is_last = index == 0 && wording::is_not_released(finding);
            let which = if is_last { "the last pointer" } else { which };
            let how = wording::died(candidate.cause, candidate.variable.as_deref(), which);
            let _ = writeln!(out, "  {also}: {}, where {how}", self.place(&candidate.place));
        }
        if let Some(counted) = &finding.counted {
            let field = counted
                .field
                .as_deref()
                .map_or(String::new(), |field| format!(" `{}`", wording::printable(field)));
            let references = wording::count(counted.references, "reference");
            let holders = wording::count(counted.holders, "holder");
            let _ = writeln!(out, "  counted{field}: {references}, {holders} left");
        }
        out
    }

    fn below(&self, root: &Root) -> String {
        let mut out = String::new();
        if !root.cycle && !root.finding.via.is_empty() {
            out += "  reachable only from lost blocks that this report leaves out\n";
        }
        if root.below.is_empty() {
            return out;
        }
        let total = sum(root.below.iter().copied());
        let size = self.paint(BOLD, &wording::size(total.blocks, total.bytes));
        let _ = write!(out, "  and {size} reachable only from these");
        let at = |finding: &Finding| {
            let id = self.paint(DIM, &format!("[{}]", short_id(finding)));
            format!("allocated in {} {id}", self.place(&finding.allocated))
        };
        if let [only] = root.below[..] {
            let _ = writeln!(out, ", {}", at(only));
            return out;
        }
        out += ":\n";
        for finding in root.below.iter().take(FEW) {
            let size = wording::size(finding.blocks.unwrap_or(0), finding.bytes.unwrap_or(0));
            let _ = writeln!(out, "    {size}, {}", at(finding));
        }
        if root.below.len() > FEW {
            let _ = writeln!(out, "    … and {} more", wording::number((root.below.len() - FEW) as u64));
        }
        out
    }

    fn cut(&self, cut: &[Root]) -> String {
        if cut.is_empty() {
            return String::new();
        }
        let total = sum(cut.iter().flat_map(|root| root.below.iter().copied().chain([root.finding])));
        let size = wording::size(total.blocks, total.bytes);
        format!("… and {} more: {size} (--max 0 shows all)\n\n", wording::number(cut.len() as u64))
    }

    /// Says plainly that nothing was lost, where that is so and known.
    fn outcome(&self) -> String {
        let summary = &self.report.summary;
        if self.report.fault.is_some()
            || self.report.findings.iter().any(|finding| finding.kind != Kind::Forgotten)
        {
            return String::new();
        }
        let left_out = summary.suppressed.findings + summary.baseline.findings > 0;
        if self.report.engine == Engine::Concolic && self.report.command == Command::Run {
            return self.unfreed();
        }
        let says = match (self.report.command, left_out) {
            (Command::Check | Command::Validate, false) => "no leak was found",
            (Command::Check | Command::Validate, true) => "no other leak was found",
            (Command::Watch, false) => "nothing went stale",
            (Command::Watch, true) => "nothing else went stale",
            (Command::Run, false) => "nothing was lost",
            (Command::Run, true) => "nothing else was lost",
        };
        let says = self.paint(FINE, says);
        if self.report.command != Command::Run {
            return format!("{says}\n");
        }
        match summary.forgotten {
            Totals { findings: 0, .. } if left_out => format!("{says}; every other block was freed\n"),
            Totals { findings: 0, .. } => format!("{says}; every block was freed\n"),
            Totals { blocks, bytes, .. } => {
                let verb = if blocks == 1 { "was" } else { "were" };
                format!("{says}; {} {verb} {}\n", wording::size(blocks, bytes), self.reachable())
            }
        }
    }

    /// What a run left that nobody has searched for pointers.
    fn unfreed(&self) -> String {
        match self.report.summary.forgotten {
            Totals { findings: 0, .. } => "no other block was left unfreed\n".to_owned(),
            Totals { blocks, bytes, .. } => {
                let verb = if blocks == 1 { "was" } else { "were" };
                format!(
                    "{} {verb} not freed; what of it was lost is not known\n",
                    wording::size(blocks, bytes)
                )
            }
        }
    }

    fn reachable(&self) -> String {
        let when = if self.crashed().is_some() { "then" } else { "at exit" };
        let more = if self.options.show_forgotten { "" } else { " (--show-forgotten lists them)" };
        format!("still reachable {when}{more}")
    }

    /// The table of totals; what the outcome has said is not said again.
    fn totals(&self, roots: &[Root]) -> String {
        let summary = &self.report.summary;
        let rules = wording::few(self.report.suppressions.iter().map(|used| used.rule.as_str()));
        let rows: Vec<(&str, Totals, String)> = [
            ("lost", summary.lost, String::new()),
            ("  indirectly", indirect(roots), "reachable only from other lost blocks".to_owned()),
            ("stale", summary.stale, String::new()),
            ("warnings", summary.warning, String::new()),
            ("forgotten", summary.forgotten, self.reachable()),
            ("suppressed", summary.suppressed, rules),
            ("in baseline", summary.baseline, String::new()),
        ]
        .into_iter()
        .filter(|(_, totals, _)| totals.findings > 0)
        .collect();
        if rows.iter().all(|&(name, ..)| name == "forgotten") {
            return String::new();
        }
        let columns = match self.report.command {
            Command::Check => "              findings",
            _ => "              findings      blocks           bytes",
        };
        let mut out = format!("{}\n", self.paint(DIM, columns));
        for (name, totals, note) in rows {
            // Warnings are of places, not of blocks.
            let counted = |value| if totals.blocks == 0 { String::new() } else { wording::number(value) };
            let name = format!("{name:12}");
            let name = if name.starts_with("lost") { self.paint(LOST, &name) } else { name };
            let row = format!(
                "{name}  {:>8}  {:>10}  {:>14}",
                wording::number(totals.findings),
                counted(totals.blocks),
                counted(totals.bytes),
            );
            let _ = match note.as_str() {
                "" => writeln!(out, "{}", row.trim_end()),
                note => writeln!(out, "{row}  {}", self.paint(DIM, note)),
            };
        }
        out
    }
}

pub(crate) const ALLOCATED: &str = "allocated here";

/// Marks for `places`, in their order; the first is the one to look at first.
/// Two things at one place are one mark.
pub(crate) fn spots<'f>(places: impl Iterator<Item = (Option<&'f Frame>, String)>) -> Vec<Spot<'f>> {
    let mut spots: Vec<Spot<'f>> = Vec::new();
    for (frame, label) in places {
        let Some(frame) = frame else { continue };
        if let Some(spot) = spots.iter_mut().find(|spot| spot.frame == frame) {
            spot.label = format!("{}; {label}", spot.label);
            continue;
        }
        let weight = if spots.is_empty() { AnnotationKind::Primary } else { AnnotationKind::Context };
        spots.push(Spot { frame, label, help: None, weight });
    }
    spots
}

/// Of a warning, the call by which the block came into the function that loses
/// it.
fn brought(finding: &Finding) -> Option<(Option<&Frame>, String)> {
    let leak = finding.leaked.as_ref().filter(|_| finding.kind == Kind::Warning)?.headline()?;
    let is_here = |frame: &Frame| (&frame.function, &frame.file) == (&leak.function, &leak.file);
    let at = finding.allocated.stack.iter().position(is_here).filter(|&at| at > 0)?;
    let [callee, caller] = [at - 1, at].map(|at| &finding.allocated.stack[at]);
    Some((Some(caller), format!("`{}` gives it to `{}`", function(callee), function(caller))))
}

/// Where siblings of the block were freed, most blocks first: callers are not
/// told apart.
fn siblings(finding: &Finding) -> Vec<(&Place, u64)> {
    let mut siblings: Vec<(&Place, u64)> = Vec::new();
    for SiblingFree { place, blocks } in &finding.freed_elsewhere {
        match siblings.iter_mut().find(|(known, _)| known.headline() == place.headline()) {
            Some((_, sum)) => *sum = sum.saturating_add(*blocks),
            None => siblings.push((place, *blocks)),
        }
    }
    siblings.sort_by_key(|&(_, blocks)| Reverse(blocks));
    siblings
}

/// What is said of the leak place, by how well it is known.
fn lost_in(finding: &Finding) -> &'static str {
    if finding.exact || wording::is_claimed(finding) { "lost in" } else { "last seen in" }
}

fn function(frame: &Frame) -> String {
    wording::printable(frame.function.as_deref().unwrap_or("?"))
}

pub(crate) fn short_id(finding: &Finding) -> &str {
    finding.id.get(..ID_DIGITS).unwrap_or(&finding.id)
}

fn sum<'a>(findings: impl Iterator<Item = &'a Finding>) -> Totals {
    let mut totals = Totals::default();
    findings.for_each(|finding| totals.add(finding));
    totals
}

/// The lost blocks that only lost blocks reach. A cycle's first finding stands
/// for the cycle and is not one of them.
fn indirect(roots: &[Root]) -> Totals {
    let left_out = roots.iter().filter(|root| !root.cycle && !root.finding.via.is_empty());
    sum(roots.iter().flat_map(|root| root.below.iter().copied()).chain(left_out.map(|root| root.finding)))
}

/// `signal 11 (SIGSEGV)`.
fn signal_name(signal: i32) -> String {
    match wording::signal(signal) {
        Some(name) => format!("signal {signal} ({name})"),
        None => format!("signal {signal}"),
    }
}
