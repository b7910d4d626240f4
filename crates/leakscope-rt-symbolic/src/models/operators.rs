//! `new` and `delete`.

use super::around::{Around, around};
use super::heap;
use crate::{objects, thread};

around! {
    _Znwm: before_new, after_new;
    _Znam: before_new, after_new;
    _ZnwmRKSt9nothrow_t: before_new, after_new;
    _ZnamRKSt9nothrow_t: before_new, after_new;
    _ZnwmSt11align_val_t: before_new, after_new;
    _ZnamSt11align_val_t: before_new, after_new;
    _ZdlPv: before_delete, after_delete;
    _ZdaPv: before_delete, after_delete;
    _ZdlPvm: before_delete, after_delete;
    _ZdaPvm: before_delete, after_delete;
    _ZdlPvSt11align_val_t: before_delete, after_delete;
    _ZdaPvSt11align_val_t: before_delete, after_delete;
    _ZdlPvmSt11align_val_t: before_delete, after_delete;
    _ZdaPvmSt11align_val_t: before_delete, after_delete;
}

extern "C" fn before_new(call: &Around) {
    let [term] = thread::arguments(call.own);
    heap::wanted(call.arguments[0], term);
}

extern "C" fn after_new(call: &Around) {
    objects::allocated(call.result, call.arguments[0]);
    thread::returns(call.own, 0);
}

extern "C" fn before_delete(call: &Around) {
    let [_] = thread::arguments(call.own);
    objects::freed(call.arguments[0]);
}

extern "C" fn after_delete(_: &Around) {}
