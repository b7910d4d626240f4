//! A server that answers a fixed number of requests over loopback.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use super::WATCHED;
use crate::Bench;
use crate::comparison::{Column, Comparison, Tool};
use crate::data;
use crate::document::{Document, Judged, at_most};
use crate::grid::{Cell, Grid, Quantity, Row};
use crate::measure::{Running, Usage};
use crate::programs::{Program, Size};
use crate::sources;
use crate::tools;
use crate::variants::Builder;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Data {
    client: Vec<String>,
    stop: Vec<String>,
    program: Program,
}

pub struct Server {
    grid: Grid,
    /// How long the native server was under load.
    elapsed: Duration,
    version: String,
}

/// How long a server may take to answer, and to serve all requests.
const START: Duration = Duration::from_secs(60);
const LIMIT: Duration = Duration::from_secs(30 * 60);

pub fn measured(bench: &Bench, comparison: &Comparison) -> Result<Server> {
    let data: Data = data::read(&bench.data.join("server.toml"))?;
    let program = &data.program;
    let package = program.package.as_deref().context("the server needs a Debian package")?;
    tools::require([data.client[0].as_str(), &data.stop[0]])?;
    let fetched = sources::fetch(&[package], &bench.cache)?;
    let builder = Builder::new(bench, &fetched);
    let mut cells: BTreeMap<String, Cell> = BTreeMap::new();
    let rounds = bench.rounds.min(2);
    for round in 1..=rounds {
        for tool in &comparison.tools {
            let usage = builder
                .build(program, tool.variant)
                .and_then(|binary| served(bench, &data, tool, &binary))
                .map_err(|error| format!("{error:#}"));
            eprintln!("{}: round {round} of {rounds}: {}: {usage:?}", program.name, tool.name);
            let best = match (cells.remove(&tool.name), usage) {
                (Some(Ok(best)), Ok(usage)) => Ok(best.better_of(usage)),
                (Some(Err(error)), _) => Err(error),
                (_, usage) => usage,
            };
            cells.insert(tool.name.clone(), best);
        }
    }
    let native = cells[comparison.base()].clone();
    let elapsed = native.map_err(|error| anyhow::anyhow!("the server: {error}"))?.elapsed;
    let about = program.about(bench.load(Size::Full));
    let row = Row { name: program.name.clone(), about, real: true, cells };
    let version = sources::versions(&fetched)?.join(", ");
    Ok(Server { grid: Grid { rows: vec![row] }, elapsed, version })
}

/// One server under load, from its start to its end.
fn served(bench: &Bench, data: &Data, tool: &Tool, binary: &std::path::Path) -> Result<Usage> {
    // Nobody else takes a port that was given out a moment ago.
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let load = bench.load(Size::Full);
    let filled = |word: &String| {
        word.replace("{port}", &port.to_string())
            .replace("{scale}", &data.program.scale(load.size).to_string())
    };
    let scratch = bench.scratch(&data.program.name, &tool.name);
    let _ = fs::remove_dir_all(&scratch);
    fs::create_dir_all(&scratch)?;
    let workload = data.program.workload(load, &bench.data, None);
    let mut command = tool.on(bench, binary, &scratch)?;
    command
        .args(workload.arguments.iter().map(filled))
        .current_dir(&scratch)
        .stdin(Stdio::null())
        .stdout(File::create(scratch.join("stdout"))?)
        .stderr(File::create(scratch.join("stderr"))?);
    let server = Running::start(LIMIT, &mut command)?;
    let outcome = answers(port).and_then(|()| spoken(&data.client, filled));
    // Whatever went wrong, it must not go on.
    let stopped = spoken(&data.stop, filled);
    let (status, usage) = server.wait()?;
    outcome.and(stopped)?;
    ensure!(status.success(), "the server ended with {status} (see {})", scratch.display());
    let _ = fs::remove_dir_all(&scratch);
    Ok(usage)
}

/// Waits until somebody accepts connections.
fn answers(port: u16) -> Result<()> {
    let start = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        if start.elapsed() > START {
            bail!("the server does not answer on port {port}");
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

fn spoken(words: &[String], filled: impl Fn(&String) -> String) -> Result<()> {
    let status = Command::new(&words[0])
        .args(words[1..].iter().map(filled))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .with_context(|| format!("cannot run {}", words[0]))?;
    ensure!(status.success(), "{} failed: {status}", words[0]);
    Ok(())
}

impl Server {
    pub fn judged(&self, comparison: &Comparison) -> Judged {
        let column = Column { tool: WATCHED, base: comparison.base() };
        let measured = self.grid.worst(column, Quantity::Time);
        let what = format!("{WATCHED}: processor time, server under load");
        at_most(&what, 1.12, "x", measured.map(|(ratio, name)| (ratio, format!("{ratio:.3}x ({name})"))))
    }

    pub fn describe(&self, document: &mut Document, comparison: &Comparison) {
        document.heading("A server under load");
        document.paragraph(&format!(
            "{} from Debian's source {}, for {} s natively.",
            self.grid.rows[0].about,
            self.version,
            self.elapsed.as_secs()
        ));
        for quantity in [Quantity::Time, Quantity::Memory] {
            document.paragraph(&format!("{}:", quantity.heading()));
            document.table(&self.grid.ratios(comparison, quantity));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_and_client_agree_on_the_port() {
        let data: Data = data::read(&data::folder().join("server.toml")).unwrap();
        let arguments = data.program.workload(Size::Quick.into(), data::folder(), None).arguments;
        for words in [&data.client, &data.stop, &arguments] {
            assert!(words.iter().any(|word| word == "{port}"), "{words:?}");
        }
    }
}
