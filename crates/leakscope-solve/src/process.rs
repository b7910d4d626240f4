//! Any program that reads SMT-LIB 2 from standard input, one question after
//! the other: `z3 -in`, `cvc5 --incremental`, `boolector -i --smt2`.
//!
//! A solver that takes too long is killed, and started anew for the next
//! question.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::AsRawFd;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustc_hash::FxHashSet;

use crate::evaluate::Model;
use crate::smtlib;
use crate::solver::{Answer, Limits, SolveError, Solver, WhyUnknown};
use crate::term::{InputId, Node, Pool, Term};

pub struct Process {
    command: Vec<String>,
    limits: Limits,
    running: Option<Running>,
}

struct Running {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// What the process was told, one level each: the constraint and the terms
    /// that were named for it.
    levels: Vec<(Term, Vec<Term>)>,
    named: FxHashSet<Term>,
}

/// When an answer is no longer waited for.
#[derive(Clone, Copy)]
struct Deadline {
    at: Instant,
    limits: Limits,
}

impl Process {
    /// Started with the first question.
    pub fn new(command: Vec<String>, limits: Limits) -> Process {
        Process { command, limits, running: None }
    }
}

impl Solver for Process {
    fn check(&mut self, pool: &Pool, constraints: &[Term]) -> Result<Answer, SolveError> {
        let mut running = match self.running.take() {
            Some(running) => running,
            None => Running::start(&self.command)?,
        };
        let deadline = Deadline { at: Instant::now() + self.limits.time, limits: self.limits };
        let answer = running.ask(pool, constraints, deadline)?;
        // One that did not answer in time is dropped, and with it its process.
        if answer != Answer::Unknown(WhyUnknown::Limit) {
            self.running = Some(running);
        }
        Ok(answer)
    }
}

impl Running {
    fn start(command: &[String]) -> Result<Running, SolveError> {
        let failed = |reason| SolveError::Start { command: command.join(" "), reason };
        let (program, arguments) =
            command.split_first().ok_or_else(|| failed(std::io::ErrorKind::NotFound.into()))?;
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(failed)?;
        let input = child.stdin.take().expect("a pipe");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut running = Running { child, input, output, levels: Vec::new(), named: FxHashSet::default() };
        running.tell("(set-option :produce-models true)\n(set-logic QF_BV)\n")?;
        Ok(running)
    }

    fn ask(&mut self, pool: &Pool, constraints: &[Term], deadline: Deadline) -> Result<Answer, SolveError> {
        let common =
            self.levels.iter().zip(constraints).take_while(|((told, _), asked)| told == *asked).count();
        let mut text = String::new();
        for (_, named) in self.levels.drain(common..) {
            text += "(pop 1)\n";
            named.iter().for_each(|term| {
                self.named.remove(term);
            });
        }
        for &constraint in &constraints[common..] {
            text += "(push 1)\n";
            let mut named = Vec::new();
            for term in pool.cone(&[constraint]) {
                if self.named.insert(term) {
                    text += &smtlib::definition(pool, term);
                    text.push('\n');
                    named.push(term);
                }
            }
            text += &format!("(assert (= t{} #b1))\n", constraint.0);
            self.levels.push((constraint, named));
        }
        text += "(check-sat)\n";
        self.tell(&text)?;
        match self.line(deadline)?.as_deref() {
            Some("sat") => Ok(Answer::Sat(self.model(pool, constraints, deadline)?)),
            Some("unsat") => Ok(Answer::Unsat),
            Some("unknown") => Ok(Answer::Unknown(WhyUnknown::GaveUp)),
            Some(other) => {
                Err(SolveError::Answer { expected: "sat, unsat or unknown", found: other.to_owned() })
            }
            None => Ok(Answer::Unknown(WhyUnknown::Limit)),
        }
    }

    fn model(&mut self, pool: &Pool, constraints: &[Term], deadline: Deadline) -> Result<Model, SolveError> {
        let input = |&term: &Term| match pool.node(term) {
            Node::Input(input) => Some((term, input)),
            _ => None,
        };
        let inputs: Vec<(Term, InputId)> = pool.cone(constraints).iter().filter_map(input).collect();
        let mut model = Model::new();
        if inputs.is_empty() {
            return Ok(model);
        }
        let names: Vec<String> = inputs.iter().map(|(term, _)| format!("t{}", term.0)).collect();
        self.tell(&format!("(get-value ({}))\n", names.join(" ")))?;
        let (mut text, mut depth) = (String::new(), 0);
        while text.is_empty() || depth > 0 {
            let line = self.line(deadline)?.ok_or(SolveError::Died)?;
            depth += line.matches('(').count() as i32 - line.matches(')').count() as i32;
            text += &line;
            text.push(' ');
        }
        for (term, input) in inputs {
            model.insert(input, value_of(&text, term)?);
        }
        Ok(model)
    }

    fn tell(&mut self, text: &str) -> Result<(), SolveError> {
        self.input.write_all(text.as_bytes()).and_then(|()| self.input.flush()).map_err(|_| SolveError::Died)
    }

    /// The next line that is not empty; `None` if none came in time.
    fn line(&mut self, deadline: Deadline) -> Result<Option<String>, SolveError> {
        let mut line = String::new();
        loop {
            if self.output.buffer().is_empty() && !self.waits(deadline) {
                return Ok(None);
            }
            let chunk = self.output.fill_buf().map_err(|_| SolveError::Died)?;
            if chunk.is_empty() {
                return Err(SolveError::Died);
            }
            let end = chunk.iter().position(|&byte| byte == b'\n');
            let count = end.map_or(chunk.len(), |end| end + 1);
            self.output
                .by_ref()
                .take(count as u64)
                .read_to_string(&mut line)
                .map_err(|_| SolveError::Died)?;
            if end.is_some() {
                match line.trim() {
                    "" => line.clear(),
                    text => return Ok(Some(text.to_owned())),
                }
            }
        }
    }

    /// Whether there is something to read before the deadline.
    fn waits(&self, Deadline { at, limits }: Deadline) -> bool {
        let mut wanted =
            libc::pollfd { fd: self.output.get_ref().as_raw_fd(), events: libc::POLLIN, revents: 0 };
        loop {
            let left = at.saturating_duration_since(Instant::now());
            let patience = limits.patience(left).max(Duration::from_millis(1));
            // SAFETY: one descriptor, which is open.
            let ready =
                unsafe { libc::poll(&mut wanted, 1, patience.as_millis().min(i32::MAX as u128) as i32) };
            if ready > 0 {
                return true;
            }
            if left.is_zero() || limits.is_stopped() {
                return false;
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// From `((t1 #x0a) (t2 (_ bv3 8)))`.
fn value_of(text: &str, term: Term) -> Result<u64, SolveError> {
    let wrong = || SolveError::Answer { expected: "values of inputs", found: text.to_owned() };
    let start = text.find(&format!("(t{} ", term.0)).ok_or_else(wrong)?;
    let rest = &text[start..];
    let rest = rest[rest.find(' ').ok_or_else(wrong)?..].trim_start();
    let number = |digits: &str, radix| {
        let end = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
        u64::from_str_radix(&digits[..end], radix).map_err(|_| wrong())
    };
    if let Some(digits) = rest.strip_prefix("#x") {
        number(digits, 16)
    } else if let Some(digits) = rest.strip_prefix("#b") {
        number(digits, 2)
    } else if let Some(digits) = rest.strip_prefix("(_ bv") {
        number(digits, 10)
    } else {
        Err(wrong())
    }
}
