# gpustat: one static binary from musl and the Linux headers.
#
#   make           build ./gpustat             make install       into $(DESTDIR)$(PREFIX)
#   make lib       libgpustat.a, libperfmon2.a make install-dev   those, their headers and manuals
#   make run       build, and show this machine
#   make bench     what watching and counting cost, beside references and perf
#   make test      as root: install what the tests need; then run them all
#   make eva       proves with Frama-C that no input breaks the pure files
#   make arch      its size on eight architectures, in emulated machines
#   make setcap    what is installed may see other users' work
#   make OA_XML="oa-tglgt2.xml oa-bmg.xml"   with these OA metric files built in
#   make WITHOUT="oa top http"               without these features; see FEATURES
#   make SMALL=1                             what an initramfs has a use for
#   make sizes     what each feature takes
.SUFFIXES:

VERSION = 0.1.0
PROG    = gpustat
PREFIX  = /usr/local
BINDIR  = $(PREFIX)/bin
MANDIR  = $(PREFIX)/share/man
DOCDIR  = $(PREFIX)/share/doc/$(PROG)
BASHCOMPDIR = $(PREFIX)/share/bash-completion/completions
LIBDIR  = $(PREFIX)/lib
INCLUDEDIR = $(PREFIX)/include
# The environment's count as the command line's do; make's own cc would be glibc's.
ifeq ($(origin CC),default)
CC      = musl-gcc
endif
# What CC has of it: 3 % less code than -Os alone, for 1 % more instructions. COLD takes 6 KB more off what runs once or seldom.
# CC is asked once, when something is compiled.
has     = $(shell $(CC) -Werror $(1) -S -o /dev/null -x c /dev/null >/dev/null 2>&1 && echo '$(1)')
once    = $(eval $(1) := $(2))$($(1))
ifeq ($(origin CFLAGS),undefined)
CFLAGS  = $(call once,CFLAGS,$(or $(call has,-Oz),-Os) $(foreach f,-malign-data=abi -fno-caller-saves \
	  -fno-inline-functions-called-once -fno-tree-dominator-opts -fno-tree-loop-im -fno-move-loop-invariants,$(call has,$(f))))
COLD    = $(call once,COLD,$(call has,-fno-shrink-wrap -fno-tree-forwprop -fno-jump-tables -fno-thread-jumps -fno-tree-loop-optimize))
endif
STRIP  ?= strip
NM     ?= nm
OBJCOPY ?= objcopy
# The Linux headers, searched after musl's: musl-gcc does not find them by itself.
UAPI    = /usr/include

# In the order of the binary: the kernel maps 64 KiB around each page of it that is touched, so what starts and what a live
# sample runs lie together, before what only other commands need.
SOURCES = gpustat sources/privilege sources/tables sources/files sources/sysfs sources/gpumetrics sources/fdinfo sources/look sources/watch \
       sources/kfd commands/live commands/ticks commands/select commands/sink parse counters views/record views/out \
       views/metrics views/summary sources/state sources/replace sources/sandbox perfstream \
       sources/pmu sources/virtual sources/perfevent sources/task sources/measure \
       sources/ring sources/symbols sources/oadevice sources/oabasic sources/oametrics sources/oapacks \
       sources/oa sources/perf sources/proc sources/catalog sources/hostcounters sources/gpucounters \
       sources/sensors sources/eventcounters sources/oacounters sources/supplied sources/probe \
       views/khr views/svg views/screen views/top views/profile views/perfdata \
       commands/http commands/fdinfo commands/events commands/perf commands/stat commands/sample \
       commands/oa commands/oastream commands/replay commands/counters commands/check commands/munin \
       commands/doctor commands/top commands/plot perfmon/pmumap

# What runs for each line of a file, each counter and each report.
HOT = parse perfstream counters sources/oametrics

# What WITHOUT="..." leaves out: commands, options and formats by these names, with the files that they alone need. Their
# rows in the tables of ROWS stand behind HAS(name), see include/built.h.
FEATURES = host doctor check munin counters events stat sample oa top plot http state summary \
	   table logfmt prom openmetrics influx graphite statsd collectd kmsg
doctor.files   = commands/doctor sources/probe
check.files    = commands/check
munin.files    = commands/munin
counters.files = sources/gpucounters sources/sensors sources/eventcounters sources/supplied
events.files   = commands/events perfmon/pmumap
stat.files     = commands/stat
sample.files   = commands/sample sources/symbols views/profile views/perfdata
oa.files       = commands/oa commands/oastream commands/replay sources/oa sources/oadevice sources/oabasic \
		 sources/oametrics sources/oapacks sources/oacounters
top.files      = commands/top views/top views/screen
plot.files     = commands/plot views/svg
http.files     = commands/http
state.files    = sources/state
summary.files  = views/summary
# What several of them need: it goes with the last of these, and takes them all with it.
SHARED = perf named metrics
perf.of        = events stat sample
perf.files     = commands/perf sources/measure sources/ring
named.of       = host counters
named.files    = commands/counters sources/catalog sources/hostcounters
metrics.of     = prom openmetrics influx graphite statsd collectd kmsg
metrics.files  = views/metrics
# Of an initramfs: SMALL=1.
SMALL_HAS = host doctor check logfmt prom
ROWS = gpustat views/record views/out sources/catalog commands/counters

WITHOUT =
unknown := $(filter-out all $(FEATURES) $(SHARED),$(WITHOUT))
$(if $(unknown),$(error WITHOUT: there is no $(unknown); there are: $(FEATURES), and all of these))
asked   := $(if $(filter all,$(WITHOUT)),$(FEATURES),$(WITHOUT) $(if $(SMALL),$(filter-out $(SMALL_HAS),$(FEATURES))))
asked   += $(foreach s,$(filter $(SHARED),$(asked)),$($s.of))
left_out := $(filter $(asked),$(FEATURES)) $(foreach s,$(SHARED),$(if $(filter-out $(asked),$($s.of)),,$s))
had     := $(or $(filter-out $(left_out),$(FEATURES)),none)
FEATURE_CPP = $(if $(strip $(left_out)),-DLEFT_OUT='"$(filter $(FEATURES),$(left_out))"' -DBUILT_IN='"$(had)"' \
	      $(left_out:%=-DWITHOUT_%=1))
# Where objects go: O=build/small/ keeps those of one set of features apart.
O    =
OBJS = $(patsubst %,$(O)%.o,$(filter-out $(foreach f,$(left_out),$($f.files)),$(SOURCES)))
ALL  = $(SOURCES:=.c)

WARN = -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wstrict-prototypes \
       -Wmissing-prototypes -Wold-style-definition -Wpointer-arith -Wcast-align -Wcast-qual \
       -Wwrite-strings -Wundef -Wvla -Wformat=2 -Wimplicit-fallthrough -Wredundant-decls
# The binary holds no path of its build, and no tables that a program without exceptions has no use for.
SLIM = -fno-pie -ffunction-sections -fdata-sections -fno-asynchronous-unwind-tables \
       -ffile-prefix-map=$(CURDIR)=. -fno-ident
CPP_ = -std=c11 -D_GNU_SOURCE -DVERSION='"$(VERSION)"' -Iinclude -idirafter $(UAPI) \
       -idirafter $(UAPI)/$(shell uname -m)-linux-gnu
# STATIC=-static-pie CFLAGS="-Os -fPIE" where the toolchain has rcrt1.o for it: Alpine's gcc.
STATIC = -static -no-pie
# Data follow the code at once, not from a page of the file on.
LD_  = $(STATIC) -Wl,--gc-sections -Wl,-z,noseparate-code -Wl,-z,norelro -Wl,-z,common-page-size=64 \
       -Wl,--build-id=none

all: $(PROG)

$(PROG): $(OBJS) $(or $(O),build/)features
	$(CC) $(CFLAGS) $(LD_) $(LDFLAGS) -o $@ $(OBJS)

$(O)%.o: %.c
	@mkdir -p $(@D) && tests/toolchain "$(CC)"
	$(CC) $(CPP_) $(CPPFLAGS) $(WARN) $(SLIM) $(COLD) $(CFLAGS) -c -o $@ $<

$(HOT:%=$(O)%.o): COLD =
$(OBJS): include/commands.h include/gpustat.h include/sys.h include/KD/kd.h include/KD/KHR_perfcounter.h \
	include/gpustat/perf.h perfmon/pmumap.h Makefile
$(ROWS:%=$(O)%.o): include/built.h $(or $(O),build/)features
$(ROWS:%=$(O)%.o): CPP_ += $(FEATURE_CPP)
# Which features were left out last: others, and the files with their rows are compiled anew.
$(or $(O),build/)features: always
	@mkdir -p $(@D)
	@echo '$(left_out)' | cmp -s - $@ || echo '$(left_out)' >$@

# Metric files are packed by a gpustat that has none: of HOSTCC, where CC makes programs for another machine.
OA_XML =
HOSTCC = $(CC)
OA_CPP = $(if $(strip $(OA_XML)),-DOA_PACK='"oa.pack.h"' -Ibuild)

$(O)sources/oapacks.o: sources/oapacks.c build/oa.xml $(if $(strip $(OA_XML)),build/oa.pack.h)
	$(CC) $(CPP_) $(OA_CPP) $(CPPFLAGS) $(WARN) $(SLIM) $(CFLAGS) -c -o $@ sources/oapacks.c

# Which files were built in last: others, or none, build anew.
build/oa.xml: always
	@mkdir -p build
	@echo '$(strip $(OA_XML))' | cmp -s - $@ || echo '$(strip $(OA_XML))' >$@

build/oa.pack.h: build/oa.xml $(OA_XML) build/packer
	build/packer oa pack $(OA_XML) -O build/oa.pack
	od -An -v -tx1 build/oa.pack | sed 's/ *\([0-9a-f][0-9a-f]\)/0x\1,/g' >$@
build/packer: $(ALL) include/commands.h include/gpustat.h include/sys.h Makefile
	@mkdir -p build
	$(HOSTCC) $(CPP_) $(SLIM) -O1 $(LD_) -o $@ $(ALL)

# For other programs, with any libc: position-independent. A library is one object that holds what its public names need
# and no other global name, so that none can clash with a program's; nor does it want what only the rest of its sources
# wanted. Unwind tables: threads in it may be cancelled.
LIBS  = libgpustat.a libperfmon2.a
HDRS  = include/KD/kd.h include/KD/KHR_perfcounter.h include/gpustat/perf.h $(wildcard include/perfmon/*.h)
MAN3  = $(wildcard docs/*.3)
MAN5  = $(wildcard docs/*.5)
PIC   = -fPIC -fvisibility=hidden -fno-lto -U_FORTIFY_SOURCE $(filter-out -fno-pie -fno-asynchronous%,$(SLIM))
# On arm64 atomics are instructions, not functions of a newer libgcc that has a constructor for them.
PIC  += $(ATOMICS)
ATOMICS = $(call once,ATOMICS,$(call has,-mno-outline-atomics))
PIC_DIR = build/pic
GPUSTAT_OBJS  = $(addprefix $(PIC_DIR)/,$(patsubst %,%.o,$(filter-out gpustat commands/% views/% perfmon/%,$(SOURCES)) views/khr))
PERFMON2_OBJS = $(addprefix $(PIC_DIR)/,$(patsubst %.c,%.o,$(wildcard perfmon/*.c)) perfmon/tables.o parse.o perfstream.o sources/files.o sources/replace.o)
# The address space that a library reserves for its tables. All tables of libgpustat.a, full, hold 50 MB; those of libperfmon2.a
# 1.6 MB, and each table gets at most 1/8 of what is left.
$(PIC_DIR)/sources/tables.o: CPPFLAGS += -DARENA_BYTES='((size_t)64 << 20)'

lib: $(LIBS)

$(PIC_DIR)/%.o: %.c include/gpustat.h include/sys.h $(HDRS) $(wildcard perfmon/*.h) Makefile
	@mkdir -p $(@D)
	$(CC) $(CPP_) $(CPPFLAGS) $(WARN) $(CFLAGS) $(PIC) -c -o $@ $<
$(PIC_DIR)/perfmon/tables.o: CPPFLAGS += -DARENA_BYTES='((size_t)8 << 20)'
$(PIC_DIR)/perfmon/tables.o: sources/tables.c include/gpustat.h include/sys.h Makefile
	@mkdir -p $(@D)
	$(CC) $(CPP_) $(CPPFLAGS) $(WARN) $(CFLAGS) $(PIC) -c -o $@ $<

$(PIC_DIR)/libgpustat.o: $(GPUSTAT_OBJS)
$(PIC_DIR)/libperfmon2.o: $(PERFMON2_OBJS)
$(LIBS:%.a=$(PIC_DIR)/%.o):
	$(LD) -r --gc-sections --gc-keep-exported -o $@.all $^
	$(NM) -u $@.all | sed 's/.* //' >$@.wants
	$(OBJCOPY) --localize-hidden --strip-unneeded-symbols=$@.wants $@.all $@

lib%.a: $(PIC_DIR)/lib%.o
	rm -f $@
	$(AR) rcsD $@ $<

# What this machine's GPUs do; where it has none, what those of a machine in tests/trees do.
run:
	@tests/toolchain --install "$(CC)"
	@$(MAKE) -s $(PROG)
	@tests/showcase ./$(PROG)

# check: the tests with what is installed. test: the same, after installing what they need.
check: $(PROG)
	tests/run ./$(PROG)

test:
	@tests/toolchain --install "$(CC)"
	@tests/packages
	@$(MAKE) $(PROG)
	tests/run ./$(PROG)

# The parsers under libFuzzer for FUZZ_SECONDS, which CI=true makes part of test; the emulated machine, which is part of it.
FUZZ_SECONDS = 60
fuzz:
	tests/fuzz/run $(FUZZ_SECONDS)

boot: $(PROG)
	tests/boot/run.sh ./$(PROG)
	tests/boot/run.sh ./$(PROG) "" oa
	tests/boot/run.sh ./$(PROG) "" steady
	tests/boot/run.sh ./$(PROG) "" rough
	tests/boot/run.sh ./$(PROG) "" small
	tests/boot/run.sh ./$(PROG) "" thp

# Hardware counters, in another emulated machine: part of test, too.
pmu:
	tests/pmu/run.sh

# Part of test where CI=true.
eva:
	tests/eva/run

# The README's table of architectures: not a test, it wants compilers and kernels of all of them.
arch:
	tests/arch/run.sh

# Their names, for tests and recipes.
features:
	@echo '$(FEATURES)'

# What each feature takes: the README's table. Those that are alike share objects.
sizes:
	@tests/sizes "$(FEATURES)"

# What watching and counting cost beside references and perf; tests/t_cost.sh bounds what no clock is needed for.
bench: $(PROG)
	@PLAIN="$(CC)" tests/bench/run ./$(PROG)

# Under another name it is called by that in the manual and in the shell, too.
RENAME = sed -E 's/(^| |")gpustat( |"|$$)/\1$(PROG)\2/g'
install: $(PROG)
	mkdir -p $(DESTDIR)$(BINDIR) $(DESTDIR)$(MANDIR)/man1 $(DESTDIR)$(BASHCOMPDIR) $(DESTDIR)$(DOCDIR)
	cp $(PROG) $(DESTDIR)$(BINDIR)/$(PROG)
	chmod 755 $(DESTDIR)$(BINDIR)/$(PROG)
	$(RENAME) gpustat.1 >$(DESTDIR)$(MANDIR)/man1/$(PROG).1
	chmod 644 $(DESTDIR)$(MANDIR)/man1/$(PROG).1
	sed 's/gpustat/$(PROG)/g' contrib/gpustat.bash >$(DESTDIR)$(BASHCOMPDIR)/$(PROG)
	chmod 644 $(DESTDIR)$(BASHCOMPDIR)/$(PROG)
	cp README.md $(DESTDIR)$(DOCDIR)/README.md
	chmod 644 $(DESTDIR)$(DOCDIR)/README.md

install-strip: install
	$(STRIP) $(DESTDIR)$(BINDIR)/$(PROG)

# Never part of install, which need not be root's and may go into a package. Attributes of files are lost in a copy.
setcap:
	setcap cap_perfmon,cap_sys_ptrace+ep $(DESTDIR)$(BINDIR)/$(PROG)

# What the shell completes, from what --help says; checked in.
completion: $(PROG)
	contrib/completion ./$(PROG) >contrib/gpustat.bash

# A pkg-config file: name, description, and what else it says.
PC = printf '%s\n' 'prefix=$(PREFIX)' 'libdir=$(LIBDIR)' 'includedir=$(INCLUDEDIR)' '' 'Name: $(1)' 'Description: $(2)' \
	'Version: $(VERSION)' 'Cflags: -I$${includedir}' $(3) >$(DESTDIR)$(LIBDIR)/pkgconfig/$(1).pc

install-dev: $(LIBS)
	for h in $(HDRS:include/%=%); do \
		mkdir -p $(DESTDIR)$(INCLUDEDIR)/$${h%/*} && cp include/$$h $(DESTDIR)$(INCLUDEDIR)/$$h && \
		chmod 644 $(DESTDIR)$(INCLUDEDIR)/$$h || exit 1; \
	done
	mkdir -p $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(MANDIR)/man3 $(DESTDIR)$(MANDIR)/man5
	cp $(LIBS) $(DESTDIR)$(LIBDIR)
	cd $(DESTDIR)$(LIBDIR) && chmod 644 $(LIBS)
	$(call PC,gpustat,counters of CPUs and GPUs and the kernel,'Libs: -L$${libdir} -lgpustat')
	$(call PC,perfmon2,perfmon2 over perf_event_open,'Requires: gpustat' 'Libs: -L$${libdir} -lperfmon2 -lpthread')
	for m in $(MAN3) $(MAN5); do \
		to=$(DESTDIR)$(MANDIR)/man$${m##*.}/$${m##*/}; cp $$m $$to && chmod 644 $$to || exit 1; \
	done

# The same bytes for the same commit, or for the same SOURCE_DATE_EPOCH; their sums are what recipes ask for.
DIST = gpustat-$(VERSION)
dist:
	mkdir -p build/dist && rm -rf build/dist/$(DIST)
	git archive --format=tar --prefix=$(DIST)/ HEAD | tar -xf - -C build/dist
	tar -c -C build/dist --sort=name --mtime=@$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct)} --owner=0 --group=0 \
		--numeric-owner --mode=u+rw,go=rX --format=gnu -f build/dist/$(DIST).tar $(DIST)
	gzip -9nc build/dist/$(DIST).tar >$(DIST).tar.gz
	rm -rf build/dist
	sha256sum $(DIST).tar.gz
	sha512sum $(DIST).tar.gz

clean:
	rm -rf $(PROG) $(SOURCES:%=$(O)%.o) $(LIBS) build gpustat-*.tar.gz

always:

.PHONY: all always run lib check test fuzz boot pmu eva arch bench features sizes install install-strip install-dev setcap completion dist clean
