# Building, testing and installing leakscope; `make help` lists the targets.

PREFIX ?= /usr/local
CARGO ?= cargo

# The builds that cargo, the tests and the demo run are not parts of this one.
apart := env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL
cargo := $(apart) $(CARGO)

target := $(or $(CARGO_TARGET_DIR),target)
leakscope := $(abspath $(target)/release/leakscope)
demo := $(abspath $(target)/demo)
documents := README.md ARCHITECTURE.md CHANGELOG.md LICENSE-APACHE LICENSE-MIT docs/GUIDE.md docs/BENCHMARKS.md docs/CHECK.md docs/CHECK-WARNINGS.md docs/RUN.md docs/VALIDATE.md docs/WATCH.md

bindir := $(DESTDIR)$(PREFIX)/bin
includedir := $(DESTDIR)$(PREFIX)/include
docdir := $(DESTDIR)$(PREFIX)/share/doc/leakscope

.NOTPARALLEL:
.PHONY: build demo test lint prove bench install uninstall clean help

define build_leakscope
@sh scripts/setup.sh build
$(cargo) build --release --locked --package leakscope
endef

build: ## build target/release/leakscope
	$(build_leakscope)

demo: build ## capture and run the example, and show its report
	@rm -rf $(demo) && cp -r examples/demo $(demo)
	@cd $(demo) && echo '$$ leakscope build -- make' && $(apart) $(leakscope) build -- make
	@cd $(demo) && echo '$$ leakscope run --show-forgotten ./addressbook' && \
	    { $(apart) $(leakscope) run --show-forgotten ./addressbook; code=$$?; echo "exit code $$code"; test $$code = 23; }

test: lint ## check format, lints and all tests
	@sh scripts/setup.sh test
	$(cargo) test --locked --workspace

lint: ## check format and lints
	@sh scripts/setup.sh test
	$(cargo) fmt --all --check
	$(cargo) clippy --locked --workspace --all-targets -- -D warnings

prove: ## compare what the tests expect with memcheck and LeakSanitizer
	@sh scripts/setup.sh test
	$(apart) tests/programs/prove.sh
	$(apart) tests/projects/prove.sh

bench: build ## measure beside other tools, all or SECTIONS="run check"; writes docs/BENCHMARKS.md, docs/bench/
	@sh scripts/setup.sh bench
	$(cargo) run --release --locked --package leakscope-bench -- --leakscope $(leakscope) --out docs $(SECTIONS)

# Not rebuilt if it is there, so that root needs no Rust.
$(leakscope):
	$(build_leakscope)

install: $(leakscope) ## install under PREFIX (/usr/local); DESTDIR is honoured
	install -d $(bindir) $(includedir) $(docdir)/bench
	install -m 755 $(leakscope) $(bindir)
	install -m 644 include/leakscope.h $(includedir)
	install -m 644 $(wildcard $(documents)) $(docdir)
	install -m 644 $(wildcard docs/bench/*.md) $(docdir)/bench

uninstall: ## remove what install put there
	rm -f $(bindir)/leakscope $(includedir)/leakscope.h
	rm -rf $(docdir)

clean: ## remove all that was built
	$(cargo) clean

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 11
