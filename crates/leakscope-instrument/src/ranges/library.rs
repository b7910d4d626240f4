//! What is known of the C library's functions: which call nothing of the program's, and
//! what some return.

use leakscope_wire::symbolic::MODELS;

use super::range::Range;
use crate::ir::Value;
use crate::llvm::Module;
use crate::track::ALLOCATORS;

/// Functions that call nothing of the program's, beside those of which there are models.
#[rustfmt::skip]
const QUIET: &[&str] = &[
    "printf", "fprintf", "dprintf", "sprintf", "snprintf", "vprintf", "vfprintf", "vsprintf", "vsnprintf", "asprintf",
    "vasprintf", "__printf_chk", "__fprintf_chk", "__sprintf_chk", "__snprintf_chk", "__vprintf_chk", "__vfprintf_chk",
    "__vsprintf_chk", "__vsnprintf_chk", "__asprintf_chk", "puts", "fputs", "fputc", "putc", "putchar", "fwrite",
    "perror", "fflush", "setvbuf", "write", "feof", "clearerr", "fileno", "strerror", "strtod", "strtof", "atof",
    "abs", "labs", "time", "clock", "rand", "srand", "random", "srandom", "__errno_location", "__ctype_b_loc",
    "__ctype_tolower_loc", "__ctype_toupper_loc", "__isoc23_strtol", "__isoc23_strtoul", "__isoc23_sscanf",
    "_Znwm", "_Znam", "_ZdlPv", "_ZdlPvm", "_ZdaPv", "_ZdaPvm",
];

/// Members of the C++ library's strings do so neither.
const STRINGS: [&str; 2] = [
    "_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE",
    "_ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE",
];

/// Functions that neither keep nor return addresses that they get.
#[rustfmt::skip]
const LET_GO: &[&str] = &[
    "scanf", "fscanf", "sscanf", "__isoc99_scanf", "__isoc99_fscanf", "__isoc99_sscanf", "__isoc23_scanf",
    "__isoc23_fscanf", "__isoc23_sscanf", "read", "__read_chk", "fread", "__fread_chk", "write", "fwrite", "memcmp",
    "bcmp", "strlen", "strcmp", "strncmp", "printf", "fprintf", "snprintf", "sprintf", "__printf_chk", "__fprintf_chk",
    "__snprintf_chk", "__sprintf_chk", "puts", "fputs",
];

/// And what the compiler does with memory.
const MEMORY: [&str; 4] = ["llvm.lifetime.", "llvm.memcpy.", "llvm.memmove.", "llvm.memset."];

/// What makes quiet functions call the program, or lets it be called at any time.
const DISTURBS: &[&str] = &[
    "signal",
    "__sysv_signal",
    "bsd_signal",
    "sigaction",
    "fopencookie",
    "register_printf_function",
    "register_printf_specifier",
    "_ZSt15set_new_handlerPFvvE",
];

/// Whether quiet functions are quiet in this program, which may have allocators of its own.
pub fn is_undisturbed(module: &Module<'_>) -> bool {
    let has_own = |name: &&str| module.function(name).is_some_and(|function| !function.is_declaration());
    !ALLOCATORS.iter().any(has_own) && !DISTURBS.iter().any(|name| module.function(name).is_some())
}

/// Whether a call of a function without a body here calls nothing of the program's.
pub fn is_quiet(call: Value<'_>) -> bool {
    // Streams of C++ may have buffers of the program's own.
    let is_modelled = |name: &str| {
        MODELS.contains(&name) && !name.starts_with("_Z") && !["qsort", "bsearch"].contains(&name)
    };
    let is_quiet = |name: &str| {
        is_modelled(name) || QUIET.contains(&name) || STRINGS.iter().any(|begin| name.starts_with(begin))
    };
    call.called().is_some_and(Value::is_declaration) && call.called_name().is_some_and(is_quiet)
}

/// Whether a call only reads and writes what its arguments point to while it lasts.
pub fn lets_go(call: Value<'_>) -> bool {
    let is_declared = call.called().is_some_and(Value::is_declaration);
    let lets_go = |name: &str| LET_GO.contains(&name) || MEMORY.iter().any(|begin| name.starts_with(begin));
    is_declared && call.called_name().is_some_and(lets_go)
}

/// What a call of a library's function returns; `argument` says what its arguments are.
pub fn result(call: Value<'_>, argument: impl Fn(u32) -> Option<Range>) -> Option<Range> {
    if !call.called().is_some_and(Value::is_declaration) {
        return None;
    }
    let up_to = |low: i128, count: Option<Range>| {
        count.filter(|count| count.low >= 0).map(|count| Range { low, high: count.high })
    };
    match call.called_name()? {
        "getc" | "fgetc" | "getchar" | "getc_unlocked" => Some(Range { low: -1, high: 255 }),
        "fread" | "fwrite" => up_to(0, argument(2)),
        "read" | "write" | "recv" | "send" => up_to(-1, argument(2)),
        "strnlen" => up_to(0, argument(1)),
        // No object has more bytes than a signed number can say.
        "strlen" | "strspn" | "strcspn" => Some(Range { low: 0, high: (1 << 63) - 2 }),
        "sscanf" | "__isoc99_sscanf" | "__isoc23_sscanf" => Some(Range { low: -1, high: (1 << 31) - 1 }),
        _ => None,
    }
}
