//! Section `soak`: a watched program that allocates at a steady rate for a long
//! time, with a live set that stays as large as it is. What grows is the
//! runtime's own.

use std::fs::{self, File};
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::Bench;
use crate::comparison::Comparison;
use crate::data;
use crate::document::{Document, Judged, Table, at_most};
use crate::measure::Running;
use crate::programs::{Program, Size};
use crate::variants::Builder;
use crate::watch::WATCHED;

/// How often memory is read, and the first reading that counts: before it the
/// live set fills, and rates fall to their least.
const READINGS: u32 = 60;
const SETTLED: usize = 6;

struct Soak {
    length: Duration,
    made: u64,
    cpu: Duration,
    /// Resident memory, in KiB, at equal distances.
    resident: Vec<u64>,
}

pub fn measured(bench: &Bench) -> Result<String> {
    let soak = Soak::measured(bench)?;
    let mut document = Document::new(
        "leakscope watch, soak",
        "Whether the memory of a watched program stays flat: it allocates at a steady rate, and its live set stays as large \
         as it is.",
        &bench.caveats(),
    );
    document.targets(&[soak.judged()]);
    soak.describe(&mut document);
    document.finished()
}

impl Soak {
    fn measured(bench: &Bench) -> Result<Soak> {
        let program: Program = data::read(&bench.data.join("soak.toml"))?;
        let load = bench.load(Size::Full);
        let length = Duration::from_secs(program.scale(load.size));
        let comparison = Comparison::read(&bench.data, "watch", &[])?;
        let watched =
            comparison.tools.iter().find(|tool| tool.name == WATCHED).context("nothing is watched")?;
        let binary = Builder::new(bench, &Default::default()).build(&program, watched.variant)?;
        let scratch = bench.scratch("soak", WATCHED);
        let _ = fs::remove_dir_all(&scratch);
        fs::create_dir_all(&scratch)?;
        let stdout = scratch.join("stdout");
        let mut command = watched.on(bench, &binary, &scratch)?;
        command
            .args(program.workload(load, &bench.data, None).arguments)
            .env("LEAKSCOPE_SNAPSHOT_EVERY", "60000")
            .stdin(Stdio::null())
            .stdout(File::create(&stdout)?);
        eprintln!("soak: {} s", length.as_secs());
        let running = Running::start(length * 2, &mut command)?;
        let start = Instant::now();
        let mut resident = Vec::new();
        for reading in 1..READINGS {
            let due = length * reading / READINGS;
            thread::sleep(due.saturating_sub(start.elapsed()));
            resident.extend(running.resident_kib());
        }
        let (status, usage) = running.wait()?;
        ensure!(status.success(), "the soak ended with {status}");
        ensure!(resident.len() > SETTLED, "the soak ended too early");
        let made = fs::read_to_string(stdout)?.trim().parse()?;
        let _ = fs::remove_dir_all(&scratch);
        Ok(Soak { length, made, cpu: usage.cpu, resident })
    }

    fn growth(&self) -> f64 {
        let last = self.resident[self.resident.len() - 1];
        last as f64 / self.resident[SETTLED] as f64
    }

    fn judged(&self) -> Judged {
        let growth = self.growth();
        let what = format!("{WATCHED}: resident memory at the soak's end over that after a tenth of it");
        at_most(&what, 1.02, "x", Some((growth, format!("{growth:.3}x"))))
    }

    fn describe(&self, document: &mut Document) {
        document.heading("Resident memory");
        document.paragraph(&format!(
            "{} allocations in {} s, with a snapshot each minute; {:.1} s of processor time.",
            self.made,
            self.length.as_secs(),
            self.cpu.as_secs_f64()
        ));
        let parts = [10, 25, 50, 75, 100];
        let mut table = Table::new(parts.map(|part| format!("after {part}%")));
        table.row(parts.map(|part| {
            let reading = (self.resident.len() * part / 100).clamp(1, self.resident.len()) - 1;
            format!("{:.1} MiB", self.resident[reading] as f64 / 1024.0)
        }));
        document.table(&table);
    }
}
