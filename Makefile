# gpustat: one static binary from musl and the Linux headers.
#
#   make           build ./gpustat             make install   into $(DESTDIR)$(PREFIX)
#   make run       build, and show this machine
#   make bench     what counting costs, beside perf
#   make test      as root: install what the tests need; then run them all
#   make OA_XML="oa-tglgt2.xml oa-bmg.xml"   with these OA metric files built in
.SUFFIXES:
.SUFFIXES: .c .o

VERSION = 0.1.0
PROG    = gpustat
PREFIX  = /usr/local
BINDIR  = $(PREFIX)/bin
MANDIR  = $(PREFIX)/share/man
CC      = musl-gcc
CFLAGS  = -Os
STRIP   = strip
# The Linux headers, searched after musl's: musl-gcc does not find them by itself.
UAPI    = /usr/include

OBJS = gpustat.o parse.o perfstream.o counters.o sources/files.o sources/sysfs.o sources/fdinfo.o sources/kfd.o \
       sources/pmu.o sources/virtual.o sources/perfevent.o sources/task.o sources/measure.o sources/ring.o \
       sources/symbols.o sources/oadevice.o sources/oabasic.o sources/oametrics.o sources/oapacks.o sources/oa.o \
       sources/perf.o sources/proc.o sources/catalog.o sources/hostcounters.o sources/gpucounters.o \
       sources/sensors.o sources/eventcounters.o sources/oacounters.o sources/supplied.o views/khr.o views/record.o \
       views/out.o views/profile.o views/perfdata.o commands/perf.o commands/stat.o commands/sample.o commands/oa.o \
       commands/oastream.o commands/replay.o commands/counters.o perfmon/pmumap.o

WARN = -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wstrict-prototypes \
       -Wmissing-prototypes -Wold-style-definition -Wpointer-arith -Wcast-align -Wcast-qual \
       -Wwrite-strings -Wundef -Wvla -Wformat=2 -Wimplicit-fallthrough -Wredundant-decls
# The binary holds no path of its build, and no tables that a program without exceptions has no use for.
SLIM = -fno-pie -ffunction-sections -fdata-sections -fno-asynchronous-unwind-tables \
       -ffile-prefix-map=$(CURDIR)=. -fno-ident
CPP_ = -std=c11 -D_GNU_SOURCE -DVERSION='"$(VERSION)"' -Iinclude -idirafter $(UAPI) \
       -idirafter $(UAPI)/$(shell uname -m)-linux-gnu
LD_  = -static -no-pie -Wl,--gc-sections -Wl,-z,noseparate-code -Wl,-z,norelro \
       -Wl,--build-id=none

all: $(PROG)

$(PROG): $(OBJS)
	$(CC) $(CFLAGS) $(LD_) $(LDFLAGS) -o $@ $(OBJS)

.c.o:
	@tests/toolchain "$(CC)"
	$(CC) $(CPP_) $(CPPFLAGS) $(WARN) $(SLIM) $(CFLAGS) -c -o $@ $<

$(OBJS): include/commands.h include/gpustat.h include/sys.h include/KD/kd.h include/KD/KHR_perfcounter.h \
	include/gpustat/perf.h perfmon/pmumap.h Makefile

# Metric files are packed by a gpustat that has none: of HOSTCC, where CC makes programs for another machine.
OA_XML =
HOSTCC = $(CC)
OA_CPP = $(if $(strip $(OA_XML)),-DOA_PACK='"oa.pack.h"' -Ibuild)

sources/oapacks.o: sources/oapacks.c build/oa.xml $(if $(strip $(OA_XML)),build/oa.pack.h)
	$(CC) $(CPP_) $(OA_CPP) $(CPPFLAGS) $(WARN) $(SLIM) $(CFLAGS) -c -o $@ sources/oapacks.c

# Which files were built in last: others, or none, build anew.
build/oa.xml: always
	@mkdir -p build
	@echo '$(strip $(OA_XML))' | cmp -s - $@ || echo '$(strip $(OA_XML))' >$@

build/oa.pack.h: build/oa.xml $(OA_XML) build/packer
	build/packer oa pack $(OA_XML) -O build/oa.pack
	od -An -v -tx1 build/oa.pack | sed 's/ *\([0-9a-f][0-9a-f]\)/0x\1,/g' >$@
build/packer: $(OBJS:.o=.c) include/commands.h include/gpustat.h include/sys.h Makefile
	@mkdir -p build
	$(HOSTCC) $(CPP_) $(SLIM) -O1 $(LD_) -o $@ $(OBJS:.o=.c)

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

# The parsers under libFuzzer for FUZZ_SECONDS; the emulated machine; both are part of test.
FUZZ_SECONDS = 60
fuzz:
	tests/fuzz/run $(FUZZ_SECONDS)

boot: $(PROG)
	tests/boot/run.sh ./$(PROG)
	tests/boot/run.sh ./$(PROG) "" oa

# Hardware counters, in another emulated machine: part of test, too.
pmu:
	tests/pmu/run.sh

# What counting costs beside perf; tests/t_cost.sh bounds what no clock is needed for.
bench: $(PROG)
	@PLAIN="$(CC)" tests/bench/run ./$(PROG)

install: $(PROG)
	mkdir -p $(DESTDIR)$(BINDIR) $(DESTDIR)$(MANDIR)/man1
	cp $(PROG) $(DESTDIR)$(BINDIR)/$(PROG)
	chmod 755 $(DESTDIR)$(BINDIR)/$(PROG)
	cp gpustat.1 $(DESTDIR)$(MANDIR)/man1/$(PROG).1
	chmod 644 $(DESTDIR)$(MANDIR)/man1/$(PROG).1

install-strip: install
	$(STRIP) $(DESTDIR)$(BINDIR)/$(PROG)

DIST = gpustat-$(VERSION)
dist:
	git archive --format=tar --prefix=$(DIST)/ HEAD | gzip -9n > $(DIST).tar.gz

clean:
	rm -rf $(PROG) $(OBJS) build gpustat-*.tar.gz

always:

.PHONY: all always run check test fuzz boot pmu bench install install-strip dist clean
