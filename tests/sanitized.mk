# sanitized.mk: builds the unit tests in C and the fuzz targets with the sanitizers for addresses and
# undefined behaviour. tests/unit and tests/fuzz/replay call it.
#
#   build/sanitized/t_NAME      the unit test tests/*/t_NAME.c
#   build/sanitized/fuzz_NAME   the fuzz target tests/fuzz/fuzz_NAME.c, with a main() that runs the corpus
#   objects-t_NAME              prints the sources that the unit test is linked with
.SUFFIXES:
.DELETE_ON_ERROR:

# A unit test includes the source that it tests, to call its static functions. The other sources that
# it needs are listed here; sources/os/privilege.c is linked with all tests.
registry = parse.c perfstream.c counters.c sources/os/tables.c
views    = sources/perf/tpfields.c views/syscalls.c views/record.c views/ratios.c views/profile.c views/out.c views/metrics.c views/timeline.c views/svg.c
gpus     = $(registry) sources/os/files.c sources/os/sandbox.c sources/os/replace.c sources/device/sysfs.c sources/device/nvidia.c sources/device/nvidiadecode.c sources/device/hwmon.c sources/device/gpumetrics.c sources/device/boards.c sources/drm/clients.c sources/drm/discovery.c sources/device/drivers.c sources/device/nodes.c sources/device/vcio.c sources/drm/processes.c sources/drm/kfd.c sources/drm/iterator.c
t_parse.needs           = parse.c perfstream.c
t_perfstream.needs      = $(t_parse.needs)
t_oa.needs              = parse.c perfstream.c
t_stalls.needs          = $(t_oa.needs)
t_ring.needs            = parse.c perfstream.c sources/perf/perfapi.c sources/perf/ring.c sources/os/tables.c
t_perf.needs            = parse.c perfstream.c sources/perf/perfapi.c
t_gpumetrics.needs      = parse.c sources/device/gpumetrics.c
t_nvidiadecode.needs    = parse.c sources/device/nvidiadecode.c
t_nvidia.needs          = $(gpus)
t_oadevice.needs        = parse.c perfstream.c sources/oa/oadevice.c sources/oa/oabasic.c
t_oalive.needs          = $(registry) sources/os/files.c sources/oa/oadevice.c sources/oa/oabasic.c sources/oa/oastream.c
t_oacounters.needs      = $(registry) sources/os/files.c sources/oa/oametrics.c sources/oa/oadevice.c sources/oa/oabasic.c sources/oa/oapacks.c
t_oasets.needs          = $(registry) sources/os/files.c sources/os/replace.c sources/oa/oametrics.c sources/oa/oadevice.c sources/oa/oabasic.c sources/oa/oapacks.c
t_oapacks.needs         = parse.c perfstream.c sources/oa/oametrics.c sources/oa/oabasic.c sources/oa/oadevice.c
t_oametrics.needs       = parse.c perfstream.c sources/oa/oametrics.c
t_symbols.needs         = $(registry) sources/os/files.c sources/perf/symbols.c $(views)
t_tpfields.needs        = parse.c
t_intervals.needs       = parse.c counters.c sources/os/tables.c views/syscalls.c
t_tracepoint.needs      = $(registry) sources/os/files.c sources/perf/tpfields.c
t_topview.needs         = $(registry) $(views) views/screen.c
t_profile.needs         = $(registry) $(views)
t_profileview.needs     = $(registry) $(views) views/screen.c
t_perfdata.needs        = $(registry) $(views) views/perfdata.c
t_counters.needs        = $(registry)
t_pmumap.needs          = parse.c perfstream.c sources/os/tables.c sources/os/files.c sources/os/replace.c
t_v22.needs             = parse.c
t_v23.needs             = $(t_v22.needs)
t_perfmon.needs         = parse.c perfstream.c sources/os/tables.c
t_catalog.needs         = $(gpus) sources/catalog/catalog.c sources/catalog/descriptions.c sources/catalog/hostcounters.c sources/catalog/gpucounters.c sources/catalog/hwmoncounters.c sources/catalog/eventcounters.c sources/catalog/oacounters.c sources/catalog/drivercounters.c sources/catalog/filecounters.c sources/perf/symbols.c sources/perf/pmu.c sources/perf/perfapi.c sources/perf/perfevent.c sources/perf/ring.c sources/os/process.c sources/perf/target.c sources/perf/virtual.c sources/perf/gpuevents.c sources/host/host.c sources/oa/oastream.c sources/oa/oadevice.c sources/oa/oabasic.c sources/oa/oametrics.c sources/oa/oapacks.c
t_probe.needs           = $(t_catalog.needs)
t_descriptions.needs    = parse.c
t_khr.needs             = parse.c sources/os/files.c sources/os/tables.c
t_drivercounters.needs  = $(registry)
t_hostcounters.needs    = $(t_drivercounters.needs)
t_eventcounters.needs   = $(t_drivercounters.needs)
t_hwmoncounters.needs   = $(registry) sources/os/files.c sources/device/hwmon.c
t_gpucounters.needs     = $(registry) sources/os/files.c
t_filecounters.needs    = $(registry) sources/os/files.c sources/os/replace.c
t_discovery.needs       = $(gpus)
t_clients.needs         = $(t_discovery.needs)
t_iterator.needs        = $(t_discovery.needs)
t_processes.needs       = $(t_discovery.needs)
t_nodes.needs           = $(t_discovery.needs)
t_sysfs.needs           = $(t_discovery.needs)
t_boards.needs          = $(t_discovery.needs)
t_vcio.needs            = $(t_discovery.needs)
t_drivers.needs         = parse.c
t_names.needs           = $(registry) sources/os/files.c
t_kfd.needs             = $(t_names.needs)
t_taskinfo.needs        = $(t_names.needs)
t_target.needs          = $(t_names.needs)
t_dmem.needs            = $(registry) sources/os/files.c sources/device/dmem.c
t_hwmon.needs           = $(registry) sources/os/files.c sources/device/hwmon.c
t_state.needs           = $(gpus) sources/drm/state.c
t_sandbox.needs         = parse.c sources/os/files.c sources/os/replace.c sources/os/tables.c
t_process.needs         = parse.c sources/os/files.c sources/os/tables.c
t_tree.needs            = $(t_process.needs)
t_trace.needs           = $(t_process.needs)
t_tables.needs          = parse.c
t_files.needs           = parse.c sources/os/files.c sources/os/tables.c
t_replace.needs         = $(t_files.needs)
t_privilege.needs       = parse.c
t_proc.needs            = $(registry) sources/os/files.c sources/host/host.c
t_screen.needs          = parse.c perfstream.c
t_virtual.needs         = $(gpus) sources/perf/symbols.c sources/perf/pmu.c sources/host/host.c sources/perf/virtual.c sources/perf/gpuevents.c $(views)
t_pmu.needs             = $(t_virtual.needs)
t_gpuevents.needs       = $(registry) sources/os/files.c sources/perf/gpuevents.c
t_perfevent.needs       = $(gpus) sources/perf/symbols.c sources/perf/pmu.c sources/perf/perfapi.c sources/perf/perfevent.c sources/perf/measure.c sources/perf/ring.c sources/os/process.c sources/perf/target.c sources/perf/virtual.c sources/perf/gpuevents.c sources/host/host.c $(views)
t_measure.needs         = $(t_perfevent.needs)
t_ticks.needs           = parse.c
t_tar.needs             = $(t_ticks.needs)
t_options.needs         = $(registry) sources/os/files.c sources/oa/oadevice.c sources/oa/oabasic.c $(views)
t_select.needs          = $(registry) $(views) views/summary.c sources/os/files.c commands/shared/messages.c
t_messages.needs        = $(registry) sources/os/files.c sources/os/replace.c
t_signals.needs         = $(t_messages.needs)
t_roots.needs           = $(t_messages.needs)
t_confine.needs         = $(t_messages.needs)
t_perfrun.needs         = $(t_messages.needs)
t_output.needs          = $(registry) $(views) sources/os/files.c sources/os/replace.c
t_sink.needs            = $(t_output.needs)
t_naming.needs          = $(t_output.needs)
t_gpustat.needs         = $(t_output.needs)
t_fields.needs          = $(t_output.needs)
t_capture.needs         = $(registry) $(views) views/tar.c sources/os/files.c sources/os/trace.c commands/placeholders.c
t_placeholders.needs    = $(registry)
t_check.needs           = $(registry) $(views) sources/os/files.c commands/shared/select.c commands/shared/messages.c
t_munin.needs           = $(t_check.needs)
t_playback.needs        = $(registry) $(views) sources/os/files.c sources/os/replace.c
t_plot.needs            = $(t_playback.needs)
t_replay.needs          = $(registry) $(views) sources/oa/oadevice.c sources/oa/oabasic.c
t_run.needs             = $(registry) $(views)
t_top.needs             = $(registry) $(views) views/screen.c views/topview.c sources/os/files.c
t_sample.needs          = $(registry) $(views) views/perfdata.c views/repeat.c views/screen.c views/profileview.c
t_timing.needs          = $(registry) $(views) views/intervals.c
t_sampleheader.needs    = $(registry) $(views) views/perfdata.c sources/os/files.c
t_repeat.needs          = parse.c views/repeat.c sources/os/tables.c
t_oacommand.needs       = $(registry) $(views) sources/oa/oadevice.c sources/oa/oabasic.c sources/oa/oametrics.c sources/oa/oapacks.c
t_oarecords.needs       = $(t_oacommand.needs)

O     = build/sanitized/
TESTS = $(wildcard tests/*/t_*.c)
FUZZ  = $(filter-out tests/fuzz/fuzz_main.c,$(wildcard tests/fuzz/fuzz_*.c))
WARN  = -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wstrict-prototypes -Wmissing-prototypes \
	-Wold-style-definition -Wpointer-arith -Wcast-qual -Wwrite-strings -Wundef -Wvla -Wformat=2 \
	-Wimplicit-fallthrough -Wredundant-decls
ifeq ($(origin CC),default)
CC    = gcc
endif
# -O0 and -g1: with -O1 and -g, compiling takes twice as long as running the tests.
FLAGS = -std=c11 -D_GNU_SOURCE -I. -Iinclude -Itests -O0 -g1 -fno-pie -fno-omit-frame-pointer
LINK  = -no-pie
# Undefined behaviour traps, and accesses to memory are checked by functions: calls of functions with
# messages, and checks beside each access, would take 37 % more time to compile. The sanitizer for
# addresses prints the line of a trap, see tests/unit.
SAN   = -fsanitize=address,undefined -fsanitize-undefined-trap-on-error --param=asan-instrumentation-with-call-threshold=0

# The sanitizers, if the compiler has them and the program that it builds runs; and the faster linker.
$(O)sanitizers.mk:
	@mkdir -p $(O)
	@printf 'int main(void) { return 0; }\n' >$(O)probe.c
	@if $(CC) $(SAN) -o $(O)probe $(O)probe.c >$(O)probe.log 2>&1 && $(O)probe >>$(O)probe.log 2>&1; then \
		echo 'FLAGS += $(SAN)' >$@; \
	else \
		echo '$$(warning $(CC) has no sanitizers, see $(O)probe.log)' >$@; \
	fi
	@! $(CC) -fuse-ld=gold -o $(O)probe $(O)probe.c >>$(O)probe.log 2>&1 || echo 'LINK += -fuse-ld=gold' >>$@
-include $(O)sanitizers.mk

# The sources that each test includes, as t_NAME=FILE.
included := $(shell grep -o '^\#include "\.\./\.\./[a-z0-9_/]*\.c"' $(TESTS) | \
	sed 's,.*/\(t_[a-z0-9_]*\)\.c:.*"\.\./\.\./\(.*\)",\1=\2,')
# The sources that the test with this name is linked with.
needs     = $(filter-out $(patsubst $(1)=%,%,$(filter $(1)=%,$(included))),$(sort $(if $(filter undefined,$(origin $(1).needs)),$(registry) $(views),$($(1).needs)) sources/os/privilege.c))
objects-%:
	@echo $(call needs,$*)

# The warnings of each object are kept beside it, because t_program.sh requires that there are none.
compile = $(CC) $(FLAGS) $(WARN) $(1) -MMD -MP -c -o $@ $< 2>$@.warnings || { cat $@.warnings >&2; exit 1; }; cat $@.warnings >&2
# Each variable has a separate section; the fuzz targets reset these between two inputs.
$(O)%.o: %.c tests/sanitized.mk
	@mkdir -p $(@D)
	@$(call compile,-DVERSION='"0"')
	@objcopy --rename-section .bss=gpustat_bss --rename-section .data=gpustat_data $@
$(O)tests/%.o: tests/%.c tests/sanitized.mk
	@mkdir -p $(@D)
	@$(call compile,-Itests/fuzz)

# Files with code that runs millions of times in some tests.
$(addprefix $(O),parse.o perfstream.o views/out.o sources/oa/oametrics.o tests/base/t_counters.o tests/oa/t_oametrics.o tests/views/t_out.o): FLAGS += -O1 --param=asan-instrumentation-with-call-threshold=7000

define unit
$(O)$(notdir $(1:.c=)): $(O)$(1:.c=.o) $(patsubst %.c,$(O)%.o,$(call needs,$(notdir $(1:.c=))))
	$$(CC) $$(FLAGS) $$(LINK) -o $$@ $$^
endef
$(foreach t,$(TESTS),$(eval $(call unit,$(t))))

# A fuzz target is linked with the parts of the program that it needs, and with functions that the
# program calls only if they are linked. Targets with replacements for some of these are linked
# without them. tests/holds.c checks each record of the output, tests/fuzz/files.c replaces the
# kernel.
PROGRAM = $(wildcard *.c sources/*/*.c views/*.c commands/*.c commands/*/*.c) perfmon/pmumap.c
weak   := $(shell sed -n 's/^\#pragma weak \([a-z0-9_]*\).*/-Wl,-u,\1/p' $(PROGRAM) | sort -u)
WRAPS   = mmap openat close pread read write lseek fstatat fstat fstatfs readlinkat syscall inotify_init1 ioctl socket send recv \
	  shutdown sigaction clock_nanosleep clock_gettime
$(O)gpustat.o $(O)tests/fuzz/fuzz_args.o: FLAGS += -Dmain=gpustat_main -Dexit=gpustat_exit
$(O)gpustat.o $(O)tests/fuzz/%.o: WARN = -Wall -Wno-unused
$(O)program.a: $(PROGRAM:%.c=$(O)%.o)
	rm -f $@
	$(AR) rcs $@ $^
define fuzz
$(O)$(notdir $(1:.c=)): $(O)$(1:.c=.o) $(O)tests/fuzz/fuzz_main.o $(O)tests/fuzz/files.o $(O)tests/holds.o $(O)program.a
	link='$$(CC) $$(FLAGS) $$(LINK) -o $$@ $(O)$(1:.c=.o) $(O)tests/fuzz/fuzz_main.o -Wl,--wrap=out_record $(O)tests/holds.o \
		$(if $(shell grep -l '"files.h"' $(1)),$(WRAPS:%=-Wl,--wrap=%) $(O)tests/fuzz/files.o) $(O)program.a'; \
	$$$$link $(weak) 2>$$@.log || $$$$link
endef
$(foreach t,$(FUZZ),$(eval $(call fuzz,$(t))))

flags:
	@echo $(filter-out -O% -g% -f% --param%,$(FLAGS)) $(WARN)

-include $(patsubst %.c,$(O)%.d,$(TESTS) $(FUZZ) $(PROGRAM) $(wildcard perfmon/*.c) tests/holds.c tests/fuzz/fuzz_main.c tests/fuzz/files.c)
