//! Allocators of the program's own, told by `leakscope.toml`, where they are
//! in a library; and what is said of a file that is not as it should be. The
//! programs `lp_pool_*` in `tests/programs` have the rest.

mod support;

use serde_json::Value;
use support::{Folder, first_frame};

const LIBRARY: &str = "
#include <stdlib.h>
static char *memory;
static size_t used;
void *slab_take(size_t size) {
    if (memory == NULL) memory = malloc(1 << 16);
    void *block = memory + used;
    used += (size + 15) / 16 * 16;
    return block;
}
void slab_give(void *block) { (void)block; }
";

const PROGRAM: &str = "
#include <stddef.h>
void *slab_take(size_t size);
void slab_give(void *block);
static char *kept;
int main(void) {
    slab_give(slab_take(100));
    kept = slab_take(10);
    char *dropped = slab_take(20);
    dropped[0] = 1;
    dropped = kept;
    return dropped == NULL;
}
";

const TABLE: &str = "[[allocator]]\nalloc = \"slab_take\"\nsize = 0\nfree = \"slab_give\"\n";

/// Kind, bytes and line of the program's own findings.
fn found(report: &str) -> Vec<(String, u64, String)> {
    let report: Value = serde_json::from_str(report).expect("JSON");
    let findings = report["findings"].as_array().expect("findings");
    let told = |finding: &Value| {
        let kind = finding["kind"].as_str().expect("a kind").to_owned();
        (kind, finding["bytes"].as_u64().expect("bytes"), first_frame(&finding["allocated"]))
    };
    findings.iter().map(told).collect()
}

#[test]
fn a_librarys_pool_is_followed_by_every_engine() {
    let folder = Folder::with(&[("slab.c", LIBRARY), ("program.c", PROGRAM), ("leakscope.toml", TABLE)]);
    folder.shell("cc -g -shared -fPIC -o libslab.so slab.c");
    let built = folder.run("build --quiet -- cc -g program.c -o program -L. -lslab -Wl,-rpath,.");
    assert_eq!(built.code, 0, "{built:?}");
    for engine in ["track", "preload", "valgrind"] {
        let ran = folder.run(&format!("run --engine {engine} --format json -o {engine}.json ./program"));
        assert_eq!(ran.code, 23, "{engine}: {ran:?}");
        let expected = [("lost", 20, "program.c:9"), ("forgotten", 10, "program.c:8")]
            .map(|(kind, bytes, place)| (kind.to_owned(), bytes, place.to_owned()));
        assert_eq!(found(&folder.read(&format!("{engine}.json"))), expected, "{engine}");
    }
}

#[test]
fn a_change_of_the_table_is_a_change_of_the_program() {
    let folder = Folder::with(&[("slab.c", LIBRARY), ("program.c", PROGRAM)]);
    let built = folder.run("build --quiet -- cc -g program.c slab.c -o program");
    assert_eq!(built.code, 0, "{built:?}");
    assert_eq!(folder.run("run -q ./program").code, 0);
    folder.write("leakscope.toml", TABLE);
    assert_eq!(folder.run("run -q ./program").code, 23);
}

#[test]
fn what_is_missing_is_said() {
    let check = |table: &str, expected: &str| {
        let folder = Folder::with(&[("leakscope.toml", table), ("a.c", "int main(void) { return 0; }\n")]);
        for command in ["run a.c", "check a.c"] {
            let ran = folder.run(command);
            assert_eq!((ran.code, ran.stderr.contains(expected)), (2, true), "{command}: {ran:?}");
        }
    };
    check("[[allocator]]\nsize = 1\n", "leakscope.toml: [[allocator]]: expected `alloc = \"NAME\"`");
    check("[[allocator]]\nalloc = \"get\"\n", "get: expected one of `size`");
    check("[[allocator]]\nalloc = \"get\"\nsize = 0\nmove = \"m\"\n", "m: expected `pointer` and `pool`");
    check("[[allocator]]\nalloc = \"get\"\nsizes = 0\n", "unknown field `sizes`");
    check("[[alocator]]\nalloc = \"get\"\n", "unknown field `alocator`");
}

#[test]
fn an_argument_that_is_not_there_is_said() {
    let folder = Folder::with(&[
        ("leakscope.toml", "[[allocator]]\nalloc = \"get\"\nsize = 3\n"),
        (
            "a.c",
            "static char m[9];\nvoid *get(int n) { return m + n; }\nint main(void) { return !get(0); }\n",
        ),
    ]);
    let ran = folder.run("run a.c");
    assert!(ran.stderr.contains("get of leakscope.toml has no argument 3"), "{ran:?}");
}

#[test]
fn a_size_that_is_none_harms_nothing() {
    let take = "#include <stdlib.h>\nvoid *take(size_t size, size_t flags) { return flags ? malloc(size) : NULL; }\n";
    let program = "#include <stdio.h>\nvoid *take(size_t size, size_t flags);\n\
        int main(void) { char *got = take(9, 1UL << 45); got[3] = 'x'; return puts(got + 3) < 0; }\n";
    let table = "[[allocator]]\nalloc = \"take\"\nsize = 1\n";
    let folder = Folder::with(&[("take.c", take), ("program.c", program), ("leakscope.toml", table)]);
    folder.shell("cc -g -shared -fPIC -o libtake.so take.c");
    let built = folder.run("build --quiet -- cc -g program.c -o program -L. -ltake -Wl,-rpath,.");
    assert_eq!(built.code, 0, "{built:?}");
    for engine in ["track", "preload", "valgrind"] {
        let ran = folder.run(&format!("run --fail-on none --engine {engine} ./program"));
        assert_eq!((ran.code, &*ran.stdout), (0, "x\n"), "{engine}: {ran:?}");
    }
}
