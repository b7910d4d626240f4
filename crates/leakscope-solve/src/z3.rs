//! Z3 in this process, with a stack of assertions that follows the questions.

use std::ffi::{CStr, CString, c_int};
use std::time::Duration;

use rustc_hash::FxHashMap;

use crate::evaluate::Model;
use crate::solver::{Answer, Limits, SolveError, Solver, WhyUnknown};
use crate::term::{Binary, Compare, InputId, Node, Pool, Term};
use crate::z3_alarm::{Alarm, Worked};
use crate::z3_library::{Ast, Context, Library};

/// A solver for bit-vectors in a context of its own. What it answers depends
/// only on what it was asked since it was made.
pub struct Z3 {
    library: &'static Library,
    context: Context,
    solver: crate::z3_library::Solver,
    one: Ast,
    alarm: Alarm,
    limits: Limits,
    /// What is asserted, in levels. A level costs more than what is in it: all that a
    /// question has new is one, but for its last constraint, which the next question
    /// on the same path has not.
    levels: Vec<Vec<Term>>,
    /// Terms of the pool that all questions are about. The context keeps them
    /// until it ends.
    made: FxHashMap<Term, Ast>,
}

impl Z3 {
    pub fn new(limits: Limits) -> Result<Z3, SolveError> {
        let library = Library::get()?;
        // SAFETY: calls in the order that Z3 asks for, with what it returned;
        // names end with a zero.
        unsafe {
            let config = (library.mk_config)();
            let context = (library.mk_context)(config);
            (library.del_config)(config);
            // Without a handler, an error would end the process.
            (library.set_error_handler)(context, Some(leave_for_later));
            let symbol = |name: &CStr| (library.mk_string_symbol)(context, name.as_ptr());
            let solver = (library.mk_solver_for_logic)(context, symbol(c"QF_BV"));
            (library.solver_inc_ref)(context, solver);
            let params = (library.mk_params)(context);
            (library.params_inc_ref)(context, params);
            // Its handler of SIGINT takes the place of ours, and is not made for threads.
            (library.params_set_bool)(context, params, symbol(c"ctrl_c"), false);
            // A question that makes Z3 hold more is given up.
            (library.params_set_uint)(context, params, symbol(c"max_memory"), limits.memory);
            if limits.work > 0 {
                (library.params_set_uint)(context, params, symbol(c"rlimit"), limits.work);
            }
            (library.solver_set_params)(context, solver, params);
            (library.params_dec_ref)(context, params);
            let one = (library.mk_unsigned_int64)(context, 1, (library.mk_bv_sort)(context, 1));
            let alarm = Alarm::new(library, context, limits);
            Ok(Z3 {
                library,
                context,
                solver,
                one,
                alarm,
                limits,
                levels: Vec::new(),
                made: FxHashMap::default(),
            })
        }
    }

    /// Asserts a level; false if that takes too long.
    fn assert(&mut self, pool: &Pool, constraints: &[Term], deadline: Duration) -> bool {
        // SAFETY: context and solver are alive.
        unsafe { (self.library.solver_push)(self.context, self.solver) };
        self.levels.push(Vec::new());
        for &constraint in constraints {
            for term in pool.cone(&[constraint]) {
                if !self.made.contains_key(&term) {
                    let ast = self.make(pool, term);
                    self.made.insert(term, ast);
                }
            }
            // SAFETY: context, solver and terms are alive.
            unsafe {
                let holds = (self.library.mk_eq)(self.context, self.made[&constraint], self.one);
                (self.library.solver_assert)(self.context, self.solver, holds);
            }
            self.levels.last_mut().expect("just pushed").push(constraint);
            if Worked::here().now() > deadline || self.limits.is_stopped() {
                return false;
            }
        }
        true
    }

    /// A term whose arguments are made already.
    fn make(&self, pool: &Pool, term: Term) -> Ast {
        let (library, context, bits) = (self.library, self.context, pool.bits(term));
        let made = |term: Term| self.made[&term];
        // SAFETY: the context and all arguments are alive, and of the widths
        // that the pool has checked.
        unsafe {
            let number = |value, bits| {
                (library.mk_unsigned_int64)(context, value, (library.mk_bv_sort)(context, bits))
            };
            match pool.node(term) {
                Node::Const(value) => number(value, bits),
                Node::Input(InputId(input)) => {
                    let name = CString::new(format!("i{input}")).expect("no zero in a name");
                    let symbol = (library.mk_string_symbol)(context, name.as_ptr());
                    (library.mk_const)(context, symbol, (library.mk_bv_sort)(context, bits))
                }
                Node::Not(a) => (library.mk_bvnot)(context, made(a)),
                Node::Binary(op, a, b) => self.binary(op)(context, made(a), made(b)),
                Node::Compare(op, a, b) => {
                    let truth = self.compare(op)(context, made(a), made(b));
                    (library.mk_ite)(context, truth, self.one, number(0, 1))
                }
                Node::ZeroExtend(a) => (library.mk_zero_ext)(context, bits - pool.bits(a), made(a)),
                Node::SignExtend(a) => (library.mk_sign_ext)(context, bits - pool.bits(a), made(a)),
                Node::Extract(a, low) => {
                    let low = u32::from(low);
                    (library.mk_extract)(context, low + bits - 1, low, made(a))
                }
                Node::Concat(high, low) => (library.mk_concat)(context, made(high), made(low)),
                Node::Ite(condition, yes, no) => {
                    let truth = (library.mk_eq)(context, made(condition), self.one);
                    (library.mk_ite)(context, truth, made(yes), made(no))
                }
            }
        }
    }

    fn binary(&self, op: Binary) -> unsafe extern "C" fn(Context, Ast, Ast) -> Ast {
        match op {
            Binary::Add => self.library.mk_bvadd,
            Binary::Sub => self.library.mk_bvsub,
            Binary::Mul => self.library.mk_bvmul,
            Binary::UDiv => self.library.mk_bvudiv,
            Binary::SDiv => self.library.mk_bvsdiv,
            Binary::URem => self.library.mk_bvurem,
            Binary::SRem => self.library.mk_bvsrem,
            Binary::And => self.library.mk_bvand,
            Binary::Or => self.library.mk_bvor,
            Binary::Xor => self.library.mk_bvxor,
            Binary::Shl => self.library.mk_bvshl,
            Binary::LShr => self.library.mk_bvlshr,
            Binary::AShr => self.library.mk_bvashr,
        }
    }

    fn compare(&self, op: Compare) -> unsafe extern "C" fn(Context, Ast, Ast) -> Ast {
        match op {
            Compare::Eq => self.library.mk_eq,
            Compare::Ult => self.library.mk_bvult,
            Compare::Ule => self.library.mk_bvule,
            Compare::Slt => self.library.mk_bvslt,
            Compare::Sle => self.library.mk_bvsle,
        }
    }

    fn model(&self, pool: &Pool, constraints: &[Term]) -> Result<Model, SolveError> {
        let mut values = Model::new();
        // SAFETY: the last check said that there is a model.
        let model = unsafe { (self.library.solver_get_model)(self.context, self.solver) };
        if model.is_null() {
            return Err(self.refused());
        }
        // SAFETY: model, context and terms are alive; results have room.
        unsafe { (self.library.model_inc_ref)(self.context, model) };
        for term in pool.cone(constraints) {
            if let Node::Input(input) = pool.node(term) {
                let (mut ast, mut value) = (std::ptr::null_mut(), 0);
                // SAFETY: as above. `true`: inputs that do not matter have a value too.
                unsafe {
                    if (self.library.model_eval)(self.context, model, self.made[&term], true, &mut ast) {
                        (self.library.get_numeral_uint64)(self.context, ast, &mut value);
                    }
                }
                values.insert(input, value);
            }
        }
        // SAFETY: counted up above.
        unsafe { (self.library.model_dec_ref)(self.context, model) };
        Ok(values)
    }

    fn refused(&self) -> SolveError {
        // SAFETY: the message is a string of the context's.
        let message = unsafe {
            let code = (self.library.get_error_code)(self.context);
            CStr::from_ptr((self.library.get_error_msg)(self.context, code))
        };
        SolveError::Refused(message.to_string_lossy().into_owned())
    }
}

/// A question of more gates is not asked: before Z3 looks for an answer it makes
/// them all, which takes gigabytes, and hears of no limit meanwhile.
const MOST_GATES: u64 = 4 << 20;

/// About how many gates a term takes.
fn gates(pool: &Pool, term: Term) -> u64 {
    let bits = u64::from(pool.bits(term));
    match pool.node(term) {
        Node::Binary(Binary::Mul, ..) => bits * bits,
        Node::Binary(Binary::UDiv | Binary::SDiv | Binary::URem | Binary::SRem, ..) => 3 * bits * bits,
        Node::Binary(Binary::Shl | Binary::LShr | Binary::AShr, ..) => 6 * bits,
        Node::Compare(_, a, _) => u64::from(pool.bits(a)),
        Node::Binary(..) | Node::Ite(..) => bits,
        _ => 0,
    }
}

impl Solver for Z3 {
    fn check(&mut self, pool: &Pool, constraints: &[Term]) -> Result<Answer, SolveError> {
        let all: u64 = pool.cone(constraints).iter().map(|&term| gates(pool, term)).sum();
        if all > MOST_GATES || self.limits.is_stopped() {
            return Ok(Answer::Unknown(WhyUnknown::Limit));
        }
        let mut rest = constraints;
        let is_told = |level: &&Vec<Term>| {
            let told = rest.starts_with(level);
            rest = if told { &rest[level.len()..] } else { rest };
            told
        };
        let common = self.levels.iter().take_while(is_told).count();
        let dropped = self.levels.len() - common;
        // SAFETY: there are as many levels.
        unsafe { (self.library.solver_pop)(self.context, self.solver, dropped as u32) };
        self.levels.truncate(common);
        let deadline = Worked::here().now() + self.limits.time;
        let (last, before) = match rest.split_last() {
            Some((last, before)) => (std::slice::from_ref(last), before),
            None => (rest, rest),
        };
        for level in [before, last].into_iter().filter(|level| !level.is_empty()) {
            if !self.assert(pool, level, deadline) {
                return Ok(Answer::Unknown(WhyUnknown::Limit));
            }
        }
        // SAFETY: context and solver are alive.
        if unsafe { (self.library.get_error_code)(self.context) } != 0 {
            return Err(self.refused());
        }
        let check = || {
            // SAFETY: as above.
            unsafe { (self.library.solver_check)(self.context, self.solver) }
        };
        match self.alarm.during(check) {
            1 => Ok(Answer::Sat(self.model(pool, constraints)?)),
            -1 => Ok(Answer::Unsat),
            _ => {
                // SAFETY: the reason is a string of the context's.
                let reason = unsafe {
                    CStr::from_ptr((self.library.solver_get_reason_unknown)(self.context, self.solver))
                };
                let limits: [&[u8]; 4] = [b"interrupted", b"canceled", b"resource limit", b"memory"];
                let is_limit = limits
                    .iter()
                    .any(|limit| reason.to_bytes().windows(limit.len()).any(|part| part == *limit));
                Ok(Answer::Unknown(if is_limit { WhyUnknown::Limit } else { WhyUnknown::GaveUp }))
            }
        }
    }
}

impl Drop for Z3 {
    fn drop(&mut self) {
        self.alarm.end();
        // SAFETY: nothing uses them later.
        unsafe {
            (self.library.solver_dec_ref)(self.context, self.solver);
            (self.library.del_context)(self.context);
        }
    }
}

/// Errors are asked for where they can be.
extern "C" fn leave_for_later(_: Context, _: c_int) {}
