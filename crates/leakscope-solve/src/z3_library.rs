//! Z3's C interface, as much of it as we call, loaded when it is first needed:
//! leakscope runs without Z3 until somebody wants to solve something.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;

use crate::solver::SolveError;

pub type Context = *mut c_void;
pub type Ast = *mut c_void;
pub type Sort = *mut c_void;
pub type Solver = *mut c_void;
pub type Model = *mut c_void;
pub type Params = *mut c_void;
pub type Symbol = *mut c_void;
pub type Config = *mut c_void;

type ErrorHandler = extern "C" fn(Context, c_int);

/// The names that the library can have, the usual one first.
const NAMES: [&CStr; 3] = [c"libz3.so.4", c"libz3.so.4.8", c"libz3.so"];

macro_rules! library {
    ($($name:ident: fn($($argument:ty),*) $(-> $result:ty)?;)*) => {
        /// Functions of the library, under their names without `Z3_`.
        #[allow(non_snake_case)]
        pub struct Library {
            $(pub $name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
        }

        impl Library {
            fn load(handle: *mut c_void) -> Result<Library, String> {
                Ok(Library {
                    $($name: {
                        let symbol = find(handle, concat!("Z3_", stringify!($name)))?;
                        // SAFETY: the library's function of this name has this type.
                        unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($argument),*) $(-> $result)?>(symbol) }
                    },)*
                })
            }
        }
    };
}

library! {
    mk_config: fn() -> Config;
    del_config: fn(Config);
    mk_context: fn(Config) -> Context;
    del_context: fn(Context);
    interrupt: fn(Context);
    set_error_handler: fn(Context, Option<ErrorHandler>);
    get_error_code: fn(Context) -> c_int;
    get_error_msg: fn(Context, c_int) -> *const c_char;
    mk_string_symbol: fn(Context, *const c_char) -> Symbol;
    mk_bv_sort: fn(Context, c_uint) -> Sort;
    mk_const: fn(Context, Symbol, Sort) -> Ast;
    mk_unsigned_int64: fn(Context, u64, Sort) -> Ast;
    mk_eq: fn(Context, Ast, Ast) -> Ast;
    mk_ite: fn(Context, Ast, Ast, Ast) -> Ast;
    mk_bvnot: fn(Context, Ast) -> Ast;
    mk_bvadd: fn(Context, Ast, Ast) -> Ast;
    mk_bvsub: fn(Context, Ast, Ast) -> Ast;
    mk_bvmul: fn(Context, Ast, Ast) -> Ast;
    mk_bvudiv: fn(Context, Ast, Ast) -> Ast;
    mk_bvsdiv: fn(Context, Ast, Ast) -> Ast;
    mk_bvurem: fn(Context, Ast, Ast) -> Ast;
    mk_bvsrem: fn(Context, Ast, Ast) -> Ast;
    mk_bvand: fn(Context, Ast, Ast) -> Ast;
    mk_bvor: fn(Context, Ast, Ast) -> Ast;
    mk_bvxor: fn(Context, Ast, Ast) -> Ast;
    mk_bvshl: fn(Context, Ast, Ast) -> Ast;
    mk_bvlshr: fn(Context, Ast, Ast) -> Ast;
    mk_bvashr: fn(Context, Ast, Ast) -> Ast;
    mk_bvult: fn(Context, Ast, Ast) -> Ast;
    mk_bvule: fn(Context, Ast, Ast) -> Ast;
    mk_bvslt: fn(Context, Ast, Ast) -> Ast;
    mk_bvsle: fn(Context, Ast, Ast) -> Ast;
    mk_zero_ext: fn(Context, c_uint, Ast) -> Ast;
    mk_sign_ext: fn(Context, c_uint, Ast) -> Ast;
    mk_extract: fn(Context, c_uint, c_uint, Ast) -> Ast;
    mk_concat: fn(Context, Ast, Ast) -> Ast;
    mk_params: fn(Context) -> Params;
    params_inc_ref: fn(Context, Params);
    params_dec_ref: fn(Context, Params);
    params_set_bool: fn(Context, Params, Symbol, bool);
    params_set_uint: fn(Context, Params, Symbol, c_uint);
    mk_solver_for_logic: fn(Context, Symbol) -> Solver;
    solver_inc_ref: fn(Context, Solver);
    solver_dec_ref: fn(Context, Solver);
    solver_set_params: fn(Context, Solver, Params);
    solver_push: fn(Context, Solver);
    solver_pop: fn(Context, Solver, c_uint);
    solver_assert: fn(Context, Solver, Ast);
    solver_check: fn(Context, Solver) -> c_int;
    solver_get_model: fn(Context, Solver) -> Model;
    solver_get_reason_unknown: fn(Context, Solver) -> *const c_char;
    model_inc_ref: fn(Context, Model);
    model_dec_ref: fn(Context, Model);
    model_eval: fn(Context, Model, Ast, bool, *mut Ast) -> bool;
    get_numeral_uint64: fn(Context, Ast, *mut u64) -> bool;
}

impl Library {
    /// The library, loaded once.
    pub fn get() -> Result<&'static Library, SolveError> {
        static LIBRARY: OnceLock<Result<Library, String>> = OnceLock::new();
        LIBRARY.get_or_init(open).as_ref().map_err(|reason| SolveError::NoLibrary(reason.clone()))
    }
}

fn open() -> Result<Library, String> {
    for name in NAMES {
        // SAFETY: a name that ends with a zero; the library's start code is its own.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if !handle.is_null() {
            return Library::load(handle);
        }
    }
    Err(format!("{} cannot be loaded", NAMES[0].to_string_lossy()))
}

fn find(handle: *mut c_void, name: &str) -> Result<*mut c_void, String> {
    let zero_ended = CString::new(name).expect("no zero in a name");
    // SAFETY: the handle is open, the name ends with a zero.
    let symbol = unsafe { libc::dlsym(handle, zero_ended.as_ptr()) };
    if symbol.is_null() { Err(format!("it has no {name}")) } else { Ok(symbol) }
}
