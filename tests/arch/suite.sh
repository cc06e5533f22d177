#!/bin/sh
# shellcheck disable=SC2317,SC2154 # functions are called through each() and quiet(), rows are read into words
# suite.sh ARCHITECTURE: the binary as it is built for that architecture, and under qemu-user (but for what this machine's processor
# runs) every unit test, linked with the binary's own objects, and every golden file. Into build/arch/ARCHITECTURE: build.log, unit/NAME.tap, golden.tap, wide.tap. Where this
# machine is of that architecture also unit/NAME.native, without an emulator; where it only runs its programs, as x86-64 does
# those of i386, also outside/NAME.tap, what other tests find. Exit 1: it could not be built.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
build=${BUILD:-$top/build/arch}
# shellcheck source=tests/arch/parts.sh
. "$top/tests/arch/parts.sh"

units() {
	mkdir -p "$dir/unit" && rm -f "$dir"/unit/* || return 1
	for t in "$top"/tests/t_*.c; do
		t=${t##*/} prog=$dir/unit/${t%.c}
		"$top/tests/unit" "${t%.c}" "$prog" "$dir/src" "$here/musl-gcc" -static -no-pie -fno-pie -Os -Werror \
			-idirafter "$(uapi)" ||
			return 1
	done
}

# run OUTPUT COMMAND...: what it prints, and what it exits with.
run() {
	out=$1
	shift
	timeout -k 5 "${SUITE_TIMEOUT:-900}" "$@" >"$out" 2>"$out.err" </dev/null
	echo "exit $?" >>"$out"
}

run_units() {
	cd "$top" && mkdir -p build/unit || return 1 # where some put what they make
	for t in tests/t_*.c; do
		t=${t##*/} prog=$dir/unit/${t%.c}
		# shellcheck disable=SC2086 # a word, or none
		run "$prog.tap" $on "$prog"
		[ "$(uname -m)" != "$user" ] || cp "$prog.tap" "$prog.native"
	done
}

# Tests of the program from outside that are cheap, of 32 bits on a kernel of 64; and files of more than 4 GiB.
outside() {
	rm -rf "$dir/outside"
	if [ -n "$on" ] || [ "$(uname -m)" = "$user" ]; then
		return 0
	fi
	mkdir "$dir/outside"
	for t in edges faults formats check state; do
		run "$dir/outside/$t.tap" "$top/tests/t_$t.py" "$dir/root/gpustat"
	done
	run "$dir/outside/stat.tap" env ONLY='mem: breakpoints' "$top/tests/t_stat.py" "$dir/root/gpustat"
	run "$dir/large.tap" "$here/large.sh" "$dir/root/gpustat"
}

suite() {
	fetched '' && quiet build compile && quiet unit units && quiet emulated emulated || return 1
	run "$dir/wide.tap" "$here/wide.sh" "$dir/emulated"
	run_units
	run "$dir/golden.tap" env LC_ALL=C "$top/tests/t_golden.sh" "$dir/emulated"
	outside
}

mkdir -p "$build" && each suite "$@"
