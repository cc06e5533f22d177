#!/bin/sh
# shellcheck disable=SC2317,SC2030,SC2031,SC2154 # functions are called through quiet(), rows are
# read into words
# usage: tests/arch/run.sh [ARCHITECTURE...]
#
# Builds gpustat with musl for each architecture (see rows), compares its output with tests/golden
# under qemu-user, and prints docs/cost.md's table: the size of the stripped binary, and the peak
# resident size in an emulated machine with a kernel of Debian and 1 GiB of memory, without a GPU
# and for one sample of tests/trees/amdgpu, with transparent huge pages "always" if that kernel has
# them. Not part of the tests: it downloads 600 MB and requires cross compilers, which `run.sh
# packages` lists. A figure that cannot be measured is "not measured". BUILD=DIRECTORY protects the
# downloads from make clean. Exit status: 0, or 1 if a build or a run failed.
set -u

top=$(cd "$(dirname "$0")/../.." && pwd)
build=${BUILD:-$top/build/arch}
limit=${BOOT_TIMEOUT:-240}
# shellcheck source=tests/arch/parts.sh
. "$top/tests/arch/parts.sh"

# Compares the output for some machines of tests/trees, and for OA recordings, with the golden
# files.
golden() {
	emulated && ONLY="[aio]*.json" "$top/tests/views/t_golden.sh" "$dir/emulated"
}

guest() {
	cp -a "$top/tests/trees/amdgpu" "$dir/root/tree" && "$here/musl-gcc" -static -Os -std=gnu11 -Wall -Wextra \
		-idirafter "$(uapi)" -o "$dir/root/init" "$here/resident.c" &&
		printf '/gpustat%s\n' '' ' --proc /tree/proc --sys /tree/sys -w 10ms' >"$dir/root/commands" &&
		(cd "$dir/root" && find . | cpio -o -H newc -R 0:0 --quiet) >"$dir/initramfs"
}

# machine:model:cpu:console. Timers on a busy host are late, and x86 kernels would consider them
# broken.
boot() {
	console=${machine##*:} cpu=${machine%:*}
	cpu=${cpu##*:} model=${machine#*:}
	timeout -k 5 "$limit" "qemu-system-${machine%%:*}" -M "${model%%:*}" -cpu "$cpu" -m 1024 -nodefaults -no-user-config \
		-display none -no-reboot -serial "file:$dir/console" -kernel "$vmlinuz" -initrd "$dir/initramfs" \
		-append "console=$console quiet no_timer_check panic=-1" </dev/null
	grep -aq '^@' "$dir/console"
}

# Prints one row of the table.
one() {
	meta=$kernel vmlinuz=$dir/vmlinuz
	case $kernel in
	=*) meta='' vmlinuz=$build/${kernel#=}/vmlinuz ;;
	esac
	rm -f "$dir/console"
	fetched "$meta" && quiet build compile || return 1
	wrong=0 none='not measured' tree='not measured' page='' huge=
	quiet golden golden || wrong=1
	if quiet guest guest && quiet boot boot; then
		# shellcheck disable=SC2046 # words
		set -- $(sed -n 's/\r//; s/^@//p' "$dir/console")
		page=$1 huge=$2 none="$3 KiB" tree="$4 KiB"
	fi
	printf '| %s | %d | %s | %s | %s | %s |\n' "$name" "$(stat -c %s "$dir/root/gpustat")" "$none" "$tree" \
		"${page:+$((page / 1024)) KiB}" "$huge"
	return $wrong
}

if [ "${1:-}" = packages ]; then
	packages
	echo cpio qemu-system-x86 qemu-system-arm qemu-system-misc opensbi qemu-system-mips qemu-system-ppc qemu-slof
	exit
fi
mkdir -p "$build" || exit 1
echo '| | bytes, stripped | resident, no GPU | resident, one sample of a GPU with three clients | page size | huge pages |'
echo '|---|---|---|---|---|---|'
each one "$@"
