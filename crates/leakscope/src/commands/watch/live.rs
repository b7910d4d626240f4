//! The live table in a terminal.

use std::env;
use std::fs::File;
use std::io::{self, IsTerminal};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Result, bail};
use leakscope_core::{Report, StaleOrder};
use leakscope_report::{TableOptions, TextOptions, table, text};

use super::{Say, Watched, state_of};
use crate::cli::Watch;
use crate::output::Filters;
use crate::terminal::{Key, Terminal};

/// How long the table waits for a key before it looks for a new snapshot.
const PATIENCE: Duration = Duration::from_millis(500);

/// Starts the program and shows the table until it ends or the user quits:
/// then it is ended, or left running, for which there is no status.
pub fn run(
    watched: &Watched,
    command: &mut Command,
    options: &Watch,
    filters: &Filters,
) -> Result<Option<ExitStatus>> {
    // The table has the terminal.
    let output = || File::create(watched.folder.join("output")).map_or_else(|_| Stdio::null(), Stdio::from);
    if io::stdin().is_terminal() {
        command.stdin(Stdio::null());
    }
    if io::stdout().is_terminal() {
        command.stdout(output());
    }
    if io::stderr().is_terminal() {
        command.stderr(output());
    }
    let mut child = command.spawn()?;
    match follow(watched, Some(&mut child), options, filters)? {
        Quit::Ended => Ok(Some(child.wait()?)),
        Quit::Leave => Ok(None),
        Quit::End => {
            // SAFETY: our own child, which was not waited for.
            unsafe { libc::kill(child.id() as i32, libc::SIGTERM) };
            Ok(Some(child.wait()?))
        }
    }
}

/// Why the table is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quit {
    /// The program ended by itself.
    Ended,
    /// The user wants it to end, or to go on.
    End,
    Leave,
}

/// Shows the table until there is a reason not to.
pub fn follow(
    watched: &Watched,
    mut child: Option<&mut Child>,
    options: &Watch,
    filters: &Filters,
) -> Result<Quit> {
    let terminal = Terminal::open();
    if terminal.is_none() && options.metrics.is_none() {
        bail!("standard input and output are no terminal to show a table in: use --once, or --metrics");
    }
    let mut view = View { report: None, order: options.sort, selected: 0, source: false };
    let mut before = None;
    loop {
        let now = state_of(&watched.folder);
        let snapshots = now.as_ref().map_or(0, |now| now.len());
        if terminal.is_some() && before != now {
            view.report = watched.report(options, filters, Say::Nothing)?.or(view.report);
            before = now;
        }
        if let Some(child) = &mut child
            && child.try_wait()?.is_some()
        {
            return Ok(Quit::Ended);
        }
        let Some(terminal) = &terminal else {
            std::thread::sleep(PATIENCE);
            continue;
        };
        terminal.show(&view.text(watched, terminal.size(), snapshots));
        match terminal.key(PATIENCE) {
            Some(Key::Letter('q')) if child.is_some() => return Ok(Quit::End),
            Some(Key::Letter('q' | 'l')) => return Ok(Quit::Leave),
            Some(key) => view.press(key),
            None => {}
        }
    }
}

struct View {
    report: Option<Report>,
    order: StaleOrder,
    selected: usize,
    /// The source of the chosen finding is shown instead of the table.
    source: bool,
}

impl View {
    fn press(&mut self, key: Key) {
        let count = self.report.as_ref().map_or(0, |report| report.findings.len());
        match key {
            Key::Up => self.selected = self.selected.saturating_sub(1),
            Key::Down => self.selected = (self.selected + 1).min(count.saturating_sub(1)),
            Key::Enter => self.source = !self.source && count > 0,
            Key::Letter('b') => self.order = StaleOrder::Blocks,
            Key::Letter('y') => self.order = StaleOrder::Bytes,
            Key::Letter('d') => self.order = StaleOrder::Drag,
            Key::Letter(_) => self.source = false,
        }
    }

    fn text(&mut self, watched: &Watched, (width, height): (usize, usize), snapshots: usize) -> String {
        let title = format!("leakscope watch {}: {snapshots} snapshots", watched.folder.display());
        let Some(report) = &mut self.report else { return format!("{title}\nwaiting for a snapshot") };
        report.sort_stale(self.order);
        let selected = self.selected.min(report.findings.len().saturating_sub(1));
        let base_dir = env::current_dir().ok();
        if self.source {
            let mut one = report.clone();
            one.findings = report.findings[selected..].iter().take(1).cloned().collect();
            let options = TextOptions { color: true, width, base_dir, ..TextOptions::default() };
            let shown = text(&one, &watched.sources, &options);
            return shown.lines().take(height - 1).collect::<Vec<_>>().join("\n");
        }
        let end = if watched.is_ours() { "l leaves the program running, q ends it" } else { "q quits" };
        let keys = format!("up/down choose, enter shows the source, b/y/d sort by blocks/bytes/drag, {end}");
        table(report, &TableOptions { color: true, width, height, selected, title, keys, base_dir })
    }
}
