#!/bin/sh
# shellcheck disable=SC2034,SC2154 # rows are read into variables, which other files use
# The steps that run.sh and t_arch.sh share, for each architecture. To be sourced, with $top, the
# checkout, and $build, the folder for all results.
unset MAKEFLAGS MFLAGS MAKEOVERRIDES MAKELEVEL CC CFLAGS CPPFLAGS LDFLAGS
here=$top/tests/arch

# Architecture, Debian's name for it, suitable releases (-: this machine's), compiler, qemu-user,
# the machine with its console, and a kernel: a meta package, or the architecture whose kernel also
# runs these programs. more: a further row.
rows() {
	cat <<-'END'
		x86-64  amd64   -      x86_64-linux-gnu        x86_64  x86_64:pc:max:ttyS0             linux-image-cloud-amd64
		i386    i386    -      i686-linux-gnu          i386    i386:pc:max:ttyS0               linux-image-686
		arm64   arm64   -      aarch64-linux-gnu       aarch64 aarch64:virt:cortex-a57:ttyAMA0 linux-image-cloud-arm64
		armhf   armhf   -      arm-linux-gnueabihf     arm     arm:virt:cortex-a15:ttyAMA0     linux-image-armmp
		armel   armel   -      arm-linux-gnueabi       arm     arm:virt:cortex-a15:ttyAMA0     =armhf
		riscv64 riscv64 trixie,forky riscv64-linux-gnu riscv64 riscv64:virt:rv64:ttyS0         linux-image-riscv64
		mipsel  mipsel  -      mipsel-linux-gnu        mipsel  mipsel:malta:24Kf:ttyS0         linux-image-4kc-malta
		ppc64le ppc64el -      powerpc64le-linux-gnu   ppc64le ppc64:pseries:power9:hvc0       linux-image-powerpc64le
	END
	[ -z "${more:-}" ] || echo "$more"
}

# Prints the architectures whose unit tests run: those of ARCHS; if it is not set, armhf, which has
# 32 bits and an unsigned char.
with_units() {
	echo "${ARCHS:-armhf}"
}

# The packages required to build for them and to run the result.
packages() {
	echo make apt llvm qemu-user-static
	rows | while read -r _ debian _ compiler _; do
		[ "$debian" = amd64 ] || echo "gcc-$compiler linux-libc-dev-$debian-cross"
	done
}

# each COMMAND [NAME...]: runs the command for the rows of those names, or for all, with the columns
# in variables.
each() {
	what=$1
	shift
	wanted=" $* " failed=0
	rows >"$build/rows"
	while read -r name debian release compiler user machine kernel; do
		dir=$build/$name
		case $wanted in
		'  ' | *" $name "*) "$what" || failed=1 ;;
		esac
	done <"$build/rows"
	return $failed
}

# quiet NAME COMMAND...: writes the command's output to a log, and prints its end if the command
# fails.
quiet() {
	log=$dir/$1.log
	shift
	"$@" >"$log" 2>&1 </dev/null && return
	tail -n 5 "$log" | sed "s/^/# $name: /" >&2
	return 1
}

# Downloads musl, and the kernel if a meta package is named.
fetched() {
	mkdir -p "$dir" && quiet fetch "$here/fetch" "$dir" "$debian" "$release" "$1"
}

uapi() {
	if [ -e "/usr/$compiler/include/linux/perf_event.h" ]; then
		echo "/usr/$compiler/include"
	else
		echo /usr/include
	fi
}

# Compiles a copy, so that its objects do not mix with those of other architectures. Warnings are
# errors: long has another size here.
compile() {
	rm -rf "$dir/src" "$dir/root" && mkdir -p "$dir/src" "$dir/root" && export CROSS="$compiler" MUSL="$dir" &&
		(cd "$top" && tar -cf - --exclude=./build --exclude=./.git --exclude=./gpustat --exclude='*.[ao]' \
			--exclude=./tests . tests/toolchain) | tar -xf - -C "$dir/src" &&
		make -j2 -C "$dir/src" CC="$here/musl-gcc" CPPFLAGS=-Werror UAPI="$(uapi)" &&
		"$top/tests/static" "$dir/src/gpustat" && "$compiler-strip" -o "$dir/root/gpustat" "$dir/src/gpustat"
}

# Creates a program that is called like a native one; `on` is the emulator. What this machine's
# processor can run (x86-64 and, with most kernels, i386) needs no emulator, which takes ten times
# as long.
emulated() {
	on=qemu-$user-static
	case $(uname -m)-$user in
	x86_64-x86_64 | x86_64-i386) "$dir/root/gpustat" -V && on='' ;;
	esac
	printf '#!/bin/sh\nexec %s "%s" "$@"\n' "$on" "$dir/root/gpustat" >"$dir/emulated" &&
		chmod +x "$dir/emulated" && "$dir/emulated" -V
}
