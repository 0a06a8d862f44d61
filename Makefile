# librl: builds the libraries, and everything around them. `make help` lists the targets.

PREFIX     ?= /usr/local
LIBDIR     ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
MANDIR     ?= $(PREFIX)/share/man
DESTDIR    ?=
# The source of the nginx to build for; this is where Debian and Ubuntu have theirs.
NGINX_SOURCE ?= /usr/share/nginx/src

CARGO      ?= cargo
OBJCOPY    ?= objcopy
INSTALL    ?= install
CFLAGS     ?= -O2 -g
C99         = $(CC) -std=c99 -Wall -Wextra -Wpedantic -Werror -pthread $(CFLAGS) -Iinclude

BUILD   := build
TARGET  := $(or $(CARGO_TARGET_DIR),target)
VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)
ABI     := $(shell sed -n 's/^pub const LIBRL_ABI.* = \([0-9]*\);/\1/p' src/capi/version.rs)
NGINX   := $(BUILD)/nginx
SERVERS := $(patsubst examples/%.c,$(BUILD)/%,$(wildcard examples/servers/*.c))
KOFFI   := $(BUILD)/ffi/node_modules/.package-lock.json
EXPORTS := src/capi/exports.txt
SOURCES := Makefile Cargo.toml Cargo.lock $(shell find src -type f)
SO      := $(BUILD)/librl.so.$(VERSION)
LIBS    := $(SO) $(BUILD)/librl.so.$(ABI) $(BUILD)/librl.so $(BUILD)/librl.a

.SUFFIXES:
.DELETE_ON_ERROR:
.PHONY: all nginx servers demo demo-prefork test test-kill bench bench-growth bench-instructions bench-nginx charts bench-docs bench-tools nginx-tools server-tools header install uninstall deb test-deb deb-tools man install-man abi bench-go go-tools clean help tools check-demo ffi-tools ffi-languages wheel python-tools bench-python

all: $(LIBS) ## Build librl.so and librl.a into build/

# Both kinds come from one compilation; an rlib beside them would switch LTO off.
# Thread-locals of the runtime must outlive dlclose, hence nodelete.
$(TARGET)/release/librl.so: $(SOURCES)
	@$(CARGO) rustc --locked --target-dir $(TARGET) --release --lib --crate-type cdylib,staticlib -- \
	    -C link-arg=-Wl,-soname,librl.so.$(ABI) -C link-arg=-Wl,-z,nodelete
	@touch $@
$(TARGET)/release/librl.a: $(TARGET)/release/librl.so ;

$(SO): $(TARGET)/release/librl.so | $(BUILD)
	@$(INSTALL) -m 755 $< $@
$(BUILD)/librl.so.$(ABI) $(BUILD)/librl.so: $(SO)
	@ln -sf $(<F) $@

# One object of what the exported functions reach, in which nothing else is global:
# the Rust runtime inside meets no other in the program. Bitcode that came along goes,
# or an ar with a plugin for an older LLVM would leave the symbols out of its index.
$(BUILD)/librl.a: $(TARGET)/release/librl.a $(EXPORTS) | $(BUILD)
	@$(LD) -r --gc-sections --force-group-allocation $(addprefix -u ,$(shell cat $(EXPORTS))) -o $(BUILD)/rl.o $<
	@$(OBJCOPY) --keep-global-symbols=$(EXPORTS) -R .llvmbc -R .llvmcmd $(BUILD)/rl.o
	@rm -f $@ && $(AR) rcs $@ $(BUILD)/rl.o && rm $(BUILD)/rl.o

$(BUILD):
	@mkdir -p $@

$(BUILD)/%: examples/%.c $(wildcard examples/*.h) include/rl.h $(LIBS)
	@$(C99) -o $@ $< -L$(BUILD) -lrl '-Wl,-rpath,$$ORIGIN'

nginx: $(NGINX)/ngx_http_rl_module.so ## Build the module for nginx (NGINX_SOURCE= for one of your own)

$(NGINX)/ngx_http_rl_module.so: $(wildcard integrations/nginx/*) include/rl.h $(BUILD)/librl.a $(BUILD)/nginx-source
	@integrations/nginx/build.sh '$(NGINX_SOURCE)' $(NGINX)

# Which nginx the module was built for last: touched only when that is another.
$(BUILD)/nginx-source: nginx-tools | $(BUILD)
	@grep 'define NGINX_VERSION' '$(NGINX_SOURCE)/src/core/nginx.h' > $@.new && echo '$(NGINX_SOURCE)' >> $@.new
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

nginx-tools: # what the module is built and tested with
	@.ci/tools nginx '$(NGINX_SOURCE)'

servers: $(SERVERS) ## Build the servers with a limit: libmicrohttpd, libevent, epoll

$(BUILD)/servers/microhttpd: LDLIBS = -lmicrohttpd
$(BUILD)/servers/evhttp: LDLIBS = -levent
$(BUILD)/servers/%: examples/servers/%.c include/rl.h $(LIBS) | server-tools
	@mkdir -p $(@D)
	@$(C99) -o $@ $< -L$(BUILD) -lrl $(LDLIBS) '-Wl,-rpath,$$ORIGIN/..'

server-tools: # what the servers are built and tested with, and CMake
	@.ci/tools servers
ffi-tools: $(KOFFI) # what the programs of docs/ffi.md run with

ffi-languages:
	@.ci/tools ffi

# The file is npm's own mark of what is installed. koffi comes compiled: no script is run.
$(KOFFI): bindings/ffi/package.json bindings/ffi/package-lock.json | ffi-languages
	@mkdir -p $(BUILD)/ffi && cp $^ $(BUILD)/ffi
	@cd $(BUILD)/ffi && npm ci --loglevel=error --ignore-scripts --no-audit --no-fund >&2
	@touch $@

demo: $(BUILD)/walkthrough $(BUILD)/weblog ## Run the walkthrough, then the limits of a web server's log
	@$(BUILD)/walkthrough examples/walkthrough.conf
	@echo
	@$(BUILD)/weblog examples/weblog.conf examples/access.log

demo-prefork: $(BUILD)/prefork ## Run four processes that share one limit
	@python3 examples/prefork_client.py $(BUILD)/prefork examples/prefork.conf

test: tools nginx-tools server-tools ffi-tools deb-tools go-tools all ## Run all tests
	$(CARGO) fmt --check
	$(CARGO) clippy --locked --all-targets -- -D warnings
	$(CARGO) test --locked
	RUSTFLAGS="--cfg loom" $(CARGO) test --locked --target-dir $(TARGET)/loom --profile loom --lib loom
	$(MAKE) check-demo
	$(MAKE) demo-prefork

test-kill: tools all ## Kill at every instruction of a call (make test: at a sample)
	$(CARGO) test --locked --test killed -- --all

tools: # what the tests need beside Rust
	@.ci/tools

check-demo: $(BUILD)/walkthrough $(BUILD)/weblog # both print exactly what they should
	@$(BUILD)/walkthrough examples/walkthrough.conf | diff -u examples/walkthrough.expected -
	@$(BUILD)/weblog examples/weblog.conf examples/access.log | diff -u examples/weblog.expected -

# The benchmark opens the shared library that is built here.
MEASURE     = $(CARGO) bench --quiet --locked --bench measure --
REPORT      = python3 -B benches/report
REPETITIONS = 5
MOST_KEYS   = 50000000
PROGRAMS    = $(BUILD)/bench/Buckets.class $(BUILD)/bench/buckets

bench: all $(PROGRAMS) ## Measure librl beside governor, Java and Go, then part by part (5 minutes)
	@$(MEASURE) peers $(REPETITIONS)
	@$(MEASURE) inner $(REPETITIONS)
	@$(REPORT) table

bench-growth: all ## Measure as keys and threads become more (5 minutes, 8 GB; MOST_KEYS=)
	@$(MEASURE) growth $(MOST_KEYS)

bench-instructions: all $(BUILD)/bench/calls ## Count the instructions of a check, part by part
	@python3 -B benches/report/instructions.py $(BUILD)/bench/calls $(SO) > $(BUILD)/bench/instructions.md
	@cat $(BUILD)/bench/instructions.md

bench-nginx: nginx tools ## Count the instructions that a limiter adds to a request in nginx
	@python3 -B benches/nginx $(NGINX)/ngx_http_rl_module.so

charts: ## Draw docs/charts from the last runs of bench and bench-growth
	@$(REPORT) charts

bench-docs: charts ## Put the figures of the last run into docs/performance.md, too
	@$(REPORT) docs

bench-tools: # what a measurement needs beside Rust
	@.ci/tools bench

$(BUILD)/bench/Buckets.class: benches/programs/Buckets.java | bench-tools
	@javac -Xlint:all -Werror -d $(@D) $<

$(BUILD)/bench/calls: benches/programs/calls.c include/rl.h $(LIBS)
	@mkdir -p $(@D)
	@$(C99) -o $@ $< -L$(BUILD) -lrl '-Wl,-rpath,$$ORIGIN/..'

# With the libraries that Debian has packed, and nothing from the network.
$(BUILD)/bench/buckets: benches/programs/buckets.go | bench-tools
	@GO111MODULE=off GOPATH=/usr/share/gocode go build -o $@ $<

.PHONY: docs
docs: all tools $(BUILD)/bench/calls ## Make docs/reference.md, and the charts and tables of docs/choosing.md
	@python3 -B docs/tools
	@python3 -B docs/tools/costs.py $(BUILD)/bench/calls $(SO)

header: ## Make include/rl.h from the source
	@LIBRL_UPDATE=1 $(CARGO) test --quiet --locked --test header it_is_what_the_source_says

install: all install-man ## Install to PREFIX (/usr/local), LIBDIR, INCLUDEDIR and MANDIR, below DESTDIR if set
	@$(INSTALL) -d '$(DESTDIR)$(LIBDIR)/pkgconfig' '$(DESTDIR)$(LIBDIR)/cmake/librl' \
	    '$(DESTDIR)$(INCLUDEDIR)'
	@$(INSTALL) -m 644 include/rl.h include/rl.hpp '$(DESTDIR)$(INCLUDEDIR)'
	@$(PC) | $(INSTALL) -m 644 /dev/stdin '$(DESTDIR)$(LIBDIR)/pkgconfig/librl.pc'
	@for file in $(CMAKE_FILES); do \
	    $(FOR_CMAKE) cmake/$$file.in \
	        | $(INSTALL) -m 644 /dev/stdin '$(DESTDIR)$(LIBDIR)/cmake/librl'/$$file || exit; done
	@$(INSTALL) -m 644 $(BUILD)/librl.a '$(DESTDIR)$(LIBDIR)'
	@$(INSTALL) -m 755 $(SO) '$(DESTDIR)$(LIBDIR)'
	@cp -P $(BUILD)/librl.so.$(ABI) $(BUILD)/librl.so '$(DESTDIR)$(LIBDIR)'
	@$(LDCONFIG)

uninstall: ## Remove what install has put there
	@rm -f '$(DESTDIR)$(INCLUDEDIR)/rl.h' '$(DESTDIR)$(INCLUDEDIR)/rl.hpp' '$(DESTDIR)$(LIBDIR)/pkgconfig/librl.pc' \
	    $(LIBS:$(BUILD)/%='$(DESTDIR)$(LIBDIR)/%') \
	    $(CMAKE_FILES:%='$(DESTDIR)$(LIBDIR)/cmake/librl/%')
	@test ! -d '$(DESTDIR)$(LIBDIR)/cmake/librl' \
	    || rmdir --ignore-fail-on-non-empty '$(DESTDIR)$(LIBDIR)/cmake/librl'
	@rm -f $(patsubst %,'$(DESTDIR)$(MANDIR)/man3/%.3',rl.h rl_free $(shell cat $(EXPORTS)))
	@$(LDCONFIG)

# librl.pc, with paths relative to itself, so that the installed tree can be moved.
FROM_PC = $(shell realpath -m --relative-to='$(LIBDIR)/pkgconfig' '$(1)')
PC      = sed -e 's|@VERSION@|$(VERSION)|' -e 's|@PREFIX@|$(call FROM_PC,$(PREFIX))|' \
              -e 's|@INCLUDEDIR@|$(call FROM_PC,$(INCLUDEDIR))|' librl.pc.in

# The same for CMake, with the private libraries that librl.pc has.
CMAKE_FILES = librlConfig.cmake librlConfigVersion.cmake
FROM_CMAKE  = $(shell realpath -m --relative-to='$(LIBDIR)/cmake/librl' '$(1)')
PRIVATE     = $(shell sed -n 's/^Libs.private: //p' librl.pc.in)
FOR_CMAKE   = sed -e 's|@VERSION@|$(VERSION)|' -e 's|@ABI@|$(ABI)|' -e 's|@PRIVATE@|$(PRIVATE)|' \
                  -e 's|@INCLUDEDIR@|$(call FROM_CMAKE,$(INCLUDEDIR))|'

# Tells the loader, where the tree is the system's own.
LDCONFIG = test -n '$(DESTDIR)' || test $$(id -u) -ne 0 || ldconfig

deb: all nginx man wheel | deb-tools ## Build Debian packages into build/deb/
	@packaging/deb.sh $(BUILD)/deb

test-deb: deb ## Install the packages in a new Debian system, and build a program there
	@packaging/clean-system.sh $(BUILD)/deb

man: $(BUILD)/man/rl.h.3 ## Make the manual pages into build/man/
$(BUILD)/man/rl.h.3: packaging/man.py docs/tools/header.py include/rl.h
	@python3 -B packaging/man.py include/rl.h $(@D)

install-man: man # with `install`, to MANDIR
	@$(INSTALL) -d '$(DESTDIR)$(MANDIR)/man3' && cp -P $(BUILD)/man/*.3 '$(DESTDIR)$(MANDIR)/man3'

abi: all | deb-tools ## Renew abi/, at a release: what programs built with it rely on
	@packaging/abi.sh $(BUILD)/librl.so > abi/librl.so.$(ABI).abi

deb-tools: # what the packages are built and looked at with
	@.ci/tools deb

# The package for Python: one wheel for 3.9 and all later ones, with librl.a in it. It is
# built and tested in an environment of its own, and linked without the paths that a Python
# may have been built with.
PYTHON ?= python3
VENV    = $(BUILD)/python-venv
WHEEL   = $(BUILD)/wheel/librl-$(VERSION)-cp39-abi3-linux_$(shell uname -m).whl

wheel: $(WHEEL) ## Build the package for Python into build/wheel/

$(WHEEL): $(shell find bindings/python -type f) include/rl.h $(BUILD)/librl.a $(VENV)/made
	@rm -rf $(BUILD)/python $(BUILD)/wheel
	@cp -r bindings/python $(BUILD)/python && cp LICENSE-* $(BUILD)/python
	@LDSHARED='$(CC) -shared -Wl,-z,relro,-z,now' LIBRL_INCLUDE='$(CURDIR)/include' LIBRL_LIBRARY='$(CURDIR)/$(BUILD)/librl.a' \
	    $(VENV)/bin/pip wheel -q --no-deps --no-build-isolation -w $(BUILD)/wheel $(BUILD)/python

$(VENV)/made: bindings/python/requirements.txt | python-tools
	@$(PYTHON) -m venv --clear $(VENV)
	@$(VENV)/bin/pip install -q -r $<
	@touch $@

python-tools: # what the environment and the extension take
	@.ci/tools python '$(PYTHON)'

bench-python: $(WHEEL) ## Measure the package for Python beside ctypes, cffi and limits (2 minutes)
	@$(VENV)/bin/pip install -q --no-deps --force-reinstall $(WHEEL)
	@$(VENV)/bin/python -B bindings/python/bench.py include/rl.h $(BUILD)

bench-go: all go-tools ## Measure the Go binding beside x/time/rate (3 minutes)
	@bindings/go/benchmarks/run.sh

go-tools: # what the Go binding is built and tested with
	@.ci/tools go

clean: ## Remove what was built
	@$(CARGO) clean --quiet --target-dir $(TARGET)
	@rm -rf $(BUILD)

help: ## List the targets
	@sed -n 's/^\([a-z-]*\):.* ## \(.*\)/\1|\2/p' Makefile | while IFS='|' read -r name text; do \
	    printf '  make %-19s %s\n' "$$name" "$$text"; done
