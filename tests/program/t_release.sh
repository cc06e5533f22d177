#!/bin/sh
# shellcheck disable=SC2317,SC1091,SC2154,SC2086,SC2013 # functions are called through check(); lists of words
# t_release.sh PROG: make release. Two clones in two folders give the same bytes. Each archive
# contains the files that its README names, and installs them into a folder; under qemu-user its
# program prints the golden file of a captured machine. NAMES="...": only these programs of
# contrib/release.
root=$(pwd)
# A make that calls this script passes its own variables on.
unset MAKEFLAGS MFLAGS MAKEOVERRIDES MAKELEVEL CC CFLAGS CPPFLAGS LDFLAGS ARCHS SOURCE_DATE_EPOCH
. "$root/tests/tap.sh"
names=${NAMES:-x86_64 small-aarch64 s390x}
version=$(sed -n 's/^VERSION = //p' Makefile)
export BUILD="${BUILD:-$root/build/arch}" LC_ALL=C

git rev-parse HEAD >/dev/null 2>&1 || { echo '1..0 # SKIP not a git checkout'; exit; }
for p in git $(awk '$1 == "t_release.sh" { gsub(",", " ", $3); print $3 }' tests/levels); do
	dpkg-query -W -f '${Status}\n' "$p" 2>/dev/null | grep -q 'ok installed' || missing="$missing $p"
done
[ -z "$missing" ] || { echo "1..0 # SKIP needs packages:$missing"; exit; }

# Prints the title of the archive of a program.
title() { # NAME
	case $1 in
	small-*) echo "gpustat-small-$version-${1#small-}" ;;
	*) echo "gpustat-$version-$1" ;;
	esac
}
unknown_name() {
	! make -s release ARCHS='x86_64 vax' >"$tmp/o" 2>&1 &&
		grep -q '^release: there is no vax; there are: x86_64 i386 ' "$tmp/o"
}
# A dpkg-query that finds no package: one line names them all, and nothing is built.
names_packages() {
	mkdir "$tmp/bin" && printf '#!/bin/sh\nexit 1\n' >"$tmp/bin/dpkg-query" && chmod +x "$tmp/bin/dpkg-query" &&
		git clone -q --no-hardlinks . "$tmp/bare" && cd "$tmp/bare" || return 1
	want='make apt git gcc binutils linux-libc-dev gcc-riscv64-linux-gnu linux-libc-dev-riscv64-cross llvm'
	want="$want gcc-s390x-linux-gnu linux-libc-dev-s390x-cross"
	! PATH="$tmp/bin:$PATH" make -s release ARCHS='s390x riscv64' >"$tmp/o" 2>&1 && [ ! -e build/release ] &&
		grep -qx "release: apt-get install $want" "$tmp/o" && [ "$(grep -cv '^make: ' "$tmp/o")" = 1 ]
}
released() { # FOLDER
	git clone -q --no-hardlinks . "$tmp/$1" && make -s -C "$tmp/$1" release ARCHS="$names" >"$tmp/$1.log" 2>&1
	status=$?
	cat "$tmp/$1.log"
	[ "$status" = 0 ] && [ "$(grep -c 'its output equals the golden file$' "$tmp/$1.log")" = "$(echo $names | wc -w)" ]
}
same() {
	diff -r "$tmp/a/build/release/out" "$tmp/long/path/b/build/release/out" &&
		(cd "$tmp/a/build/release/out" && sha256sum -c SHA256SUMS &&
			[ "$(wc -l <SHA256SUMS)" = "$(($(echo $names | wc -w) + 1))" ])
}
# The files of the archive, those that it installs, and the commands of its targets.
installs() { # NAME
	t=$(title "$1")
	rm -rf "${tmp:?}/$t" "$tmp/dest" && tar -xzf "$tmp/a/build/release/out/$t.tar.gz" -C "$tmp" && cd "$tmp/$t" &&
		[ "$(wc -l <README)" -le 40 ] && ! grep -q '.\{81\}' README && cmp LICENSE "$root/LICENSE" &&
		make -s | cmp - README && for f in $(grep -oE '[A-Za-z]+\.md|contrib/[A-Za-z]+|gpustat\.1' README); do
			[ -f "$f" ] || { echo "README names $f"; return 1; }
		done && make -s install DESTDIR="$tmp/dest" PREFIX=/usr && cmp gpustat "$tmp/dest/usr/bin/gpustat" &&
		cmp gpustat.1 "$tmp/dest/usr/share/man/man1/gpustat.1" && [ -f "$tmp/dest/usr/share/man/man1/gpustat-stat.1" ] &&
		[ -f "$tmp/dest/usr/share/bash-completion/completions/gpustat" ] && ! readelf -lW gpustat | grep INTERP || return 1
	for args in 'GROUP=g' 'PERFMON=1'; do
		make -s -n setcap $args DESTDIR="$tmp/dest" PREFIX=/usr >"$tmp/got" &&
			make -s -n -C "$root" setcap $args DESTDIR="$tmp/dest" PREFIX=/usr | cmp - "$tmp/got" || return 1
	done
}
runs() { # NAME
	printf '#!/bin/sh\nexec qemu-%s-static %s "$@"\n' "${1#small-}" "$tmp/$(title "$1")/gpustat" >"$tmp/emulated" &&
		chmod +x "$tmp/emulated" && ONLY=i915.json "$root/tests/views/t_golden.sh" "$tmp/emulated" >"$tmp/golden"
	cat "$tmp/golden"
	grep -qx 'ok 1 - i915.json' "$tmp/golden"
}
# On a big-endian machine the driver writes gpu_metrics in that order: copies of the captured
# machines have it so, and must give the same golden files.
big_endian() { # NAME
	rm -rf "$tmp/tests" && mkdir -p "$tmp/tests/golden" "$tmp/tests/views" "$tmp/tests/trees" &&
		cp "$root/tests/views/t_golden.sh" "$tmp/tests/views" && cp "$root"/tests/golden/amdgpu*.json.* "$tmp/tests/golden" &&
		cp -a "$root/tests/trees/amdgpu" "$root/tests/trees/amdgpu-apu" "$tmp/tests/trees" &&
		"$root/tests/arch/big_endian.py" "$tmp/tests/trees" && cd "$tmp" || return 1
	for machine in amdgpu amdgpu-apu; do
		ONLY=$machine.json tests/views/t_golden.sh "$tmp/emulated" >"$tmp/golden"
		cat "$tmp/golden"
		grep -qx "ok 1 - $machine.json" "$tmp/golden" || return 1
	done
}
# The arguments of clone(2) are in another order on s390x.
command_status() { # NAME
	"$tmp/emulated" run -o json -O "$tmp/run" -- sh -c 'exit 3'
	[ "$?" = 3 ] && grep -q '"status":3,' "$tmp/run"
}
# The image has one file, and its program starts.
image() {
	set -- buildah --storage-driver vfs --root "$tmp/images" --runroot "$tmp/runroot"
	cd "$tmp/$(title "$first")" && "$@" bud -q --isolation chroot -t localhost/gpustat -f contrib/Containerfile . &&
		c=$("$@" from localhost/gpustat) && m=$("$@" mount "$c") && [ "$(find "$m" -type f)" = "$m/gpustat" ] &&
		"$@" run --isolation chroot "$c" /gpustat -V | grep -qx "gpustat $version"
}

check 'a name that does not exist: the message lists the names' unknown_name
check 'missing packages: one line names all of them, and nothing is built' names_packages
check "make release builds $names, and runs them" released a
check 'make release builds and runs the programs in another folder' released long/path/b
check 'both builds have the same bytes, and SHA256SUMS is correct' same
for first in $names; do
	check "$first: the archive installs the files that its README names, and its target setcap is that of the Makefile" installs "$first"
	check "$first: the installed program prints the golden file under qemu-user" runs "$first"
	[ "$first" = s390x ] || continue
	check "$first: the golden files are the same with a gpu_metrics in the machine's own byte order" big_endian "$first"
	check "$first: run returns the exit status of its command" command_status "$first"
done
first=${names%% *}
if command -v buildah >/dev/null && [ "$first" = "$(uname -m)" ]; then
	check 'the image of contrib/Containerfile has one file, and its program starts' image
else
	skip 'the image of contrib/Containerfile has one file, and its program starts' 'needs package buildah'
fi
finish
