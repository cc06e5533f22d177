#!/bin/sh
# shellcheck disable=SC2317,SC2030,SC2031,SC2154 # functions are called through quiet(), rows are read into words
# usage: tests/arch/run.sh [ARCHITECTURE...]
#
# Builds gpustat with musl for each architecture (see rows), compares what it prints with tests/golden under qemu-user,
# and prints the README's table: the stripped binary's bytes, and the highest resident size in an emulated machine with a
# kernel of Debian, where there is no GPU, and for one sample of tests/trees/amdgpu. Not part of the tests: it downloads
# 600 MB, and wants cross compilers, which `run.sh packages` names. A figure that cannot be had is "not measured".
# BUILD=DIRECTORY keeps what it downloads from make clean. Exit: 0, or 1 if something built or ran wrong.
set -u

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
build=${BUILD:-$top/build/arch}
limit=${BOOT_TIMEOUT:-240}
unset MAKEFLAGS MFLAGS MAKEOVERRIDES MAKELEVEL CC CFLAGS CPPFLAGS LDFLAGS

# Architecture, Debian's name of it, the release (-: this machine's), compiler, qemu-user, the machine with its console,
# and a kernel: a meta package, or the architecture whose kernel also runs this one's programs.
rows() {
	cat <<-'END'
		x86-64  amd64   -      x86_64-linux-gnu        x86_64  x86_64:pc:max:ttyS0             linux-image-cloud-amd64
		i386    i386    -      i686-linux-gnu          i386    i386:pc:max:ttyS0               linux-image-686
		arm64   arm64   -      aarch64-linux-gnu       aarch64 aarch64:virt:cortex-a57:ttyAMA0 linux-image-cloud-arm64
		armhf   armhf   -      arm-linux-gnueabihf     arm     arm:virt:cortex-a15:ttyAMA0     linux-image-armmp
		armel   armel   -      arm-linux-gnueabi       arm     arm:virt:cortex-a15:ttyAMA0     =armhf
		riscv64 riscv64 trixie riscv64-linux-gnu       riscv64 riscv64:virt:rv64:ttyS0         linux-image-riscv64
		mipsel  mipsel  -      mipsel-linux-gnu        mipsel  mipsel:malta:24Kf:ttyS0         linux-image-4kc-malta
		ppc64le ppc64el -      powerpc64le-linux-gnu   ppc64le ppc64:pseries:power9:hvc0       linux-image-powerpc64le
	END
}

packages() {
	echo make cpio apt llvm qemu-user-static qemu-system-x86 qemu-system-arm qemu-system-misc opensbi qemu-system-mips \
		qemu-system-ppc qemu-slof
	rows | while read -r _ debian _ compiler _; do
		[ "$debian" = amd64 ] || echo "gcc-$compiler linux-libc-dev-$debian-cross"
	done
}

# quiet NAME COMMAND...: its output goes to a log, whose end is shown if it fails.
quiet() {
	log=$build/$name/$1.log
	shift
	"$@" >"$log" 2>&1 && return
	tail -n 5 "$log" | sed "s/^/# $name: /" >&2
	return 1
}

uapi() {
	if [ -e "/usr/$compiler/include/linux/perf_event.h" ]; then
		echo "/usr/$compiler/include"
	else
		echo /usr/include
	fi
}

# A copy, whose objects do not meet those of other architectures.
compile() {
	(cd "$top" && tar -cf - --exclude=./build --exclude=./.git --exclude=./gpustat --exclude='*.[ao]' \
		--exclude=./tests . tests/toolchain) | tar -xf - -C "$dir" &&
		make -j2 -C "$dir" CC="$here/musl-gcc" UAPI="$(uapi)" && "$top/tests/static" "$dir/gpustat" &&
		"$compiler-strip" -o "$dir/root/gpustat" "$dir/gpustat"
}

# What it says of some machines of tests/trees, and of recordings of an OA unit.
golden() {
	printf '#!/bin/sh\nexec qemu-%s-static "%s" "$@"\n' "$user" "$dir/root/gpustat" >"$dir/emulated"
	chmod +x "$dir/emulated" && "$dir/emulated" -V &&
		ONLY="[aio]*.json" "$top/tests/t_golden.sh" "$dir/emulated"
}

guest() {
	cp -a "$top/tests/trees/amdgpu" "$dir/root/tree" && "$here/musl-gcc" -static -Os -std=gnu11 -Wall -Wextra \
		-idirafter "$(uapi)" -o "$dir/root/init" "$here/resident.c" &&
		printf '/gpustat%s\n' '' ' --proc /tree/proc --sys /tree/sys -w 10ms' >"$dir/root/commands" &&
		(cd "$dir/root" && find . | cpio -o -H newc -R 0:0 --quiet) >"$dir/initramfs"
}

# machine:model:cpu:console. A busy machine's timers come late, which kernels of x86 would take for broken ones.
boot() {
	console=${machine##*:} cpu=${machine%:*}
	cpu=${cpu##*:} model=${machine#*:}
	timeout -k 5 "$limit" "qemu-system-${machine%%:*}" -M "${model%%:*}" -cpu "$cpu" -m 512 -nodefaults -no-user-config \
		-display none -no-reboot -serial "file:$dir/console" -kernel "$vmlinuz" -initrd "$dir/initramfs" \
		-append "console=$console quiet no_timer_check panic=-1" </dev/null
	grep -aq '^@' "$dir/console"
}

# The table's row.
one() {
	dir=$build/$name meta=$kernel vmlinuz=$build/$name/vmlinuz
	case $kernel in
	=*) meta='' vmlinuz=$build/${kernel#=}/vmlinuz ;;
	esac
	mkdir -p "$dir" && quiet fetch "$here/fetch" "$dir" "$debian" "$release" "$meta" || return 1
	rm -rf "$dir/root" "$dir/console"
	mkdir -p "$dir/root"
	export CROSS="$compiler" MUSL="$dir"
	quiet build compile || return 1
	quiet golden golden || wrong=1
	none='not measured' tree=$none page=
	if quiet guest guest && quiet boot boot; then
		# shellcheck disable=SC2046 # words
		set -- $(sed -n 's/\r//; s/^@//p' "$dir/console")
		page=$1 none="$2 KiB" tree="$3 KiB"
	fi
	printf '| %s | %d | %s | %s | %s |\n' "$name" "$(stat -c %s "$dir/root/gpustat")" "$none" "$tree" "${page:+$((page / 1024)) KiB}"
}

if [ "${1:-}" = packages ]; then
	packages
	exit
fi
mkdir -p "$build" || exit 1
rows >"$build/rows"
wanted=" $* " wrong=0
echo '| | bytes, stripped | resident at most, no GPU | one sample of a GPU with three clients | a page |'
echo '|---|---|---|---|---|'
while read -r name debian release compiler user machine kernel; do
	case $wanted in
	'  ' | *" $name "*) one || wrong=1 ;;
	esac
done <"$build/rows"
exit $wrong
