//! What holds forgotten blocks (`evidence.held_by`): each block of a program
//! has its own size, by which its holder is told.

mod support;

use std::collections::BTreeMap;

use support::Folder;

const PROGRAM: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct item { int key; struct item *next; char *name; };
struct opaque;
struct opaque *make_opaque(void);

struct item *head;
static struct { long pad; struct item *buckets[4]; union { long number; void *any; } u; } table;
struct item *array;
static __thread char *scratch;
static char **names;
void *untyped;
struct opaque *hidden;
struct flexible { int count; char *rows[]; } *flexible;
static char *grid[3][5];
static pthread_key_t key;
char *interior;
struct item *deep;

static struct item *item(struct item *next, size_t bytes) {
    struct item *made = calloc(1, sizeof *made);
    made->name = malloc(bytes);
    made->next = next;
    return made;
}

__attribute__((noinline)) static char *lasting(void) {
    static char *text;
    return text = malloc(101);
}

static void in_frame(int depth) {
    struct item local[2] = {{0}};
    local[1].name = malloc(102);
    if (depth == 0)
        exit(0);
    in_frame(depth - 1);
    puts(local[1].name);
}

static void *in_thread(void *barrier) {
    scratch = malloc(120);
    pthread_setspecific(key, malloc(121));
    pthread_barrier_wait(barrier);
    for (;;)
        pthread_barrier_wait(barrier);
}

int main(void) {
    static pthread_barrier_t barrier;
    pthread_t thread;
    head = item(head, 200);
    head = item(head, 201);
    head = item(head, 202);
    table.buckets[2] = item(NULL, 203);
    table.u.any = malloc(103);
    array = calloc(8, sizeof *array);
    array[3].name = malloc(104);
    scratch = malloc(105);
    names = calloc(4, sizeof *names);
    names[3] = malloc(106);
    untyped = calloc(1, 64);
    ((void **)untyped)[5] = malloc(107);
    flexible = calloc(1, 80);
    flexible->rows[4] = malloc(108);
    lasting();
    pthread_key_create(&key, NULL);
    pthread_setspecific(key, malloc(109));
    void **mapped = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mapped[7] = malloc(110);
    interior = (char *)malloc(111) + 20;
    hidden = make_opaque();
    grid[1][3] = malloc(113);
    deep = item(deep, 114);
    for (int i = 0; i < 39; i++)
        deep = item(deep, 30);
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_create(&thread, NULL, in_thread, &barrier);
    pthread_barrier_wait(&barrier);
    in_frame(0);
}
"#;

const OPAQUE: &str = "\
#include <stdlib.h>
struct opaque { long pad[3]; struct opaque *child; };
struct opaque *make_opaque(void) {
    struct opaque *made = calloc(1, sizeof *made);
    made->child = malloc(112);
    return made;
}
";

const CXX: &str = r#"
#include <cstdlib>
#include <map>
#include <memory>
#include <vector>

struct Base { long pad; char *text; };
struct Derived : Base { char *more = nullptr; };

namespace store {
struct Registry { std::vector<char *> entries; static Registry *instance; };
Registry *Registry::instance;
static Derived derived;
}

__attribute__((noinline)) static std::unique_ptr<char[]> &owner() {
    static auto *held = new std::unique_ptr<char[]>(new char[131]);
    return *held;
}

int main() {
    store::Registry::instance = new store::Registry;
    store::Registry::instance->entries.reserve(4);
    store::Registry::instance->entries.push_back(static_cast<char *>(malloc(132)));
    store::derived.text = static_cast<char *>(malloc(133));
    store::derived.more = static_cast<char *>(malloc(134));
    owner();
    _Exit(0);
}
"#;

/// Texts by the size of the block.
fn held(folder: &Folder, options: &str) -> BTreeMap<u64, String> {
    let ran = folder.run(&format!("run --format json {options}"));
    let json = ran.json();
    let findings = json["findings"].as_array().expect("findings").iter();
    let text = |finding: &serde_json::Value| {
        let first = &finding["evidence"]["held_by"][0];
        assert_eq!(first["path"].as_array().is_none(), first.is_null(), "{first}");
        first["text"].as_str().unwrap_or_default().to_owned()
    };
    let forgotten = findings.filter(|finding| finding["kind"] == "forgotten");
    forgotten.map(|finding| (finding["bytes"].as_u64().expect("bytes"), text(finding))).collect()
}

fn check(found: &BTreeMap<u64, String>, expected: &[(u64, &str)], which: &str) {
    for (bytes, text) in expected {
        let found = found.get(bytes).map_or("not forgotten", String::as_str);
        assert_eq!(found, *text, "{which}, {bytes} bytes");
    }
}

const EVERYWHERE: &[(u64, &str)] = &[
    (101, "static text of lasting in held.c:33"),
    (103, "static table.u.any in held.c:13"),
    (104, "global array in held.c:14 -> [3].name"),
    (105, "thread-local scratch in held.c:15"),
    (106, "static names in held.c:16 -> [3]"),
    (107, "global untyped in held.c:17 -> [5]"),
    (108, "global flexible in held.c:19 -> .rows[4]"),
    (109, "thread-specific data of the main thread"),
    (110, "memory that the program mapped"),
    (111, "global interior in held.c:22"),
    (112, "global hidden in held.c:18 -> .child"),
    (113, "static grid[1][3] in held.c:20"),
    (114, "global deep in held.c:23 -> .next (12 times) -> … 28 more"),
    (120, "thread-local scratch in held.c:15 (thread 2)"),
    (121, "thread-specific data of thread 2"),
    (200, "global head in held.c:12 -> .next (2 times) -> .name"),
    (202, "global head in held.c:12 -> .name"),
    (203, "static table.buckets[2] in held.c:13 -> .name"),
    (192, "global array in held.c:14"),
];

#[test]
fn holders_are_named_as_in_the_source() {
    let folder = Folder::with(&[("held.c", PROGRAM), ("opaque.c", OPAQUE)]);
    folder.shell("gcc -g -pthread held.c opaque.c -o held");
    let frame = [(102, "local local[1].name of in_frame in held.c:38")];
    let engines = ["--engine preload ./held", "--engine valgrind ./held"];
    for options in ["held.c opaque.c", "--cflag=-O2 held.c opaque.c"].into_iter().chain(engines) {
        let found = held(&folder, options);
        check(&found, EVERYWHERE, options);
        if !options.contains("-O2") {
            check(&found, &frame, options);
        }
    }
    folder.shell("gcc -pthread held.c opaque.c -o held");
    let found = held(&folder, "--engine preload ./held");
    check(&found, &[(111, "global interior in held"), (112, "global hidden in held -> [3]")], "symbols");
    let ran = folder.run("run --show-forgotten --max 0 held.c opaque.c");
    let shown = "\n  held by       global hidden in held.c:18 -> .child\n";
    assert!(ran.stderr.contains(shown), "{}", ran.stderr);
}

#[test]
fn holders_in_cxx() {
    let folder = Folder::with(&[("held.cc", CXX)]);
    for options in ["held.cc", "--cflag=-O2 held.cc"] {
        check(
            &held(&folder, options),
            &[
                (131, "static held of owner() in held.cc:17 -> ._M_t._M_t._M_head_impl"),
                (132, "global store::Registry::instance in held.cc:11 -> .entries._M_impl._M_start -> [0]"),
                (133, "static store::derived.text in held.cc:13"),
                (134, "static store::derived.more in held.cc:13"),
            ],
            options,
        );
    }
}
