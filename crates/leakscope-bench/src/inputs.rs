//! Generated inputs: the same bytes on every machine, kept for the next time.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::programs::{Input, Program, Size};

/// Makes the program's input, if it has one, and puts it where the program
/// reads it. Returns the file for its standard input.
pub fn made(program: &Program, size: Size, cache: &Path, working_folder: &Path) -> Result<Option<PathBuf>> {
    let Some(input) = program.input else { return Ok(None) };
    let megabytes = program.scale(size);
    let name = match input {
        Input::Text => format!("text-{megabytes}"),
        Input::Json => format!("json-{megabytes}"),
    };
    let file = cache.join("inputs").join(name);
    if !file.is_file() {
        write(input, megabytes * 1_000_000, &file)
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    match &program.input_as {
        None => Ok(Some(file)),
        Some(name) => {
            fs::copy(&file, working_folder.join(name))
                .with_context(|| format!("cannot copy {}", file.display()))?;
            Ok(None)
        }
    }
}

fn write(input: Input, bytes: u64, file: &Path) -> io::Result<()> {
    fs::create_dir_all(file.parent().unwrap_or(Path::new(".")))?;
    let partial = file.with_extension("partial");
    let mut out = Counted { inner: BufWriter::new(File::create(&partial)?), bytes: 0 };
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    match input {
        Input::Text => text(&mut out, &mut random, bytes)?,
        Input::Json => json(&mut out, &mut random, bytes)?,
    }
    out.inner.flush()?;
    fs::rename(partial, file)
}

/// Lines of words that are as unevenly frequent as those of a language, with
/// numbers in between.
fn text<W: Write>(out: &mut Counted<W>, random: &mut Random, bytes: u64) -> io::Result<()> {
    let words: Vec<String> = (0..8192).map(|_| word(random)).collect();
    while out.bytes < bytes {
        for _ in 0..6 + random.below(10) {
            if random.below(20) == 0 {
                write!(out, "{} ", random.below(100_000))?;
            } else {
                write!(out, "{} ", words[uneven(random, words.len())])?;
            }
        }
        out.write_all(b"\n")?;
    }
    Ok(())
}

/// An array of records with strings, numbers, lists and nested objects.
fn json<W: Write>(out: &mut Counted<W>, random: &mut Random, bytes: u64) -> io::Result<()> {
    write!(out, "[")?;
    let mut id = 0;
    while out.bytes < bytes {
        let comma = if id == 0 { "" } else { "," };
        let (name, city) = (word(random), word(random));
        write!(out, "{comma}\n{{\"id\": {id}, \"name\": \"{name}\", \"active\": {}", random.below(2) == 0)?;
        write!(out, ", \"place\": {{\"city\": \"{city}\", \"x\": {}, \"y\": null}}", random.below(10_000))?;
        write!(out, ", \"tags\": [")?;
        for tag in 0..1 + random.below(5) {
            let comma = if tag == 0 { "" } else { ", " };
            write!(out, "{comma}\"{}\"", word(random))?;
        }
        write!(out, "]}}")?;
        id += 1;
    }
    writeln!(out, "\n]")
}

fn word(random: &mut Random) -> String {
    (0..2 + random.below(9)).map(|_| char::from(b"etaoinshrdlucmfwypvbgkqjxz"[uneven(random, 26)])).collect()
}

/// An index below `limit`; small ones come more often.
fn uneven(random: &mut Random, limit: usize) -> usize {
    let limit = limit as u64;
    (random.below(limit) * random.below(limit) / limit) as usize
}

struct Random(u64);

impl Random {
    /// Xorshift; its upper bits are the better ones.
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 32) % limit
    }
}

struct Counted<W> {
    inner: W,
    bytes: u64,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(buffer)?;
        self.bytes += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn generated(input: Input) -> String {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("input");
        write(input, 100_000, &file).unwrap();
        fs::read_to_string(file).unwrap()
    }

    fn check(input: Input) -> String {
        let text = generated(input);
        assert_eq!(text, generated(input));
        assert!((100_000..101_000).contains(&text.len()), "{} bytes", text.len());
        text
    }

    #[test]
    fn inputs_are_the_same_each_time_and_of_the_asked_size() {
        check(Input::Text);
        let json: serde_json::Value = serde_json::from_str(&check(Input::Json)).unwrap();
        assert!(json.as_array().unwrap().len() > 100);
    }
}
