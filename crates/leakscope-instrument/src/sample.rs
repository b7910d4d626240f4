//! The `sample` variant: heap accesses are reported in short bursts, more of
//! them from code that seldom runs (SWAT, section 2.2).
//!
//! Each function that accesses memory has two bodies ([`crate::twins`]): one
//! plain, one that reports. Checks where a function begins and where a loop
//! goes round decide between them. Each check counts for itself, in memory of
//! its own thread: it lets the plain body run until its count is below zero,
//! and then asks the runtime, which gives it a new count.
//!
//! Works on optimised code, which is then tidied a second time: what is
//! inlined needs no check, and loops have become what the optimiser makes of
//! them. Left plain: functions that access no memory but their own, and those
//! that cannot be there twice ([`twins::is_possible`]).

use std::collections::HashSet;

use crate::Part;
use crate::builder::Builder;
use crate::contexts::LEAVES;
use crate::elsewhere;
use crate::ir::{Block, Callee, Opcode, Value};
use crate::llvm::{Function, Kind, Module, PassOptions, Vectors};
use crate::loops::{self, Loop};
use crate::reported::{self, accessed_by};
use crate::twins::{self, Twins};
use crate::uses::is_variable;

/// What stands in the code for a check, and is inlined. The first thread uses
/// the module's counters. Others have a copy at a distance, which is the base of
/// the segment register `gs` in each thread, and 0 unless set.
///
/// The runtime is called by assembler: it keeps all registers but those of
/// vectors, takes what was pushed from the stack, and its answer is a flag. So no value of the plain body has to be
/// where a call leaves it alone, and no address is got ready before a loop.
///
/// An access comes with the place of its function's return address, by which
/// the runtime finds the callers.
const CHECK: &str = r#"
define i1 @leakscope.check(ptr %counter) alwaysinline nounwind {
entry:
  %own = addrspacecast ptr %counter to ptr addrspace(SEGMENT)
  %count = load i32, ptr addrspace(SEGMENT) %own
  %left = add i32 %count, -1
  store i32 %left, ptr addrspace(SEGMENT) %own
  %over = icmp slt i32 %left, 0
  br i1 %over, label %ask, label %done, !prof !0
ask:
  %answer = call i8 asm sideeffect "pushq %r11\0Aleaq ${1:c}(%rip), %r11\0ACALL(__leakscope_dispatch)", "={@ccnz},i,CLOBBERED"(ptr %counter) cold nounwind willreturn memory(inaccessiblemem: readwrite)
  %reports = icmp ne i8 %answer, 0
  br label %done
done:
  %twin = phi i1 [ false, %entry ], [ %reports, %ask ]
  ret i1 %twin
}

; So many accesses through a pointer.
define void @leakscope.accessed(ptr %pointer, i64 %count) alwaysinline nounwind {
  %returns = call ptr @llvm.addressofreturnaddress.p0()
  call void asm sideeffect "leaq $2, %r11\0Apushq $0\0Apushq $1\0ACALL(__leakscope_access)", "r,i,*m,~{r11},CLOBBERED"(ptr %pointer, i64 %count, ptr elementtype(i64) %returns) cold nounwind willreturn memory(inaccessiblemem: readwrite)
  ret void
}

; Most are one.
define void @leakscope.accessed.once(ptr %pointer) alwaysinline nounwind {
  %returns = call ptr @llvm.addressofreturnaddress.p0()
  call void asm sideeffect "leaq $1, %r11\0Apushq $0\0ACALL(__leakscope_access_once)", "r,*m,~{r11},CLOBBERED"(ptr %pointer, ptr elementtype(i64) %returns) cold nounwind willreturn memory(inaccessiblemem: readwrite)
  ret void
}

declare ptr @llvm.addressofreturnaddress.p0()

!0 = !{!"branch_weights", i32 1, i32 2000}
"#;

/// A program may lack the runtime, as a library that was derived may be used
/// by one that was not.
const WEAK: &str = ".weak __leakscope_dispatch\n.weak __leakscope_access\n.weak __leakscope_access_once\n";

/// The address space of `gs`. Distances are right for counters of the
/// executable; those of a shared library are all threads'.
const SEGMENT: &str = "256";

/// Functions with loops pass for profiled: only then LLVM computes how often
/// each block runs where two bodies lead to each other, which it takes for a
/// loop with two entries (`-use-iterative-bfi-inference`). Else it is far off,
/// and registers go to what seldom runs.
const CALLS: u64 = 1000;

/// Unwind tables that are right at each instruction.
const ASYNCHRONOUS: u64 = 2;

/// Bytes of a counter in memory, as `leakscope-rt` has it.
const COUNTER: u64 = 8;

pub fn after_optimisation(module: &mut Module<'_>, part: Part) -> Result<(), String> {
    let mut wanted = wanted(module);
    let elsewhere = at_start_only(module, &wanted);
    let copies = elsewhere::copy(module, &elsewhere)?;
    wanted.retain(|name| elsewhere.binary_search(name).is_err());
    wanted.extend(copies.iter().cloned());
    let chosen: HashSet<&str> = copies.iter().map(String::as_str).collect();
    twins::demote(module, &wanted)?;
    let check = match part {
        Part::Program => CHECK.replace("SEGMENT", SEGMENT),
        Part::Library => shared_check(),
    };
    let check = with_calls(&check, part);
    module.add(&check.replace("CLOBBERED", &clobbered(module)))?;
    module.add_assembler(WEAK);
    {
        let builder = Builder::new(module);
        let mut checks = Checks::new(&builder);
        for function in module.functions().filter(|function| wanted.contains(function.name())) {
            let repeats = !loops::find(function.entry()).is_empty();
            let twins = match repeats {
                true => Twins::make_apart(&builder, function),
                false => Twins::make(&builder, function),
            };
            let Some(twins) = twins else { continue };
            split(&builder, &mut checks, &twins, chosen.contains(function.name()));
            if repeats {
                function.set_entry_count(CALLS);
            }
        }
        for (name, copy) in elsewhere.iter().zip(&copies) {
            if let (Some(function), Some(copy)) = (module.function(name), module.function(copy)) {
                elsewhere::enter(&builder, function, copy, || checks.next());
            }
        }
        checks.finish();
    }
    module
        .run_passes(&format!("always-inline,function({})", twins::TIDY), &PassOptions::new(Vectors::None))?;
    for function in module.functions().filter(|function| !function.is_declaration()) {
        // The runtime is called where the optimiser sees no call.
        function.set(Kind::named("noredzone"));
        // Stacks are walked by them.
        function.set_value(Kind::named("uwtable"), ASYNCHRONOUS);
    }
    Ok(())
}

/// The same with one counter for all threads.
fn shared_check() -> String {
    CHECK
        .replace(
            "addrspacecast ptr %counter to ptr addrspace(SEGMENT)",
            "getelementptr i8, ptr %counter, i64 0",
        )
        .replace("ptr addrspace(SEGMENT)", "ptr")
}

/// Calls of the runtime are shorter where it is near. On its way from a library
/// a call may pass through the linker, which keeps fewer registers, if its
/// target is not read from where that puts it.
fn with_calls(text: &str, part: Part) -> String {
    let [before, after] = match part {
        Part::Program => ["callq ", "@PLT"],
        Part::Library => ["callq *", "@GOTPCREL(%rip)"],
    };
    let names = ["__leakscope_dispatch", "__leakscope_access", "__leakscope_access_once"];
    names.iter().fold(text.to_owned(), |text, name| {
        text.replace(&format!("CALL({name})"), &format!("{before}{name}{after}"))
    })
}

/// The registers that a call of the runtime leaves undefined: flags, vectors.
fn clobbered(module: &Module<'_>) -> String {
    let has_more =
        module.functions().any(|at| at.string("target-features").is_some_and(|all| all.contains("+avx512f")));
    let vectors = (0..if has_more { 32 } else { 16 }).map(|number| format!("xmm{number}"));
    let masks = (0..if has_more { 8 } else { 0 }).map(|number| format!("k{number}"));
    let others = ["dirflag", "fpsr", "flags"].map(str::to_owned);
    let all: Vec<String> = vectors.chain(masks).chain(others).map(|name| format!("~{{{name}}}")).collect();
    all.join(",")
}

/// Names of the functions that get two bodies.
fn wanted(module: &Module<'_>) -> HashSet<String> {
    let accesses = |function: &Function<'_>| function.instructions().any(|at| !accessed_by(at).is_empty());
    module
        .functions()
        .filter(|&function| twins::is_possible(function))
        .filter(accesses)
        .map(|function| function.name().to_owned())
        .collect()
}

/// Names of those that ask only where they begin, and whose second body may
/// stand elsewhere, in order.
fn at_start_only(module: &Module<'_>, wanted: &HashSet<String>) -> Vec<String> {
    let asks_at_start_only = |function: &Function<'_>| {
        let loops = loops::find(function.entry());
        let asking = Asking::of(&loops, || function.blocks());
        asking.at_start && asking.others.is_empty()
    };
    let mut names: Vec<String> = module
        .functions()
        .filter(|function| wanted.contains(function.name()))
        .filter(|&function| elsewhere::is_possible(function))
        .filter(asks_at_start_only)
        .map(|function| function.name().to_owned())
        .collect();
    names.sort_unstable();
    names
}

/// Where a function asks.
struct Asking<'a, 'm> {
    at_start: bool,
    boring: Vec<&'a Loop<'m>>,
    /// Loops that ask.
    others: Vec<&'a Loop<'m>>,
}

impl<'a, 'm> Asking<'a, 'm> {
    fn of<B: Iterator<Item = Block<'m>>>(
        loops: &'a [Loop<'m>],
        blocks: impl FnOnce() -> B,
    ) -> Asking<'a, 'm> {
        // What lies in a loop inside is that one's.
        let asks =
            |at: &&Loop<'m>| !at.header.is_landing_pad() && at.own(loops).any(|&block| accesses(block));
        let (boring, others): (Vec<_>, Vec<_>) =
            loops.iter().filter(asks).partition(|at| is_boring(at, loops));
        let covered: HashSet<Block<'m>> = others.iter().flat_map(|at| &at.body).copied().collect();
        // Where all accesses are in loops that ask, nothing else needs to.
        let at_start = blocks().any(|block| accesses(block) && !covered.contains(&block));
        Asking { at_start, boring, others }
    }
}

/// Lets the second body report, and adds checks. Who runs one that is chosen
/// has asked.
fn split<'m>(builder: &Builder<'m>, checks: &mut Checks<'_, 'm>, twins: &Twins<'m>, is_chosen: bool) {
    let loops = loops::find(twins.start);
    let twin_blocks: Vec<Block<'m>> = twins.blocks().map(|block| twins.of(block)).collect();
    let headers: Vec<Block<'m>> = loops.iter().map(|at| twins.of(at.header)).collect();
    reported::report(builder, twins.function, &twin_blocks, &headers, |pointer, count| match count {
        1 => builder.call(checks.accessed_once, &[pointer]),
        _ => builder.call(checks.accessed, &[pointer, builder.word(count)]),
    });
    let Asking { at_start, boring, others } = Asking::of(&loops, || twins.blocks());
    if is_chosen {
        twins.enter(builder, |builder| builder.equal(builder.word(0), builder.word(0)), |_| {});
    } else if at_start {
        twins.enter(builder, |_| checks.next(), |_| {});
    }
    for at in boring {
        twins.leave(builder, at.header, &at.latches, |_| checks.next());
    }
    for at in &others {
        let is_asked_before = is_chosen || at_start || others.iter().any(|other| at.is_inside(other));
        let counter = checks.counter();
        let asks = [|_: &Builder<'m>| checks.ask(counter); 2];
        if is_asked_before {
            twins.cross_back(builder, at, asks);
        } else {
            twins.cross_over(builder, at, asks, |_| {});
        }
    }
}

fn accesses(block: Block<'_>) -> bool {
    block.instructions().any(|at| !accessed_by(at).is_empty())
}

/// Whether a loop, as it goes round, stays in the blocks that it began with:
/// it calls nothing but what uses what it is given, and gets no address from
/// memory. Its plain body is left as it is; the other one goes over to it
/// after a few rounds. One with loops in its loops may go on for too long.
fn is_boring<'m>(at: &Loop<'m>, all: &[Loop<'m>]) -> bool {
    let is_leaf = |at: Value<'m>| at.called_name().is_some_and(|name| LEAVES.contains(&name));
    let calls = |at: Value<'m>| at.is_call() && !at.is_intrinsic() && !is_leaf(at);
    let follows = |at: Value<'m>| {
        at.is(Opcode::LLVMLoad) && at.ty().is_pointer() && is_variable(at.operand(0).without_steps())
    };
    let has_inside = |at: &Loop<'m>| all.iter().any(|other| other.is_inside(at));
    !all.iter().any(|inner| inner.is_inside(at) && has_inside(inner))
        && !at.body.iter().flat_map(|block| block.instructions()).any(|at| calls(at) || follows(at))
}

/// The checks of a module, each with a counter.
struct Checks<'b, 'm> {
    builder: &'b Builder<'m>,
    check: Callee<'m>,
    accessed: Callee<'m>,
    accessed_once: Callee<'m>,
    /// Stands for the counters until their number is known.
    counters: Value<'m>,
    count: u64,
}

impl<'b, 'm> Checks<'b, 'm> {
    fn new(builder: &'b Builder<'m>) -> Checks<'b, 'm> {
        Checks {
            builder,
            check: builder.function(c"leakscope.check"),
            accessed: builder.function(c"leakscope.accessed"),
            accessed_once: builder.function(c"leakscope.accessed.once"),
            counters: builder.zeroed(COUNTER),
            count: 0,
        }
    }

    /// A check with a counter of its own.
    fn next(&mut self) -> Value<'m> {
        let counter = self.counter();
        self.ask(counter)
    }

    fn counter(&mut self) -> Value<'m> {
        self.count += 1;
        self.builder.constant_offset(self.counters, (self.count - 1) * COUNTER)
    }

    /// A check where the builder stands: whether the body that reports comes.
    fn ask(&self, counter: Value<'m>) -> Value<'m> {
        self.builder.call(self.check, &[counter])
    }

    /// Makes room for all counters.
    fn finish(self) {
        if self.count == 0 {
            return self.builder.discard(self.counters);
        }
        self.builder.replace(self.counters, self.builder.zeroed(self.count * COUNTER));
    }
}
