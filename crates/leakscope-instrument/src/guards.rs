//! The small functions through which instrumented code talks to the runtime:
//! a range check that is inlined, and a call behind it. They are functions
//! because LLVM's C interface cannot split a block.

use leakscope_wire::followed;

use crate::{Part, contexts};

/// Added to a module before it is optimised.
///
/// What was never written may be any value, but must be one value, hence
/// `freeze`. The runtime's functions are weak, because a shared object is
/// linked before the program that brings the runtime. They are bound when it is
/// loaded: to be bound at the first call would cost a register that they are
/// said to keep. They touch only memory of their own, as far as the program can
/// tell.
///
/// What is inlined must be small: there are as many as stores and ends of
/// lives. `leakscope.*.stamp` are behind it, and do what the runtime's functions
/// do where nothing is new: they find the block's stamp and the number of the
/// event by a few loads, and write time and event. All else they leave to the
/// runtime, which does not see them: so no frame, and a tail call.
pub fn before_optimisation() -> String {
    filled_in(BEFORE_OPTIMISATION)
}

/// Looks for the number of `%key` in `%tables`: goes to `found` with `%known`, or
/// to `help`.
const FIND: &str = "\
  %index = lshr i64 %key, $KEY_SHIFT
  %entry_at = getelementptr i64, ptr %tables, i64 %index
  %known = load atomic i64, ptr %entry_at monotonic, align 8
  %tag = shl i64 %key, $TAG_SHIFT
  %apart = xor i64 %known, %tag
  %is_known = icmp ult i64 %apart, 4294967296
  br i1 %is_known, label %found, label %help, !prof !1";

fn filled_in(text: &str) -> String {
    [
        ("$HIGH", followed::BLOCKS >> RANGE_BITS),
        ("$RANGE", u64::from(RANGE_BITS)),
        ("$BLOCKS", followed::BLOCKS),
        ("$FIRST_CHUNK", followed::BLOCKS >> followed::CHUNK_BITS),
        ("$CHUNK", followed::CHUNK_BITS.into()),
        ("$STAMPS", followed::STAMPS),
        ("$STEPS", followed::STEPS),
        ("$EVENT_BITS", u64::from(followed::EVENT_BITS)),
        ("$EVENT", (1 << followed::EVENT_BITS) - 1),
        ("$KEY_SHIFT", u64::from(64 - followed::NUMBERS_BITS)),
        ("$TAG_SHIFT", u64::from(followed::NUMBERS_BITS)),
        ("$KEY", followed::KEY),
        ("$TICKS", followed::TICKS - 1),
        ("$SPLIT", followed::SPLIT.into()),
        ("$USES", followed::USES),
    ]
    .iter()
    .fold(text.replace("$FIND", FIND), |text, (name, value)| {
        text.replace(name, &value.cast_signed().to_string())
    })
}

/// How the names of guards begin.
pub const PREFIX: &str = "leakscope.";

/// Whether a function gets the context of its call as its argument number
/// [`CONTEXT`], and not by the thread's variable.
pub fn takes_context(name: &str) -> bool {
    name.starts_with(PREFIX) && name.ends_with(".stamp")
}

pub const CONTEXT: u32 = 4;

/// Whether a function of the runtime's does not ask where it was called.
pub fn needs_no_context(name: &str) -> bool {
    ["__leakscope_stays", "__leakscope_used_at"].contains(&name)
}

/// An address above these bits says whether it is followed.
const RANGE_BITS: u32 = 42;
const _: () = assert!(followed::END - followed::BLOCKS == 1 << RANGE_BITS);

const BEFORE_OPTIMISATION: &str = r#"
; What a call may return is what it need not keep: three registers more, and so
; little has to be saved where much is to be done.
%leakscope.free = type { i64, i64, i64 }

; Whether derived code calls the function: it holds what it gives, unless it says
; that it may not. All code of the file counts as derived.
define i1 @leakscope.is.held() alwaysinline nounwind {
  %return = call ptr @llvm.returnaddress(i32 0)
  %caller = ptrtoint ptr %return to i64
  %offset = sub i64 %caller, ptrtoint (ptr @__ehdr_start to i64)
  %size = sub i64 ptrtoint (ptr @etext to i64), ptrtoint (ptr @__ehdr_start to i64)
  %is_inside = icmp ult i64 %offset, %size
  %given = load i64, ptr @leakscope_given
  %are_kept = icmp eq i64 %given, 0
  %is_held = and i1 %is_inside, %are_kept
  ret i1 %is_held
}

; A pointer in memory is overwritten by `new`. Returns the clock.
define i64 @leakscope.overwritten(ptr %old, ptr %site, ptr %new, i64 %now) alwaysinline nounwind {
entry:
  %value = freeze ptr %old
  %number = ptrtoint ptr %value to i64
  %high = lshr i64 %number, $RANGE
  %inside = icmp eq i64 %high, $HIGH
  %other = icmp ne ptr %value, %new
  %dies = and i1 %inside, %other
  br i1 %dies, label %report, label %done, !prof !0
report:
  %result = call preserve_mostcc %leakscope.free @leakscope.overwritten.stamp(ptr %value, ptr %site, i64 poison, i64 poison, i64 0, ptr %new) #0
  call void asm "", "=*m"(ptr elementtype(i64) @leakscope_clock) #1
  %later = extractvalue %leakscope.free %result, 0
  %cleared = call i64 asm sideeffect "xorq $0, $0", "=r,0,~{flags}"(i64 %number) #2
  br label %done
done:
  %clock = phi i64 [ %now, %entry ], [ %later, %report ]
  ret i64 %clock
}

; The life of a local ends that got its value at `since`. Returns the clock.
define i64 @leakscope.ends(ptr %old, ptr %site, i64 %since, i64 %now) alwaysinline nounwind {
entry:
  %value = freeze ptr %old
  %ticked = icmp ult i64 %since, %now
  br i1 %ticked, label %look, label %done
look:
  %number = ptrtoint ptr %value to i64
  %high = lshr i64 %number, $RANGE
  %inside = icmp eq i64 %high, $HIGH
  br i1 %inside, label %report, label %done, !prof !0
report:
  %result = call preserve_mostcc %leakscope.free @leakscope.ends.stamp(ptr %value, ptr %site, i64 poison, i64 poison, i64 0, i64 %since) #0
  call void asm "", "=*m"(ptr elementtype(i64) @leakscope_clock) #1
  %later = extractvalue %leakscope.free %result, 0
  %cleared = call i64 asm sideeffect "xorq $0, $0", "=r,0,~{flags}"(i64 %number) #2
  br label %done
done:
  %clock = phi i64 [ %now, %entry ], [ %now, %look ], [ %later, %report ]
  ret i64 %clock
}

; The same, where the place of the end was noted, and `kept` stays behind.
define i64 @leakscope.dies(ptr %old, ptr %site, i64 %place, ptr %kept, i64 %since, i64 %now) alwaysinline nounwind {
entry:
  %value = freeze ptr %old
  %ticked = icmp ult i64 %since, %now
  br i1 %ticked, label %look, label %done
look:
  %number = ptrtoint ptr %value to i64
  %high = lshr i64 %number, $RANGE
  %inside = icmp eq i64 %high, $HIGH
  %other = icmp ne ptr %value, %kept
  %dies = and i1 %inside, %other
  br i1 %dies, label %report, label %done, !prof !0
report:
  %result = call preserve_mostcc %leakscope.free @leakscope.dies.stamp(ptr %value, ptr %site, ptr %kept, i64 %place, i64 0, i64 %since) #0
  call void asm "", "=*m"(ptr elementtype(i64) @leakscope_clock) #1
  %later = extractvalue %leakscope.free %result, 0
  %cleared = call i64 asm sideeffect "xorq $0, $0", "=r,0,~{flags}"(i64 %number) #2
  br label %done
done:
  %clock = phi i64 [ %now, %entry ], [ %now, %look ], [ %later, %report ]
  ret i64 %clock
}

; A result is dropped that was made after `since`, unless it died later than
; `until`. Without a tick of the clock, none was made.
define void @leakscope.dropped(ptr %old, ptr %site, i64 %since, i64 %until) alwaysinline nounwind {
  %value = freeze ptr %old
  %number = ptrtoint ptr %value to i64
  %high = lshr i64 %number, $RANGE
  %inside = icmp eq i64 %high, $HIGH
  br i1 %inside, label %look, label %done, !prof !0
look:
  %now = load i64, ptr @leakscope_clock
  %ticked = icmp ne i64 %now, %since
  br i1 %ticked, label %report, label %done
report:
  call preserve_mostcc void @__leakscope_drop(ptr %value, ptr %site, i64 %since, i64 %until) #0
  br label %done
done:
  ret void
}

; A function that may be a thread's returns `value`; `outer` is the furthest
; that one has returned from so far.
define void @leakscope.returns(i64 %outer, ptr %site, i64 %place, ptr %value) alwaysinline nounwind {
  %frame = call ptr @llvm.frameaddress.p0(i32 0)
  %own = ptrtoint ptr %frame to i64
  %further = icmp ugt i64 %own, %outer
  br i1 %further, label %report, label %done, !prof !0
report:
  call preserve_mostcc void @__leakscope_returns(i64 %own, ptr %site, i64 %place, ptr %value) nomerge
  br label %done
done:
  ret void
}

; The end of a vector's elements moves from `old` to `new`.
define void @leakscope.shrinks(ptr %old, ptr %new, ptr %site) alwaysinline nounwind {
  %less = icmp ult ptr %new, %old
  br i1 %less, label %look, label %done
look:
  %number = ptrtoint ptr %new to i64
  %high = lshr i64 %number, $RANGE
  %inside = icmp eq i64 %high, $HIGH
  br i1 %inside, label %report, label %done
report:
  call preserve_mostcc void @__leakscope_shrinks(ptr %old, ptr %new, ptr %site) nomerge
  br label %done
done:
  ret void
}

; A local dies in a frame that an exception leaves.
define void @leakscope.unwound(ptr %old, ptr %site) alwaysinline nounwind {
  %value = freeze ptr %old
  %number = ptrtoint ptr %value to i64
  %high = lshr i64 %number, $RANGE
  %inside = icmp eq i64 %high, $HIGH
  br i1 %inside, label %report, label %done
report:
  call preserve_mostcc void @__leakscope_unwound(ptr %value, ptr %site) nomerge
  br label %done
done:
  ret void
}

; What is behind the guards returns the clock. It has the context of the call as
; its fifth argument, which is put there later.

define linkonce_odr hidden preserve_mostcc %leakscope.free @leakscope.overwritten.stamp(ptr %old, ptr %site, i64 %_0, i64 %_1, i64 %context, ptr %new) noinline nounwind {
  %outcome = call { i64, i1 } @leakscope.stamp(ptr %old, i64 %context, ptr %new, i1 true, i64 0)
  %is_done = extractvalue { i64, i1 } %outcome, 1
  br i1 %is_done, label %done, label %help, !prof !1
done:
  %clock = extractvalue { i64, i1 } %outcome, 0
  %result = insertvalue %leakscope.free poison, i64 %clock, 0
  ret %leakscope.free %result
help:
  store i64 %context, ptr @leakscope_context
  %later = musttail call preserve_mostcc %leakscope.free @__leakscope_overwritten(ptr %old, ptr %site, i64 poison, i64 poison, i64 %context, ptr %new)
  ret %leakscope.free %later
}

define linkonce_odr hidden preserve_mostcc %leakscope.free @leakscope.ends.stamp(ptr %old, ptr %site, i64 %_0, i64 %_1, i64 %context, i64 %since) noinline nounwind {
  %outcome = call { i64, i1 } @leakscope.stamp(ptr %old, i64 %context, ptr null, i1 false, i64 %since)
  %is_done = extractvalue { i64, i1 } %outcome, 1
  br i1 %is_done, label %done, label %help, !prof !1
done:
  %clock = extractvalue { i64, i1 } %outcome, 0
  %result = insertvalue %leakscope.free poison, i64 %clock, 0
  ret %leakscope.free %result
help:
  store i64 %context, ptr @leakscope_context
  %later = musttail call preserve_mostcc %leakscope.free @__leakscope_ends(ptr %old, ptr %site, i64 poison, i64 poison, i64 %context, i64 %since)
  ret %leakscope.free %later
}

define linkonce_odr hidden preserve_mostcc %leakscope.free @leakscope.dies.stamp(ptr %old, ptr %site, ptr %kept, i64 %place, i64 %context, i64 %since) noinline nounwind {
  %salt = call i64 @llvm.fshl.i64(i64 %place, i64 %place, i64 32)
  %salted = xor i64 %context, %salt
  %outcome = call { i64, i1 } @leakscope.stamp(ptr %old, i64 %salted, ptr %kept, i1 true, i64 %since)
  %is_done = extractvalue { i64, i1 } %outcome, 1
  br i1 %is_done, label %done, label %help, !prof !1
done:
  %clock = extractvalue { i64, i1 } %outcome, 0
  %result = insertvalue %leakscope.free poison, i64 %clock, 0
  ret %leakscope.free %result
help:
  store i64 %context, ptr @leakscope_context
  %later = musttail call preserve_mostcc %leakscope.free @__leakscope_dies(ptr %old, ptr %site, ptr %kept, i64 %place, i64 %context, i64 %since)
  ret %leakscope.free %later
}

; The number of a block among those of its chunk, which an address and the
; chunk's step give.
define internal i64 @leakscope.number(i64 %pointer, i64 %step) alwaysinline nounwind {
  %low = and i64 %pointer, 65535
  %scaled = mul i64 %low, %step
  %number = lshr i64 %scaled, 32
  ret i64 %number
}

; Stamps the block if it was stamped after `since`: if not, what the pointer was
; got from still holds it, nor if the pointer goes on in its block. Returns the
; clock, and whether that is all: else the runtime must do it.
define internal { i64, i1 } @leakscope.stamp(ptr %old, i64 %salted, ptr %kept, i1 %is_any_kept, i64 %since) alwaysinline nounwind {
entry:
  %pointer = ptrtoint ptr %old to i64
  %offset = sub i64 %pointer, $BLOCKS
  %reach = load i64, ptr @leakscope_reach
  %within = icmp ult i64 %offset, %reach
  br i1 %within, label %block, label %help, !prof !1
block:
  %chunk = lshr i64 %offset, 16
  %step_at = getelementptr { i32, i32 }, ptr inttoptr (i64 $STEPS to ptr), i64 %chunk
  %step_half = load i32, ptr %step_at
  %step = zext i32 %step_half to i64
  %number = call i64 @leakscope.number(i64 %pointer, i64 %step)
  %kept_number = ptrtoint ptr %kept to i64
  %difference = xor i64 %pointer, %kept_number
  %is_close = icmp ult i64 %difference, 65536
  %is_near = and i1 %is_close, %is_any_kept
  br i1 %is_near, label %near, label %look
near:
  %other_number = call i64 @leakscope.number(i64 %kept_number, i64 %step)
  %is_same = icmp eq i64 %number, %other_number
  br i1 %is_same, label %nothing, label %look
look:
  %first_at = getelementptr i8, ptr %step_at, i64 4
  %first_half = load i32, ptr %first_at
  %first = zext i32 %first_half to i64
  %seat = add i64 %first, %number
  %place = shl i64 %seat, 4
  %sum = add i64 %place, $STAMPS
  ; As one value, not two in two registers.
  %stamp_at = call i64 asm "", "=r,0"(i64 %sum) nounwind memory(none)
  %stamp = inttoptr i64 %stamp_at to ptr
  %latest = load atomic i64, ptr %stamp monotonic, align 8
  %last = lshr i64 %latest, $EVENT_BITS
  %is_borrowed = icmp ule i64 %last, %since
  br i1 %is_borrowed, label %nothing, label %live
live:
  %tables = load ptr, ptr @leakscope_tables
  %is_new = icmp eq ptr %tables, null
  br i1 %is_new, label %help, label %find, !prof !0
find:
  %key = mul i64 %salted, $KEY
$FIND
found:
  %event = and i64 %known, 4294967295
  %clock = load i64, ptr @leakscope_clock
  %most = call i64 @llvm.umax.i64(i64 %clock, i64 %last)
  %time = add i64 %most, 1
  %tick = and i64 %time, $TICKS
  %is_tick = icmp eq i64 %tick, 0
  br i1 %is_tick, label %help, label %put, !prof !0
put:
  store i64 %time, ptr @leakscope_clock
  %before = and i64 %latest, $EVENT
  %shifted = shl i64 %time, $EVENT_BITS
  %word = or i64 %shifted, %event
  store atomic i64 %word, ptr %stamp monotonic, align 8
  %is_other = icmp ne i64 %before, %event
  br i1 %is_other, label %push, label %done
push:
  %earlier_at = getelementptr i64, ptr %stamp, i64 1
  %earlier = load atomic i64, ptr %earlier_at monotonic, align 8
  %moved = shl i64 %earlier, $EVENT_BITS
  %pushed = or i64 %moved, %before
  store atomic i64 %pushed, ptr %earlier_at monotonic, align 8
  br label %done
done:
  %stamped = insertvalue { i64, i1 } { i64 poison, i1 true }, i64 %time, 0
  ret { i64, i1 } %stamped
nothing:
  %now = load i64, ptr @leakscope_clock
  %same = insertvalue { i64, i1 } { i64 poison, i1 true }, i64 %now, 0
  ret { i64, i1 } %same
help:
  ret { i64, i1 } { i64 poison, i1 false }
}

@leakscope_clock = extern_weak thread_local(initialexec) global i64
@leakscope_context = extern_weak thread_local(initialexec) global i64
@leakscope_tables = extern_weak thread_local(initialexec) global ptr
@leakscope_given = extern_weak thread_local(initialexec) global i64
@leakscope_reach = external global i64
@__ehdr_start = external hidden global i8
@etext = external hidden global i8
declare ptr @llvm.returnaddress(i32)
declare i64 @llvm.umax.i64(i64, i64)
declare i64 @llvm.fshl.i64(i64, i64, i64)
declare extern_weak preserve_mostcc %leakscope.free @__leakscope_overwritten(ptr, ptr, i64, i64, i64, ptr) nonlazybind cold nounwind
declare extern_weak preserve_mostcc %leakscope.free @__leakscope_ends(ptr, ptr, i64, i64, i64, i64) nonlazybind cold nounwind
declare extern_weak preserve_mostcc %leakscope.free @__leakscope_dies(ptr, ptr, ptr, i64, i64, i64) nonlazybind cold nounwind
declare extern_weak preserve_mostcc void @__leakscope_drop(ptr, ptr, i64, i64) nonlazybind cold nounwind

attributes #0 = { cold nomerge nounwind willreturn memory(inaccessiblemem: readwrite) }
; The clock may have gone on.
attributes #1 = { nounwind willreturn memory(argmem: readwrite) }
; The register that had the pointer has it no more, unless it is needed: a scan
; would take it for one that holds the block.
attributes #2 = { nounwind willreturn memory(inaccessiblemem: readwrite) }
declare ptr @llvm.frameaddress.p0(i32)
declare extern_weak preserve_mostcc void @__leakscope_shrinks(ptr, ptr, ptr) nonlazybind cold nounwind willreturn
declare extern_weak preserve_mostcc void @__leakscope_returns(i64, ptr, i64, ptr) nonlazybind cold nounwind willreturn memory(inaccessiblemem: readwrite)
declare extern_weak preserve_mostcc void @__leakscope_unwound(ptr, ptr) nonlazybind cold nounwind willreturn memory(inaccessiblemem: readwrite)

!0 = !{!"branch_weights", i32 1, i32 2000}
!1 = !{!"branch_weights", i32 2000, i32 1}
"#;

/// The same where the deaths of locals are wanted that only borrow.
pub fn before_optimisation_of_all() -> String {
    before_optimisation()
        .replace("icmp ult i64 %since, %now", "icmp eq i64 %now, %now")
        .replace("i64 %since) #0", "i64 0) #0")
}

/// What is added to optimised code, and inlined there but for
/// `leakscope.used.stamp`: it writes uses as the ones above write deaths.
pub fn after_optimisation(part: Part) -> String {
    let text = filled_in(AFTER_OPTIMISATION).replace("$CALL", contexts::NUMBER);
    match part {
        // What is asked often is near: no register has to hold its address.
        Part::Program => text.replace(" external global", " external dso_local global"),
        Part::Library => text,
    }
}

const AFTER_OPTIMISATION: &str = r#"
%leakscope.free = type { i64, i64, i64 }

; Whether uses are wanted: most of the time they are not.
define i1 @leakscope.wanted() alwaysinline nounwind willreturn memory(read) {
  %wanted = load i8, ptr @leakscope_uses
  %are = icmp ne i8 %wanted, 0
  %expected = call i1 @llvm.expect.i1(i1 %are, i1 false)
  ret i1 %expected
}

; A pointer is used, while uses are wanted.
define void @leakscope.used(ptr %pointer) alwaysinline nounwind {
  %value = freeze ptr %pointer
  %number = ptrtoint ptr %value to i64
  %high = lshr i64 %number, $RANGE
  %inside = icmp eq i64 %high, $HIGH
  br i1 %inside, label %report, label %done
report:
  %result = call preserve_mostcc %leakscope.free @leakscope.used.stamp(ptr %value, ptr poison, i64 poison, i64 poison, i64 0) #0
  br label %done
done:
  ret void
}

; The same where that must be asked first.
define void @leakscope.used.if.wanted(ptr %pointer) alwaysinline nounwind {
  %wanted = call i1 @leakscope.wanted()
  br i1 %wanted, label %use, label %done
use:
  call void @leakscope.used(ptr %pointer)
  br label %done
done:
  ret void
}

define linkonce_odr hidden preserve_mostcc %leakscope.free @leakscope.used.stamp(ptr %pointer, ptr %_0, i64 %_1, i64 %_2, i64 %context) noinline nounwind {
entry:
  %number = ptrtoint ptr %pointer to i64
  %offset = sub i64 %number, $BLOCKS
  %reach = load i64, ptr @leakscope_reach
  %within = icmp ult i64 %offset, %reach
  br i1 %within, label %block, label %help, !prof !1
block:
  %chunk = lshr i64 %offset, 16
  %step_at = getelementptr { i32, i32 }, ptr inttoptr (i64 $STEPS to ptr), i64 %chunk
  %step = load i32, ptr %step_at
  %is_large = icmp eq i32 %step, 0
  %is_split = icmp eq i32 %step, $SPLIT
  %is_other = or i1 %is_large, %is_split
  %tables = load ptr, ptr @leakscope_tables
  %is_new = icmp eq ptr %tables, null
  %is_rare = or i1 %is_other, %is_new
  br i1 %is_rare, label %help, label %find, !prof !0
find:
  %key = mul i64 %context, $KEY
$FIND
found:
  %left = load i64, ptr @leakscope_uses_left
  %is_due = icmp sle i64 %left, 0
  br i1 %is_due, label %help, label %put, !prof !0
put:
  %next = sub i64 %left, 1
  store i64 %next, ptr @leakscope_uses_left
  %event = trunc i64 %known to i32
  %step_word = zext i32 %step to i64
  %low = and i64 %number, 65535
  %scaled = mul i64 %low, %step_word
  %quotient = lshr i64 %scaled, 32
  %first_at = getelementptr i8, ptr %step_at, i64 4
  %first_half = load i32, ptr %first_at
  %first = zext i32 %first_half to i64
  %seat = add i64 %first, %quotient
  %use_at = getelementptr i32, ptr inttoptr (i64 $USES to ptr), i64 %seat
  store atomic i32 %event, ptr %use_at monotonic, align 4
  ret %leakscope.free poison
help:
  store i64 %context, ptr @leakscope_context
  %result = musttail call preserve_mostcc %leakscope.free @__leakscope_use(ptr %pointer, ptr poison, i64 poison, i64 poison, i64 %context)
  ret %leakscope.free %result
}

; A body that reports uses begins to run. Returns the event of a use at the
; start of the function: the others follow, one for each byte of its code.
define i64 @leakscope.arrives() alwaysinline nounwind willreturn memory(inaccessiblemem: readwrite) {
  %result = call preserve_mostcc %leakscope.free @leakscope.arrives.stamp(ptr poison, ptr poison, i64 poison, i64 poison, i64 0) #0, !$CALL !2
  %first = extractvalue %leakscope.free %result, 0
  ret i64 %first
}

define linkonce_odr hidden preserve_mostcc %leakscope.free @leakscope.arrives.stamp(ptr %_0, ptr %_1, i64 %_2, i64 %_3, i64 %context) noinline nounwind {
  %left = load i64, ptr @leakscope_uses_left
  %is_due = icmp sle i64 %left, 0
  br i1 %is_due, label %help, label %look, !prof !0
look:
  %tables = load ptr, ptr @leakscope_tables
  %is_new = icmp eq ptr %tables, null
  br i1 %is_new, label %help, label %find, !prof !0
find:
  %key = mul i64 %context, $KEY
$FIND
found:
  %next = sub i64 %left, 1
  store i64 %next, ptr @leakscope_uses_left
  %result = insertvalue %leakscope.free poison, i64 %known, 0
  ret %leakscope.free %result
help:
  store i64 %context, ptr @leakscope_context
  %asked = musttail call preserve_mostcc %leakscope.free @__leakscope_arrives(ptr poison, ptr poison, i64 poison, i64 poison, i64 %context)
  ret %leakscope.free %asked
}

; It goes round a loop inside.
define void @leakscope.goes.round() alwaysinline nounwind willreturn memory(inaccessiblemem: readwrite) {
  %left = load i64, ptr @leakscope_uses_left
  %next = sub i64 %left, 1
  store i64 %next, ptr @leakscope_uses_left
  ret void
}

; It goes round a loop. Returns whether it is to go on. The compiler is told that
; it often has to ask, and so that the body seldom runs: the other one has the
; better registers.
define i1 @leakscope.stays() alwaysinline nounwind willreturn memory(inaccessiblemem: readwrite) {
entry:
  %left = load i64, ptr @leakscope_uses_left
  %next = sub i64 %left, 1
  store i64 %next, ptr @leakscope_uses_left
  %is_due = icmp slt i64 %next, 0
  br i1 %is_due, label %ask, label %done, !prof !1
ask:
  %wanted = call preserve_mostcc i64 @__leakscope_stays() #0
  %are = icmp ne i64 %wanted, 0
  br label %done
done:
  %stays = phi i1 [ true, %entry ], [ %are, %ask ]
  ret i1 %stays
}

; Where the event of the last use of a block is; `other` for what is no block of
; the heap. The same for as long as the block lives.
define ptr @leakscope.used.at(ptr %pointer, ptr %other) noinline nounwind willreturn memory(none) {
entry:
  %value = freeze ptr %pointer
  %number = ptrtoint ptr %value to i64
  %from_0 = lshr i64 %number, $CHUNK
  %chunk = sub i64 %from_0, $FIRST_CHUNK
  %chunks = load i64, ptr @leakscope_use_chunks
  %within = icmp ult i64 %chunk, %chunks
  br i1 %within, label %block, label %done
block:
  %last_uses = load ptr, ptr @leakscope_last_uses
  %first_at = getelementptr { ptr, i64 }, ptr %last_uses, i64 %chunk
  %first = load ptr, ptr %first_at
  %is_rare = icmp eq ptr %first, null
  br i1 %is_rare, label %ask, label %find, !prof !0
find:
  %step_at = getelementptr i8, ptr %first_at, i64 8
  %step = load i64, ptr %step_at
  %low = and i64 %number, 65535
  %scaled = mul i64 %low, %step
  %quotient = lshr i64 %scaled, 32
  %found = getelementptr i32, ptr %first, i64 %quotient
  br label %done
ask:
  %asked = call preserve_mostcc ptr @__leakscope_used_at(ptr %value) #0
  %is_none = icmp eq ptr %asked, null
  %chosen = select i1 %is_none, ptr %other, ptr %asked
  br label %done
done:
  %at = phi ptr [ %other, %entry ], [ %found, %find ], [ %chosen, %ask ]
  ret ptr %at
}

@leakscope_uses = external global i8
@leakscope_use_chunks = external global i64
@leakscope_last_uses = external global ptr
declare i1 @llvm.expect.i1(i1, i1)
declare extern_weak preserve_mostcc %leakscope.free @__leakscope_arrives(ptr, ptr, i64, i64, i64) nonlazybind cold nounwind
declare extern_weak preserve_mostcc i64 @__leakscope_stays() nonlazybind cold nounwind
declare extern_weak preserve_mostcc ptr @__leakscope_used_at(ptr) nonlazybind cold nounwind
@leakscope_uses_left = extern_weak thread_local(initialexec) global i64
@leakscope_context = extern_weak thread_local(initialexec) global i64
@leakscope_tables = extern_weak thread_local(initialexec) global ptr
@leakscope_reach = external global i64
declare extern_weak preserve_mostcc %leakscope.free @__leakscope_use(ptr, ptr, i64, i64, i64) nonlazybind cold nounwind

attributes #0 = { cold nomerge nounwind willreturn memory(inaccessiblemem: readwrite) }

!0 = !{!"branch_weights", i32 1, i32 2000}
!1 = !{!"branch_weights", i32 2000, i32 1}
; All of a function's are one call.
!2 = !{i64 -1}
"#;

/// What is added for a run that explains: reads and sets of pointers, and
/// integers in blocks that change.
pub const DETAILS: &str = r#"
define void @leakscope.reads(ptr %value, ptr %slot, ptr %site) alwaysinline nounwind {
  %number = ptrtoint ptr %value to i64
  %high = lshr i64 %number, 42
  %inside = icmp eq i64 %high, 4
  br i1 %inside, label %report, label %done
report:
  call void @__leakscope_reads(ptr %value, ptr %slot, ptr %site) nomerge
  br label %done
done:
  ret void
}

define void @leakscope.sets(ptr %value, ptr %slot, ptr %site, i64 %given) alwaysinline nounwind {
  %number = ptrtoint ptr %value to i64
  %high = lshr i64 %number, 42
  %inside = icmp eq i64 %high, 4
  br i1 %inside, label %report, label %done
report:
  call void @__leakscope_sets(ptr %value, ptr %slot, ptr %site, i64 %given) nomerge
  br label %done
done:
  ret void
}

define void @leakscope.slot.ends(ptr %old, ptr %slot, ptr %site, ptr %new) alwaysinline nounwind {
  %value = freeze ptr %old
  %number = ptrtoint ptr %value to i64
  %high = lshr i64 %number, 42
  %inside = icmp eq i64 %high, 4
  %other = icmp ne ptr %value, %new
  %ends = and i1 %inside, %other
  br i1 %ends, label %report, label %done
report:
  call void @__leakscope_slot_ends(ptr %value, ptr %slot, ptr %site) nomerge
  br label %done
done:
  ret void
}

define void @leakscope.counts(ptr %word, i64 %old, i64 %new, ptr %site) alwaysinline nounwind {
  %number = ptrtoint ptr %word to i64
  %high = lshr i64 %number, 42
  %inside = icmp eq i64 %high, 4
  br i1 %inside, label %report, label %done
report:
  call void @__leakscope_counts(ptr %word, i64 %old, i64 %new, ptr %site) nomerge
  br label %done
done:
  ret void
}

declare extern_weak void @__leakscope_reads(ptr, ptr, ptr) nounwind willreturn
declare extern_weak void @__leakscope_sets(ptr, ptr, ptr, i64) nounwind willreturn
declare extern_weak void @__leakscope_slot_ends(ptr, ptr, ptr) nounwind willreturn
declare extern_weak void @__leakscope_counts(ptr, i64, i64, ptr) nounwind willreturn
"#;
