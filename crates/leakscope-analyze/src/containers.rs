//! The C++ standard library's containers: what their functions do to what they
//! hold, by class and name of the function.
//!
//! A container's elements are one cell, apart from its own members. Its own
//! memory is not followed: nobody can lose it but with the container. Their
//! bodies, which come with headers, are not looked at.

use leakscope_ir::{Function, Instruction};
use rustc_hash::FxHashSet;
use serde::Serialize;

use crate::case::{Case, Cell};
use crate::owners::{self, Counted};
use crate::scope::Scope;
use crate::value::{Base, Offset, SymbolKey, Value};

/// What a function of the standard library does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Role {
    /// Memory for elements, made or given back.
    OwnMemory,
    /// The result leads to elements.
    Access,
    /// The same, to one that is looked for.
    Find,
    /// The result is behind the last element.
    End,
    /// The same of iterators that come in memory of the caller's.
    AccessInto,
    EndInto,
    /// What the arguments lead to, or hold if they are containers, is an
    /// element from now on.
    Insert(Transfer),
    /// The same where they are no containers.
    Append(Transfer),
    /// The same where elements are containers: it is in these.
    Nest,
    /// Two containers have each other's elements.
    Swap,
    /// No elements are left.
    Drop,
    /// The same where elements release what they hold.
    DropOwners,
    /// An element goes.
    Remove,
    /// Nothing moves.
    Query,
    /// An iterator goes on, and is the result.
    Advance,
    /// What an iterator points to.
    Read,
    /// Whatever it gets is its own.
    Keep,
    /// A thread starts.
    Start,
    /// Shared ownership: there is one owner more, or one less.
    Own,
    Disown(Counted),
    /// It leads to nothing from now on.
    Reset,
    /// A new pointer is a copy of another.
    Copy,
    /// The same where it led to something else before.
    Assign,
}

/// What becomes of a pointer that owns where it is put into a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Transfer {
    /// It is one owner more.
    Copied,
    /// It leads to nothing any more.
    Moved,
    /// It does not own, or nobody knows.
    Unknown,
}

/// Where the end of a container's elements is taken to be.
const END: Offset = Offset::At(1 << 40);

/// How the name of what starts a thread begins.
const STARTS_THREAD: &str = "_ZNSt6thread15_M_start_thread";

const CONTAINERS: [&str; 12] = [
    "std::vector<",
    "std::__cxx11::list<",
    "std::deque<",
    "std::map<",
    "std::multimap<",
    "std::set<",
    "std::multiset<",
    "std::unordered_map<",
    "std::unordered_multimap<",
    "std::unordered_set<",
    "std::unordered_multiset<",
    "std::forward_list<",
];

const ITERATORS: [&str; 9] = [
    "std::_List_iterator<",
    "std::_List_const_iterator<",
    "std::_Rb_tree_iterator<",
    "std::_Rb_tree_const_iterator<",
    "std::__detail::_Node_iterator<",
    "std::__detail::_Node_const_iterator<",
    "std::_Deque_iterator<",
    "std::_Fwd_list_iterator<",
    "std::_Fwd_list_const_iterator<",
];

const OWNERS: [&str; 2] = ["std::unique_ptr<", "std::shared_ptr<"];

/// Algorithms that only change the order of elements.
const PERMUTING: [&str; 12] = [
    "std::push_heap<",
    "std::pop_heap<",
    "std::make_heap<",
    "std::sort_heap<",
    "std::sort<",
    "std::stable_sort<",
    "std::partial_sort<",
    "std::nth_element<",
    "std::reverse<",
    "std::rotate<",
    "std::shuffle<",
    "std::random_shuffle<",
];

/// The classes of a program whose objects do something when they go.
pub fn destroyed_classes(functions: &[Function]) -> FxHashSet<&str> {
    functions.iter().filter_map(|function| Some(function.display.split_once("::~")?.0)).collect()
}

/// The role of a function, if it is one of the library's.
pub fn role(function: &Function, destroyed: &FxHashSet<&str>) -> Option<Role> {
    let name = function.display.as_str();
    let method = || method(name);
    if name.starts_with("std::__new_allocator<") || name.starts_with("__gnu_cxx::new_allocator<") {
        let is_own = matches!(method()?, "allocate" | "deallocate") && !name.contains(owners::COUNTED);
        return is_own.then_some(Role::OwnMemory);
    }
    if function.name.starts_with(STARTS_THREAD) {
        return Some(Role::Start);
    }
    if PERMUTING.iter().any(|algorithm| name.starts_with(algorithm)) {
        return Some(Role::Query);
    }
    if let Some(role) = owners::role(function) {
        return Some(role);
    }
    if ITERATORS.iter().any(|class| name.starts_with(class)) {
        return match method()? {
            "operator++" | "operator--" | "operator+=" | "operator-=" => Some(Role::Advance),
            "operator*" | "operator->" => Some(Role::Read),
            _ => None,
        };
    }
    // What is static has no container.
    if !is_container(name) || function.parameters == 0 {
        return None;
    }
    // Results of these come in memory of the caller's, before the container.
    let is_iterator = |method: &str| {
        ["begin", "end", "find", "erase", "insert", "emplace"].iter().any(|part| method.ends_with(part))
    };
    let comes_in_memory = name.starts_with("std::deque<")
        && function.signature.0.starts_with('v')
        && method().is_some_and(is_iterator);
    Some(match method()? {
        method if method.starts_with('~') || method == "clear" => {
            if element(name).is_some_and(|class| !is_owner(&class, destroyed)) {
                Role::Drop
            } else {
                Role::DropOwners
            }
        }
        "size" | "empty" | "max_size" | "capacity" | "count" | "reserve" | "shrink_to_fit" | "remove"
        | "unique" | "sort" | "reverse" | "get_allocator" | "resize" | "bucket_count" | "load_factor"
        | "rehash" => Role::Query,
        // What goes ends what it owns, at the latest with the container.
        "pop_back" | "pop_front" | "erase" if owns_elements(name) && !comes_in_memory => Role::Access,
        "pop_back" | "pop_front" => Role::Remove,
        "erase" if !comes_in_memory && function.parameters == 2 => Role::Remove,
        "end" | "cend" if !comes_in_memory => Role::End,
        "find" if !comes_in_memory => Role::Find,
        "begin" | "cbegin" | "rbegin" | "rend" | "front" | "back" | "at" | "data" | "lower_bound"
        | "upper_bound" | "equal_range" | "erase"
            if !comes_in_memory =>
        {
            Role::Access
        }
        "operator[]" if !name.contains("map<") => Role::Access,
        "begin" | "cbegin" => Role::AccessInto,
        "end" | "cend" => Role::EndInto,
        _ if comes_in_memory => Role::Keep,
        "swap" => Role::Swap,
        _ if element(name).is_some_and(|class| is_container(&class)) => Role::Nest,
        "push_back" | "push_front" | "emplace_back" | "emplace_front" => Role::Append(transfer(function)),
        _ => Role::Insert(transfer(function)),
    })
}

fn owns_elements(name: &str) -> bool {
    let is_owner = |class: String| OWNERS.iter().any(|owner| class.starts_with(owner));
    element(name).is_some_and(is_owner)
}

/// How a function that inserts gets pointers that own.
fn transfer(function: &Function) -> Transfer {
    let name = function.display.as_str();
    let (Some(class), Some(method)) = (element(name), method(name)) else { return Transfer::Unknown };
    let given = name.rsplit_once(&format!("::{method}")).map_or("", |(_, given)| given);
    let is_appended = matches!(method, "push_back" | "push_front");
    let is_emplaced = method.contains("emplace");
    if class.starts_with("std::unique_ptr<") {
        let is_moved = !is_emplaced || given.contains("std::unique_ptr<");
        return if is_moved { Transfer::Moved } else { Transfer::Unknown };
    }
    match () {
        () if !class.starts_with("std::shared_ptr<") => Transfer::Unknown,
        () if is_appended && function.name.contains("EO") => Transfer::Moved,
        () if is_appended => Transfer::Copied,
        () if !matches!(method, "emplace_back" | "emplace_front") => Transfer::Unknown,
        () if !given.starts_with("<std::shared_ptr<") => Transfer::Unknown,
        () if given.contains('&') => Transfer::Copied,
        () => Transfer::Moved,
    }
}

/// Whether objects of a class release what they hold. Of a pair, its members do.
fn is_owner(class: &str, destroyed: &FxHashSet<&str>) -> bool {
    // Two levels are followed.
    if is_container(class) {
        return element(class).is_none_or(|inner| is_container(&inner) || is_owner(&inner, destroyed));
    }
    if class.starts_with("std::pair<") {
        let is_text = |member: &str| member.starts_with("std::__cxx11::basic_string<");
        return arguments(class).iter().any(|member| !is_text(member) && is_owner(member, destroyed));
    }
    !class.ends_with('*') && (class.starts_with("std::") || destroyed.contains(class))
}

fn is_container(class: &str) -> bool {
    CONTAINERS.iter().any(|container| class.starts_with(container)) && !class.ends_with('*')
}

/// The type of a container's elements, or of a map's values.
fn element(name: &str) -> Option<String> {
    arguments(name).into_iter().nth(usize::from(name.contains("map<")))
}

/// The arguments of a template.
fn arguments(name: &str) -> Vec<String> {
    let mut depth = 0;
    let mut arguments = vec![String::new()];
    for letter in name.chars() {
        match letter {
            '<' => depth += 1,
            '>' => depth -= 1,
            ',' if depth == 1 => {
                arguments.push(String::new());
                continue;
            }
            _ => {}
        }
        if depth == 0 && letter == '>' {
            break;
        }
        if depth > 1 || depth == 1 && letter != '<' {
            arguments.last_mut().expect("one at least").push(letter);
        }
    }
    arguments.iter().map(|argument| argument.trim().to_owned()).collect()
}

/// The name after the class with its template arguments.
pub fn method(name: &str) -> Option<&str> {
    let mut depth = 0;
    for (index, letter) in name.char_indices() {
        match letter {
            '<' => depth += 1,
            '>' => {
                depth -= 1;
                if depth == 0 {
                    let rest = name[index + 1..].strip_prefix("::")?;
                    let end = if rest.starts_with("operator") {
                        rest.len()
                    } else {
                        rest.find('<').unwrap_or(rest.len())
                    };
                    return Some(&rest[..end]);
                }
            }
            _ => {}
        }
    }
    None
}

/// Whether a function inserts only what is not there yet, and says so.
pub fn may_refuse(function: &Function) -> bool {
    const KEYED: [&str; 4] = ["std::map<", "std::set<", "std::unordered_map<", "std::unordered_set<"];
    let name = function.display.as_str();
    KEYED.iter().any(|class| name.starts_with(class))
        && matches!(method(name), Some("insert" | "emplace" | "try_emplace"))
        && function.signature.0.starts_with('s')
}

/// What an inserting function returns: the place of the element, and whether it
/// is new.
pub fn inserted(scope: &mut Scope, this: &Value, is_new: bool) -> Value {
    Value::Record([elements(scope, this), Value::Int(is_new.into())].into())
}

/// What elements of a container, or of containers in it, are known to be, and
/// their class.
pub fn held(case: &mut Case, scope: &mut Scope, function: &Function, this: &Value) -> (Vec<Value>, String) {
    let mut class = element(&function.display).unwrap_or_default();
    let mut places = vec![elements(scope, this)];
    if is_container(&class) {
        places.push(elements(scope, &places[0]));
        class = element(&class).unwrap_or_default();
    }
    let mut found: Vec<Value> = Vec::new();
    for (base, at) in places.iter().flat_map(Value::bases) {
        let is_known = case.cells(base).next().is_some();
        let is_input = matches!(base, Base::Symbol(id) if scope.symbols.is_input(id));
        if !is_known && is_input {
            found.push(case.load(scope, &Value::Sum(base, at)));
        }
        found.extend(case.cells(base).flat_map(|(_, cell)| cell.value.parts().to_vec()));
    }
    found.sort();
    found.dedup();
    (found, class)
}

/// Whether blocks may have been held only by what is gone now.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Dropped {
    Nothing,
    Elements,
}

/// `case` after a call of a function with this role.
pub fn call(
    case: &mut Case,
    scope: &mut Scope,
    role: Role,
    instruction: &Instruction,
    returns_pair: bool,
    arguments: &[Value],
) -> Dropped {
    let this = arguments.first().cloned().unwrap_or(Value::Top);
    let unknown = scope.symbols.value(SymbolKey::Result(instruction.result, 0));
    let mut dropped = Dropped::Nothing;
    let result = match role {
        Role::OwnMemory | Role::Query => unknown,
        Role::Access => elements(scope, &this),
        Role::End => element_at(scope, &this, END),
        Role::AccessInto | Role::EndInto => {
            let container = arguments.get(1).cloned().unwrap_or(Value::Top);
            let at = if role == Role::EndInto { END } else { Offset::Any };
            let place = element_at(scope, &container, at);
            case.store(scope, &this, &place, 8);
            unknown
        }
        // What was put into a container is found there.
        Role::Find if !scope.is_in_loop() && holds_blocks(case, scope, &this) => {
            element_at(scope, &this, Offset::At(0))
        }
        Role::Find => elements(scope, &this),
        Role::Insert(_) | Role::Append(_) | Role::Nest => {
            insert(case, scope, role, &this, &arguments[1..]);
            elements(scope, &this)
        }
        Role::Drop => {
            for (base, _) in elements(scope, &this).bases() {
                if case.drop_elements(scope, base) {
                    dropped = Dropped::Elements;
                }
                if let Base::Symbol(id) = base
                    && scope.symbols.is_input(id)
                {
                    case.freed.insert(id);
                }
            }
            unknown
        }
        Role::Remove => {
            let elements = elements(scope, &this);
            for (base, _) in elements.bases() {
                if case.remove_element(scope, base) {
                    dropped = Dropped::Elements;
                }
            }
            elements
        }
        Role::Swap => {
            if let Some(other) = arguments.get(1) {
                swap(case, scope, &this, other);
            }
            unknown
        }
        Role::Advance => this,
        Role::Read => case.load(scope, &this),
        Role::Own => owners::own(case, scope, &this).unwrap_or(unknown),
        Role::Copy if arguments.len() > 1 => {
            let copied = owners::shared(case, scope, &arguments[1]);
            owners::copy(case, scope, &this, &copied);
            unknown
        }
        Role::Keep
        | Role::DropOwners
        | Role::Start
        | Role::Disown(_)
        | Role::Reset
        | Role::Copy
        | Role::Assign => {
            for argument in arguments {
                case.escape(scope, argument);
            }
            unknown
        }
    };
    let result = if returns_pair { Value::Record([result, Value::Top].into()) } else { result };
    case.set(instruction.result, result);
    dropped
}

/// Whether two places in a container that blocks were put into are one that was
/// looked for, or the first, and the end: it is found.
pub fn is_found(case: &Case, scope: &Scope, base: Base, places: [Offset; 2]) -> bool {
    let is_container =
        matches!(base, Base::Symbol(id) if matches!(scope.symbols.key(id), SymbolKey::Elements(..)));
    is_container
        && (places == [Offset::Any, END] || places == [END, Offset::Any])
        && !scope.is_in_loop()
        && case.cells(base).any(|(_, cell)| cell.value.has_heap())
}

/// The cell that stands for all elements of the containers at `this`.
fn elements(scope: &mut Scope, this: &Value) -> Value {
    element_at(scope, this, Offset::Any)
}

fn element_at(scope: &mut Scope, this: &Value, at: Offset) -> Value {
    let cells = this.bases().filter_map(|(base, offset)| {
        let id = scope.symbols.get(SymbolKey::Elements(base, offset))?;
        Some(Value::Sum(Base::Symbol(id), at))
    });
    Value::one_of(cells.collect::<Vec<_>>()).unwrap_or(Value::Top)
}

fn holds_blocks(case: &Case, scope: &mut Scope, this: &Value) -> bool {
    elements(scope, this).bases().any(|(base, _)| case.cells(base).any(|(_, cell)| cell.value.has_heap()))
}

fn insert(case: &mut Case, scope: &mut Scope, role: Role, this: &Value, arguments: &[Value]) {
    let mut cells = elements(scope, this);
    if role == Role::Nest {
        let inner = elements(scope, &cells);
        cells = Value::one_of([cells, inner]).unwrap_or(Value::Top);
    }
    let mut found = Vec::new();
    for argument in arguments {
        for (base, offset) in argument.bases() {
            // Another container, an iterator, or a reference to what is to be
            // an element.
            let of_container = match role {
                Role::Append(_) => Value::Top,
                _ => elements(scope, &Value::Sum(base, offset)),
            };
            // Containers in it go with it.
            if matches!(base, Base::Local(_)) && scope.symbols.has_elements() {
                let is_part = |part: Base| part != base && scope.symbols.owner(part) == base;
                let parts = case.memory.iter().filter(|((part, _), _)| is_part(*part));
                found.extend(parts.map(|(_, cell)| cell.value.clone()));
            }
            for (base, _) in of_container.bases().chain([(base, offset)]) {
                found.extend(case.cells(base).map(|(_, cell)| cell.value.clone()));
                if let Base::Symbol(id) = base
                    && scope.symbols.is_input(id)
                    && case.cells(base).next().is_none()
                {
                    found.push(case.load(scope, &Value::Sum(base, offset)));
                }
            }
        }
    }
    found.retain(|value| value.bases().next().is_some());
    if found.is_empty() {
        return;
    }
    // Keys beside blocks are kept, and nobody takes them for elements.
    if found.iter().any(Value::has_heap) {
        for key in found.extract_if(.., |value| !value.has_heap()) {
            case.escape(scope, &key);
        }
    }
    if let Role::Insert(transfer) | Role::Append(transfer) = role {
        transfer_owners(case, scope, transfer, arguments, &found);
    }
    let inserted = case.any_of(scope, found);
    for (base, at) in cells.bases() {
        let old = case.cells(base).map(|(_, cell)| cell.value.clone()).collect::<Vec<_>>();
        let all = case.any_of(scope, old.into_iter().chain([inserted.clone()]).collect());
        if is_foreign(case, scope, base) {
            case.escape(scope, &all);
        }
        case.memory.insert((base, at), Cell { value: all, bytes: 8 });
    }
}

/// What `arguments` hold has a container as its owner too, or instead.
fn transfer_owners(
    case: &mut Case,
    scope: &mut Scope,
    transfer: Transfer,
    arguments: &[Value],
    held: &[Value],
) {
    let is_counted = |case: &Case, scope: &Scope, part: &Value| owners::is_counted(case, scope, part);
    match transfer {
        Transfer::Moved => {
            for (base, _) in arguments.iter().flat_map(Value::bases) {
                let is_meant = |(of, _): &(Base, Offset), cell: &Cell| *of == base && cell.value.has_heap();
                case.memory.update(is_meant, |cell| cell.value = Value::NULL);
            }
        }
        Transfer::Copied => {
            let parts: Vec<Value> = held.iter().flat_map(|value| value.parts().to_vec()).collect();
            for part in parts.iter().filter(|part| matches!(part, Value::Sum(_, Offset::At(0)))) {
                if is_counted(case, scope, part) {
                    owners::own(case, scope, part);
                }
            }
        }
        Transfer::Unknown => {
            for part in held {
                if is_counted(case, scope, part) {
                    case.escape(scope, part);
                }
            }
        }
    }
}

/// Elements of containers that were made here change places; of others, each
/// may have those of both.
fn swap(case: &mut Case, scope: &mut Scope, one: &Value, other: &Value) {
    let cells = [elements(scope, one), elements(scope, other)];
    let is_made_here = |scope: &Scope, base| matches!(base, Base::Symbol(id) if !scope.symbols.is_input(id));
    match (&cells[0], &cells[1]) {
        (Value::Sum(a, _), Value::Sum(b, _)) if is_made_here(scope, *a) && is_made_here(scope, *b) => {
            let taken = |base: Base| -> Vec<(Offset, Cell)> {
                case.cells(base).map(|(at, cell)| (at, cell.clone())).collect()
            };
            let moved = [(*b, taken(*a)), (*a, taken(*b))];
            case.memory.retain(|(base, _), _| base != a && base != b);
            for (base, cells) in moved {
                case.memory.extend(cells.into_iter().map(|(at, cell)| ((base, at), cell)));
            }
        }
        _ => {
            insert(case, scope, Role::Insert(Transfer::Unknown), one, std::slice::from_ref(other));
            insert(case, scope, Role::Insert(Transfer::Unknown), other, std::slice::from_ref(one));
        }
    }
}

/// A container that somebody else owns, of whom nothing is known.
fn is_foreign(case: &Case, scope: &Scope, base: Base) -> bool {
    match scope.symbols.owner(base) {
        Base::Heap(block) => !case.blocks.contains_key(&block),
        Base::Symbol(id) => !scope.symbols.is_input(id),
        _ => false,
    }
}
