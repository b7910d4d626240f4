//! A small library that stands in for functions of the program's own allocators
//! where the heap is preloaded. It reaches those that are called by name across
//! libraries: a program's calls of its own functions it does not see.
//!
//! Arguments are passed on as they come in registers, at most six.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};
use leakscope_core::{PoolFunction, PoolRole, PoolSize};

use crate::runtime::{cache_folder, cannot_write};

const COMPILER: &str = "clang-19";

const HEAD: &str = "\
typedef unsigned long word;
typedef word function(word, word, word, word, word, word);
void *dlsym(void *, const char *);
void __leakscope_pool_allocated(word, word, word, word, word);
void __leakscope_pool_resized(word, word, word, word, word, word);
void __leakscope_pool_freed(word, word);
void __leakscope_pool_cleared(word, word);
void __leakscope_pool_moved(word, word);
#define NEXT(name) (real ? real : (real = (function *)dlsym((void *)-1l, name)))
#define FRAME (word)__builtin_frame_address(0)
";

/// The library for these functions, made if it is not in the cache; `None` if
/// there is nothing that it could stand in for.
pub fn library(pools: &[PoolFunction]) -> Result<Option<PathBuf>> {
    let Some(text) = source(pools) else { return Ok(None) };
    let key = leakscope_capture::store::hash(&[text.as_bytes()]);
    let path = cache_folder()?.join(format!("pools-{key}.so"));
    if path.exists() {
        return Ok(Some(path));
    }
    let folder = tempfile::tempdir_in(cache_folder()?).with_context(|| cannot_write(&path))?;
    let [source, made] = ["pools.c", "pools.so"].map(|name| folder.path().join(name));
    fs::write(&source, text).with_context(|| cannot_write(&source))?;
    let output = Command::new(COMPILER)
        .args(["-w", "-shared", "-fPIC", "-O1", "-fno-builtin", "-fno-omit-frame-pointer", "-o"])
        .arg(&made)
        .arg(&source)
        .output()
        .with_context(|| format!("cannot run {COMPILER}, which [[allocator]] needs here: install it"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let line = said.lines().find(|line| line.contains("error")).unwrap_or_default();
        bail!("cannot stand in for the functions of leakscope.toml: {line}");
    }
    fs::rename(&made, &path).with_context(|| cannot_write(&path))?;
    Ok(Some(path))
}

/// Of functions that have a name in C.
fn source(pools: &[PoolFunction]) -> Option<String> {
    let is_name = |name: &str| name.chars().all(|it| it.is_ascii_alphanumeric() || it == '_');
    let mut text = HEAD.to_owned();
    let mut any = false;
    for pool in pools.iter().filter(|pool| is_name(&pool.name)) {
        any = true;
        let name = &pool.name;
        let kept = u8::from(pool.is_kept);
        let call = format!("NEXT(\"{name}\")(a0, a1, a2, a3, a4, a5)");
        let argument = |index: Option<u32>| index.map_or("0".to_owned(), |index| format!("a{index}"));
        let body = match pool.role {
            PoolRole::Allocates { size, pool, result } => {
                let block = result.map_or("r".to_owned(), |result| format!("*(word *)a{result}"));
                let (size, pool) = (size_text(size), argument(pool));
                format!(
                    "word r = {call}; __leakscope_pool_allocated({block}, {size}, {pool}, {kept}, FRAME); return r;"
                )
            }
            PoolRole::Resizes { pointer, size, pool } => {
                let (size, pool) = (size_text(size), argument(pool));
                format!(
                    "word r = {call}; __leakscope_pool_resized(a{pointer}, r, {size}, {pool}, {kept}, FRAME); return r;"
                )
            }
            PoolRole::Frees { pointer } => {
                format!("__leakscope_pool_freed(a{pointer}, FRAME); return {call};")
            }
            PoolRole::Clears { pool } => format!("__leakscope_pool_cleared(a{pool}, FRAME); return {call};"),
            PoolRole::Moves { pointer, pool } => {
                format!("__leakscope_pool_moved(a{pointer}, a{pool}); return {call};")
            }
        };
        let _ = writeln!(
            text,
            "word {name}(word a0, word a1, word a2, word a3, word a4, word a5) {{ static function *real; {body} }}"
        );
    }
    any.then_some(text)
}

fn size_text(size: PoolSize) -> String {
    match size {
        PoolSize::Argument(size) => format!("a{size}"),
        PoolSize::Product(count, size) => format!("a{count} * a{size}"),
        PoolSize::Bytes(bytes) => bytes.to_string(),
        PoolSize::String => "-1ul".to_owned(),
    }
}
