//! Small sources with the names that they expect on the line: `// store:` is
//! followed by the slots of all stores of words, `// free:` by the fields of what
//! the freed pointer points to, `// fields:` by those of what is
//! cleared by `memset`. A question mark stands for none.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, Stdio};

use super::{FieldName, Names};
use crate::ir::{Opcode, Value};
use crate::llvm::{Context, Module};

/// Bitcode as the capture makes it.
fn capture(language: &str, source: &str) -> Vec<u8> {
    let flags = ["-w", "-g", "-O1", "-Xclang", "-disable-llvm-passes", "-emit-llvm", "-c", "-o", "-", "-x"];
    let mut child = Command::new("clang-19")
        .args([&flags[..], &[language, "-"]].concat())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("clang-19");
    child.stdin.take().unwrap().write_all(source.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "clang-19: {}", output.status);
    output.stdout
}

fn check(language: &str, source: &str) {
    let expected: Vec<String> = (1..)
        .zip(source.lines())
        .filter_map(|(line, text)| Some(format!("{line}: {}", text.split_once("// ")?.1.trim())))
        .collect();
    assert!(!expected.is_empty());
    let context = Context::new();
    let module = Module::read(&context, &capture(language, source)).unwrap();
    let mut found: BTreeMap<u32, String> = BTreeMap::new();
    for function in module.functions().filter(|function| !function.is_declaration()) {
        let names = Names::new(&module, function);
        for at in function.instructions() {
            let Some(line) = at.location().map(|location| location.line()).filter(|&line| line > 0) else {
                continue;
            };
            if let Some((what, text)) = described(&names, at) {
                let said = found.entry(line).or_insert_with(|| format!("{line}: {what}"));
                if !said.ends_with(':') {
                    said.push(';');
                }
                *said += &format!(" {text}");
            }
        }
    }
    let is_expected =
        |said: &String| expected.iter().any(|line| line.split(':').next() == said.split(':').next());
    let found: Vec<String> = found.into_values().filter(is_expected).collect();
    assert_eq!(found.join("\n"), expected.join("\n"));
}

/// What there is to say about an instruction.
fn described<'m>(names: &Names<'m>, at: Value<'m>) -> Option<(&'static str, String)> {
    if at.is(Opcode::LLVMStore) {
        let stored = at.operand(0).ty();
        let text = names.slot(at.operand(1)).unwrap_or("?".to_owned());
        return (stored.is_pointer() || stored.is_integer(64)).then_some(("store:", text));
    }
    let first = at.arguments().next()?;
    match at.called_name()? {
        "free" | "_ZdlPvm" | "_ZdlPv" | "_ZdaPvm" | "_ZdaPv" => {
            let fields = listed(&names.pointee_fields(first));
            Some(("free:", if fields.is_empty() { "?".to_owned() } else { fields.trim_start().to_owned() }))
        }
        name if name.starts_with("llvm.memset") => {
            Some(("fields:", listed(&names.fields(first)).trim_start().to_owned()))
        }
        _ => None,
    }
}

#[test]
fn elements() {
    let field = |count, text: &str| FieldName { offset: 8, count, stride: 16, text: text.to_owned() };
    let [one, three] = [field(1, "s.name"), field(3, "s.list[].name")];
    let texts = |field: &FieldName| [0, 8, 16, 24, 40, 56].map(|at| field.at(at).unwrap_or_default());
    assert_eq!(texts(&one), ["", "s.name", "", "", "", ""]);
    assert_eq!(texts(&three), ["", "s.list[0].name", "", "s.list[1].name", "s.list[2].name", ""]);
}

fn listed(fields: &[FieldName]) -> String {
    let field = |field: &FieldName| {
        let FieldName { offset, count, stride, text } = field;
        match count {
            1 => format!(" {offset} {text}"),
            &u32::MAX => format!(" {offset}+{stride}* {text}"),
            _ => format!(" {offset}+{stride}*{count} {text}"),
        }
    };
    fields.iter().map(field).collect()
}

#[test]
fn variables() {
    check(
        "c",
        r"
char *global; static char *hidden; _Thread_local char *each;
struct pair { char *first, *second; } pair, *pairs[4];
char *list[8];
void f(char *parameter, char **out, char ***far, unsigned long word, int n) {
    char *local = parameter; // store: local
    static char *kept;
    char *volatile changing;
    char *many[n];
    char *few[2] = {0, 0};
    parameter = local; // store: parameter
    global = hidden = local; // store: hidden; global
    each = kept = 0; // store: kept; each
    changing = 0; // store: changing
    *out = 0; // store: *out
    **far = 0; // store: **far
    (*far)[2] = 0; // store: (*far)[2]
    word = 0; // store: word
    *(char **)word = 0; // store: *word
    union { long number; char *text; } either;
    either.text = 0; // store: either.text
    pair.first = pair.second = 0; // store: pair.second; pair.first
    list[0] = list[3] = 0; // store: list[3]; list[0]
    pairs[1]->second = 0; // store: pairs[1]->second
    many[0] = many[n - 1] = few[1] = few[0] = 0; // store: few[0]; few[1]; many[n - 1]; many[0]
}",
    );
}

#[test]
fn members() {
    check(
        "c",
        r"
typedef struct conn { int fd; char *addr; struct conn *next; } CONN;
typedef struct { const char *name; CONN *conns[4]; } TABLE;
struct wide {
    char *grid[3][2];
    struct { char *key; long value; } entries[5];
    union { char *text; long number; struct { int kind; char *deep; } arm; };
    struct { char *a; struct { char *b; }; } inner;
    unsigned bits : 3;
    char *after;
};
void f(CONN *c, TABLE *table, struct wide *w, struct wide s, const TABLE *const *tables, int i, int j) {
    c->addr = 0; // store: c->addr
    c->next->next->addr = 0; // store: c->next->next->addr
    (*c).next = 0; // store: c->next
    c[1].addr = c[i].addr = 0; // store: c[i].addr; c[1].addr
    table->name = 0; // store: table->name
    table->conns[i]->addr = 0; // store: table->conns[i]->addr
    table->conns[i + 1] = table->conns[3] = table->conns[0] = 0; // store: table->conns[0]; table->conns[3]; table->conns[i + 1]
    tables[i]->conns[j]->next = 0; // store: tables[i]->conns[j]->next
    w->grid[i][1] = w->grid[0][0] = w->grid[2][j] = 0; // store: w->grid[2][j]; w->grid[0][0]; w->grid[i][1]
    w->entries[i].key = w->entries[4].key = 0; // store: w->entries[4].key; w->entries[i].key
    w->text = w->arm.deep = 0; // store: w->arm.deep; w->text
    w->inner.a = w->inner.b = w->after = 0; // store: w->after; w->inner.b; w->inner.a
    s.after = s.inner.b = 0; // store: s.inner.b; s.after
}",
    );
}

#[test]
fn arms_of_unions() {
    check(
        "c",
        r"
struct list { struct list *next; };
typedef struct { char *text; } LEAF;
struct node { int kind; union { struct list *list; LEAF *leaf; struct node *node; void *any; } u;
    union { struct { int kind; char *name; } small; struct { int count; char **names; long size; } large; } v; };
LEAF *make(void);
void f(struct node *n, struct node *m, LEAF *leaf, struct list *list) {
    n->u.list = list; // store: n->u.list
    n->u.leaf = leaf; // store: n->u.leaf
    n->u.leaf = make(); // store: n->u.leaf
    LEAF here;
    n->u.leaf = &here; // store: n->u.leaf
    n->u.leaf->text = 0; // store: n->u.leaf->text
    n->u.node->u.list->next = 0; // store: n->u.node->u.list->next
    n->u.node->u.leaf = m->u.leaf = leaf; // store: m->u.leaf; n->u.node->u.leaf
    leaf = m->u.leaf; // store: leaf
    n->v.small.name = n->v.large.names[1] = 0; // store: n->v.large.names[1]; n->v.small.name
}",
    );
}

#[test]
fn indices() {
    check(
        "c",
        r"
struct heap { char **items; int used; };
char *table[16];
int hash(char *);
void f(struct heap *h, char **p, int i, unsigned char c, long n) {
    table[c] = 0; // store: table[c]
    table[i - 1] = table[i + n] = 0; // store: table[i + n]; table[i - 1]
    table[hash(*p)] = table[i * 2] = 0; // store: table[...]; table[...]
    h->items[h->used++] = 0; // store: h->items[h->used]
    h->items[--h->used] = 0; // store: h->items[h->used - 1]
    *p++ = 0; // store: p; *p
    p[0] = 0; // store: p[0]
    *++p = 0; // store: p; p[1]
    *(p + i) = p[-1] = *(p - i) = 0; // store: p[-i]; p[-1]; p[i]
    (&table[2])[i] = *(table + i) = 0; // store: table[i]; ?
}",
    );
}

#[test]
fn casts() {
    check(
        "c",
        r"
#include <stdint.h>
#include <stdlib.h>
struct base { int kind; char *own; };
struct text { struct base base; char *bytes; };
struct other { long number; char *mine, *yours; };
struct empty;
struct text *find(int);
void *any(void);
void f(void *context, struct base *b, struct empty *e, char *buffer, uintptr_t *words) {
    ((struct text *)context)->bytes = 0; // store: context->bytes
    ((struct text *)b)->bytes = 0; // store: b->bytes
    *(void **)context = 0; // store: *context
    ((void **)context)[1] = 0; // store: context[1]
    *(void **)e = 0; // store: *e
    *(char **)(buffer + 8) = 0; // store: buffer[8]
    words[2] = (uintptr_t)buffer; // store: words[2]
    find(1)->bytes = 0; // store: find(...)->bytes
    ((struct text *)any())->bytes = 0; // store: any()->bytes
    ((struct other *)b)->mine = 0; // store: b->mine
    struct text *made;
    (made = malloc(16))->bytes = 0; // store: made; made->bytes
}",
    );
}

#[test]
fn freed_objects() {
    check(
        "c",
        r"
#include <stdlib.h>
#include <string.h>
typedef struct hashbox { int hnum; char *hname; struct hashbox *next; void (*visit)(void); } HASHBOX;
struct open { int count; char *names[]; };
struct set { HASHBOX boxes[3]; char *grid[2][2]; union { long n; char *s; void *v; }; };
void f(HASHBOX *hptr, HASHBOX **table, struct open *o, struct set *s, void *any, char *text, int i) {
    free(hptr); // free: 8 hptr->hname 16 hptr->next 8+32* hptr[].hname 16+32* hptr[].next
    free(table); // free: 0+8* table[]
    free(table[i]); // free: 8 table[i]->hname 16 table[i]->next 8+32* table[i][].hname 16+32* table[i][].next
    free(o); // free: 8+8* o->names[]
    free(any); // free: ?
    free(text); // free: ?
    free(malloc(3)); // free: ?
    free((void *)hptr->hname); // free: ?
    struct set local;
    char *names[7];
    memset(&local, 0, sizeof local); // fields: 8+32*3 local.boxes[].hname 16+32*3 local.boxes[].next 96+16*2 local.grid[][0] 104+16*2 local.grid[][1] 128 local.s
    memset(names, 0, sizeof names); // fields: 0+8*7 names[]
    memset(&names[2], 0, 8); // fields: 0 names[2]
    memset(&local.boxes[1], 0, 24); // fields: 8 local.boxes[1].hname 16 local.boxes[1].next
    memset(&s->boxes[i], 0, 24); // fields: 8 s->boxes[i].hname 16 s->boxes[i].next
}",
    );
}

#[test]
fn classes() {
    check(
        "c++",
        r"
struct Named { virtual ~Named() {} char *name; };
struct Counted { long count; char *tag; };
struct Shared { char *shared; };
struct Node : Named, Counted, virtual Shared {
    Node *left, *right;
    static Node *root;
    char *&alias;
    Node(char *&alias) : alias(alias) {}
    void set(char *value, Node &other, Node &&moved) {
        name = value; // store: this->name
        tag = left->tag = 0; // store: this->left->tag; this->tag
        root = this; // store: root
        shared = 0; // store: ?
        alias = 0; // store: this->alias
        other.right->left = 0; // store: other.right->left
        moved.left = 0; // store: moved.left
        Counted *counted = this;
        static_cast<Node *>(counted)->left = 0; // store: ?
    }
};
Node *Node::root;
struct Guarded { char *held; ~Guarded() {} };
struct Table { char *&operator[](int at) { return items[at]; } char **items; };
struct Keeper {
    Table all;
    void keep(int key) {
        all[key] = 0; // store: this->all[key]
    }
};
void keep(Keeper &keeper) { keeper.keep(1); }
namespace ns { char *inside; template <class T> struct Box { T *item; Box *get(); }; }
void make(char *&alias) { Node node(alias); }
void f(Node *node, Node by_value, char *&reference, ns::Box<ns::Box<int>> &box) {
    node->set(0, *node, static_cast<Node &&>(*node));
    by_value.name = 0; // store: by_value.name
    reference = 0; // store: reference
    ns::inside = 0; // store: inside
    box.item->item = 0; // store: box.item->item
    box.get()->item = 0; // store: box.get()->item
    Counted *counted = new Counted();
    delete counted; // free: 8 counted->tag 8+16* counted[].tag
    Guarded *all = new Guarded[3];
    delete[] all; // free: 8+8* all[].held
}",
    );
}

#[test]
fn lambdas_and_bindings() {
    check(
        "c++",
        r"
struct Pair { char *first; char *second; };
struct Owner {
    char *held;
    void run(char *value, Pair pair) {
        char *local = 0;
        auto set = [&local, value, this]() mutable {
            local = value; // store: local
            value = 0; // store: value
            held = 0; // store: this->held
        };
        set();
        auto [one, two] = pair;
        one = 0; // store: one
        two = 0; // store: two
        auto &[three, four] = pair;
        four = 0; // store: four
        Pair pairs[3];
        for (Pair &each : pairs) {
            each.second = 0; // store: each.second
        }
    }
};
void f(Owner &owner) { owner.run(0, {}); }",
    );
}

#[test]
fn containers() {
    check(
        "c++",
        r#"
#include <map>
#include <memory>
#include <string>
#include <vector>
struct Item { char *name; };
void f(std::vector<char *> &list, std::vector<Item> *items, std::map<std::string, char *> &names,
       std::unique_ptr<Item> item, std::string key, unsigned i) {
    list[i] = 0; // store: list[i]
    list.back() = 0; // store: list.back()
    (*items)[i + 1].name = 0; // store: (*items)[i + 1].name
    items->at(2).name = 0; // store: items->at(...).name
    names[key] = 0; // store: names[key]
    names["literal"] = 0; // store: names[...]
    item->name = 0; // store: item->name
    (*item).name = 0; // store: item->name
    for (char *&each : list) {
        each = 0; // store: each
    }
}"#,
    );
}
