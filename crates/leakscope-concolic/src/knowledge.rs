//! What the runs have shown so far, whichever warning they were made for: ways
//! that were gone, paths that are known, words that the program asks for.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use leakscope_solve::{Compare, InputId, Node, Pool, Term};
use leakscope_wire::symbolic::source;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::influence::Influence;
use crate::input::{Bounds, Input};
use crate::parts::Parts;
use crate::places::{PlaceId, WayId};
use crate::schedule::{Candidate, Edge};
use crate::solve::Run;
use crate::succession::Succession;
use crate::target::{ProgramOption, TIMES_BITS};
use crate::texts::{Compared, stage};
use crate::trace::{Decision, Trace, Way, mixed};
use crate::wording::{Word, words};

/// A run as its ways know it: how large its input is and of which shape, and its number.
#[derive(Clone, Copy)]
struct OfWay {
    size: usize,
    shape: Shape,
    run: usize,
}

/// How many arguments an input has, and whether there are digits in its texts: what has none may
/// lack the numbers that are asked for behind the way.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Shape {
    arguments: usize,
    has_digits: bool,
}

impl Shape {
    fn of(input: &Input) -> Shape {
        let mut texts = [&input.stdin].into_iter().chain(input.files.values());
        let has_digits = texts.any(|text| text.iter().any(u8::is_ascii_digit));
        Shape { arguments: input.args.len(), has_digits }
    }
}

#[derive(Default)]
pub struct Knowledge {
    /// Inputs of all runs.
    pub inputs: FxHashSet<Input>,
    /// The same by number of their run.
    pub runs: Vec<Input>,
    /// Parts that they were read in, of those that went new ways.
    parts: FxHashMap<usize, Parts>,
    /// Whether some run has looked at arguments, read standard input, and a file.
    reads_arguments: bool,
    reads_stdin: bool,
    reads_files: bool,
    /// Edges that some run took where the input decided.
    pub edges: FxHashSet<Edge>,
    /// The same, each time that a run came to their place for itself, about.
    pub edges_in_rounds: FxHashSet<(Edge, u8)>,
    /// Ways that some run went, and about how often in one run.
    covered: FxHashSet<u32>,
    /// The ways alone.
    pub gone: FxHashSet<WayId>,
    /// Hashes of all paths that runs followed, or that are closed.
    pub paths: FxHashSet<u64>,
    /// Whether there were more than there is room for: nothing can be called
    /// explored then.
    pub has_left_out: bool,
    /// The ways that runs took where there are many: by the hash of the path
    /// before a place, and the place.
    ways: FxHashMap<(u64, PlaceId), Vec<Term>>,
    /// What held there, without the runs, which are large.
    pub held: Pool,
    /// Of each way the runs with the smallest inputs that went it, each of another shape.
    by_way: FxHashMap<WayId, Vec<OfWay>>,
    /// What the program compared single bytes of the input with.
    asked_of: FxHashMap<InputId, BTreeSet<u64>>,
    /// How often inputs were guessed for an edge.
    guessed: FxHashMap<Edge, u32>,
    pub influence: Influence,
    /// What the program asked for.
    pub words: BTreeSet<Word>,
    /// Texts that the program compared its own with, and with how many of these.
    pub texts: BTreeMap<Vec<u8>, u32>,
    /// The same for each stage behind the first, and pairs that were tried there.
    texts_later: FxHashMap<(Vec<u8>, usize), u32>,
    tried_later: FxHashSet<(Compared, usize)>,
    /// How often a text was tried beside one that the program knows, too.
    beside: FxHashMap<Compared, u32>,
    /// Texts that were tried as commands.
    commands: BTreeSet<Vec<u8>>,
    /// What goes on from what runs did.
    succession: Succession,
    /// Words that no input was made for yet, with the input whose run came to
    /// them first.
    pub untried: Vec<(Word, Input)>,
}

/// Inputs are guessed so often for an edge that some run has taken, and for one
/// that none has.
const GUESSES_KNOWN: u32 = 6;
const GUESSES_NEW: u32 = 24;
const GUESSES_OF_VALUES: u32 = 60;

/// So many runs are known of each way.
const MOST_OF_WAY: usize = 4;

/// So many paths are known, and so many bytes of what held on their ways.
const MOST_PATHS: usize = 2 << 20;
const MOST_HELD: usize = 64 << 20;

/// A text is tried in place of so many others, and of so many in runs that went new
/// ways.
const MOST_SEEN: u32 = 4;
const MOST_SEEN_NEW: u32 = 10;

/// And of so many behind others, in each stage, and in all.
const MOST_SEEN_LATER: u32 = 3;
const MOST_LATER: usize = 400;

/// A text is tried so often beside the same one, and so many texts are.
const MOST_BESIDE: u32 = 3;
const MOST_PAIRS: usize = 150;

/// More texts are not tried as commands.
const MOST_COMMANDS: usize = 60;

/// More words are not looked at: names may come from the input.
const MOST_WORDS: usize = 200;

impl Knowledge {
    pub fn new(influence: Influence) -> Knowledge {
        Knowledge { influence, paths: FxHashSet::from_iter([0]), ..Knowledge::default() }
    }

    /// Takes in a run, and says in it whether it went new ways.
    pub fn add(&mut self, mut run: Run) -> Arc<Run> {
        run.number = self.runs.len();
        self.runs.push(run.input.clone());
        self.note_paths(&std::mem::take(&mut run.trace.paths));
        for decision in &run.trace.decisions {
            let edge = decision.edge(decision.way);
            self.edges.insert(edge);
            self.edges_in_rounds.insert((edge, decision.round()));
        }
        for &way in &run.trace.coverage {
            run.is_new |= self.covered.insert(way);
            self.gone.insert(way >> TIMES_BITS);
        }
        let of_way = OfWay { size: run.input.size(), shape: Shape::of(&run.input), run: run.number };
        let mut ways: Vec<WayId> = run.trace.coverage.iter().map(|way| way >> TIMES_BITS).collect();
        ways.dedup();
        for way in ways {
            note_way(self.by_way.entry(way).or_default(), of_way);
        }
        for word in words(&run.trace) {
            if matches!(word, Word::Texts(_)) && !run.is_new {
                continue;
            }
            if let Word::Beside(text) = &word {
                if run.is_new && self.may_try_beside(text) {
                    self.untried.push((word, run.input.clone()));
                }
                continue;
            }
            if let Word::Command(text) = &word {
                if self.commands.len() < MOST_COMMANDS && self.commands.insert(text.wanted.clone()) {
                    self.untried.push((word, run.input.clone()));
                }
                continue;
            }
            if let Word::Text(text) = &word {
                let stage = stage(text, &run.input);
                if stage > 0 && run.is_new && self.may_try_later(text, stage) {
                    self.untried.push((word, run.input.clone()));
                    continue;
                }
                let wanted = &text.wanted;
                let tried = self.texts.entry(wanted.clone()).or_default();
                let most = if run.is_new { MOST_SEEN_NEW } else { MOST_SEEN };
                if *tried >= most || self.words.contains(&word) {
                    continue;
                }
                *tried += 1;
            }
            if self.words.len() < MOST_WORDS && self.words.insert(word.clone()) {
                self.untried.push((word, run.input.clone()));
            }
        }
        if run.is_new {
            // Of a text that stands for the beginning of a line, the first word counts.
            let is_known = |word: &[u8]| self.commands.iter().any(|known| known.trim_ascii_end() == word);
            let next = self.succession.add(&run.input, is_known);
            self.untried.extend(next.into_iter().map(|(next, from)| (Word::Next(next), from)));
        }
        self.reads_arguments |= run.trace.reads_arguments;
        self.reads_stdin |= run.trace.reads_stdin;
        self.reads_files |=
            run.trace.names.keys().any(|number| number - number % source::MOST == source::FILE);
        if run.is_new {
            self.parts.insert(run.number, Parts::of(&run.trace));
        }
        self.note_bytes(&run.trace);
        let run = Arc::new(run);
        self.note_ways(&run);
        run
    }

    /// Whether a text is worth a try behind others, and notes that.
    fn may_try_later(&mut self, text: &Compared, stage: usize) -> bool {
        let tried = self.texts_later.entry((text.wanted.clone(), stage)).or_default();
        if *tried >= MOST_SEEN_LATER
            || self.tried_later.len() >= MOST_LATER
            || !self.tried_later.insert((text.clone(), stage))
        {
            return false;
        }
        *tried += 1;
        // The crossing may take it, too.
        self.texts.entry(text.wanted.clone()).or_default();
        true
    }

    /// Whether a text is worth a try beside the one that was seen, which must be one that the program
    /// looks for: what it found by that is lost if another takes its place.
    fn may_try_beside(&mut self, text: &Compared) -> bool {
        let is_known = self.texts.contains_key(&text.seen) && text.seen != text.wanted;
        if !is_known || self.beside.len() >= MOST_PAIRS {
            return false;
        }
        self.texts.entry(text.wanted.clone()).or_default();
        let tried = self.beside.entry(text.clone()).or_default();
        *tried += 1;
        *tried <= MOST_BESIDE
    }

    /// Runs that went a way, those with small inputs.
    pub fn runs_of(&self, way: WayId) -> impl Iterator<Item = usize> + '_ {
        self.by_way.get(&way).into_iter().flatten().map(|known| known.run)
    }

    /// The bounds of what is worth a change without a solver: what some run reads.
    pub fn bounds(&self, bounds: &Bounds) -> Bounds {
        let or_none = |is_read: bool, bytes: u32| if is_read { bytes } else { 0 };
        Bounds {
            args: or_none(self.reads_arguments, bounds.args),
            stdin_bytes: or_none(self.reads_stdin, bounds.stdin_bytes),
            file_bytes: or_none(self.reads_files, bounds.file_bytes),
            arg_bytes: bounds.arg_bytes,
        }
    }

    /// The parts that a run's input was read in, where these are known.
    pub fn parts(&self, run: usize) -> Parts {
        self.parts.get(&run).cloned().unwrap_or_default()
    }

    /// Options that the program understands.
    pub fn options(&self) -> impl Iterator<Item = &ProgramOption> {
        self.words.iter().filter_map(|word| match word {
            Word::Option(option) => Some(option),
            _ => None,
        })
    }

    fn note_bytes(&mut self, trace: &Trace) {
        let pool = &trace.pool;
        for index in 0..trace.path.len() {
            let term = trace.path.constraint(index);
            let told = match pool.node(term) {
                Node::Not(inner) => pool.node(inner),
                told => told,
            };
            if let Node::Compare(Compare::Eq, a, b) = told
                && let (Node::Input(input), Some(value)) = (pool.node(a), pool.value(b))
                && pool.bits(a) == 8
            {
                self.asked_of.entry(input).or_default().insert(value);
            }
        }
    }

    /// What some run compared a byte of the input with.
    pub fn asked_of(&self, input: InputId) -> impl Iterator<Item = u64> + '_ {
        self.asked_of.get(&input).into_iter().flatten().copied()
    }

    fn note_paths(&mut self, paths: &[u64]) {
        self.has_left_out |= self.paths.len() + paths.len() > MOST_PATHS;
        if !self.has_left_out {
            self.paths.extend(paths);
        }
    }

    fn note_ways(&mut self, run: &Arc<Run>) {
        let trace = &run.trace;
        for decision in trace.decisions.iter().filter(|decision| matches!(decision.way, Way::Other(_))) {
            if self.held.bytes() > MOST_HELD {
                self.has_left_out = true;
                return;
            }
            let held = self.held.import(&trace.pool, trace.path.constraint(decision.before));
            let known = self.ways.entry((decision.hash, decision.place)).or_default();
            if !known.contains(&held) {
                // The way after the last known one was asked for, and is here.
                let way = Way::Other(known.len() as u16);
                self.paths.insert(mixed(decision.hash, decision.place, way));
                known.push(held);
            }
        }
    }

    /// What held on the ways that runs took at a decision, where there are
    /// many: terms of `held`.
    pub fn seen(&self, decision: &Decision) -> &[Term] {
        let is_one_of_many = matches!(decision.way, Way::Other(_));
        let seen = self.ways.get(&(decision.hash, decision.place)).filter(|_| is_one_of_many);
        seen.map(Vec::as_slice).unwrap_or_default()
    }

    pub fn note_guess(&mut self, edge: Edge) {
        *self.guessed.entry(edge).or_default() += 1;
    }

    /// Whether inputs for an edge may be guessed in which one number has the value that is asked for:
    /// these are few, and mostly right.
    pub fn may_guess_values(&self, candidate: &Candidate) -> bool {
        self.guessed.get(&candidate.edge).copied().unwrap_or(0) < GUESSES_OF_VALUES
    }

    /// Whether inputs for an edge may be guessed: more often while nobody has
    /// seen it.
    pub fn may_guess(&self, candidate: &Candidate) -> bool {
        let most = if self.edges.contains(&candidate.edge) { GUESSES_KNOWN } else { GUESSES_NEW };
        self.guessed.get(&candidate.edge).copied().unwrap_or(0) < most
    }
}

/// Takes a run in among those that went a way.
fn note_way(runs: &mut Vec<OfWay>, new: OfWay) {
    if let Some(alike) = runs.iter().position(|known| known.shape == new.shape) {
        if runs[alike].size <= new.size {
            return;
        }
        runs.remove(alike);
    }
    runs.insert(runs.partition_point(|known| known.size <= new.size), new);
    runs.truncate(MOST_OF_WAY);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_way_small_inputs_of_different_shapes_are_known() {
        let mut runs = Vec::new();
        for (run, (size, arguments, has_digits)) in [
            (5, 0, false),
            (4, 0, false),
            (9, 1, false),
            (4, 0, false),
            (7, 2, false),
            (8, 3, false),
            (6, 0, true),
        ]
        .into_iter()
        .enumerate()
        {
            note_way(&mut runs, OfWay { size, shape: Shape { arguments, has_digits }, run });
        }
        assert_eq!(runs.iter().map(|known| known.run).collect::<Vec<_>>(), [1, 6, 4, 5]);
    }
}
