//! A program's own allocators, as `[[allocator]]` of `leakscope.toml` tells
//! them: names of functions, and which argument means what.
//!
//! Arguments are counted from 0. What is said beside the functions holds for
//! all of them, what is said with one for that one alone.

use serde::Deserialize;

/// What one function of an allocator does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolFunction {
    /// As the object file has it.
    pub name: String,
    pub role: PoolRole,
    /// The pool keeps the block: it is no leak while the pool is there.
    pub is_kept: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PoolRole {
    Allocates {
        size: PoolSize,
        pool: Option<u32>,
        /// The argument that points to where the block is stored, where it is
        /// not the result.
        result: Option<u32>,
    },
    Resizes {
        pointer: u32,
        size: PoolSize,
        pool: Option<u32>,
    },
    /// A block and what hangs on it, or a pool and its blocks.
    Frees {
        pointer: u32,
    },
    /// All blocks of a pool.
    Clears {
        pool: u32,
    },
    Moves {
        pointer: u32,
        pool: u32,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolSize {
    Argument(u32),
    Product(u32, u32),
    Bytes(u64),
    /// That of the string which the block holds, with its end.
    String,
}

/// One `[[allocator]]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Allocator {
    #[serde(default)]
    alloc: Names,
    #[serde(default)]
    realloc: Names,
    #[serde(default)]
    free: Names,
    #[serde(default)]
    destroy: Names,
    #[serde(default)]
    clear: Names,
    #[serde(default, rename = "move")]
    moves: Names,
    size: Option<u32>,
    count: Option<u32>,
    bytes: Option<u64>,
    #[serde(default)]
    string: bool,
    pointer: Option<u32>,
    pool: Option<u32>,
    result: Option<u32>,
    keeps: Option<bool>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Names {
    One(Named),
    Several(Vec<Named>),
}

impl Default for Names {
    fn default() -> Names {
        Names::Several(Vec::new())
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Named {
    Name(String),
    With(With),
}

/// A function that has its arguments in other places.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct With {
    name: Option<String>,
    #[serde(default)]
    names: Vec<String>,
    size: Option<u32>,
    count: Option<u32>,
    bytes: Option<u64>,
    #[serde(default)]
    string: bool,
    pointer: Option<u32>,
    pool: Option<u32>,
    result: Option<u32>,
    /// The pool that is said of this function alone: a block that is resized
    /// stays in its pool.
    #[serde(skip)]
    own_pool: Option<u32>,
}

impl Allocator {
    /// Its functions, in the order in which they are told; or what is missing.
    pub fn functions(&self) -> Result<Vec<PoolFunction>, String> {
        let frees_each = !self.free.list().is_empty();
        let is_kept = self.keeps.unwrap_or(!frees_each && self.pool.is_some());
        let mut functions = Vec::new();
        let mut add = |names: &Names, role: &dyn Fn(&With) -> Result<PoolRole, &'static str>| {
            for named in names.list() {
                let with = self.with(named);
                for name in with.name.iter().chain(&with.names) {
                    let role = role(&with).map_err(|reason| format!("{name}: {reason}"))?;
                    functions.push(PoolFunction { name: name.clone(), role, is_kept });
                }
            }
            Ok::<(), String>(())
        };
        add(&self.alloc, &|with| {
            Ok(PoolRole::Allocates { size: with.amount()?, pool: with.pool, result: with.result })
        })?;
        add(&self.realloc, &|with| {
            Ok(PoolRole::Resizes {
                pointer: with.pointer.unwrap_or(0),
                size: with.amount()?,
                pool: with.own_pool,
            })
        })?;
        add(&self.free, &|with| Ok(PoolRole::Frees { pointer: with.pointer.unwrap_or(0) }))?;
        add(&self.destroy, &|with| Ok(PoolRole::Frees { pointer: with.pool.unwrap_or(0) }))?;
        add(&self.clear, &|with| Ok(PoolRole::Clears { pool: with.pool.unwrap_or(0) }))?;
        add(&self.moves, &|with| match (with.pointer, with.pool) {
            (Some(pointer), Some(pool)) => Ok(PoolRole::Moves { pointer, pool }),
            _ => Err("expected `pointer` and `pool`: which arguments are the block and its new pool"),
        })?;
        if functions.is_empty() {
            return Err("expected `alloc = \"NAME\"`, and `free` or `destroy`".to_owned());
        }
        Ok(functions)
    }

    /// What is said of a function, and of all.
    fn with(&self, named: &Named) -> With {
        let own = match named {
            Named::Name(name) => With {
                name: Some(name.clone()),
                names: Vec::new(),
                size: None,
                count: None,
                bytes: None,
                string: false,
                pointer: None,
                pool: None,
                result: None,
                own_pool: None,
            },
            Named::With(with) => with.clone(),
        };
        let has_size = own.size.is_some() || own.bytes.is_some() || own.string;
        let unless = |own: Option<u32>, all: Option<u32>| if has_size { own } else { own.or(all) };
        With {
            size: unless(own.size, self.size),
            count: unless(own.count, self.count),
            bytes: if has_size { own.bytes } else { self.bytes },
            string: own.string || !has_size && self.string,
            pointer: own.pointer.or(self.pointer),
            pool: own.pool.or(self.pool),
            result: own.result.or(self.result),
            own_pool: own.pool,
            ..own
        }
    }
}

impl Names {
    fn list(&self) -> &[Named] {
        match self {
            Names::One(one) => std::slice::from_ref(one),
            Names::Several(several) => several,
        }
    }
}

impl With {
    fn amount(&self) -> Result<PoolSize, &'static str> {
        match (self.size, self.count, self.bytes) {
            _ if self.string => Ok(PoolSize::String),
            (Some(size), Some(count), None) => Ok(PoolSize::Product(count, size)),
            (Some(size), None, None) => Ok(PoolSize::Argument(size)),
            (None, None, Some(bytes)) => Ok(PoolSize::Bytes(bytes)),
            _ => Err("expected one of `size` (which argument is the size), `bytes` (how many), `string`"),
        }
    }
}
