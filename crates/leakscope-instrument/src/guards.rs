//! The small functions through which instrumented code talks to the runtime:
//! a range check that is inlined, and a call behind it. They are functions
//! because LLVM's C interface cannot split a block.

/// Blocks whose pointers are followed lie where an address has the value 4
/// above bit 42; `leakscope-rt` reserves just that. What was never written may
/// be any value, but must be one value, hence `freeze`.
///
/// The runtime's functions are weak, because a shared object is linked before
/// the program that brings the runtime. They touch only memory of their own,
/// as far as the program can tell.
pub const BEFORE_OPTIMISATION: &str = r#"
; A pointer in memory is overwritten by `new`. Returns the clock.
define i64 @leakscope.overwritten(ptr %old, ptr %site, ptr %new, i64 %now) alwaysinline nounwind {
entry:
  %value = freeze ptr %old
  %number = ptrtoint ptr %value to i64
  %high = lshr i64 %number, 42
  %inside = icmp eq i64 %high, 4
  %other = icmp ne ptr %value, %new
  %dies = and i1 %inside, %other
  br i1 %dies, label %report, label %done, !prof !0
report:
  %later = call preserve_mostcc i64 @__leakscope_stamp(ptr %value, ptr %site, i64 0, ptr %new, i64 0) nomerge
  br label %done
done:
  %clock = phi i64 [ %now, %entry ], [ %later, %report ]
  ret i64 %clock
}

; A local dies that got its value at `since`; `kept` is what takes its place,
; or null. Returns the clock. The 1 says that it is a local.
define i64 @leakscope.dies(ptr %old, ptr %site, i64 %place, ptr %kept, i64 %since, i64 %now) alwaysinline nounwind {
entry:
  %later = icmp ne i64 %since, %now
  br i1 %later, label %look, label %done
look:
  %value = freeze ptr %old
  %number = ptrtoint ptr %value to i64
  %high = lshr i64 %number, 42
  %inside = icmp eq i64 %high, 4
  %other = icmp ne ptr %value, %kept
  %dies = and i1 %inside, %other
  br i1 %dies, label %report, label %done, !prof !0
report:
  %moment = call preserve_mostcc i64 @__leakscope_stamp(ptr %value, ptr %site, i64 %place, ptr %kept, i64 1) nomerge
  br label %done
done:
  %clock = phi i64 [ %now, %entry ], [ %now, %look ], [ %moment, %report ]
  ret i64 %clock
}

; A result is dropped that was made after `since`, unless it died later than
; `until`.
define void @leakscope.dropped(ptr %old, ptr %site, i64 %since, i64 %until) alwaysinline nounwind {
  %value = freeze ptr %old
  %number = ptrtoint ptr %value to i64
  %high = lshr i64 %number, 42
  %inside = icmp eq i64 %high, 4
  br i1 %inside, label %report, label %done, !prof !0
report:
  call void @__leakscope_drop(ptr %value, ptr %site, i64 %since, i64 %until) nomerge
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
  call void @__leakscope_returns(i64 %own, ptr %site, i64 %place, ptr %value) nomerge
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
  %high = lshr i64 %number, 42
  %inside = icmp eq i64 %high, 4
  br i1 %inside, label %report, label %done
report:
  call void @__leakscope_shrinks(ptr %old, ptr %new, ptr %site) nomerge
  br label %done
done:
  ret void
}

; A local dies in a frame that an exception leaves.
define void @leakscope.unwound(ptr %old, ptr %site) alwaysinline nounwind {
  %value = freeze ptr %old
  %number = ptrtoint ptr %value to i64
  %high = lshr i64 %number, 42
  %inside = icmp eq i64 %high, 4
  br i1 %inside, label %report, label %done
report:
  call void @__leakscope_unwound(ptr %value, ptr %site) nomerge
  br label %done
done:
  ret void
}

declare extern_weak preserve_mostcc i64 @__leakscope_stamp(ptr, ptr, i64, ptr, i64) cold nounwind willreturn memory(inaccessiblemem: readwrite)
declare ptr @llvm.frameaddress.p0(i32)
declare extern_weak void @__leakscope_shrinks(ptr, ptr, ptr) cold nounwind willreturn
declare extern_weak void @__leakscope_returns(i64, ptr, i64, ptr) cold nounwind willreturn memory(inaccessiblemem: readwrite)
declare extern_weak void @__leakscope_unwound(ptr, ptr) cold nounwind willreturn memory(inaccessiblemem: readwrite)
declare extern_weak void @__leakscope_drop(ptr, ptr, i64, i64) cold nounwind willreturn memory(inaccessiblemem: readwrite)

!0 = !{!"branch_weights", i32 1, i32 2000}
"#;

/// The same where the deaths of locals are wanted that only borrow.
pub fn before_optimisation_of_all() -> String {
    BEFORE_OPTIMISATION.replace("icmp ne i64 %since, %now", "icmp eq i64 %now, %now")
}

/// What is added to optimised code, and inlined there.
pub const AFTER_OPTIMISATION: &str = r#"
; A pointer is used, while uses are wanted.
define void @leakscope.used(ptr %pointer) alwaysinline nounwind {
  %wanted = load i8, ptr @leakscope_uses
  %are = icmp ne i8 %wanted, 0
  br i1 %are, label %look, label %done, !prof !0
look:
  %value = freeze ptr %pointer
  %number = ptrtoint ptr %value to i64
  %high = lshr i64 %number, 42
  %inside = icmp eq i64 %high, 4
  br i1 %inside, label %report, label %done
report:
  call preserve_mostcc void @__leakscope_use(ptr %value) nomerge
  br label %done
done:
  ret void
}

@leakscope_uses = external global i8
declare extern_weak preserve_mostcc void @__leakscope_use(ptr) cold nounwind willreturn memory(inaccessiblemem: readwrite)

!0 = !{!"branch_weights", i32 1, i32 2000}
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

define void @leakscope.ends(ptr %old, ptr %slot, ptr %site, ptr %new) alwaysinline nounwind {
  %value = freeze ptr %old
  %number = ptrtoint ptr %value to i64
  %high = lshr i64 %number, 42
  %inside = icmp eq i64 %high, 4
  %other = icmp ne ptr %value, %new
  %ends = and i1 %inside, %other
  br i1 %ends, label %report, label %done
report:
  call void @__leakscope_ends(ptr %value, ptr %slot, ptr %site) nomerge
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
declare extern_weak void @__leakscope_ends(ptr, ptr, ptr) nounwind willreturn
declare extern_weak void @__leakscope_counts(ptr, i64, i64, ptr) nounwind willreturn
"#;
