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
