#!/bin/sh
# usage: tests/boot/run.sh [GPUSTAT [BUILD_DIRECTORY [INIT]]]
#
# Boots an emulated machine with INIT.c and the program as its only programs. The machines init, oa,
# steady, rough, command, vcio, rights, remedies and bpf have DRM devices emulated by gpufake.c and
# perffake.c, gpucounters has those of ctrfake.c, nvidia those of nvfake.c; small, thp and captured
# have none, but have the files of captured machines. Prints the TAP that init writes, and that of
# INIT.sh, which checks the files that init sent. Exit status: 0 if all passed, 1 after a failure, 77
# if skipped.
#
# MACHINE=...  x86-64 (default); arm64; for small and captured only, s390x or Debian's name of an
#              architecture of tests/arch: the program is cross-compiled and a kernel of Debian is
#              fetched, for armel that of armhf; tiny, for small only: x86-64 with the kernel that
#              tinykernel builds
# SMALL=1      the program is cross-compiled with the features of make SMALL=1; commands that it lacks
#              are skipped
# KVER=...     kernel to boot: the newest installed one with headers and DRM of that version, 6.1
#              or a full version (default: any); for arm64 the version of the package that is
#              fetched, 6.12 (default: that of the release); 5.10, for machines without devices: the
#              kernel of Debian 11, the oldest one that Debian's archive has
# ACCEL=...    kvm or tcg (default: kvm if it works, else tcg)
# BOOT_TIMEOUT=...  seconds after which the guest counts as hung (default 1200)
set -u

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
prog=${1:-$top/gpustat}
init=${3:-init}
machine=${MACHINE:-x86-64}
build=${2:-$top/build/boot-$init${MACHINE:+-$machine}${KVER:+-$KVER}${SMALL:+-small}}
limit=${BOOT_TIMEOUT:-1200}

# A make that calls this script exports its variables; one effect would be a kernel module built
# with musl-gcc.
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
	skip "needs package $*"
}

# Programs in PATH and the packages that contain them; the kernel is checked below.
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
	x86-64-6.1 | x86-64-6.1.*) echo linux-image-amd64 linux-headers-amd64 ;;
	x86-64-*) echo linux-headers-6.12-amd64 ;;
	*) [ -e "$uapi/linux/perf_event.h" ] || echo "linux-libc-dev-$machine-cross" ;;
	esac
}

# Selects image, modules and headers of the newest version; updates change the version, so that none
# is fixed here.
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

# fetch FOLDER ARCHITECTURE [META]: fetches musl, and the kernel of a meta package.
fetch() {
	# shellcheck disable=SC2086 # a word, or none
	"$here/../arch/fetch" "$1" "$2" "$release" "${3:-}" ${devices:+modules} >"$build/fetch.log" 2>&1 || {
		tail -n 5 "$build/fetch.log" | sed 's/^/# /'
		lacks "$meta, its headers and musl-dev: apt-get does not give them; or such headers of amd64, for their scripts"
	}
}

# Fetches the kernel of another architecture and cross-compiles the program, one copy for all
# kernels, with objects in a separate folder. The lock lets one test at a time do this.
cross() {
	if ! { mkdir -p "$top/build" && exec 9>"$top/build/boot-$runs.lock" && flock 9; }; then
		fail "build/boot-$runs.lock"
	fi
	from=$top/build/boot-$runs${KVER:+-$KVER}
	fetch "$from" "$runs" "$meta"
	[ "$runs" = "$machine" ] || fetch "$MUSL" "$machine"
	kver=$(cat "$from/complete")
	kver=${kver#linux-image-}
	headers=$from/src/linux-headers-$kver modules=$from/lib/modules/$kver vmlinuz=$from/vmlinuz
	copy=$top/build/boot-$machine/gpustat${SMALL:+-small}
	mkdir -p "$copy/tests" && cp -p "$top/tests/toolchain" "$copy/tests" &&
		(cd "$top" && tar -cf - --exclude=./build --exclude=./.git --exclude=./tests --exclude=./gpustat \
			--exclude='*.[ao]' .) | tar -xf - -C "$copy"
	make -j2 -C "$copy" CC="$cc" UAPI="$uapi" SMALL="${SMALL:-}" >"$build/gpustat.log" 2>&1 || {
		tail -n 25 "$build/gpustat.log" | sed 's/^/# /'
		fail "cannot build gpustat for $machine"
	}
	prog=$copy/gpustat
	exec 9>&-
}

# unpack FILE.ko[.xz|.zst|.gz]: prints the plain module, because the init of this test cannot
# decompress.
unpack() {
	case $1 in
	*.xz) xz -dc "$1" ;;
	*.zst) zstd -dcq "$1" ;;
	*.gz) gzip -dc "$1" ;;
	*) cat "$1" ;;
	esac
}

# wake: sends wake-up events, because a suspended machine is woken up only from outside. They have
# no effect while it is awake.
wake() {
	while sleep 4 && echo system_wakeup; do
		:
	done 2>/dev/null
}

# boot ACCELERATOR CPU: boots the guest; its console goes to one file, its TAP to another. It has
# one processor: with two, TCG sometimes lets one see the int3 of a kernel patch that the other has
# just completed, and the guest panics (1 of 80 boots, qemu 7.2). Under TCG, guest time is counted
# in instructions, so its clock does not depend on the load of the host, and an idle guest takes no
# host time (sleep=off). After a suspend such a guest may sleep forever, so init, which is
# suspended, sleeps in host time. The machines rough and remedies have two processors, of which one
# at a time runs; Linux 6.1 waits for the second one forever. KVM that exists but does not work
# (mostly nested) ends qemu or hangs the guest, so the first line must arrive within 20 s.
boot() {
	: >"$build/tap"
	: >"$build/files"
	cpus='-smp 1'
	case $1-$machine-$init-$kver in
	tcg-x86-64-init-*) cpus='-smp 1 -icount shift=3' ;;
	tcg-x86-64-oa-* | tcg-x86-64-steady-* | tcg-x86-64-showcase-* | tcg-x86-64-command-* | tcg-x86-64-vcio-* | \
		tcg-x86-64-gpucounters-* | tcg-x86-64-nvidia-* | tcg-x86-64-bpf-* | tcg-x86-64-rights-*) cpus='-smp 1 -icount shift=3,sleep=off' ;;
	*-x86-64-rough-6.1.*) cpus='-smp 1 -icount shift=3,sleep=off' ;;
	*-x86-64-rough-* | tcg-x86-64-remedies-*) cpus='-smp 2 -icount shift=3,sleep=off' ;;
	*-arm64-*) cpus='-smp 2 -icount shift=2,sleep=off' ;;
	*-s390x-*) cpus='-smp 1 -icount shift=3,sleep=off' ;;
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

# Splits the output of the third serial line into files: "SIZE NAME", a newline, SIZE bytes, for
# each file.
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

# Background processes of the shell do not receive the terminal's interrupt.
qemu=
trap '[ -z "$qemu" ] || kill "$qemu" 2>/dev/null' EXIT
trap 'exit 130' INT HUP TERM

runs=$machine # the architecture of the kernel
[ "$(uname -s)-$(uname -m)" = Linux-x86_64 ] || skip "boot needs an x86-64 Linux host"
accel=${ACCEL:-}
[ "$init" = rough ] && accel=tcg
# small: the least memory with which init starts is 73 MiB on x86-64, where Linux 6.12 needs memory
# for a second copy while it decompresses, and then leaves 30 MiB for programs; on armhf it is 56
# MiB.
devices='-device bochs-display' memory=512 boot_options=
case $init-$machine in
small-x86-64) devices='' memory=76 boot_options=nokaslr ;;
small-tiny) devices='' memory=48 ;;
small-*) devices='' memory=60 ;;
thp-*) devices='' memory=1024 ;;
captured-ppc64el) devices='' memory=2048 ;; # each file has a page, of 64 KiB
captured-*) devices='' ;;
nvidia-*) devices='-device edu -device edu' ;;
esac
mkdir -p "$build" || fail "cannot make $build"
case $machine-${devices:+devices} in
x86-64-*)
	kver=$(kernels | tail -n 1) tools='qemu-system-x86_64 qemu-system-x86
		musl-gcc musl-tools
		xz xz-utils'
	qemu_system=qemu-system-x86_64 cpu=max vmlinuz=/boot/vmlinuz-$kver console=ttyS0
	serial="-serial file:$build/console -serial chardev:tap -serial chardev:files"
	cc=musl-gcc uapi=/usr/include modules=/lib/modules/$kver headers=/lib/modules/$kver/build kbuild=
	;;
arm64-devices) # the serial line of the processor is not a ttyS, and the first ttyS is not connected
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
	release=-
	;;
tiny-*)
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
*) # a row of tests/arch; the only serial line carries TAP and the console, which is silenced
	[ -z "$devices" ] || fail "$init has no $machine"
	table=$(top=$top build='' more='s390x s390x - s390x-linux-gnu s390x s390x:s390-ccw-virtio:max:ttyS0 linux-image-s390x' &&
		. "$top/tests/arch/parts.sh" && rows)
	row=$(echo "$table" | awk -v machine="$machine" '$2 == machine')
	[ -n "$row" ] || fail "no machine $machine"
	# shellcheck disable=SC2086 # words
	set -- $row
	release=$3 compiler=$4 emulator=qemu-system-${6%%:*} meta=$7
	case $meta in
	=*) runs=${meta#=} meta=$(echo "$table" | awk -v machine="$runs" '$2 == machine { print $7 }') ;;
	esac
	model=${6#*:} cpu=${6%:*}
	model=${model%%:*} cpu=${cpu##*:} console=${6##*:}
	case $emulator in
	*-arm | *-aarch64) package=qemu-system-arm ;;
	*-ppc64) package=qemu-system-ppc ;;
	*-mipsel) package=qemu-system-mips ;;
	*-i386 | *-x86_64) package=qemu-system-x86 ;;
	*) package=qemu-system-misc ;;
	esac
	kver='' accel=tcg tools="$emulator $package
		$compiler-gcc gcc-$compiler
		python3 python3
		apt-get apt"
	qemu_system="$emulator -M $model" serial='-serial chardev:tap' boot_options="loglevel=0 TAP=/dev/$console"
	if [ "$machine" = s390x ]; then # TAP has a line of its own, which the kernel does not use
		serial="-chardev file,id=console,path=$build/console -device sclplmconsole,chardev=console -device sclpconsole,chardev=tap"
		boot_options='TAP=/dev/ttysclp0'
	fi
	cc=$here/../arch/musl-gcc uapi=/usr/$compiler/include
	[ "$machine" != amd64 ] || uapi=/usr/include
	export CROSS="$compiler" MUSL="$top/build/boot-$machine${KVER:+-$KVER}"
	[ "${KVER:-}" != 5.10 ] || meta=bullseye/$meta
	;;
esac
need=$(missing | tr '\n' ' ' | sed 's/ $//')
[ -z "$need" ] || lacks "$need"
case $machine in
x86-64) ;;
tiny)
	"$here/tinykernel" "${vmlinuz%/*}" >"$build/kernel.log" 2>&1 || {
		tail -n 5 "$build/kernel.log" | sed 's/^/# /'
		lacks "linux-source-6.1: apt-get does not give it, or it does not build"
	}
	kver=$(cat "${vmlinuz%/*}/version")
	;;
*) cross ;;
esac
[ -x "$prog" ] || fail "no program $prog"

# Files of an earlier run must not hide a step that fails in this one.
rm -rf "$build/root" "$build/module" "$build/initramfs" "$build/out"
mkdir -p "$build/root/lib" "$build/root/dev" "$build/root/proc" "$build/root/sys" "$build/module" ||
	fail "cannot make $build"

"$cc" -static -Os -std=gnu11 -Wall -Wextra -Wno-missing-field-initializers -idirafter "$uapi" \
	-idirafter "/usr/include/$(uname -m)-linux-gnu" -idirafter "$modules/source/include/uapi" -Wno-unused-function -o "$build/root/init" "$here/$init.c" >"$build/init.log" 2>&1 || {
	sed 's/^/# /' "$build/init.log"
	fail "$init.c does not build"
}

# A line of modules.dep is "drm.ko.xz: dependencies"; the module to load first is the last. modules
# NAME LIST: copies the module and its dependencies into the machine, and writes the list.
modules() {
	order=
	# shellcheck disable=SC2013 # the words are modules
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

# Builds the test's own drivers, and adds the modules that they depend on.
drivers() {
	cp "$here"/*fake.[ch] "$here/nvrm.h" "$build/module/"
	printf 'obj-m := fake.o pmufake.o vciofake.o ctrfake.o nvfake.o\nfake-y := gpufake.o perffake.o\n' >"$build/module/Kbuild"
	# shellcheck disable=SC2086 # words
	make -C "$headers" M="$build/module" $kbuild modules >"$build/module.log" 2>&1 || {
		sed 's/^/# /' "$build/module.log"
		fail "fake.ko does not build for $kver"
	}
	modules drm modules
	modules tiny/bochs modules.display
	for m in fake pmufake vciofake ctrfake nvfake; do
		cp "$build/module/$m.ko" "$build/root/lib/" || return 1
	done
	echo vciofake.ko >"$build/root/modules.vcio"
	echo nvfake.ko >"$build/root/modules.nvidia"
	case $init in gpucounters) echo ctrfake.ko ;; *) echo fake.ko ;; esac >>"$build/root/modules"
}

# Adds all captured machines, in the byte order of the machine, and the golden files whose commands
# are a program with arguments. An OA recording has the byte order of its machine. The engines of
# amdgpu-legacy come in the order in which the file system lists the processes. Golden files that
# show a feature which the program lacks are left out.
all_captured() {
	lacking=$(cat "${prog%/*}/build/features" 2>/dev/null)
	{ cp -a "$here/../trees" "$build/root/trees" && cp "$here/../oa/skl.rec" "$here/commands" "$build/root/" &&
		mkdir "$build/root/golden" && ln -s trees/amdgpu "$build/root/tree"; } || fail "cannot copy the captured machines"
	[ "$machine" != s390x ] || { "$here/../arch/big_endian.py" "$build/root/trees" >"$build/converted" &&
		sed -i /skl.rec/d "$build/root/commands"; } || fail "cannot convert the captured machines"
	for cmd in "$here"/../golden/*.json.cmd "$here"/../golden/amdgpu*.line.cmd; do
		case $cmd in */amdgpu-legacy.*) continue ;; esac
		! grep -qv '^g [-a-z0-9_/. ]*--proc [-a-z0-9_/. ]*$' "$cmd" || continue
		name=${cmd##*/}
		! awk -v left=" $lacking " -v name=" ${name%.cmd} " '{ feature = $1; sub(/:$/, "", feature); $1 = "" }
			index(left, " " feature " ") && index($0 " ", name) { found = 1 } END { exit !found }' "$here/../golden/needs" || continue
		cp "$cmd" "${cmd%.cmd}.want" "$build/root/golden/" || fail "cannot copy the golden files"
	done
}

# Adds the files that the commands of ./commands read, and a program linked with libgpustat.a.
captured() {
	[ "$init" != captured ] || { all_captured; return; }
	{ cp -a "$here/../trees/amdgpu" "$build/root/tree" && cp "$here/../oa/skl.rec" "$here/commands" "$build/root/"; } ||
		fail "cannot copy the captured machine"
	[ "$init" = thp ] || return 0
	{ make -C "$top" PIC_DIR="$build/pic" "$build/pic/libgpustat.o" && "$cc" -static -Os -I"$top/include" -o "$build/root/counter" \
		"$here/counter.c" "$build/pic/libgpustat.o"; } >"$build/counter.log" 2>&1 || {
		tail -n 5 "$build/counter.log" | sed 's/^/# /'
		fail "cannot build counter.c"
	}
}
if [ -n "$devices" ]; then drivers; else captured; fi
cp "$prog" "$build/root/gpustat"
chmod 755 "$build/root/gpustat" "$build/root/init"
(cd "$build/root" && find . | cpio -o -H newc -R 0:0 --quiet) >"$build/initramfs" || fail "cannot build the initramfs"

rm -f "$build/tap" # An earlier run may have left its results.
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

# The plan for init and INIT.sh together is printed last.
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
