//! Pointers of the C++ standard library that own: a shared pointer leads to its
//! object and to what counts the owners, which ends the object with the last; a
//! unique pointer ends its object.
//!
//! Followed are counts of objects that were made here; of others, nothing is
//! told. Constructors and all that moves are left to their bodies.

use leakscope_ir::{Call, Callee, FuncId, Function, Op, Program};
use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::case::Case;
use crate::containers::{Role, method};
use crate::scope::Scope;
use crate::value::{Base, HeapId, Offset, Value};

/// Where what counts owners is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Counted {
    This,
    At(i64),
}

/// What counts the owners of an object, with the object or a pointer to it.
pub const COUNTED: &str = "std::_Sp_counted_";

/// Where the number of owners is in what counts them.
const OWNERS: Offset = Offset::At(8);
/// The function that ends an object, in the table of what counts its owners.
const DISPOSE: i64 = 16;

/// The members of a shared pointer: to the object, and to what counts.
const MEMBERS: [Offset; 2] = [Offset::At(0), Offset::At(8)];

/// The role of a function that changes the number of owners. Of weak ones no
/// count is kept. What copies is known by its name in the ABI.
pub fn role(function: &Function) -> Option<Role> {
    let name = function.display.as_str();
    let class = name.strip_prefix("std::")?.split_once('<')?.0;
    match (class, method(name)?) {
        ("_Sp_counted_base", "_M_add_ref_copy" | "_M_add_ref_lock" | "_M_add_ref_lock_nothrow") => {
            Some(Role::Own)
        }
        ("_Sp_counted_base", "_M_release") => Some(Role::Disown(Counted::This)),
        ("__shared_count", "~__shared_count") => Some(Role::Disown(Counted::At(0))),
        ("shared_ptr", "~shared_ptr") | ("__shared_ptr", "~__shared_ptr") => {
            Some(Role::Disown(Counted::At(8)))
        }
        ("__shared_ptr", "reset") if function.parameters == 1 => Some(Role::Reset),
        ("shared_ptr" | "__shared_ptr", "operator=") if function.name.contains("aSERKS") => {
            Some(Role::Assign)
        }
        ("shared_ptr", "shared_ptr") | ("__shared_ptr", "__shared_ptr")
            if ["C1ERKS", "C2ERKS"].iter().any(|copies| function.name.contains(copies)) =>
        {
            Some(Role::Copy)
        }
        ("_Sp_counted_base", "_M_weak_add_ref" | "_M_weak_release") => Some(Role::Query),
        ("weak_ptr", "~weak_ptr") | ("__weak_ptr", "~__weak_ptr") | ("__weak_count", "~__weak_count") => {
            Some(Role::Query)
        }
        _ => None,
    }
}

/// By function that ends a unique pointer, what ends its object: who calls it
/// knows the class of that.
pub fn deleters(program: &Program) -> FxHashMap<FuncId, FuncId> {
    let ends = |function: &Function| {
        function.display.starts_with("std::unique_ptr<") && function.display.ends_with("::~unique_ptr")
    };
    let deleter = |function: &Function| {
        let blocks = function.body.iter().flat_map(|body| &body.blocks);
        blocks.flat_map(|block| &block.instructions).find_map(|instruction| match &instruction.op {
            Op::Call(Call { callee: Callee::Function(callee), .. }) => {
                let display = &program.function(*callee).display;
                let is_deleter =
                    display.starts_with("std::default_delete<") && display.ends_with("operator()");
                is_deleter.then_some(*callee)
            }
            _ => None,
        })
    };
    let functions = program.functions.iter().zip(0..).filter(|(function, _)| ends(function));
    functions.filter_map(|(function, id)| Some((FuncId(id), deleter(function)?))).collect()
}

/// What a shared pointer holds, for one owner more.
pub fn shared(case: &mut Case, scope: &mut Scope, pointer: &Value) -> [Value; 2] {
    let held = MEMBERS.map(|member| case.load(scope, &pointer.plus(member)));
    own(case, scope, &held[1]);
    held
}

/// A shared pointer holds it.
pub fn copy(case: &mut Case, scope: &mut Scope, pointer: &Value, held: &[Value; 2]) {
    for (member, value) in MEMBERS.into_iter().zip(held) {
        case.store(scope, &pointer.plus(member), value, 8);
    }
}

/// One owner more; the result says that there was one.
pub fn own(case: &mut Case, scope: &mut Scope, counted: &Value) -> Option<Value> {
    if *counted == Value::NULL {
        return None;
    }
    let is_one = matches!(counted, Value::Sum(_, Offset::At(0)));
    let owners = if is_one { case.load(scope, &counted.plus(OWNERS)) } else { Value::Top };
    let more = owners.plus(Offset::At(1));
    if more == Value::Top || matches!(more, Value::OneOf(_)) || owners == Value::Int(0) {
        case.escape(scope, counted);
        return None;
    }
    case.store(scope, &counted.plus(OWNERS), &more, 4);
    matches!(owners, Value::Int(_)).then_some(Value::Int(1))
}

/// What is to happen where there is one owner less.
pub enum Disowned {
    Nothing,
    /// It was the last: this function ends the object of what counted.
    Last {
        dispose: FuncId,
        counted: Value,
    },
}

/// One owner less, if it is known how many there are.
pub fn disown(case: &mut Case, scope: &mut Scope, at: Counted, this: &Value) -> Disowned {
    let counted = match at {
        Counted::This => this.clone(),
        Counted::At(offset) => case.load(scope, &this.plus(Offset::At(offset))),
    };
    if counted == Value::NULL {
        return Disowned::Nothing;
    }
    let is_followed =
        matches!(counted, Value::Sum(Base::Heap(block), Offset::At(0)) if case.blocks.contains_key(&block));
    let owners = if is_followed { case.load(scope, &counted.plus(OWNERS)) } else { Value::Top };
    match (owners, dispose(case, scope, &counted)) {
        (Value::Int(1), Some(dispose)) => return Disowned::Last { dispose, counted },
        (Value::Int(owners @ 2..), _) => {
            case.store(scope, &counted.plus(OWNERS), &Value::Int(owners - 1), 4);
        }
        _ => case.escape(scope, &counted),
    }
    Disowned::Nothing
}

fn dispose(case: &mut Case, scope: &mut Scope, counted: &Value) -> Option<FuncId> {
    let Value::Sum(Base::Global(table), Offset::At(start)) = case.peek(scope, counted) else { return None };
    match scope.world.initial(table, Offset::At(start + DISPOSE))? {
        Value::Sum(Base::Function(function), _) => Some(function),
        _ => None,
    }
}

/// Whether a value leads to what counts owners: a copy of it is one more, and
/// containers do not tell.
pub fn is_counted(case: &Case, scope: &Scope, value: &Value) -> bool {
    let table = |block: HeapId| case.memory.get(&(Base::Heap(block), Offset::At(0)));
    value.heap_blocks().filter_map(table).any(|cell| match cell.value {
        Value::Sum(Base::Global(table), _) => scope.world.program.global(table).name.contains("_Sp_counted_"),
        _ => false,
    })
}
