use std::collections::BTreeMap;

use leakscope_core::{Counted, SiblingFree};

use super::*;

/// The frames of the places that `source` marks by comments: `//lost`,
/// `//alloc`, `//freed` and, for its caller, `//caller`.
struct Source {
    name: &'static str,
    text: &'static str,
}

impl Source {
    fn frame(&self, mark: &str) -> Option<Frame> {
        let line = self.text.lines().position(|line| line.contains(mark))?;
        let header =
            self.text.lines().take(line + 1).filter(|line| line.starts_with(char::is_alphabetic)).last()?;
        let name = header.split('(').next()?.rsplit([' ', '*']).next()?;
        Some(Frame {
            function: Some(name.to_owned()),
            file: Some(self.name.to_owned()),
            line: Some(line as u32 + 1),
            ..Frame::default()
        })
    }

    fn place(&self, marks: &[&str]) -> Option<Place> {
        Some(Place::new(marks.iter().filter_map(|mark| self.frame(mark)).collect()))
            .filter(|place| !place.stack.is_empty())
    }

    fn finding(&self, cause: Cause, variable: &str) -> Finding {
        let allocated = self.place(&["//alloc", "//asked"]).expect("a mark");
        let freed = self.place(&["//freed", "//caller"]);
        Finding {
            leaked: self.place(&["//lost"]),
            exact: true,
            cause,
            variable: Some(variable.to_owned()).filter(|name| !name.is_empty()),
            freed_elsewhere: freed.map(|place| SiblingFree { place, blocks: 1 }).into_iter().collect(),
            ..Finding::new(Kind::Lost, allocated)
        }
    }

    fn fix(&self, finding: &Finding, others: &[Finding]) -> Option<String> {
        let files = BTreeMap::from([(self.name.to_owned(), self.text.as_bytes().to_vec())]);
        let root = Root { finding, cycle: false, below: Vec::new() };
        fix(&root, others, &mut Files::new(&files), None)
    }
}

fn check(cause: Cause, variable: &str, text: &'static str, expected: &str) {
    let name = if text.contains("new ") { "a.cc" } else { "a.c" };
    let source = Source { name, text };
    let found = source.fix(&source.finding(cause, variable), &[]);
    assert_eq!(found.as_deref().unwrap_or(""), expected, "{text}");
}

/// The same of a warning, about `p` or a member of what it points to.
fn check_warning(text: &'static str, expected: &str) {
    let source = Source { name: "a.c", text };
    let (cause, variable) = match text.contains("p->") {
        true => (Cause::HolderFreed, "p->name"),
        false => (Cause::ScopeEnd, "p"),
    };
    let finding = Finding { kind: Kind::Warning, ..source.finding(cause, variable) };
    assert_eq!(source.fix(&finding, &[]).as_deref().unwrap_or(""), expected, "{text}");
}

#[test]
fn a_warning_is_mended_as_on_another_way() {
    check_warning(
        "int f(int n) {\n char *p = malloc(4); //alloc\n if (n)\n  return 1; //lost\n free(p); //freed\n return 0;\n}\n",
        "add free(p) before line 4, as in a.c:5",
    );
    check_warning(
        "int f(int n) {\n struct text *p = text_new(); //alloc\n if (n)\n  return 1; //lost\n text_free(p); //freed\n return 0;\n}\n",
        "add text_free(p) before line 4, as in a.c:5",
    );
    check_warning(
        "void g(struct card *c) {\n free(c->name); //freed\n free(c);\n}\n\
         void f(struct card *p) {\n puts(p->text); //alloc\n free(p); //lost\n}\n",
        "add free(p->name) before line 7, as in a.c:2",
    );
    // Another way may come there with what is kept.
    check_warning(
        "int f(int n) {\n char *p = malloc(4); //alloc\n if (n)\n  keep(p);\n return 1; //lost\n}\n",
        "",
    );
    // What is released there is not the variable itself, or was released before.
    check_warning(
        "int f(int n) {\n char *p = malloc(4); //alloc\n if (n)\n  return 1; //lost\n done(&n, p); //freed\n return 0;\n}\n",
        "",
    );
    check_warning(
        "int f(int n) {\n char *p = malloc(4); //alloc\n if (n)\n  free(p); //freed\n return 1; //lost\n}\n",
        "",
    );
}

#[test]
fn a_record_that_was_copied_has_another_owner() {
    let check = |between: &str, expected: &str| {
        let text = format!(
            "void f(struct state *out) {{\n struct state es = {{0}};\n es.key = malloc(4); //alloc\n{between} return; //lost\n}}\n"
        );
        check(Cause::ScopeEnd, "es.key", text.leak(), expected);
    };
    check("", "add free(es.key) before line 4");
    check(" out->size = es.size;\n", "add free(es.key) before line 5");
    check(" if (out)\n  *out = es;   /* all of it */\n", "");
}

const OVERWRITTEN: &str = "void f(char *p) {\n p = malloc(4); //alloc\n";

#[test]
fn a_pointer_is_released_before_it_is_overwritten() {
    let check = |statement: &str, variable: &str, expected: &str| {
        let text = format!("{OVERWRITTEN}{statement} //lost\n}}\n").leak();
        check(Cause::Overwritten, variable, text, expected);
    };
    check(" p = NULL;", "p", "add free(p) before line 3");
    check(" c->name = strdup(c->title);", "c->name", "add free(c->name) before line 3");
    check(" *out = 0;", "*out", "add free(*out) before line 3");
    check(" memset(c, 0, sizeof *c);", "c->name", "add free(c->name) before line 3");
    check(" if (x) p = NULL;", "p", "add free(p) in line 3, before that");
    // The new value is made of the old one.
    check(" p = p->next;", "p", "");
    check(" p = grow(p,\n  4);", "p", "");
    check(" c->name = join(c->name, x);", "c->name", "");
    check(" c->name = title(c);", "c->name", "");
    check(" t[i] = t[j];", "t[i]", "");
    // What is written where is not clear.
    check(" read(fd, &p, sizeof p);", "p", "");
    check(" p = NULL;", "a[i++]", "");
    check(" s->values[s->count++] = v;", "s->values[s->count]", "");
}

#[test]
fn a_local_that_makes_itself_anew_may_be_empty_before() {
    let text = "void f(char *p) {\n for (;;)\n  p = malloc(4); //alloc //lost\n}\n";
    check(Cause::Overwritten, "p", text, "");
    check(Cause::Overwritten, "c->p", text, "add free(c->p) before line 3");
}

#[test]
fn a_local_is_released_before_its_scope_ends() {
    let check = |statement: &str, expected: &str| {
        let text = format!("{OVERWRITTEN}{statement} //lost\n}}\n").leak();
        check(Cause::ScopeEnd, "p", text, expected);
    };
    check(" return -1;", "add free(p) before line 3");
    check(" if (!x) return -1;", "add free(p) in line 3, before that");
    check(" goto out;", "add free(p) before line 3");
    check("}", "add free(p) before line 3");
    check(" return p->size;", "");
    check(" return check(x,\n  p);", "");
    check(" { use(p); return 0; }", "");
}

#[test]
fn what_a_function_that_is_not_known_got_is_not_released() {
    let check = |statement: &str, expected: &str| {
        let text = format!(
            "void f(struct timer *t) {{\n {statement}\n free(t); //lost\n}}\nchar *a = malloc(4); //alloc\n"
        );
        check(Cause::HolderFreed, "t->arg", text.leak(), expected);
    };
    check("print(t->arg);", "add free(t->arg) before line 3");
    check("t->run(t->arg);", "");
    check("loop.run(f(1, 2), t->arg);", "");
    check("t->run(t->arg->next, g(t)); h(t->arg);", "add free(t->arg) before line 3");
}

#[test]
fn a_structure_is_not_a_pointer() {
    let check = |declaration: &str, expected: &str| {
        let text = format!("void f() {{\n {declaration}\n g(p);\n p.x = malloc(4); //alloc\n}} //lost\n");
        check(Cause::ScopeEnd, "p", text.leak(), expected);
    };
    check("char *a, *p;", "add free(p) before line 5");
    check("char * const p = 0;", "add free(p) before line 5");
    check("auto p = make();", "add free(p) before line 5");
    check("struct p *p = make();", "add free(p) before line 5");
    check("struct pair p;", "");
    check("struct p p;", "");
    check("Widget p(1);", "");
    check("", "");
}

#[test]
fn a_type_of_pointers_may_have_any_name() {
    let text =
        "void f() {\n Row p;\n if ((p = (Row) malloc(4)) == NULL) //alloc\n  return;\n use(p);\n} //lost\n";
    check(Cause::ScopeEnd, "p", text, "add free(p) before line 6");
    let text = "void f() {\n Row p;\n p = rows(malloc(4)); //alloc\n use(p);\n} //lost\n";
    check(Cause::ScopeEnd, "p", text, "");
    let text = "void f() {\n {\n  Row p = malloc(4); //alloc\n  use(p);\n }\n} //lost\n";
    check(Cause::ScopeEnd, "p", text, "");
}

#[test]
fn what_is_out_of_scope_is_not_released() {
    let text = "void f() {\n while (t *p = g()) {\n  p->x = malloc(4); //alloc\n }\n} //lost\n";
    check(Cause::ScopeEnd, "p", text, "");
    let text =
        "void f(t *h) {\n for (int i = 0; i < 4; i++)\n  h[i] = malloc(4); //alloc\n free(h); //lost\n}\n";
    check(Cause::HolderFreed, "h[i]", text, "");
    check(Cause::HolderFreed, "h[j]", text, "add free(h[j]) for each j before line 4");
}

#[test]
fn what_the_new_value_was_got_from_is_not_released() {
    let text = "void f(t *a) {\n t *p = a->top;\n while (p->next)\n  p = p->next;\n a->top = p; //lost\n a->top = malloc(4); //alloc\n}\n";
    check(Cause::Overwritten, "a->top", text, "");
    let text = "void f(t *a, t *p) {\n a->top = p; //lost\n a->top = malloc(4); //alloc\n}\n";
    check(Cause::Overwritten, "a->top", text, "add free(a->top) before line 2");
}

#[test]
fn what_another_variable_still_has_is_not_released() {
    let check = |after: &str, expected: &str| {
        let text = format!(
            "void f(t *a) {{\n char *p;\n a->s = malloc(4); //alloc\n if ((p = a->s))\n  g(p);\n a->s = 0; //lost\n{after}\n}}\nint p;\n"
        );
        check(Cause::Overwritten, "a->s", text.leak(), expected);
    };
    check(" run(p);", "");
    check(" run(pp);", "add free(a->s) before line 6");
}

#[test]
fn numbers_of_elements_are_those_of_one_run() {
    let text = "void f(t *a) {\n a[i].x = malloc(4); //alloc\n free(a); //lost\n}\n";
    check(Cause::HolderFreed, "a[2].x", text, "");
    let text = "void f(t *a) {\n a[2].x = malloc(4); //alloc\n free(a); //lost\n}\n";
    check(Cause::HolderFreed, "a[2].x", text, "add free(a[2].x) before line 3");
}

#[test]
fn a_part_is_not_deleted() {
    let text = "void f(t *e) {\n e->a = new t(); //alloc\n auto *p = std::get_if<u>(&e->a);\n} //lost\n";
    check(Cause::ScopeEnd, "p", text, "");
    let text = "void f(t *e) {\n auto *p = new t(); //alloc\n} //lost\n";
    check(Cause::ScopeEnd, "p", text, "add delete p before line 3");
}

#[test]
fn a_result_that_the_source_keeps_was_not_discarded() {
    let discarded = |statement: &str, expected: &str| {
        let text = format!("void f() {{\n {statement} //alloc //lost\n}}\n").leak();
        check(Cause::Discarded, "", text, expected);
    };
    discarded("strdup(x);", "keep the result of this call, and release it when it is no longer needed");
    discarded("char *p = strdup(x);", "");
    discarded("return make(x);", "");
    // A library's function dropped what the object held.
    check(Cause::Discarded, "p", "void f() {\n p.reset(); //alloc //lost\n}\n", "");
}

#[test]
fn nothing_is_written_where_control_does_not_come() {
    let end = |statements: &str, expected: &str| {
        let text = format!("int f() {{\n char *p = strdup(x); //alloc\n{statements}\n}} //lost\n").leak();
        check(Cause::ScopeEnd, "p", text, expected);
    };
    end(" return g();", "");
    end(" use(p);\n throw 1;", "");
    end(" use(p);", "add free(p) before line 4");
    end(" if (x)\n  return 1;", "add free(p) before line 5");
}

#[test]
fn a_macro_may_count_before_it_frees() {
    let text = |release: &str| -> &'static str {
        format!("void g(t *l) {{\n {release}(l->p); //freed\n}}\nvoid f(t *l) {{\n l->p = strdup(x); //alloc\n l->p = 0; //lost\n}}\n").leak()
    };
    check(Cause::Overwritten, "l->p", text("free"), "add free(l->p) before line 6, as in a.c:2");
    check(Cause::Overwritten, "l->p", text("UNREF"), "");
}

#[test]
fn what_is_used_by_a_caller_after_the_call_is_not_freed_in_it() {
    let source = Source {
        name: "a.c",
        text: "void f(t *l) {\n l->p = 0; //lost\n}\nvoid g(t *l) {\n l->p = strdup(x); //alloc\n f(l); //calls\n puts(p); //used\n}\n",
    };
    let mut finding = source.finding(Cause::Overwritten, "l->p");
    finding.leaked = source.place(&["//lost", "//calls"]);
    assert!(source.fix(&finding, &[]).is_some());
    finding.last_used = source.place(&["//used"]);
    assert_eq!(source.fix(&finding, &[]), None);
}

#[test]
fn what_a_block_holds_is_released_before_it() {
    let free = "void f(t *h) {\n h->name = strdup(x); //alloc\n free(h); //lost\n}\n";
    check(Cause::HolderFreed, "h->name", free, "add free(h->name) before line 3");
    check(Cause::HolderFreed, "g->name", free, "");
    let realloc = "void f(t *h) {\n h->name = strdup(x); //alloc\n h = realloc(h, 1); //lost\n}\n";
    check(Cause::HolderFreed, "h->name", realloc, "");
}

#[test]
fn how_it_was_allocated_says_how_it_is_released() {
    let allocated = |allocation: &str, expected: &str| {
        let text = format!("void f() {{\n {allocation} //alloc\n return; //lost\n}}\n").leak();
        check(Cause::ScopeEnd, "p", text, expected);
    };
    allocated("auto *p = new Widget(a[1]);", "add delete p before line 3");
    allocated("auto *p = new (std::nothrow) char[n];", "add delete[] p before line 3");
    allocated("t *j = new t; auto *p = new int[n];", "");
    allocated("auto *p = new int[n], *q = new int[m];", "add delete[] p before line 3");
    allocated("auto *p = new Widget(strdup(name));", "");
    allocated("FILE *p = fopen(name, mode);", "add fclose(p) before line 3");
    allocated("char *p = read_all(file);", "");
    // The wrapper's name, not its body, is what a caller knows.
    let wrapped = |wrapper: &str| {
        format!(
            "void *{wrapper}(int n) {{\n return malloc(n); //alloc\n}}\nvoid f() {{\n char *p = {wrapper}(4); //asked\n return; //lost\n}}\n"
        )
    };
    check(Cause::ScopeEnd, "p", wrapped("xmalloc").leak(), "add free(p) before line 6");
    check(Cause::ScopeEnd, "p", wrapped("pool_malloc").leak(), "");
}

#[test]
fn siblings_show_how_it_is_done() {
    // In the same function: another way out of it.
    let text = "int f(char *p) {\n p = make(); //alloc\n if (x)\n  return -1; //lost\n free(p); //freed\n return 0;\n}\n";
    check(Cause::ScopeEnd, "p", text, "add free(p) before line 4, as in a.c:5");
    let source = Source { name: "a.c", text };
    let mut finding = source.finding(Cause::ScopeEnd, "p");
    let elsewhere = Frame { function: Some("g".to_owned()), ..source.frame("//freed").expect("a mark") };
    finding.freed_elsewhere.push(SiblingFree { place: Place::new(vec![elsewhere]), blocks: 1 });
    assert_eq!(source.fix(&finding, &[]), None, "one of them had another owner");
    // By a function that releases such blocks.
    let text = "void item_free(t *i) {\n free(i); //freed\n}\n\
        void f(char *p) {\n p = make(); //alloc\n if (x)\n  return; //lost\n}\nvoid g() {\n item_free(q); //caller\n}\n";
    check(Cause::ScopeEnd, "p", text, "add item_free(p) before line 7, as in a.c:10");
    // At the end, by who had it made.
    let text = "void set(t *c) {\n c->text = strdup(x); //alloc //lost\n}\n\
        void g(t *c) {\n for (;;) {\n }\n set(c);\n free(c->text); //freed\n}\n";
    check(Cause::Overwritten, "c->text", text, "");
    let text = "void set(t *c) {\n c->text = strdup(x); //alloc //lost\n}\n\
        void g(t *c) {\n set(c);\n free(c->text); //freed\n}\n";
    check(Cause::Overwritten, "c->text", text, "add free(c->text) before line 2, as in a.c:6");
    // With all that a table holds: what is released there is the same member.
    let text = "void table_clear(t *h) {\n free(h->top->key); //freed\n}\n\
        void f(t *e) {\n e->key = strdup(x); //alloc\n free(e); //lost\n}\nvoid g() {\n table_clear(h); //caller\n}\n";
    check(Cause::HolderFreed, "e->key", text, "add free(e->key) before line 6, as in a.c:2");
    check(Cause::HolderFreed, "e->text", text, "");
    let text = "void item_clear(t *e) {\n free(e->key); //freed\n}\n\
        void f(t *e) {\n e->key = strdup(x); //alloc\n item_clear(e);\n free(e); //lost\n}\nvoid g() {\n item_clear(q); //caller\n}\n";
    check(Cause::HolderFreed, "e->key", text, "");
    // By a function that is not given the block.
    let text = "void free_all() {\n free(i); //freed\n}\n\
        void f(char *p) {\n p = malloc(4); //alloc\n return; //lost\n}\nvoid g() {\n free_all(); //caller\n}\n";
    check(Cause::ScopeEnd, "p", text, "");
    let text = "void item_free(t *i) {\n free(i->name); //freed\n}\n\
        void f(char *p) {\n p = malloc(4); //alloc\n return; //lost\n}\nvoid g() {\n item_free(q); //caller\n}\n";
    check(Cause::ScopeEnd, "p", text, "");
    // By a function that takes more than the block.
    let text = "void text_free(t *i, char *s) {\n free(s); //freed\n}\n\
        void f(char *p) {\n p = malloc(4); //alloc\n return; //lost\n}\nvoid g() {\n text_free(at(q, 1), q); //caller\n}\n";
    check(Cause::ScopeEnd, "p", text, "");
    // By another owner, who may have got it through this very line.
    let text =
        "void g() {\n free(q); //freed\n}\nvoid f(char *p) {\n p = malloc(4); //alloc\n return; //lost\n}\n";
    check(Cause::ScopeEnd, "p", text, "");
    check(Cause::Overwritten, "p", text, "");
}

#[test]
fn siblings_show_what_is_no_way() {
    // Of what a function frees, only a parameter is what its callers give it.
    let text = "void box_free(t *b) {\n u *i = b->first;\n free(i); //freed\n}\n\
        void f(t *b) {\n b->first = make(); //alloc\n b->first = 0; //lost\n}\nvoid g() {\n box_free(q); //caller\n}\n";
    check(Cause::Overwritten, "b->first", text, "");
    // A count says whether it is freed.
    let text = "void item_put(t *i) {\n free(i); //freed\n}\n\
        void f(t *b) {\n b->i = make(); //alloc\n item_put(b->i);\n b->i = 0; //lost\n}\nvoid g() {\n item_put(q); //caller\n}\n";
    check(Cause::Overwritten, "b->i", text, "");
    let text = "void item_release(t *i) {\n free(i); //freed\n}\n\
        void f(t *b) {\n b->i = make(); //alloc\n item_release(b->i);\n b->i = 0; //lost\n}\nvoid g() {\n item_release(q); //caller\n}\n";
    check(Cause::Overwritten, "b->i", text, "");
    // Another way comes by the release, and then by the leak.
    let text = "void f(char *p) {\n p = make(); //alloc\n if (x)\n  goto out;\n free(p); //freed\n out:\n return; //lost\n}\n";
    check(Cause::ScopeEnd, "p", text, "");
    let text = "void f(char *p) {\n p = make(); //alloc\n if (x)\n  goto out;\n free(p); //freed\n return;\n out:\n return; //lost\n}\n";
    check(Cause::ScopeEnd, "p", text, "add free(p) before line 8, as in a.c:5");
    // Who releases the member goes on to where it is lost, at once or in a caller.
    let text = "void e_free(t *e) {\n e->key = strdup(x); //alloc\n free(e); //lost\n}\n\
        void table_clear(t *h) {\n free(h->top->key); //freed\n e_free(h->top);\n}\nvoid g() {\n table_clear(h); //caller\n}\n";
    check(Cause::HolderFreed, "e->key", text, "");
    let text = "void e_free(t *e) {\n e->key = strdup(x); //alloc\n free(e); //lost\n}\n\
        void e_reset(t *e) {\n free(e->key); //freed\n}\nvoid g(t *e) {\n e_reset(e); //caller\n e_free(e);\n}\n";
    check(Cause::HolderFreed, "e->key", text, "");
    let text = "void set(t *c) {\n c->text = strdup(x); //alloc //lost\n}\n\
        void g(t *c) {\n set(c);\n for (;;) {\n  if (y)\n   set(c);\n  free(c->text); //freed\n }\n}\n";
    check(Cause::Overwritten, "c->text", text, "");
    // The line frees the siblings.
    let text = "void f(t *n) {\n n->next = calloc(1, 8); //alloc\n free(n); //lost //freed\n}\n";
    check(Cause::HolderFreed, "n->next", text, "");
}

#[test]
fn names_are_those_of_the_place() {
    let text =
        "struct o { char *name; };\nvoid f(t *o) {\n o->name = strdup(x); //alloc\n o->name = 0; //lost\n}\n";
    check(Cause::Overwritten, "o->name", text, "add free(o->name) before line 4");
    check(Cause::Overwritten, "o.name", text, "");
    check(Cause::Overwritten, "options.name", text, "");
    let text = "class box {\n State state;\n};\nvoid f() {\n box b;\n b.state = new t(); //alloc\n} //lost\n";
    check(Cause::ScopeEnd, "b.state", text, "");
}

#[test]
fn what_is_not_certain_is_not_suggested() {
    let source =
        Source { name: "a.c", text: "void f(char *p) {\n p = malloc(4); //alloc\n return; //lost\n}\n" };
    let certain = source.finding(Cause::ScopeEnd, "p");
    assert!(source.fix(&certain, &[]).is_some());
    let check = |finding: Finding| assert_eq!(source.fix(&finding, &[]), None, "{finding:?}");
    check(Finding { exact: false, ..certain.clone() });
    check(Finding { variable: None, ..certain.clone() });
    check(Finding { via: vec!["0".to_owned()], ..certain.clone() });
    check(Finding { kind: Kind::Forgotten, ..certain.clone() });
    check(Finding { counted: Some(Counted { references: 1, holders: 0, field: None }), ..certain.clone() });
    for cause in [Cause::Unwound, Cause::ThreadEnd, Cause::Returned, Cause::Unknown] {
        check(Finding { cause, ..certain.clone() });
    }
    // A sibling was kept, and may have come by here.
    let kept = Finding { kind: Kind::Forgotten, ..certain.clone() };
    assert_eq!(source.fix(&certain, &[certain.clone(), kept]), None);
    let unnamed = Source { name: "b.c", ..source };
    assert_eq!(unnamed.fix(&certain, &[]), None, "without source");
}

#[test]
fn a_pointer_that_was_moved_is_not_freed() {
    let after = |statement: &str, expected: &str| {
        let text =
            format!("int f() {{\n char *p = strdup(x); //alloc\n {statement}\n return 1; //lost\n}}\n")
                .leak();
        check(Cause::ScopeEnd, "p", text, expected);
    };
    let expected = "add free(p) before line 4";
    after("use(p);", expected);
    after("n = *p + 1; x && p;", expected);
    after("while (*p) p++;", "");
    after("p += 2;", "");
    after("p = q + strlen(q);", "");
    after("skip(&p);", "");
    let made = "int f() {\n char *p;\n asprintf(&p, x); //alloc\n return 1; //lost\n}\n";
    check(Cause::ScopeEnd, "p", made, expected);
}

#[test]
fn what_a_call_was_given_is_not_its_result() {
    let text = "int f() {\n char *p = strdup(x); //alloc\n use(p); //lost\n}\n";
    check(Cause::Discarded, "", text, "");
}

#[test]
fn what_others_keep_is_not_freed_where_they_pass() {
    let source = Source {
        name: "a.c",
        text: "int f(char *x) {\n char *p = strdup(x); //alloc\n add(p);\n return 1; //lost\n}\nvoid g() {\n f(a); //first\n f(b); //second\n}\n",
    };
    let finding = |call| Finding {
        allocated: source.place(&["//alloc", call]).expect("a mark"),
        ..source.finding(Cause::ScopeEnd, "p")
    };
    let (lost, other) = (finding("//first"), finding("//second"));
    assert!(source.fix(&lost, std::slice::from_ref(&other)).is_some());
    let kept = Finding { kind: Kind::Forgotten, leaked: None, ..other.clone() };
    assert_eq!(source.fix(&lost, &[kept]), None);
    assert_eq!(source.fix(&lost, &[Finding { exact: false, ..other }]), None);
}
