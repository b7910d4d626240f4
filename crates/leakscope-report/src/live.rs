//! Live blocks for tools that people already use: folded stacks for flame
//! graphs, the text that Prometheus scrapes, and the growth from one moment to
//! another.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use leakscope_core::{Amount, Frame, Live, Place};

use crate::wording;

/// What of the live blocks is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    InUse,
    Lost,
    Stale,
    Drag,
}

impl Measure {
    fn of(self, live: &Live) -> u64 {
        match self {
            Measure::InUse => live.in_use.bytes,
            Measure::Lost => live.lost.bytes,
            Measure::Stale => live.stale.bytes,
            Measure::Drag => live.drag,
        }
    }
}

/// A line for each stack, outermost frame first, as `flamegraph.pl` takes them.
pub fn folded(live: &[Live], measure: Measure) -> String {
    let mut lines: BTreeMap<String, u64> = BTreeMap::new();
    for live in live.iter().filter(|live| measure.of(live) > 0) {
        let frames = live.place.inner.iter().chain(&live.place.stack);
        let names: Vec<String> = frames.map(|frame| name(frame).replace(';', ":")).collect();
        let stack = names.into_iter().rev().collect::<Vec<_>>().join(";");
        *lines.entry(stack).or_default() += measure.of(live);
    }
    lines.into_iter().fold(String::new(), |text, (stack, value)| text + &format!("{stack} {value}\n"))
}

/// Places that a scrape names, of each kind: labels cost whoever keeps them.
const PLACES_MAX: usize = 20;

/// What a scrape says beside the blocks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    pub snapshots: u64,
    /// Heap accesses so far.
    pub accesses: u64,
}

type AmountOf = fn(&Live) -> Amount;

/// The text format of Prometheus.
pub fn metrics(live: &[Live], progress: Progress) -> String {
    let mut out = String::new();
    let kinds: [(&str, AmountOf); 3] =
        [("inuse", |live| live.in_use), ("lost", |live| live.lost), ("stale", |live| live.stale)];
    for (kind, amount) in kinds {
        let mut total = Amount::default();
        live.iter().map(amount).for_each(|amount| total.add(amount.blocks, amount.bytes));
        gauge(&mut out, &format!("leakscope_{kind}_blocks"), "Blocks of the heap.", total.blocks);
        gauge(&mut out, &format!("leakscope_{kind}_bytes"), "Bytes of the heap.", total.bytes);
    }
    let drag = live.iter().fold(0_u64, |sum, live| sum.saturating_add(live.drag));
    gauge(&mut out, "leakscope_drag", "Bytes times heap accesses for which stale blocks lay idle.", drag);
    for (kind, amount) in &kinds[1..] {
        let mut worst: BTreeMap<String, u64> = BTreeMap::new();
        for live in live.iter().filter(|live| amount(live).bytes > 0) {
            *worst.entry(label(&live.place)).or_default() += amount(live).bytes;
        }
        let mut worst: Vec<(String, u64)> = worst.into_iter().collect();
        worst.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
        let metric = format!("leakscope_{kind}_bytes_at");
        let _ = writeln!(out, "# HELP {metric} Bytes by where they were allocated.\n# TYPE {metric} gauge");
        for (place, bytes) in worst.iter().take(PLACES_MAX) {
            let _ = writeln!(out, "{metric}{{place=\"{place}\"}} {bytes}");
        }
    }
    for (metric, help, value) in [
        ("leakscope_accesses_total", "Heap accesses, seen or not.", progress.accesses),
        ("leakscope_snapshots_total", "Snapshots that were read.", progress.snapshots),
    ] {
        let _ = writeln!(out, "# HELP {metric} {help}\n# TYPE {metric} counter\n{metric} {value}");
    }
    out
}

fn gauge(out: &mut String, metric: &str, help: &str, value: u64) {
    let _ = writeln!(out, "# HELP {metric} {help}\n# TYPE {metric} gauge\n{metric} {value}");
}

/// A place as the value of a label.
fn label(place: &Place) -> String {
    let text = place.headline().map_or_else(
        || "?".to_owned(),
        |frame| {
            let file = frame.file.as_deref().and_then(|file| file.rsplit('/').next());
            match (file, frame.line) {
                (Some(file), Some(line)) => format!("{} {file}:{line}", name(frame)),
                _ => name(frame),
            }
        },
    );
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn name(frame: &Frame) -> String {
    let known = frame.function.as_deref().or(frame.module.as_deref());
    wording::printable(known.unwrap_or("?"))
}

/// How the blocks of one place changed.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Change {
    pub place: Place,
    pub before: Live,
    pub after: Live,
}

/// The places that changed from `before` to `after`, most growth first.
pub fn changes(before: &[Live], after: &[Live]) -> Vec<Change> {
    let mut all: Vec<Change> = Vec::new();
    for live in after {
        let earlier = before.iter().find(|other| other.place == live.place);
        let before =
            earlier.cloned().unwrap_or_else(|| Live { place: live.place.clone(), ..Live::default() });
        all.push(Change { place: live.place.clone(), before, after: live.clone() });
    }
    for live in before.iter().filter(|live| !after.iter().any(|other| other.place == live.place)) {
        let after = Live { place: live.place.clone(), ..Live::default() };
        all.push(Change { place: live.place.clone(), before: live.clone(), after });
    }
    all.retain(|change| change.before != change.after);
    all.sort_by_key(|change| std::cmp::Reverse(change.growth()));
    all
}

impl Change {
    /// Bytes in use that came or went.
    fn growth(&self) -> i64 {
        self.after.in_use.bytes as i64 - self.before.in_use.bytes as i64
    }
}

/// Changes as a table, a line for each place that is shown, whoever called it;
/// drag and idle times change all the time, and do not count.
pub fn changes_text(changes: &[Change], base: Option<&Path>) -> String {
    let mut shown: BTreeMap<String, [[Amount; 3]; 2]> = BTreeMap::new();
    for Change { place, before, after } in changes {
        let place = place.headline();
        let place = place.map_or_else(|| "unknown code".to_owned(), |frame| wording::frame(frame, base));
        for (sums, live) in shown.entry(place).or_default().iter_mut().zip([before, after]) {
            for (sum, amount) in sums.iter_mut().zip([live.in_use, live.lost, live.stale]) {
                sum.add(amount.blocks, amount.bytes);
            }
        }
    }
    let mut counted: Vec<_> = shown.into_iter().filter(|(_, [before, after])| before != after).collect();
    if counted.is_empty() {
        return "nothing changed\n".to_owned();
    }
    let growth = |[before, after]: &[[Amount; 3]; 2]| after[0].bytes as i64 - before[0].bytes as i64;
    counted.sort_by_key(|(_, sums)| std::cmp::Reverse(growth(sums)));
    let signed = |after: u64, before: u64| match after.cmp(&before) {
        std::cmp::Ordering::Equal => String::new(),
        std::cmp::Ordering::Greater => format!("+{}", wording::number(after - before)),
        std::cmp::Ordering::Less => format!("-{}", wording::number(before - after)),
    };
    let mut out = format!("{:>12} {:>14} {:>12} {:>12}  allocated in\n", "blocks", "bytes", "lost", "stale");
    for (place, [before, after]) in counted {
        let _ = writeln!(
            out,
            "{:>12} {:>14} {:>12} {:>12}  {place}",
            signed(after[0].blocks, before[0].blocks),
            signed(after[0].bytes, before[0].bytes),
            signed(after[1].blocks, before[1].blocks),
            signed(after[2].blocks, before[2].blocks),
        );
    }
    out
}
