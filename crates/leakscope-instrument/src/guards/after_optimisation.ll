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
