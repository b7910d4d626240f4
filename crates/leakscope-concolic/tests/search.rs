//! The search and its verdicts, on programs that are functions of this test:
//! they tell what the runtime of a derived program would.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use leakscope_concolic::{
    Automaton, Bounds, ConcolicError, Ended, Fate, Input, Journal, Located, MarkKind, Options, Outcome,
    PathMark, PlaceId, Places, Record, Spot, Subject, Target, Warning, validate,
};
use leakscope_core::Verdict;
use leakscope_ir::Program;
use leakscope_wire::symbolic::{Event, EventKind, Node, Op, PlaceKind, Why, source};

/// A number that knows how it came from the input.
#[derive(Clone, Copy)]
struct Value {
    now: u64,
    term: u32,
    bits: u8,
}

/// Writes a record as the runtime does. Lines are places: branches have the
/// number of their line, points 100 more, calls 200 more.
struct Teller<'a> {
    input: &'a Input,
    record: Record,
    objects: u32,
}

impl Teller<'_> {
    fn node(&mut self, op: Op, bits: u8, imm: u16, a: u32, b: u32) -> u32 {
        self.record.nodes.push(Node { op: op as u8, bits, imm, a, b, c: 0 });
        self.record.nodes.len() as u32 - 1
    }

    fn constant(&mut self, now: u64, bits: u8) -> Value {
        self.record.nodes.push(Node::constant(bits, now));
        Value { now, term: self.record.nodes.len() as u32 - 1, bits }
    }

    fn stdin(&mut self, at: usize) -> Value {
        let term = self.node(Op::Input, 8, source::STDIN, at as u32, 0);
        Value { now: self.input.stdin.get(at).copied().unwrap_or(0).into(), term, bits: 8 }
    }

    fn has_stdin(&mut self, at: usize) -> bool {
        let term = self.node(Op::Input, 64, source::STDIN_SIZE, 0, 0);
        let size = Value { now: self.input.stdin.len() as u64, term, bits: 64 };
        let at = self.constant(at as u64, 64);
        let more = self.binary(Op::Ult, at, size, |a, b| u64::from(a < b));
        self.branch(1, more)
    }

    fn binary(&mut self, op: Op, a: Value, b: Value, now: fn(u64, u64) -> u64) -> Value {
        let bits = if matches!(op, Op::Eq | Op::Ult) { 1 } else { a.bits };
        let term = self.node(op, bits, 0, a.term, b.term);
        let all = u64::MAX >> (64 - u32::from(bits));
        Value { now: now(a.now, b.now) & all, term, bits }
    }

    fn is(&mut self, a: Value, wanted: u64) -> Value {
        let wanted = self.constant(wanted, a.bits);
        self.binary(Op::Eq, a, wanted, |a, b| u64::from(a == b))
    }

    fn event(&mut self, kind: EventKind, place: PlaceId, term: u32, value: u32, taken: bool) {
        let event = Event { kind: kind as u8, taken: taken.into(), detail: 0, place, term, value };
        self.record.events.push(event);
    }

    fn branch(&mut self, line: u32, condition: Value) -> bool {
        let taken = condition.now == 1;
        self.event(EventKind::Branch, line, condition.term, condition.now as u32, taken);
        taken
    }

    fn point(&mut self, line: u32) {
        self.event(EventKind::Point, 100 + line, 0, 0, false);
    }

    fn allocate(&mut self, line: u32) -> u32 {
        self.point(line);
        self.objects += 1;
        self.event(EventKind::Allocated, 200 + line, 16, self.objects, false);
        self.objects
    }

    fn used(&mut self, object: u32) {
        self.event(EventKind::Used, 0, 0, object, false);
    }

    fn freed(&mut self, object: u32) {
        self.event(EventKind::Freed, 0, 0, object, false);
    }
}

/// A program of this test.
struct Fake(fn(&mut Teller) -> Ended);

impl Target for Fake {
    fn run(&self, input: &Input) -> Result<Record, ConcolicError> {
        let mut teller = Teller { input, record: Record::default(), objects: 0 };
        teller.record.nodes.push(Node::default());
        let ended = (self.0)(&mut teller);
        if let Ended::Exit(_) = ended {
            teller.event(EventKind::Exit, 0, 0, 0, false);
        }
        teller.record.ended = ended;
        Ok(teller.record)
    }
}

fn places() -> Places {
    let located = |kind, line| Located {
        kind,
        file: "a.c".to_owned(),
        line,
        column: 1,
        ordinal: 0,
        function: "main".to_owned(),
        cases: Vec::new(),
        is_reversed: false,
    };
    let mut places = Places::default();
    for (base, kind) in [(0, PlaceKind::Branch), (100, PlaceKind::Line), (200, PlaceKind::Call)] {
        places.add(base + 1, (1..50).map(|line| located(kind, line)).collect());
    }
    places
}

/// Marks as `MA 3, BT 5, LK 6`.
fn warning(marks: &str) -> Warning {
    let mark = |word: &str| {
        let (kind, line) = word.trim().split_once(' ').expect("kind and line");
        let kind = match kind {
            "MA" => MarkKind::Allocation,
            "BT" => MarkKind::BranchTaken,
            "BF" => MarkKind::BranchNotTaken,
            "LK" => MarkKind::Leak,
            _ => MarkKind::Point,
        };
        PathMark { kind, spot: Spot::new("a.c", line.parse().expect("a line")) }
    };
    Warning::of_marks(marks.split(',').map(mark).collect())
}

fn options() -> Options {
    Options {
        runs: 300,
        enough: 20,
        jobs: 2,
        bounds: Bounds { stdin_bytes: 16, ..Bounds::default() },
        ..Options::default()
    }
}

fn search(
    program: fn(&mut Teller) -> Ended,
    marks: &[&str],
    options: &Options,
    journal: &mut Journal,
) -> Vec<Outcome> {
    let warnings: Vec<Warning> = marks.iter().map(|marks| warning(marks)).collect();
    let places = places();
    let automata: Vec<Automaton> = warnings.iter().map(|warning| Automaton::new(warning, &places)).collect();
    let subject = Subject {
        program: &Program::default(),
        places: &places,
        warnings: &warnings,
        automata: &automata,
        target: &Fake(program),
        fate: &|_, _| Fate::Reachable,
    };
    let stop = AtomicBool::new(false);
    validate(&subject, &[Input::default()], options, journal, &stop, &mut |_| {}).expect("validated")
}

fn check(program: fn(&mut Teller) -> Ended, marks: &str, verdict: Verdict, reason: &str) -> Outcome {
    let outcome = search(program, &[marks], &options(), &mut Journal::default()).remove(0);
    assert_eq!(outcome.verdict, verdict, "{}", outcome.reason);
    assert!(outcome.reason.contains(reason), "{}", outcome.reason);
    outcome
}

/// Leaks for an input that starts with `LK`, whose third byte is twice the
/// fourth.
fn magic(tell: &mut Teller) -> Ended {
    let object = tell.allocate(3);
    for (at, byte) in [(0, b'L'), (1, b'K')] {
        if !tell.has_stdin(at) {
            tell.freed(object);
            return Ended::Exit(0);
        }
        let read = tell.stdin(at);
        let equal = tell.is(read, byte.into());
        if !tell.branch(5, equal) {
            tell.freed(object);
            return Ended::Exit(0);
        }
    }
    if tell.has_stdin(3) {
        let (a, b) = (tell.stdin(2), tell.stdin(3));
        let twice = tell.binary(Op::Add, b, b, u64::wrapping_add);
        let relation = tell.binary(Op::Eq, a, twice, |a, b| u64::from(a == b));
        let ten = tell.constant(10, 8);
        let large = tell.binary(Op::Ult, ten, b, |a, b| u64::from(a < b));
        if tell.branch(8, large) && tell.branch(9, relation) {
            tell.point(10);
            return Ended::Exit(0);
        }
    }
    tell.freed(object);
    Ended::Exit(0)
}

#[test]
fn a_trigger_that_needs_solving_is_found() {
    let outcome = check(magic, "MA 3, BT 9, LK 10", Verdict::MustLeak, "not freed at the end");
    let stdin = outcome.input.expect("an input").stdin;
    assert!(stdin.starts_with(b"LK") && stdin[3] > 10 && stdin[2] == stdin[3].wrapping_mul(2), "{stdin:?}");
}

#[test]
fn a_path_that_contradicts_itself_is_infeasible() {
    fn program(tell: &mut Teller) -> Ended {
        let object = tell.allocate(3);
        if tell.has_stdin(0) {
            let byte = tell.stdin(0);
            let (five, three) = (tell.constant(5, 8), tell.constant(3, 8));
            let large = tell.binary(Op::Ult, five, byte, |a, b| u64::from(a < b));
            let small = tell.binary(Op::Ult, byte, three, |a, b| u64::from(a < b));
            if tell.branch(5, large) && tell.branch(6, small) {
                tell.point(7);
                return Ended::Exit(0);
            }
        }
        tell.freed(object);
        Ended::Exit(0)
    }
    check(
        program,
        "MA 3, BT 5, BT 6, LK 7",
        Verdict::LikelyNotLeak,
        "infeasible: no input passes the branch at a.c:6",
    );
}

#[test]
fn what_is_freed_later_is_bloat_or_no_leak() {
    fn freed(tell: &mut Teller, uses: bool) -> Ended {
        let object = tell.allocate(3);
        if tell.has_stdin(0) {
            tell.point(5);
        }
        if uses {
            tell.used(object);
        }
        tell.freed(object);
        Ended::Exit(0)
    }
    check(
        |tell| freed(tell, true),
        "MA 3, LK 5",
        Verdict::LikelyNotLeak,
        "used after the leak point and freed",
    );
    check(|tell| freed(tell, false), "MA 3, LK 5", Verdict::Bloat, "not used after the leak point");
}

#[test]
fn may_leak_says_why() {
    /// Pins the first byte, as an address would.
    fn pinned(tell: &mut Teller) -> Ended {
        tell.allocate(3);
        if tell.has_stdin(0) {
            let byte = tell.stdin(0);
            let now = tell.is(byte, tell.input.stdin[0].into());
            let detail = Why::Address as u16;
            let event = Event {
                kind: EventKind::Constraint as u8,
                detail,
                place: 4,
                term: now.term,
                ..Event::default()
            };
            tell.record.events.push(event);
            let wanted = tell.is(byte, b'?'.into());
            if tell.branch(5, wanted) {
                tell.point(20);
            }
        }
        Ended::Exit(0)
    }
    check(
        pinned,
        "MA 3, PP 20, LK 7",
        Verdict::MayLeak,
        "the leak point a.c:7 was never reached: too many values to try them all at a.c:4",
    );
    fn long(tell: &mut Teller) -> Ended {
        tell.allocate(3);
        if tell.has_stdin(40) {
            tell.point(7);
        }
        Ended::Exit(0)
    }
    check(long, "MA 3, LK 7", Verdict::MayLeak, "a larger input than allowed is needed at a.c:1");
    fn crash(tell: &mut Teller) -> Ended {
        tell.allocate(3);
        tell.point(7);
        Ended::Signal(11)
    }
    check(crash, "MA 3, LK 7", Verdict::MayLeak, "every run that followed the path crashed or hung");
    check(crash, "MA 3, LK 90", Verdict::MayLeak, "every run that followed the path");
}

#[test]
fn what_matches_no_code_is_tried_without_it_and_named() {
    let outcome = check(magic, "MA 3, BT 77, LK 10", Verdict::MustLeak, "");
    assert_eq!(outcome.notes, ["the branch at a.c:77, taken matches no code: tried without it"]);
}

#[test]
fn a_program_that_gives_up_is_not_blamed_for_what_others_free() {
    fn program(tell: &mut Teller) -> Ended {
        tell.event(EventKind::Call, 1, 0, 0, false);
        let object = tell.allocate(3);
        tell.point(5);
        if tell.has_stdin(0) {
            return Ended::Exit(1);
        }
        tell.used(object);
        tell.freed(object);
        Ended::Exit(0)
    }
    check(program, "MA 3, LK 5", Verdict::LikelyNotLeak, "used after the leak point and freed");
}

#[test]
fn the_same_seed_gives_the_same_runs_on_any_number_of_threads() {
    let marks = ["MA 3, BT 9, LK 10", "MA 3, BT 8, LK 10", "MA 3, PP 30"];
    let told = |jobs| {
        let options = Options { jobs, ..options() };
        let outcomes = search(magic, &marks, &options, &mut Journal::default());
        outcomes.into_iter().map(|outcome| (outcome.reason, outcome.input, outcome.runs)).collect::<Vec<_>>()
    };
    let once = told(1);
    assert_eq!(once, told(2));
    assert_eq!(once, told(4));
}

#[test]
fn an_interrupted_search_goes_on_where_it_was() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("journal");
    let marks = ["MA 3, BT 9, LK 10"];
    let whole =
        search(magic, &marks, &options(), &mut Journal::open(&path, "key").expect("opened")).remove(0);
    // The second search needs no solver: all is known.
    let solver = leakscope_concolic::SolverChoice::Command(vec!["false".to_owned()]);
    let mut journal = Journal::open(&path, "key").expect("opened");
    assert!(!journal.is_empty());
    let again =
        search(magic, &marks, &Options { solver: solver.clone(), ..options() }, &mut journal).remove(0);
    assert_eq!((again.verdict, again.input), (whole.verdict, whole.input));
    // Of another search it says nothing.
    let mut other = Journal::open(&path, "other").expect("opened");
    let failed = search(magic, &marks, &Options { solver, ..options() }, &mut other).remove(0);
    assert_eq!(failed.verdict, Verdict::MayLeak);
    assert!(failed.reason.contains("the solver ended before it answered"), "{}", failed.reason);
}

/// A program that notes its inputs, and is interrupted at one of them.
struct Noted<'a> {
    program: fn(&mut Teller) -> Ended,
    inputs: Mutex<Vec<Input>>,
    stop: &'a AtomicBool,
    last: usize,
}

impl Target for Noted<'_> {
    fn run(&self, input: &Input) -> Result<Record, ConcolicError> {
        let mut inputs = self.inputs.lock().expect("no run fails");
        inputs.push(input.clone());
        if inputs.len() == self.last {
            self.stop.store(true, Ordering::Relaxed);
        }
        Fake(self.program).run(input)
    }
}

/// However it was interrupted, the same inputs are run in the same order, and the answers are the same.
#[test]
fn a_search_that_goes_on_makes_the_runs_of_one_that_was_not_interrupted() {
    let warnings = ["MA 3, BT 9, LK 10", "MA 3, BT 8, LK 10", "MA 3, PP 30"].map(warning);
    let places = places();
    let automata: Vec<Automaton> = warnings.iter().map(|warning| Automaton::new(warning, &places)).collect();
    let folder = tempfile::tempdir().expect("a folder");
    let run = |name: &str, last: usize| {
        let stop = AtomicBool::new(false);
        let target = Noted { program: magic, inputs: Mutex::default(), stop: &stop, last };
        let subject = Subject {
            program: &Program::default(),
            places: &places,
            warnings: &warnings,
            automata: &automata,
            target: &target,
            fate: &|_, _| Fate::Reachable,
        };
        let mut journal = Journal::open(&folder.path().join(name), "key").expect("opened");
        let options = Options { jobs: 1, ..options() };
        let outcomes = validate(&subject, &[Input::default()], &options, &mut journal, &stop, &mut |_| {});
        let told: Vec<_> = outcomes.expect("validated").into_iter().map(|outcome| outcome.reason).collect();
        (target.inputs.into_inner().expect("no run fails"), told)
    };
    let whole = run("whole", usize::MAX);
    let all = whole.0.len();
    for last in 2..all {
        let name = last.to_string();
        run(&name, last);
        run(&name, last + 1);
        assert_eq!(run(&name, usize::MAX), whole, "interrupted at run {last}");
    }
}

#[test]
fn interrupted_warnings_are_open() {
    let warnings = [warning("MA 3, BT 9, LK 10")];
    let places = places();
    let automata = [Automaton::new(&warnings[0], &places)];
    let subject = Subject {
        program: &Program::default(),
        places: &places,
        warnings: &warnings,
        automata: &automata,
        target: &Fake(magic),
        fate: &|_, _| Fate::Unknown,
    };
    let stop = AtomicBool::new(false);
    let mut interrupt = |_: leakscope_concolic::News<'_>| stop.store(true, Ordering::Relaxed);
    let outcomes =
        validate(&subject, &[Input::default()], &options(), &mut Journal::default(), &stop, &mut interrupt);
    let outcome = outcomes.expect("validated").remove(0);
    assert_eq!(outcome.verdict, Verdict::MayLeak);
    assert!(outcome.reason.contains("interrupted"), "{}", outcome.reason);
}
