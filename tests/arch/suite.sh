#!/bin/sh
# shellcheck disable=SC2317,SC2154 # functions are called through each() and quiet(), rows are read
# into words
# suite.sh ARCHITECTURE: builds the program for that architecture and tests it, under qemu-user unless
# this machine's processor can run it: with the JSON of each machine in tests/trees, which has every
# value, and on the architectures of with_units() with every unit test, linked with the binary's own
# objects. Results in build/arch/ARCHITECTURE: build.log, unit/NAME.tap, golden.tap, for 32 bits
# wide.tap. If this machine can run such programs, as x86-64 runs those of i386, also
# outside/NAME.tap, the results of other tests. Exit status 1: the build failed.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
build=${BUILD:-$top/build/arch}
# shellcheck source=tests/arch/parts.sh
. "$top/tests/arch/parts.sh"

units() {
	mkdir -p "$dir/unit" || return 1
	for t in "$top"/tests/*/t_*.c; do
		t=${t##*/} prog=$dir/unit/${t%.c}
		"$top/tests/unit" "${t%.c}" "$prog" "$dir/src" "$here/musl-gcc" -static -no-pie -fno-pie -Os -Werror \
			-idirafter "$(uapi)" ||
			return 1
	done
}

# run OUTPUT COMMAND...: stores the command's output and its exit status.
run() {
	out=$1
	shift
	timeout -k 5 "${SUITE_TIMEOUT:-900}" "$@" >"$out" 2>"$out.err" </dev/null
	echo "exit $?" >>"$out"
}

run_units() {
	cd "$top" && mkdir -p build/unit || return 1 # some tests write files there
	for t in tests/*/t_*.c; do
		t=${t##*/} prog=$dir/unit/${t%.c}
		# shellcheck disable=SC2086 # a word, or none
		run "$prog.tap" $on "$prog"
	done
}

# Tests of the program from outside that take little time, for 32 bits on a 64-bit kernel; and files
# of more than 4 GiB.
outside() {
	rm -rf "$dir/outside"
	[ -z "$on" ] || return 0
	mkdir "$dir/outside"
	for t in drm/t_clients drm/t_discovery os/t_bad_input drm/t_dumps drm/t_cgroups commands/t_options views/t_output \
		os/t_faults views/t_formats commands/t_check drm/t_state; do
		run "$dir/outside/${t#*/t_}.tap" "$top/tests/$t.py" "$dir/root/gpustat"
	done
	run "$dir/outside/stat.tap" env ONLY='mem: breakpoints' \
		"$top/tests/perf/t_stat_events.py" "$dir/root/gpustat"
	run "$dir/large.tap" "$here/large.sh" "$dir/root/gpustat"
}

suite() {
	fetched '' && quiet build compile && quiet emulated emulated || return 1
	rm -rf "$dir/unit" "$dir/wide.tap"
	case $name in
	*64*) ;; # 64 bits
	*) run "$dir/wide.tap" "$here/wide.sh" "$dir/emulated" ;;
	esac
	case " $(with_units) " in
	*" $name "*) quiet unit units && run_units || return 1 ;;
	esac
	run "$dir/golden.tap" env LC_ALL=C ONLY='*.json' "$top/tests/views/t_golden.sh" "$dir/emulated"
	outside
}

mkdir -p "$build" && each suite "$@"
