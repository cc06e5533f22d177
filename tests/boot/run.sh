#!/bin/sh
# usage: tests/boot/run.sh [GPUSTAT [BUILD_DIRECTORY [INIT]]]
#
# Boots an emulated machine whose only programs are INIT.c and our binary: init, oa, steady and rough have DRM devices that
# gpufake.c and perffake.c play, small and thp have none, but the files of a captured machine. Prints the TAP that init
# writes, and that of INIT.sh, which looks at the files that it sent. Exit: 0 all passed, 1 not, 77 skipped (with CI=true a missing package is a failure).
#
# MACHINE=...  x86-64 (default), arm64 or, of small alone, armhf: the program is built anew, and a kernel of Debian is fetched; or
# tiny, of small alone: x86-64 with the kernel that tinykernel builds
# KVER=...   kernel to boot: the newest installed one with headers and DRM of that version, 6.1 or all of it (default: of any); of
# arm64 the version of the package that is fetched, 6.12 (default: that of the release)
# ACCEL=...  kvm or tcg (default: kvm where it works, else tcg)
# BOOT_TIMEOUT=...  seconds until the guest counts as hung (default 1200)
set -u

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
prog=${1:-$top/gpustat}
init=${3:-init}
machine=${MACHINE:-x86-64}
build=${2:-$top/build/boot-$init${MACHINE:+-$machine}${KVER:+-$KVER}}
limit=${BOOT_TIMEOUT:-1200}

# A make that calls this script hands its own variables down; a kernel module built with musl-gcc would be one result.
unset MAKEFLAGS MFLAGS MAKEOVERRIDES MAKELEVEL CC CFLAGS CPPFLAGS LDFLAGS

skip() {
	echo "1..0 # SKIP $*"
	exit 77
}

fail() {
	echo "not ok 1 - boot: $*"
	echo "1..1"
	exit 1
}

lacks() {
	[ "${CI:-}" = true ] && fail "needs package $*"
	skip "needs package $*"
}

# Which program of PATH stands for which package of ./packages; the kernel is looked for below.
missing() {
	while read -r tool package; do
		command -v "$tool" >/dev/null 2>&1 || echo "$package"
	done <<-END
		$tools
		gcc gcc
		make make
		cpio cpio
	END
	[ -n "$kver" ] || case $machine-${KVER:-} in
	tiny-*) [ -e /usr/include/libelf.h ] || echo libelf-dev ;;
	arm*) [ -e "$uapi/linux/perf_event.h" ] || echo "linux-libc-dev-$machine-cross" ;;
	*-6.1 | *-6.1.*) echo linux-image-amd64 linux-headers-amd64 ;;
	*) echo linux-headers-6.12-amd64 ;;
	esac
}

# Image, modules and headers of one version, the newest: it changes with every update, so none is written down.
kernels() {
	for headers in /lib/modules/*/build; do
		v=${headers%/build}
		v=${v##*/}
		case $v in "${KVER:-$v}" | "${KVER:-}".*) ;; *) continue ;; esac
		[ -e "$headers/Module.symvers" ] && [ -e "/boot/vmlinuz-$v" ] &&
			[ -n "$(find "/lib/modules/$v/kernel/drivers/gpu/drm" -maxdepth 1 -name 'drm.ko*' 2>/dev/null)" ] &&
			echo "$v"
	done | sort -V
}

# The kernel of another machine, and a copy of the program, one for all kernels, whose objects do not meet those of this machine.
# One test at a time makes them.
cross() {
	if ! { mkdir -p "$top/build" && exec 9>"$top/build/boot-$machine.lock" && flock 9; }; then
		fail "build/boot-$machine.lock"
	fi
	# shellcheck disable=SC2086 # a word, or none
	"$here/../arch/fetch" "$MUSL" "$machine" - "$meta" ${devices:+modules} >"$build/fetch.log" 2>&1 || {
		tail -n 5 "$build/fetch.log" | sed 's/^/# /'
		lacks "$meta, its headers and musl-dev: apt-get does not give them; or such headers of amd64, for their scripts"
	}
	kver=$(cat "$MUSL/complete")
	kver=${kver#linux-image-}
	headers=$MUSL/src/linux-headers-$kver modules=$MUSL/lib/modules/$kver vmlinuz=$MUSL/vmlinuz
	copy=$top/build/boot-$machine/gpustat
	mkdir -p "$copy/tests" && cp -p "$top/tests/toolchain" "$copy/tests" &&
		(cd "$top" && tar -cf - --exclude=./build --exclude=./.git --exclude=./tests --exclude=./gpustat \
			--exclude='*.[ao]' .) | tar -xf - -C "$copy"
	make -j2 -C "$copy" CC="$cc" UAPI="$uapi" >"$build/gpustat.log" 2>&1 || {
		tail -n 25 "$build/gpustat.log" | sed 's/^/# /'
		fail "gpustat for $machine cannot be made"
	}
	prog=$copy/gpustat
	exec 9>&-
}

# unpack FILE.ko[.xz|.zst|.gz]: the init of this test reads plain modules only.
unpack() {
	case $1 in
	*.xz) xz -dc "$1" ;;
	*.zst) zstd -dcq "$1" ;;
	*.gz) gzip -dc "$1" ;;
	*) cat "$1" ;;
	esac
}

# wake: a machine that is suspended wakes up only from outside; awake it does not mind.
wake() {
	while sleep 4 && echo system_wakeup; do
		:
	done 2>/dev/null
}

# boot ACCELERATOR CPU: the guest's console goes to one file, its TAP to another. One processor: with two, TCG now and
# then lets one of them see the int3 of a kernel patch that the other has just finished, and the guest panics (seen in
# 1 of 80 boots, qemu 7.2). Under TCG the guest's time is counted in instructions, so that its clock does not depend on what else
# the host does, and nobody waits for a guest that sleeps (sleep=off); after a suspend such a one may sleep for good, so that
# init's, which is suspended, sleeps in the host's time. The rough machine has two processors, of which one at a time runs; Linux 6.1
# waits for its second one for ever. KVM that is there and does not work (nested, most of all) ends qemu or stops the guest for good,
# so it has 20 s for its first line.
boot() {
	: >"$build/tap"
	: >"$build/files"
	cpus='-smp 1'
	case $1-$machine-$init-$kver in
	tcg-x86-64-init-*) cpus='-smp 1 -icount shift=3' ;;
	tcg-x86-64-oa-* | tcg-x86-64-steady-*) cpus='-smp 1 -icount shift=3,sleep=off' ;;
	*-x86-64-rough-6.1.*) cpus='-smp 1 -icount shift=3,sleep=off' ;;
	*-x86-64-rough-*) cpus='-smp 2 -icount shift=3,sleep=off' ;;
	*-arm64-*) cpus='-smp 2 -icount shift=2,sleep=off' ;;
	esac
	# shellcheck disable=SC2086 # words
	wake | timeout -k 5 "$limit" $qemu_system -accel "$1" -cpu "$2" $cpus -m "$memory" -monitor stdio \
		-nodefaults -no-user-config -display none -no-reboot $devices \
		-chardev "file,id=tap,path=$build/tap" -chardev "file,id=files,path=$build/files" \
		$serial \
		-kernel "$vmlinuz" -initrd "$build/initramfs" \
		-append "console=$console quiet panic=-1 no_timer_check $boot_options suspend.pm_test_delay=2" >"$build/qemu" 2>&1 &
	qemu=$!
	patience=20
	while [ "$1" = kvm ] && [ ! -s "$build/tap" ] && kill -0 "$qemu" 2>/dev/null; do
		[ "$patience" -gt 0 ] || kill "$qemu"
		patience=$((patience - 1))
		sleep 1
	done
	wait "$qemu"
	ended=$?
	qemu=
	return "$ended"
}

# What came through the third serial line, a file after the other: "SIZE NAME", a newline, SIZE bytes.
take_files() {
	at=1
	mkdir -p "$build/out"
	while line=$(tail -c "+$at" "$build/files" | head -n 1 | tr -d '\000') && [ -n "$line" ]; do
		at=$((at + ${#line} + 1))
		tail -c "+$at" "$build/files" | head -c "${line%% *}" >"$build/out/${line#* }"
		at=$((at + ${line%% *}))
	done
}

proof() { # PASSED ALL
	echo "# proof: boot $init, Linux $(echo "$kver" | cut -d. -f1,2) on $machine = $1 of $2"
}

# What the shell starts in the background does not see the terminal's interrupt.
qemu=
trap '[ -z "$qemu" ] || kill "$qemu" 2>/dev/null' EXIT
trap 'exit 130' INT HUP TERM

[ "$(uname -s)-$(uname -m)" = Linux-x86_64 ] || skip "boot needs an x86-64 Linux host"
accel=${ACCEL:-}
[ "$init" = rough ] && accel=tcg
# small: the least with which init is reached is 73 MiB on x86-64, where Linux 6.12 unpacks itself beside itself and then leaves 30
# for programs, and 56 on armhf.
devices='-device bochs-display' memory=512 boot_options=
case $init-$machine in
small-x86-64) devices='' memory=76 boot_options=nokaslr ;;
small-tiny) devices='' memory=48 ;;
small-*) devices='' memory=60 ;;
thp-*) devices='' memory=1024 ;;
esac
mkdir -p "$build" || fail "cannot make $build"
case $machine in
x86-64)
	kver=$(kernels | tail -n 1) tools='qemu-system-x86_64 qemu-system-x86
		musl-gcc musl-tools
		xz xz-utils'
	qemu_system=qemu-system-x86_64 cpu=max vmlinuz=/boot/vmlinuz-$kver console=ttyS0
	serial="-serial file:$build/console -serial chardev:tap -serial chardev:files"
	cc=musl-gcc uapi=/usr/include modules=/lib/modules/$kver headers=/lib/modules/$kver/build kbuild=
	;;
arm64) # the processor's own serial line is no ttyS: the first of those has nobody who listens
	kver='' accel=tcg tools='qemu-system-aarch64 qemu-system-arm
		aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu
		depmod kmod
		apt-get apt'
	qemu_system='qemu-system-aarch64 -M virt' cpu=cortex-a57 console=ttyAMA0
	serial="-serial file:$build/console -chardev null,id=null"
	for line in null tap files; do
		serial="$serial -device pci-serial,chardev=$line"
	done
	cc=$here/../arch/musl-gcc uapi=/usr/aarch64-linux-gnu/include
	kbuild='ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu- CC=aarch64-linux-gnu-gcc'
	meta=linux-image-${KVER:+$KVER-}arm64
	export CROSS=aarch64-linux-gnu MUSL="$top/build/boot-arm64${KVER:+-$KVER}"
	;;
armhf) # its one serial line has both, TAP and the console, which keeps quiet
	[ -z "$devices" ] || fail "$init has no $machine"
	kver='' accel=tcg tools='qemu-system-arm qemu-system-arm
		arm-linux-gnueabihf-gcc gcc-arm-linux-gnueabihf
		apt-get apt'
	qemu_system='qemu-system-arm -M virt' cpu=cortex-a15 console=ttyAMA0 serial='-serial chardev:tap'
	cc=$here/../arch/musl-gcc uapi=/usr/arm-linux-gnueabihf/include boot_options='loglevel=0 TAP=/dev/ttyAMA0'
	meta=linux-image-${KVER:+$KVER-}armmp
	export CROSS=arm-linux-gnueabihf MUSL="$top/build/boot-armhf${KVER:+-$KVER}"
	;;
tiny)
	[ -z "$devices" ] || fail "$init has no $machine"
	kver='' tools='qemu-system-x86_64 qemu-system-x86
		musl-gcc musl-tools
		flex flex
		bison bison
		bc bc
		xz xz-utils
		apt-get apt'
	qemu_system=qemu-system-x86_64 cpu=max vmlinuz=$top/build/boot-tiny/vmlinuz console=ttyS0
	serial="-serial file:$build/console -serial chardev:tap -serial chardev:files"
	cc=musl-gcc uapi=/usr/include modules=
	;;
*) fail "no machine $machine" ;;
esac
need=$(missing | tr '\n' ' ' | sed 's/ $//')
[ -z "$need" ] || lacks "$need"
case $machine in
arm*) cross ;;
tiny)
	"$here/tinykernel" "${vmlinuz%/*}" >"$build/kernel.log" 2>&1 || {
		tail -n 5 "$build/kernel.log" | sed 's/^/# /'
		lacks "linux-source-6.1: apt-get does not give it, or it does not build"
	}
	kver=$(cat "${vmlinuz%/*}/version")
	;;
esac
[ -x "$prog" ] || fail "no program $prog"

# Nothing of an earlier run may stand in for a step that fails in this one.
rm -rf "$build/root" "$build/module" "$build/initramfs" "$build/out"
mkdir -p "$build/root/lib" "$build/root/dev" "$build/root/proc" "$build/root/sys" "$build/module" ||
	fail "cannot make $build"

"$cc" -static -Os -std=gnu11 -Wall -Wextra -Wno-missing-field-initializers -idirafter "$uapi" \
	-idirafter "/usr/include/$(uname -m)-linux-gnu" -idirafter "$modules/source/include/uapi" -Wno-unused-function -o "$build/root/init" "$here/$init.c" >"$build/init.log" 2>&1 || {
	sed 's/^/# /' "$build/init.log"
	fail "$init.c does not build"
}

# modules.dep: "drm.ko.xz: what it needs", what must be loaded first last. modules NAME LIST: into the machine, and its list.
modules() {
	order=
	# shellcheck disable=SC2013 # words are what is wanted: modules
	for m in $(sed -n "s|^\(kernel/drivers/gpu/drm/$1\.ko[^:]*\): *\(.*\)|\1 \2|p" "$modules/modules.dep"); do
		order="$m $order"
	done
	for m in $order; do
		name=${m##*/}
		name=${name%%.ko*}.ko
		grep -qsx "$name" "$build/root"/modules* && continue
		unpack "$modules/$m" >"$build/root/lib/$name" || fail "cannot unpack $m"
		echo "$name" >>"$build/root/$2"
	done
}

# The test's own drivers, and what they stand on.
drivers() {
	cp "$here"/*fake.[ch] "$build/module/"
	printf 'obj-m := fake.o pmufake.o\nfake-y := gpufake.o perffake.o\n' >"$build/module/Kbuild"
	# shellcheck disable=SC2086 # words
	make -C "$headers" M="$build/module" $kbuild modules >"$build/module.log" 2>&1 || {
		sed 's/^/# /' "$build/module.log"
		fail "fake.ko does not build for $kver"
	}
	modules drm modules
	modules tiny/bochs modules.display
	cp "$build/module/fake.ko" "$build/root/lib/"
	cp "$build/module/pmufake.ko" "$build/root/lib/"
	echo fake.ko >>"$build/root/modules"
}

# What the runs of ./commands read, and a program that links the one object of libgpustat.a.
captured() {
	{ cp -a "$here/../trees/amdgpu" "$build/root/tree" && cp "$here/../oa/skl.rec" "$here/commands" "$build/root/"; } ||
		fail "no captured machine"
	[ "$init" = thp ] || return 0
	{ make -C "$top" PIC_DIR="$build/pic" "$build/pic/libgpustat.o" && "$cc" -static -Os -I"$top/include" -o "$build/root/counter" \
		"$here/counter.c" "$build/pic/libgpustat.o"; } >"$build/counter.log" 2>&1 || {
		tail -n 5 "$build/counter.log" | sed 's/^/# /'
		fail "counter.c does not build"
	}
}
if [ -n "$devices" ]; then drivers; else captured; fi
cp "$prog" "$build/root/gpustat"
chmod 755 "$build/root/gpustat" "$build/root/init"
(cd "$build/root" && find . | cpio -o -H newc -R 0:0 --quiet) >"$build/initramfs" || fail "no initramfs"

began=$(date +%s)
status=1
if [ "$accel" = kvm ] || { [ -z "$accel" ] && [ -r /dev/kvm ] && [ -w /dev/kvm ]; }; then
	used=kvm
	boot kvm host
	status=$?
fi
if [ "$accel" = tcg ] || { [ -z "$accel" ] && [ ! -s "$build/tap" ]; }; then
	used=tcg
	boot tcg $cpu
	status=$?
fi

# The plan comes last, for both.
tr -d '\r' <"$build/tap" | grep -v '^1\.\.'
echo "# Linux $kver in qemu with $used, $(($(date +%s) - began)) s"
bad=$(grep -c '^not ok' "$build/tap")
ran=$(grep -c -E '^(not )?ok' "$build/tap")
if [ "$status" -ne 0 ] || ! grep -q "^1\.\.$ran\$" "$build/tap"; then
	[ "$status" -eq 124 ] && why="no end within $limit s" || why="no plan for $ran tests, qemu exit $status"
	echo "not ok $((ran + 1)) - boot: the guest did not finish: $why"
	grep -hsv 'qemu)\|Unable to wake\|wake-up' "$build/console" "$build/qemu" | tail -n 25 | tr -cd '\12\40-\176' | sed 's/^/# /'
	proof "$((ran - bad))" "$((ran + 1))"
	echo "1..$((ran + 1))"
	exit 1
fi
if [ -x "$here/$init.sh" ]; then
	take_files
	"$here/$init.sh" "$prog" "$build/out" "$ran" >"$build/outside"
	cat "$build/outside"
	bad=$((bad + $(grep -c '^not ok' "$build/outside")))
	ran=$((ran + $(grep -c -E '^(not )?ok' "$build/outside")))
fi
proof "$((ran - bad))" "$ran"
echo "1..$ran"
[ "$bad" -eq 0 ]
