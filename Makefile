# gpustat: one static binary from musl and the Linux headers.
#
#   make           build ./gpustat             make install       into $(DESTDIR)$(PREFIX)
#   make lib       the static libraries        make install-dev   libraries, headers and manuals
#   make shared    libgpustat.so, libperfmon2.so, from the same objects; make install-shared
#   make run       build, and show the GPUs of this machine
#   make bench     measure the cost of monitoring and counting, and compare it with other programs
#   make test      run the quick tests, five minutes at most; as root on Debian, install what they need first
#   make test-live, test-machines, test-consumers, test-deep, test-all   the other tests, see tests/levels
#   make check     run the quick tests with what is installed
#   make mutate    insert small faults, and list those that no test notices
#   make arch      measure the size on eight architectures, in emulated machines
#   make setcap    let the members of the group gpustat, or GROUP=NAME, see the GPU clients of other users;
#                  PERFMON=1: also their perf events
#   make OA_XML="oa-tglgt2.xml oa-bmg.xml"   with these OA metric files built in
#   make oa-pack OA_XML="xml/*/oa-*.xml"     write gpu.pack, with all metric sets of these files
#   make oa-sets OA_XML="xml/*/oa-*.xml"     write sources/oa/oabuiltin.h again
#   make release   build static programs for nine architectures, in archives with checksums; as
#                  ARCHS="x86_64 small-armhf": only these
#   make WITHOUT="oa top http"               without these features; see FEATURES
#   make SMALL=1                             only the features that are useful in an initramfs
#   make sizes     print the size of each feature
.SUFFIXES:

# The targets install and setcap, which the archives of make release have too.
.DEFAULT_GOAL = all
include contrib/install.mk

VERSION = 0.2.0
LIBDIR  = $(PREFIX)/lib
INCLUDEDIR = $(PREFIX)/include
# CC of the environment or the command line is used. The default of make, cc, would use glibc.
# LINKCC links the shared libraries with the C library of the system's programs, which load them.
ifeq ($(origin CC),default)
CC      = musl-gcc
LINKCC  = cc
endif
LINKCC ?= $(CC)
# Flags for small code, if CC supports them: 3 % less code than with -Os alone, and 1 % more
# instructions. COLD saves 7.5 KB more in code that runs once or rarely; 1.5 KB of these, of its last
# five flags, cost 1 % more instructions per sample. -flto would save 5 KB more, but each link would
# compile everything again, and nm could not read the objects. CC is tested once, when something is
# compiled.
has     = $(shell $(CC) -Werror $(1) -S -o /dev/null -x c /dev/null >/dev/null 2>&1 && echo '$(1)')
once    = $(eval $(1) := $(2))$($(1))
# Fails, with the names of the packages, if CC does not build for musl.
TOOLCHAIN = $(call once,TOOLCHAIN,$(shell tests/toolchain "$(CC)" || echo '; exit 1'))
ifeq ($(origin CFLAGS),undefined)
CFLAGS  = $(call once,CFLAGS,$(or $(call has,-Oz),-Os) $(foreach f,-malign-data=abi -fno-caller-saves \
	  -fno-inline-functions-called-once -fno-tree-dominator-opts -fno-tree-loop-im -fno-move-loop-invariants,$(call has,$(f))))
COLD    = $(call once,COLD,$(call has,-fno-shrink-wrap -fno-tree-forwprop -fno-jump-tables -fno-thread-jumps -fno-tree-loop-optimize \
	  -fno-forward-propagate -fno-optimize-sibling-calls -fno-tree-tail-merge -fno-tree-sra -fno-partial-inlining -fno-ipa-sra))
endif
STRIP  ?= strip
NM     ?= nm
OBJCOPY ?= objcopy
# The folder of the Linux headers, searched after musl's: musl-gcc does not search it by default.
UAPI    = /usr/include

# The order of the code in the binary. The kernel maps 64 KiB around each page that is touched, so
# the code for the start, for a live sample and for stat is together, before that of others. With
# files sorted by name, one sample of a GPU has 640 KiB resident instead of 492.
SOURCES = gpustat commands/shared/signals commands/shared/options commands/shared/messages \
       commands/shared/output commands/shared/roots commands/shared/confine sources/os/privilege \
       sources/os/tables sources/os/files sources/device/sysfs sources/device/gpumetrics sources/device/boards \
       sources/device/dmem sources/drm/clients sources/drm/discovery sources/device/nvidia sources/device/nvidiadecode sources/device/drivers sources/device/nodes sources/device/names sources/device/vcio sources/drm/processes sources/drm/kfd sources/drm/iterator \
       sources/drm/taskinfo \
       commands/devices commands/shared/sampling commands/shared/ticks commands/shared/select commands/shared/naming \
       commands/shared/sink commands/shared/fields parse counters views/record views/out views/metrics views/timeline views/summary \
       sources/drm/state sources/os/replace sources/os/sandbox perfstream sources/perf/pmu \
       sources/device/hwmon sources/perf/virtual sources/perf/gpuevents sources/perf/perfevent sources/os/process sources/os/tree sources/perf/target \
       sources/perf/measure sources/perf/ring commands/shared/perfrun commands/stat views/ratios \
       sources/oa/oadevice sources/oa/oabasic sources/oa/oametrics sources/oa/oapacks sources/oa/oastream \
       sources/perf/perfapi sources/host/host sources/catalog/catalog sources/catalog/descriptions sources/catalog/hostcounters \
       sources/catalog/gpucounters sources/catalog/hwmoncounters sources/catalog/eventcounters \
       sources/catalog/oacounters sources/catalog/drivercounters sources/catalog/filecounters sources/catalog/probe \
       sources/catalog/khr views/svg views/screen views/topview commands/shared/http commands/shared/terminal \
       commands/shared/runfile commands/fdinfo commands/events sources/perf/symbols sources/perf/tpfields sources/perf/tracepoint \
       views/profile views/profileview views/repeat views/intervals views/syscalls views/perfdata \
       commands/sample commands/sampleheader commands/timing commands/run commands/oa commands/oasets commands/oarecords commands/replay commands/stalls \
       commands/named commands/check commands/munin commands/doctor commands/top commands/playback commands/plot \
       sources/os/trace views/tar commands/placeholders commands/capture \
       perfmon/pmumap

# The code that runs for each line of a file, each counter and each report.
HOT = $(if $(SMALL),,parse) perfstream sources/oa/oametrics

# The features that WITHOUT="..." can leave out: commands, options and formats with these names, and
# the files that only they need. Their rows in the tables of ROWS are inside HAS(name), see
# include/built.h.
FEATURES = procs host doctor check munin counters events stat sample run oa oasets top plot capture http state summary \
	   gpuevents help names boards vcio containers dmem nvidia bpf block table plain logfmt prom openmetrics influx graphite statsd collectd kmsg timeline
procs.files    = sources/drm/taskinfo
doctor.files   = commands/doctor sources/catalog/probe
check.files    = commands/check
munin.files    = commands/munin
counters.files = sources/catalog/descriptions sources/catalog/gpucounters sources/catalog/hwmoncounters sources/catalog/eventcounters sources/catalog/filecounters
events.files   = commands/events perfmon/pmumap
stat.files     = commands/stat views/ratios
gpuevents.files = sources/perf/gpuevents sources/catalog/drivercounters
run.files      = commands/run sources/os/tree
sample.files   = commands/sample commands/sampleheader sources/perf/tpfields sources/perf/tracepoint views/profile views/profileview views/repeat views/intervals views/syscalls views/perfdata commands/timing
oa.files       = commands/oa commands/oasets commands/oarecords commands/replay commands/stalls sources/oa/oastream sources/oa/oadevice sources/oa/oabasic \
		 sources/oa/oametrics sources/oa/oapacks sources/catalog/oacounters
top.files      = commands/top commands/playback views/topview
plot.files     = commands/plot views/svg
capture.files  = commands/capture commands/placeholders views/tar sources/os/trace
http.files     = commands/shared/http
state.files    = sources/drm/state
summary.files  = views/summary
timeline.files = views/timeline
plain.files    = commands/shared/fields
boards.files   = sources/device/boards
dmem.files     = sources/device/dmem
names.files    = sources/device/names commands/shared/naming
vcio.files     = sources/device/vcio
bpf.files      = sources/drm/iterator
nvidia.files   = sources/device/nvidia sources/device/nvidiadecode
# Code that several features need. It is left out with the last of them; to leave it out by name
# leaves out all of them.
SHARED = perf symbols terminal named metrics runfile udp replaced
perf.of        = events stat sample
perf.files     = commands/shared/perfrun sources/perf/measure sources/perf/ring
symbols.of     = events stat sample counters
symbols.files  = sources/perf/symbols
terminal.of    = top sample
terminal.files = commands/shared/terminal views/screen
named.of       = host counters
named.files    = commands/named sources/catalog/catalog sources/catalog/hostcounters
metrics.of     = prom openmetrics influx graphite statsd collectd kmsg
metrics.files  = views/metrics
runfile.of     = top plot
runfile.files  = commands/shared/runfile
udp.of         = graphite statsd
replaced.of    = prom openmetrics plot capture
# The features of SMALL=1, for an initramfs.
SMALL_HAS = procs help host doctor check boards block logfmt prom
ROWS = parse gpustat sources/os/privilege sources/os/files sources/device/sysfs sources/device/nodes commands/shared/messages commands/shared/options commands/shared/confine sources/drm/clients sources/drm/discovery commands/shared/sampling commands/shared/select commands/shared/sink commands/shared/output counters views/record views/out sources/catalog/catalog sources/catalog/eventcounters commands/named sources/perf/virtual sources/catalog/probe sources/oa/oapacks

WITHOUT =
unknown := $(filter-out all $(FEATURES) $(SHARED),$(WITHOUT))
$(if $(unknown),$(error WITHOUT: there is no $(unknown); there are: $(FEATURES), and all of these))
asked   := $(if $(filter all,$(WITHOUT)),$(FEATURES),$(WITHOUT) $(if $(SMALL),$(filter-out $(SMALL_HAS),$(FEATURES))))
asked   += $(foreach s,$(filter $(SHARED),$(asked)),$($s.of))
# The built-in metric sets are a part of oa.
asked   += $(if $(filter oa,$(asked)),oasets)
left_out := $(filter $(asked),$(FEATURES)) $(foreach s,$(SHARED),$(if $(filter-out $(asked),$($s.of)),,$s))
had     := $(or $(filter-out $(left_out),$(FEATURES)),none)
FEATURE_CPP = $(if $(strip $(left_out)),-DLEFT_OUT='"$(filter $(FEATURES),$(left_out))"' -DBUILT_IN='"$(had)"' \
	      $(left_out:%=-DWITHOUT_%=1))
# The folder of the object files: O=build/small/ separates those of one set of features.
O    =
OBJS = $(patsubst %,$(O)%.o,$(filter-out $(foreach f,$(left_out),$($f.files)),$(SOURCES)))
ALL  = $(SOURCES:=.c)

WARN = -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wstrict-prototypes \
       -Wmissing-prototypes -Wold-style-definition -Wpointer-arith -Wcast-align -Wcast-qual \
       -Wwrite-strings -Wundef -Wvla -Wformat=2 -Wimplicit-fallthrough -Wredundant-decls
# The binary contains no path of its build, and no unwind tables, which a program without exceptions
# does not need.
SLIM = -fno-pie -ffunction-sections -fdata-sections -fno-asynchronous-unwind-tables \
       -ffile-prefix-map=$(CURDIR)=. -fno-ident
CPP_ = -std=c11 -D_GNU_SOURCE -DVERSION='"$(VERSION)"' -I. -Iinclude -idirafter $(UAPI) \
       -idirafter $(UAPI)/$(shell uname -m)-linux-gnu
# STATIC=-static-pie CFLAGS="-Os -fPIE" works if the toolchain has rcrt1.o, as Alpine's gcc does.
STATIC = -static -no-pie
# The data begin directly after the code, not at the next page of the file.
LD_  = $(STATIC) -Wl,--gc-sections -Wl,-z,noseparate-code -Wl,-z,norelro -Wl,-z,common-page-size=64 \
       -Wl,--build-id=none

all: $(PROG)

# The compiler writes a file next to each object that lists the headers it read.
DEPS = -MMD -MP
-include $(OBJS:.o=.d)

$(PROG): $(OBJS) $(or $(O),build/)features
	$(CC) $(CFLAGS) $(LD_) $(LDFLAGS) -o $@ $(OBJS)

$(O)%.o: %.c
	@mkdir -p $(@D)$(TOOLCHAIN)
	$(CC) $(CPP_) $(DEPS) $(CPPFLAGS) $(WARN) $(SLIM) $(COLD) $(CFLAGS) -c -o $@ $<

# HOT files are compiled without the flags above: that saves 7 % of the instructions per parsed
# byte and 7 % of those per evaluated OA report. -O2 would save 11 % more, but add 10 KB of code.
# SMALL=1 saves 344 bytes instead.
ifeq ($(origin CFLAGS),file)
$(HOT:%=$(O)%.o): CFLAGS = -Os
$(HOT:%=$(O)%.o): COLD =
endif
$(OBJS): Makefile
$(ROWS:%=$(O)%.o): $(or $(O),build/)features
$(ROWS:%=$(O)%.o): CPP_ += $(FEATURE_CPP)
# The features that the last build left out. If they change, the files of ROWS are compiled again.
$(or $(O),build/)features: always
	@mkdir -p $(@D)
	@echo '$(left_out)' | cmp -s - $@ || echo '$(left_out)' >$@

# A gpustat without metric files packs them. HOSTCC builds it if CC builds programs for another
# machine.
OA_XML =
HOSTCC = $(CC)
OA_CPP = $(if $(strip $(OA_XML)),-DOA_PACK='"oa.pack.h"' -Ibuild)

$(O)sources/oa/oapacks.o: sources/oa/oapacks.c build/oa.xml $(if $(strip $(OA_XML)),build/oa.pack.h)
	$(CC) $(CPP_) $(DEPS) $(OA_CPP) $(CPPFLAGS) $(WARN) $(SLIM) $(CFLAGS) -c -o $@ sources/oa/oapacks.c

# The files that the last build had built in. If they change, oapacks.o is compiled again.
build/oa.xml: always
	@mkdir -p build
	@echo '$(strip $(OA_XML))' | cmp -s - $@ || echo '$(strip $(OA_XML))' >$@

ifneq ($(strip $(OA_XML)),)
build/oa.pack.h: build/oa.xml $(OA_XML) build/packer
	build/packer oa pack $(OA_XML) -O build/oa.pack
	od -An -v -tx1 build/oa.pack | sed 's/ *\([0-9a-f][0-9a-f]\)/0x\1,/g' >$@
endif
gpu.pack: build/oa.xml $(OA_XML) build/packer
	build/packer oa pack $(OA_XML) -O $@
	chmod 644 $@
oa-pack: gpu.pack
oa-sets: $(OA_XML) build/packer
	contrib/oasets build/packer $(OA_XML) >build/oabuiltin.h
	cp build/oabuiltin.h sources/oa/oabuiltin.h

build/packer: $(ALL) $(wildcard include/*.h sources/*/*.h views/*.h commands/*.h commands/*/*.h) Makefile
	@mkdir -p build
	$(HOSTCC) $(CPP_) -DWITHOUT_oasets=1 $(SLIM) -O1 $(LD_) -o $@ $(ALL)

# Libraries for other programs, with any libc: position-independent code. libperfmon2.a is one object
# with all code that its public functions need, libgpustat.a has one for each room of sources: see
# contrib/rooms. They have no other global names than public ones and gpustat__*, so that none can
# conflict with a name of the program, and do not need symbols that only unused code needs. They
# have unwind tables, because threads may be cancelled while they run in them.
LIBS  = libgpustat.a libgpustat-host.a libperfmon2.a
HDRS  = include/KD/kd.h include/KD/KHR_perfcounter.h $(wildcard include/gpustat/*.h include/perfmon/*.h)
MAN3  = $(wildcard docs/*.3)
MAN5  = $(wildcard docs/*.5)
PIC   = -fPIC -fvisibility=hidden -fno-lto -U_FORTIFY_SOURCE $(filter-out -fno-pie -fno-asynchronous%,$(SLIM))
# On arm64, atomics are instructions, not functions of a newer libgcc, which has a constructor for
# them.
PIC  += $(ATOMICS)
ATOMICS = $(call once,ATOMICS,$(call has,-mno-outline-atomics))
PIC_DIR = build/pic
GPUSTAT_OBJS  = $(addprefix $(PIC_DIR)/,$(patsubst %,%.o,$(filter-out gpustat commands/% views/% perfmon/% sources/os/trace,$(SOURCES))))
# libgpustat-host.a: named counters of the machine itself, as in a program without other counters.
HOST_OBJS     = $(filter %/parse.o %/counters.o $(PIC_DIR)/sources/os/% $(PIC_DIR)/sources/host/%,$(GPUSTAT_OBJS)) \
		$(addprefix $(PIC_DIR)/sources/catalog/,hostcounters.o descriptions.o khr.o hostcatalog.o)
PERFMON2_OBJS = $(addprefix $(PIC_DIR)/,$(patsubst %.c,%.o,$(wildcard perfmon/*.c)) perfmon/tables.o parse.o perfstream.o sources/os/files.o sources/os/replace.o)
# The address space that a library reserves for its tables. All tables of libgpustat.a together have
# 50 MB if they are full, those of libperfmon2.a 510 MB, or 32 MB on machines with addresses of 32 bits;
# each table gets at most 1/8 of the rest.
$(PIC_DIR)/sources/os/tables.o: CPPFLAGS += -DARENA_BYTES='((size_t)64 << 20)'

lib: $(LIBS)

$(PIC_DIR)/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(CC) $(CPP_) $(DEPS) $(CPPFLAGS) $(WARN) $(CFLAGS) $(PIC) -c -o $@ $<
$(PIC_DIR)/perfmon/tables.o: CPPFLAGS += -DARENA_BYTES='((size_t)128 << (sizeof(void *) > 4 ? 25 : 20))'
$(PIC_DIR)/perfmon/tables.o: sources/os/tables.c Makefile
	@mkdir -p $(@D)
	$(CC) $(CPP_) $(DEPS) $(CPPFLAGS) $(WARN) $(CFLAGS) $(PIC) -c -o $@ $<
$(PIC_DIR)/sources/catalog/hostcatalog.o: sources/catalog/catalog.c Makefile
	@mkdir -p $(@D)
	$(CC) $(CPP_) -DWITHOUT_counters=1 $(DEPS) $(CPPFLAGS) $(WARN) $(CFLAGS) $(PIC) -c -o $@ $<

-include $(GPUSTAT_OBJS:.o=.d) $(PERFMON2_OBJS:.o=.d)
$(PIC_DIR)/libgpustat.o: $(GPUSTAT_OBJS)
$(PIC_DIR)/libgpustat-host.o: $(HOST_OBJS)
$(PIC_DIR)/libperfmon2.o: $(PERFMON2_OBJS)
$(LIBS:%.a=$(PIC_DIR)/%.o):
	$(LD) -r --gc-sections --gc-keep-exported -o $@.all $^
	$(NM) -u $@.all | sed 's/.* //' >$@.wants
	$(OBJCOPY) --localize-hidden --strip-unneeded-symbols=$@.wants $@.all $@

libgpustat.a: $(PIC_DIR)/libgpustat.o contrib/rooms
	LD=$(LD) NM=$(NM) OBJCOPY=$(OBJCOPY) contrib/rooms $(PIC_DIR)/libgpustat $(GPUSTAT_OBJS)
	rm -f $@
	$(AR) rcsD $@ $(PIC_DIR)/libgpustat/*.o

libgpustat-host.a libperfmon2.a: lib%.a: $(PIC_DIR)/lib%.o
	rm -f $@
	$(AR) rcsD $@ $<

# Shared libraries of the same objects. SOVERSION is increased if a program that was linked with an
# older library would not work any more. The version of a symbol is that of the library.
SOVERSION = 0
SHARED_LIBS = libgpustat.so.$(SOVERSION) libperfmon2.so.$(SOVERSION)
# Links a library from its archive, with its public names and the libraries that it needs.
LINK_SHARED = printf '%s { global: $(2) local: *; };\n' $(1)_$(SOVERSION) >$(PIC_DIR)/$(1).map && \
	$(LINKCC) -shared -o $@ -Wl,-soname,$@ -Wl,--version-script=$(PIC_DIR)/$(1).map -Wl,-z,defs -Wl,-z,text \
	$(LDFLAGS) -Wl,--whole-archive $(1).a -Wl,--no-whole-archive $(3)

shared: $(SHARED_LIBS)

libgpustat.so.$(SOVERSION): libgpustat.a
	$(call LINK_SHARED,libgpustat,kd*; gp_*;)
libperfmon2.so.$(SOVERSION): libperfmon2.a libgpustat.so.$(SOVERSION)
	$(call LINK_SHARED,libperfmon2,pfm_*;,libgpustat.so.$(SOVERSION) -lpthread)

install-shared: shared install-dev
	for l in $(SHARED_LIBS); do \
		cp $$l $(DESTDIR)$(LIBDIR)/$$l && chmod 755 $(DESTDIR)$(LIBDIR)/$$l && \
		ln -sf $$l $(DESTDIR)$(LIBDIR)/$${l%.$(SOVERSION)} || exit 1; \
	done

# Shows the GPUs of this machine, or those of a machine in tests/trees if it has none.
run:
	@tests/toolchain --install "$(CC)"
	@$(MAKE) -s $(PROG)
	@tests/showcase ./$(PROG)

# Each level of tests/levels has a target, which installs what its tests need as root on Debian; test is
# the quick level. check is the same without installing anything.
ALL_CPUS = $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell getconf _NPROCESSORS_ONLN))
test: test-quick
test-quick test-live test-machines test-consumers test-deep:
	@tests/packages $(@:test-%=%)
	@$(MAKE) $(ALL_CPUS) $(PROG)
	@tests/run ./$(PROG) $(@:test-%=%)
test-all:
	@tests/packages quick
	@$(MAKE) $(ALL_CPUS) $(PROG)
	@tests/run ./$(PROG) all
check:
	@$(MAKE) $(ALL_CPUS) $(PROG)
	@tests/run ./$(PROG)

# Runs the parsers under libFuzzer for FUZZ_SECONDS.
FUZZ_SECONDS = 60
fuzz:
	tests/fuzz/run $(FUZZ_SECONDS)

# Makes the README's picture of top, in an emulated machine, and prints the lines of the README.
picture: $(PROG)
	-tests/boot/run.sh ./$(PROG) "" showcase
	cp build/boot-showcase/out/top.svg docs/top.svg
	cat build/boot-showcase/out/lines

# Inserts 300 small faults in copies of the tree, and lists those that no test notices, in half an
# hour or more. tests/mutants has for each known one the reason, or the test that would be needed.
mutate: $(PROG)
	tests/mutate

# Prints docs/cost.md's table of architectures. It is not part of test: it requires compilers and
# kernels for all of them.
arch:
	tests/arch/run.sh

# Prints the names of the features, for tests and packaging recipes.
features:
	@echo '$(FEATURES)'

# Prints docs/build.md's table of the size of each feature. The builds share unchanged objects.
sizes:
	@tests/sizes "$(FEATURES)"

# Measures the cost of monitoring and counting, compared with other programs and perf. t_cost.sh
# tests the limits that do not depend on a clock.
bench: $(PROG)
	@PLAIN="$(CC)" tests/bench/run ./$(PROG)

install-strip: install
	$(STRIP) $(DESTDIR)$(BINDIR)/$(PROG)

# Generates the completion of each shell from --help. The generated files are part of the repository.
completion: $(PROG)
	for s in bash zsh fish; do contrib/completion ./$(PROG) $$s >contrib/gpustat.$$s || exit 1; done

# Writes a pkg-config file with this name, this description and these further lines.
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
	$(call PC,gpustat-host,counters of CPUs and memory and disks,'Libs: -L$${libdir} -lgpustat-host')
	$(call PC,perfmon2,perfmon2 over perf_event_open,'Requires: gpustat' 'Libs: -L$${libdir} -lperfmon2 -lpthread')
	for m in $(MAN3) $(MAN5); do \
		to=$(DESTDIR)$(MANDIR)/man$${m##*.}/$${m##*/}; cp $$m $$to && chmod 644 $$to || exit 1; \
	done

# Archives of the same commit, or with the same SOURCE_DATE_EPOCH, have the same bytes. The
# packaging recipes need the printed checksums.
DIST = gpustat-$(VERSION)
dist:
	mkdir -p build/dist && rm -rf build/dist/$(DIST)
	git archive --format=tar --prefix=$(DIST)/ HEAD | tar -xf - -C build/dist
	contrib/archive build/dist/$(DIST) >$(DIST).tar.gz
	rm -rf build/dist
	sha256sum $(DIST).tar.gz
	sha512sum $(DIST).tar.gz

# Builds the programs, archives and packages of a release of the last commit in build/release/out.
release:
	@contrib/release $(VERSION) $(ARCHS)

clean:
	rm -rf $(PROG) gpu.pack $(SOURCES:%=$(O)%.o) $(SOURCES:%=$(O)%.d) $(LIBS) $(SHARED_LIBS) build gpustat-*.tar.gz

always:

.PHONY: all always run lib shared check test test-quick test-live test-machines test-consumers test-deep test-all fuzz picture mutate arch bench features oa-pack oa-sets sizes install-strip install-dev install-shared completion dist release clean
