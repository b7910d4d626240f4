//! What stands in the code for an operation on terms, and is inlined: a test,
//! and behind it a call of the runtime.

use crate::builder::Builder;
use crate::ir::Callee;

/// Where things are in the thread's words, as `leakscope-rt-symbolic` has it
/// (`thread.rs`), in words.
pub mod thread {
    pub const NAME: &str = "leakscope_symbolic";
    pub const CALLEE: u64 = 0;
    pub const ARGUMENTS: u64 = 1;
    pub const RESULTS: u64 = 33;
    pub const DEPTH: u64 = 37;
    pub const CALLS: u64 = 38;

    pub const MOST_ARGUMENTS: usize = 32;
    pub const MOST_RESULTS: usize = 4;
    /// Of calls under way, as many are kept.
    pub const KEPT_CALLS: u64 = 256;
}

/// What their names begin with.
pub const PREFIX: &str = "leakscope.";

/// Set in a kind of operation whose result is turned.
pub const TURNED: u32 = 1 << 16;

/// What all modules get, as text.
pub fn text() -> String {
    let mut text = FIXED.to_owned();
    for helper in &GUARDED {
        text += &helper.text();
    }
    text
}

/// A call of the runtime (`__leakscope_sym_NAME`) behind a test.
struct Guarded {
    name: &'static str,
    /// Of the term that it gives, 0 where the runtime is not asked; or none.
    result: &'static str,
    parameters: &'static str,
    asked_if: &'static [Test],
}

/// What makes the runtime be asked: any of these not 0.
enum Test {
    Term(&'static str),
    /// There is something in the page of the parameter `address`.
    Page,
    /// The driver wants the parameter `place`.
    Wanted,
}

use Test::{Page, Term, Wanted};

#[rustfmt::skip]
const GUARDED: [Guarded; 15] = [
    Guarded { name: "binary", result: "i32", parameters: "i32 %kind, i32 %ta, i32 %tb, i64 %a, i64 %b", asked_if: &[Term("ta"), Term("tb")] },
    Guarded { name: "overflow", result: "i32", parameters: "i32 %kind, i32 %ta, i32 %tb, i64 %a, i64 %b", asked_if: &[Term("ta"), Term("tb")] },
    Guarded { name: "step", result: "i32", parameters: "i32 %tb, i32 %ti, i64 %b, i64 %i, i64 %stride", asked_if: &[Term("tb"), Term("ti")] },
    Guarded { name: "cast", result: "i32", parameters: "i32 %kind, i32 %t", asked_if: &[Term("t")] },
    Guarded { name: "swap", result: "i32", parameters: "i32 %t, i64 %value", asked_if: &[Term("t")] },
    Guarded { name: "load", result: "i32", parameters: "i64 %address, i32 %t, i64 %bytes, ptr %place", asked_if: &[Page, Term("t")] },
    Guarded { name: "store", result: "void", parameters: "i64 %address, i32 %t, i64 %bytes, i32 %tv, i64 %value, ptr %place", asked_if: &[Page, Term("t"), Term("tv")] },
    Guarded { name: "read", result: "void", parameters: "i64 %address, i32 %t, ptr %place", asked_if: &[Page, Term("t")] },
    Guarded { name: "clear", result: "void", parameters: "i64 %address, i32 %t, i64 %bytes, ptr %place", asked_if: &[Page, Term("t")] },
    Guarded { name: "branch", result: "void", parameters: "ptr %place, i32 %t, i1 zeroext %holds", asked_if: &[Wanted, Term("t")] },
    Guarded { name: "switch", result: "void", parameters: "ptr %place, i32 %t, i64 %value", asked_if: &[Wanted, Term("t")] },
    Guarded { name: "point", result: "void", parameters: "ptr %place", asked_if: &[Wanted] },
    Guarded { name: "enter", result: "void", parameters: "ptr %place", asked_if: &[Wanted] },
    Guarded { name: "leave", result: "void", parameters: "ptr %place", asked_if: &[Wanted] },
    Guarded { name: "note", result: "void", parameters: "ptr %place, i32 %t, i32 %what", asked_if: &[Term("t")] },
];

impl Guarded {
    fn text(&self) -> String {
        let Guarded { name, result, parameters, asked_if } = self;
        let mut tests = "  %any0 = or i32 0, 0\n".to_owned();
        for (index, test) in asked_if.iter().enumerate() {
            let tested = match test {
                Term(term) => format!("%{term}"),
                Page => {
                    tests += "  %page = call i32 @leakscope.page(i64 %address)\n";
                    "%page".to_owned()
                }
                Wanted => {
                    tests += "  %flags = load i32, ptr %place\n";
                    "%flags".to_owned()
                }
            };
            tests += &format!("  %any{} = or i32 %any{index}, {tested}\n", index + 1);
        }
        let any = format!("%any{}", asked_if.len());
        let (made, given) = match *result {
            "void" => ("", "  ret void"),
            _ => ("%made = ", "  %term = phi i32 [ 0, %0 ], [ %made, %ask ]\n  ret i32 %term"),
        };
        format!(
            "declare {result} @__leakscope_sym_{name}({parameters}) cold nounwind
define {result} @leakscope.{name}({parameters}) alwaysinline nounwind {{
{tests}  %none = icmp eq i32 {any}, 0
  br i1 %none, label %done, label %ask
ask:
  {made}call {result} @__leakscope_sym_{name}({parameters})
  br label %done
done:
{given}
}}
"
        )
    }
}

const FIXED: &str = r#"
@leakscope_pages = external global [1048576 x i8]
@__start_leakscope_places = extern_weak hidden global i8
@__stop_leakscope_places = extern_weak hidden global i8
@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 0, ptr @leakscope.register, ptr null }]

define void @leakscope.register() nounwind {
  call void @__leakscope_sym_register(ptr @__start_leakscope_places, ptr @__stop_leakscope_places)
  ret void
}

define i32 @leakscope.select(i32 %bits, i32 %tc, i32 %ta, i32 %tb, i1 %c, i64 %a, i64 %b) alwaysinline nounwind {
  %chosen = select i1 %c, i32 %ta, i32 %tb
  %none = icmp eq i32 %tc, 0
  br i1 %none, label %done, label %ask
ask:
  %made = call i32 @__leakscope_sym_select(i32 %bits, i32 %tc, i32 %ta, i32 %tb, i64 %a, i64 %b)
  br label %done
done:
  %term = phi i32 [ %chosen, %0 ], [ %made, %ask ]
  ret i32 %term
}

; Whether there is anything to look for in the page of an address.
define i32 @leakscope.page(i64 %address) alwaysinline nounwind {
  %page = lshr i64 %address, 12
  %index = and i64 %page, 1048575
  %entry = getelementptr i8, ptr @leakscope_pages, i64 %index
  %what = load i8, ptr %entry
  %wide = zext i8 %what to i32
  ret i32 %wide
}

define i32 @leakscope.main(i32 %count, ptr %arguments) alwaysinline nounwind {
  %term = call i32 @__leakscope_sym_main(i32 %count, ptr %arguments)
  ret i32 %term
}

; Short copies look at two pages first.
define void @leakscope.copy(i64 %to, i64 %from, i64 %bytes, i64 %terms, i32 %size, ptr %place) alwaysinline nounwind {
  %long = icmp ugt i64 %bytes, 64
  %large = zext i1 %long to i32
  %page = call i32 @leakscope.page(i64 %to)
  %other = call i32 @leakscope.page(i64 %from)
  %pages = or i32 %page, %other
  %shadow = or i32 %pages, %large
  %all = or i32 %shadow, %size
  %wide = zext i32 %all to i64
  %any = or i64 %wide, %terms
  %none = icmp eq i64 %any, 0
  br i1 %none, label %done, label %ask
ask:
  call void @__leakscope_sym_copy(i64 %to, i64 %from, i64 %bytes, i64 %terms, i32 %size, ptr %place)
  br label %done
done:
  ret void
}

define void @leakscope.fill(i64 %to, i32 %byte, i64 %bytes, i64 %terms, i32 %size, ptr %place) alwaysinline nounwind {
  call void @__leakscope_sym_fill(i64 %to, i32 %byte, i64 %bytes, i64 %terms, i32 %size, ptr %place)
  ret void
}

define void @leakscope.uses(i64 %address, ptr %place) alwaysinline nounwind {
  call void @__leakscope_sym_uses(i64 %address, ptr %place)
  ret void
}

define void @leakscope.passed(i64 %copy, i64 %original, i64 %bytes) alwaysinline nounwind {
  call void @__leakscope_sym_passed(i64 %copy, i64 %original, i64 %bytes)
  ret void
}

; After a call with terms: whether nobody took them.
define void @leakscope.foreign(i64 %callee, i64 %called, ptr %place, i64 %arguments) alwaysinline nounwind {
  %taken = icmp ne i64 %callee, %called
  br i1 %taken, label %done, label %ask
ask:
  call void @__leakscope_sym_foreign(ptr %place, i64 %arguments)
  br label %done
done:
  ret void
}

; The term of an argument, if it is for this function.
define i32 @leakscope.argument(i64 %passed, i1 %own) alwaysinline nounwind {
  %term = trunc i64 %passed to i32
  %known = select i1 %own, i32 %term, i32 0
  ret i32 %known
}

; The term of a result, if it is of the function that was called.
define i32 @leakscope.result(i64 %passed, i64 %called) alwaysinline nounwind {
  %mark = lshr i64 %passed, 32
  %lower = and i64 %called, 4294967295
  %own = icmp eq i64 %mark, %lower
  %term = trunc i64 %passed to i32
  %known = select i1 %own, i32 %term, i32 0
  ret i32 %known
}

; What a function leaves for its caller.
define i64 @leakscope.returned(i32 %t, i64 %own) alwaysinline nounwind {
  %mark = shl i64 %own, 32
  %term = zext i32 %t to i64
  %both = or i64 %mark, %term
  %none = icmp eq i32 %t, 0
  %passed = select i1 %none, i64 0, i64 %both
  ret i64 %passed
}

define i64 @leakscope.pair(i32 %low, i32 %high) alwaysinline nounwind {
  %below = zext i32 %low to i64
  %wide = zext i32 %high to i64
  %above = shl i64 %wide, 32
  %both = or i64 %below, %above
  ret i64 %both
}

declare void @__leakscope_sym_register(ptr, ptr) nounwind
declare i32 @__leakscope_sym_main(i32, ptr) nounwind
declare i32 @__leakscope_sym_select(i32, i32, i32, i32, i64, i64) cold nounwind
declare void @__leakscope_sym_copy(i64, i64, i64, i64, i32, ptr) nounwind
declare void @__leakscope_sym_fill(i64, i32, i64, i64, i32, ptr) nounwind
declare void @__leakscope_sym_uses(i64, ptr) nounwind
declare void @__leakscope_sym_passed(i64, i64, i64) nounwind
declare void @__leakscope_sym_foreign(ptr, i64) cold nounwind
"#;

macro_rules! helpers {
    ($($name:ident = $text:literal;)*) => {
        /// The functions of [`text`] that code calls.
        pub struct Helpers<'m> {
            $(pub $name: Callee<'m>,)*
        }

        impl<'m> Helpers<'m> {
            pub fn new(builder: &Builder<'m>) -> Helpers<'m> {
                Helpers { $($name: builder.function($text),)* }
            }
        }
    };
}

helpers! {
    binary = c"leakscope.binary";
    overflow = c"leakscope.overflow";
    step = c"leakscope.step";
    cast = c"leakscope.cast";
    swap = c"leakscope.swap";
    select = c"leakscope.select";
    load = c"leakscope.load";
    store = c"leakscope.store";
    read = c"leakscope.read";
    clear = c"leakscope.clear";
    branch = c"leakscope.branch";
    switch = c"leakscope.switch";
    point = c"leakscope.point";
    enter = c"leakscope.enter";
    leave = c"leakscope.leave";
    note = c"leakscope.note";
    foreign = c"leakscope.foreign";
    argument = c"leakscope.argument";
    result = c"leakscope.result";
    returned = c"leakscope.returned";
    pair = c"leakscope.pair";
    main = c"leakscope.main";
    copy = c"leakscope.copy";
    uses = c"leakscope.uses";
    fill = c"leakscope.fill";
    passed = c"leakscope.passed";
}
