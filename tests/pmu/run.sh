#!/bin/sh
# usage: tests/pmu/run.sh [BUILD_DIRECTORY]
#
# Boots an emulated arm64 machine with hardware counters that count exactly (the machines that run
# the tests have no such counters), with a kernel of Debian, gpustat built for arm64, init.c,
# probe.c and work.c. Prints TAP: the results of the probe about the machine, then those of judge.py
# about gpustat. Exit status: 0 if all passed, 1 after a failure, 77 if skipped.
#
# ONLY=TEXT          only the tests with TEXT in their names
# BOOT_TIMEOUT=...   seconds after which the guest counts as hung (default 1200)
set -u

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
build=${1:-$top/build/pmu}
limit=${BOOT_TIMEOUT:-1200}
uapi=/usr/aarch64-linux-gnu/include
cc=$here/../arch/musl-gcc
export CROSS=aarch64-linux-gnu MUSL="$build/arm64"

# A make that calls this script exports its variables.
unset MAKEFLAGS MFLAGS MAKEOVERRIDES MAKELEVEL CC CFLAGS CPPFLAGS LDFLAGS

skip() {
	echo "1..0 # SKIP $*"
	exit 77
}

fail() {
	echo "not ok 1 - pmu: $*"
	echo "1..1"
	exit 1
}

lacks() {
	skip "needs package $*"
}

missing() {
	while read -r tool package; do
		command -v "$tool" >/dev/null 2>&1 || echo "$package"
	done <<-END
		qemu-system-aarch64 qemu-system-arm
		aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu
		make make
		cpio cpio
		python3 python3
		apt-get apt
	END
	[ -e "$uapi/linux/perf_event.h" ] || echo linux-libc-dev-arm64-cross
}

# logged NAME COMMAND...: runs a command. If it fails, prints its output and fails.
logged() {
	name=$1
	shift
	"$@" >"$build/$name.log" 2>&1 && return
	tail -n 25 "$build/$name.log" | sed 's/^/# /'
	fail "cannot build $name for arm64"
}

# Compiles a copy, so that its objects do not mix with those of this machine; unchanged files are
# not compiled again.
build_gpustat() {
	mkdir -p "$build/gpustat/tests" && cp -p "$top/tests/toolchain" "$build/gpustat/tests" &&
		(cd "$top" && tar -cf - --exclude=./build --exclude=./.git --exclude=./tests --exclude=./gpustat \
			--exclude='*.[ao]' .) | tar -xf - -C "$build/gpustat" &&
		make -C "$build/gpustat" CC="$cc" UAPI="$uapi" &&
		cp "$build/gpustat/gpustat" "$build/root/gpustat" && "$top/tests/static" "$build/root/gpustat"
}

# Builds the libraries as other programs link them, and the tests of their specifications:
# tests/conform.
build_conform() {
	make -C "$build/gpustat" lib CC="$cc" UAPI="$uapi" LD=aarch64-linux-gnu-ld AR=aarch64-linux-gnu-ar \
		OBJCOPY=aarch64-linux-gnu-objcopy || return 1
	for source in "$top"/tests/conform/*.c; do
		"$cc" -static -std=c99 -pedantic -Wall -Wextra -I"$top/include" -idirafter "$uapi" \
			-o "$build/root/conform/$(basename "$source" .c)" "$source" "$build/gpustat/libperfmon2.a" \
			"$build/gpustat/libgpustat.a" || return 1
	done
}

build_guest() {
	for program in init probe; do
		"$cc" -static -Os -std=gnu11 -Wall -Wextra -idirafter "$uapi" \
			-o "$build/root/$program" "$here/$program.c" || return 1
	done
	aarch64-linux-gnu-gcc -nostdlib -static -ffreestanding -O2 -Wall -Wextra -isystem "$uapi" \
		-o "$build/root/work" "$here/work.c"
}

# An instruction takes one nanosecond of guest time, so that counts are the same in each run;
# addresses are not randomized, so that page faults are the same too. With sleep=off an idle guest
# takes no host time. The second processor exists so that it can be taken offline: init does so at
# once, and all tests but one have only the first. The console goes to one file, the output of init
# to another.
boot() {
	: >"$build/output"
	timeout -k 5 "$limit" qemu-system-aarch64 -M virt -cpu cortex-a57 -smp 2 -icount shift=0,sleep=off -m 256 \
		-nodefaults -no-user-config -display none -no-reboot -rtc base=2020-01-01,clock=vm \
		-serial "file:$build/console" -chardev "file,id=output,path=$build/output" -device pci-serial,chardev=output \
		-kernel "$MUSL/vmlinuz" -initrd "$build/initramfs" \
		-append 'console=ttyAMA0 quiet panic=-1 norandmaps' </dev/null >"$build/qemu" 2>&1 &
	qemu=$!
	wait "$qemu"
	ended=$?
	qemu=
	return "$ended"
}

# Background processes of the shell do not receive the terminal's interrupt.
qemu=
trap '[ -z "$qemu" ] || kill "$qemu" 2>/dev/null' EXIT
trap 'exit 130' INT HUP TERM

[ "$(uname -s)" = Linux ] || skip "pmu needs Linux"
need=$(missing | tr '\n' ' ' | sed 's/ $//')
[ -z "$need" ] || lacks "$need"
mkdir -p "$build" || fail "cannot make $build"
"$here/../arch/fetch" "$MUSL" arm64 - linux-image-cloud-arm64 >"$build/fetch.log" 2>&1 || {
	tail -n 5 "$build/fetch.log" | sed 's/^/# /'
	lacks "linux-image-cloud-arm64 and musl-dev of arm64: apt-get does not give them"
}

# Files of an earlier run must not hide a step that fails in this one.
rm -rf "$build/root" "$build/initramfs"
mkdir -p "$build/root/dev" "$build/root/proc" "$build/root/sys" "$build/root/tmp" "$build/root/conform"
logged gpustat build_gpustat
logged conform build_conform
logged guest build_guest
logged plan "$here/judge.py" plan "$build/root/plan"
(cd "$build/root" && find . | cpio -o -H newc -R 0:0 --quiet) >"$build/initramfs" || fail "cannot build the initramfs"

began=$(date +%s)
boot
status=$?
"$here/judge.py" judge "$build/output"
judged=$?
echo "# $(cat "$MUSL/complete") in qemu, $(($(date +%s) - began)) s"
if [ "$status" -ne 0 ] || [ "$judged" -gt 1 ]; then
	[ "$status" -eq 124 ] && echo "# not finished within $limit s" || echo "# qemu: exit $status"
	tail -n 25 "$build/console" "$build/qemu" 2>/dev/null | tr -cd '\12\40-\176' | sed 's/^/# /'
fi
[ "$status" -eq 0 ] && [ "$judged" -eq 0 ]
