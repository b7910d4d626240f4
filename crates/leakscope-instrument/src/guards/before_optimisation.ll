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
  %clock_at = alloca i64
  %is_done = call i1 @leakscope.stamp(ptr %old, i64 %context, ptr %new, i1 true, i64 0, ptr %clock_at)
  br i1 %is_done, label %done, label %help, !prof !1
done:
  %clock = load i64, ptr %clock_at
  %result = insertvalue %leakscope.free poison, i64 %clock, 0
  ret %leakscope.free %result
help:
  store i64 %context, ptr @leakscope_context
  %later = musttail call preserve_mostcc %leakscope.free @__leakscope_overwritten(ptr %old, ptr %site, i64 poison, i64 poison, i64 %context, ptr %new)
  ret %leakscope.free %later
}

define linkonce_odr hidden preserve_mostcc %leakscope.free @leakscope.ends.stamp(ptr %old, ptr %site, i64 %_0, i64 %_1, i64 %context, i64 %since) noinline nounwind {
  %clock_at = alloca i64
  %is_done = call i1 @leakscope.stamp(ptr %old, i64 %context, ptr null, i1 false, i64 %since, ptr %clock_at)
  br i1 %is_done, label %done, label %help, !prof !1
done:
  %clock = load i64, ptr %clock_at
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
  %clock_at = alloca i64
  %is_done = call i1 @leakscope.stamp(ptr %old, i64 %salted, ptr %kept, i1 true, i64 %since, ptr %clock_at)
  br i1 %is_done, label %done, label %help, !prof !1
done:
  %clock = load i64, ptr %clock_at
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
; got from still holds it, nor if the pointer goes on in its block. Returns
; whether that is all, with the clock: else the runtime must do it. (Of a pair, as
; which both could be returned, LLVM would test the second half again.)
define internal i1 @leakscope.stamp(ptr %old, i64 %salted, ptr %kept, i1 %is_any_kept, i64 %since, ptr %clock_at) alwaysinline nounwind {
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
  store i64 %time, ptr %clock_at
  ret i1 true
nothing:
  %now = load i64, ptr @leakscope_clock
  store i64 %now, ptr %clock_at
  ret i1 true
help:
  ret i1 false
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
