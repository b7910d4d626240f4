//! Tells the runtime of blocks that the program's own allocators hand out and
//! take back.
//!
//! A function that the module has tells where it returns, or before it takes a
//! block; it is not inlined, so that its frame leads to its caller. One that is
//! elsewhere is called through a small function of the module's that does the
//! same. Then a program's own function, called from another module, is told
//! twice; the runtime takes the later for the same block.
//!
//! Functions with a variable number of arguments are followed only where they
//! are the program's own.

use leakscope_core::{PoolFunction, PoolRole, PoolSize};
use llvm_sys::core::*;

use crate::builder::Builder;
use crate::ir::{Opcode, Value};
use crate::llvm::{Function, Kind, Module};

/// What the runtime takes for the size of a string.
const STRING: u64 = u64::MAX;

/// The inline functions of `leakscope.h`, which look at the frame around them.
const CLIENT: &str = "leakscope_pool_";

pub fn insert(module: &Module<'_>, pools: &[PoolFunction]) -> Result<(), String> {
    let builder = Builder::new(module);
    let functions: Vec<Function<'_>> = module.functions().collect();
    for &function in &functions {
        let calls = |at: Value<'_>| at.called_name().is_some_and(|name| name.starts_with(CLIENT));
        if function.instructions().any(calls) && !function.name().starts_with(CLIENT) {
            keep_frame(function);
        }
    }
    for &function in &functions {
        let Some(pool) = named(pools, function.name()) else { continue };
        let told = if !function.is_declaration() {
            function
        } else if function.value().users().next().is_some() && !is_variadic(function) {
            stand_in(module, &builder, function)
        } else {
            continue;
        };
        keep_frame(told);
        Teller { builder: &builder, function: told, pool }.tell()?;
    }
    Ok(())
}

/// The argument that a function frees, if it is one of a pool's.
pub fn freed(pools: &[PoolFunction], name: &str) -> Option<u32> {
    named(pools, name).and_then(|pool| match pool.role {
        PoolRole::Frees { pointer } => Some(pointer),
        _ => None,
    })
}

/// The function of a pool that has this name in the object file. A method is
/// named as `Pool::get` too.
fn named<'a>(pools: &'a [PoolFunction], name: &str) -> Option<&'a PoolFunction> {
    if pools.is_empty() {
        return None;
    }
    let plain = cpp_demangle::Symbol::new(name).ok().and_then(|symbol| {
        let options = cpp_demangle::DemangleOptions::new().no_params().no_return_type();
        symbol.demangle_with_options(&options).ok()
    });
    pools.iter().find(|pool| pool.name == name || Some(&pool.name) == plain.as_ref())
}

fn keep_frame(function: Function<'_>) {
    function.unset(Kind::named("alwaysinline"));
    function.set(Kind::named("noinline"));
}

struct Teller<'a, 'm> {
    builder: &'a Builder<'m>,
    function: Function<'m>,
    pool: &'a PoolFunction,
}

impl<'m> Teller<'_, 'm> {
    fn tell(&self) -> Result<(), String> {
        let builder = self.builder;
        let is_kept = builder.word(self.pool.is_kept.into());
        let start = self.function.entry().after_locals();
        match self.pool.role {
            PoolRole::Frees { pointer: argument } | PoolRole::Clears { pool: argument } => {
                let name = match self.pool.role {
                    PoolRole::Frees { .. } => "__leakscope_pool_freed",
                    _ => "__leakscope_pool_cleared",
                };
                builder.before(start);
                let argument = builder.as_word(self.argument(argument)?);
                self.call(name, &[argument, self.frame()]);
            }
            PoolRole::Moves { pointer, pool } => {
                builder.before(start);
                let (pointer, pool) = (self.argument(pointer)?, self.argument(pool)?);
                self.call("__leakscope_pool_moved", &[builder.as_word(pointer), builder.as_word(pool)]);
            }
            PoolRole::Allocates { size, pool, result } => {
                for at in self.returns() {
                    builder.before(at);
                    let block = match result {
                        Some(argument) => builder.load(builder.word_type(), self.argument(argument)?),
                        None => builder.as_word(self.result(at)?),
                    };
                    let arguments = [block, self.size(size)?, self.pool(pool)?, is_kept, self.frame()];
                    self.call("__leakscope_pool_allocated", &arguments);
                }
            }
            PoolRole::Resizes { pointer, size, pool } => {
                for at in self.returns() {
                    builder.before(at);
                    let old = builder.as_word(self.argument(pointer)?);
                    let block = builder.as_word(self.result(at)?);
                    let arguments = [old, block, self.size(size)?, self.pool(pool)?, is_kept, self.frame()];
                    self.call("__leakscope_pool_resized", &arguments);
                }
            }
        }
        Ok(())
    }

    fn returns(&self) -> Vec<Value<'m>> {
        let follows_tail_call = |at: Value<'m>| at.previous().is_some_and(Value::must_be_tail_call);
        let ends = self.function.instructions().filter(|at| at.is(Opcode::LLVMRet));
        ends.filter(|&at| !follows_tail_call(at)).collect()
    }

    fn result(&self, at: Value<'m>) -> Result<Value<'m>, String> {
        let value = at.operands().next().filter(|value| value.ty().is_pointer());
        value.ok_or_else(|| format!("{} of leakscope.toml returns no pointer: say `result`", self.pool.name))
    }

    fn argument(&self, index: u32) -> Result<Value<'m>, String> {
        let fits = |value: &Value<'m>| value.ty().is_pointer() || value.ty().is_any_integer();
        self.function.parameters().nth(index as usize).filter(fits).ok_or_else(|| {
            format!(
                "{} of leakscope.toml has no argument {index} that is a number or pointer",
                self.pool.name
            )
        })
    }

    fn size(&self, size: PoolSize) -> Result<Value<'m>, String> {
        let builder = self.builder;
        Ok(match size {
            PoolSize::Argument(size) => builder.as_word(self.argument(size)?),
            PoolSize::Product(count, size) => builder
                .multiply(builder.as_word(self.argument(count)?), builder.as_word(self.argument(size)?)),
            PoolSize::Bytes(bytes) => builder.word(bytes),
            PoolSize::String => builder.word(STRING),
        })
    }

    fn pool(&self, pool: Option<u32>) -> Result<Value<'m>, String> {
        pool.map_or(Ok(self.builder.word(0)), |pool| Ok(self.builder.as_word(self.argument(pool)?)))
    }

    /// The frame of the function itself.
    fn frame(&self) -> Value<'m> {
        let builder = self.builder;
        // SAFETY: a type of the module's context.
        let zero = unsafe { LLVMConstInt(LLVMInt32TypeInContext(builder.context()), 0, 0) };
        let frame = builder.call(builder.function(c"llvm.frameaddress.p0"), &[Value::new(zero)]);
        builder.as_word(frame)
    }

    fn call(&self, name: &str, arguments: &[Value<'m>]) {
        let types = vec![self.builder.word_type(); arguments.len()];
        self.builder.call(self.builder.runtime(name, self.builder.void_type(), &types), arguments);
    }
}

fn is_variadic(function: Function<'_>) -> bool {
    // SAFETY: the type of a live function.
    unsafe { LLVMIsFunctionVarArg(LLVMGlobalGetValueType(function.raw())) != 0 }
}

/// A function of the module's that calls another one, in whose place it is
/// called from now on.
fn stand_in<'m>(module: &'m Module<'_>, builder: &Builder<'m>, function: Function<'m>) -> Function<'m> {
    let own = module.define_like(&format!("leakscope.pool.{}", function.name()), function);
    builder.replace_uses(function, own);
    let arguments: Vec<Value<'m>> = own.parameters().collect();
    builder.begin(own);
    let result = builder.call(function.callee(), &arguments);
    builder.return_result(result);
    copy_attributes(function, own, result);
    own
}

/// How arguments are passed is part of what they are.
fn copy_attributes<'m>(from: Function<'m>, to: Function<'m>, call: Value<'m>) {
    // SAFETY: functions of one type, and a call of it.
    unsafe {
        for index in 0..=LLVMCountParams(from.raw()) {
            let count = LLVMGetAttributeCountAtIndex(from.raw(), index);
            let mut attributes = vec![std::ptr::null_mut(); count as usize];
            LLVMGetAttributesAtIndex(from.raw(), index, attributes.as_mut_ptr());
            for attribute in attributes {
                LLVMAddAttributeAtIndex(to.raw(), index, attribute);
                LLVMAddCallSiteAttribute(call.raw, index, attribute);
            }
        }
        LLVMSetFunctionCallConv(to.raw(), LLVMGetFunctionCallConv(from.raw()));
        LLVMSetInstructionCallConv(call.raw, LLVMGetFunctionCallConv(from.raw()));
    }
}
