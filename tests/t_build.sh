#!/bin/sh
# shellcheck disable=SC2317,SC2012,SC2086,SC2154,SC1091 # functions are called through check()
# t_build.sh PROG: what the Makefile promises of the binary and of its targets.
prog=$(realpath "$1") || exit 1
root=$(pwd)
. "$root/tests/tap.sh"
copy() {
	mkdir -p "$tmp/$1"
	(cd "$root" && tar -cf - --exclude=build --exclude='*.o' --exclude=.git .) | tar -xf - -C "$tmp/$1"
	rm -f "$tmp/$1/gpustat"
}
same_builds() {
	copy a && copy b/deeper/still &&
		make -C "$tmp/a" >"$tmp/build.log" 2>&1 && make -C "$tmp/b/deeper/still" >/dev/null 2>&1 &&
		cmp "$tmp/a/gpustat" "$tmp/b/deeper/still/gpustat"
}
small() {
	strip -o "$tmp/stripped" "$prog" && size=$(stat -c %s "$tmp/stripped") && echo "$size bytes" &&
		[ "$size" -le 335872 ]
}
quiet_gcc() { ! grep -i warning "$tmp/build.log"; }
quiet_clang() {
	inc=$(ls -d /usr/include/*-linux-musl | head -n 1) && cd "$root" || return 1
	for f in ./*.c sources/*.c views/*.c commands/*.c perfmon/*.c; do
		# Left out: remarks on C99 itself, on padding, and on an enum's switch that has a default.
		clang -fsyntax-only -std=c11 -D_GNU_SOURCE -nostdlibinc -isystem "$inc" \
			-idirafter /usr/include -idirafter "/usr/include/$(uname -m)-linux-gnu" -Iinclude \
			-Weverything -Wno-declaration-after-statement -Wno-padded \
			-Wno-disabled-macro-expansion -Wno-covered-switch-default -Wno-switch-enum \
			-Wno-unsafe-buffer-usage -Wno-unknown-warning-option -Werror "$f" || return 1
	done
}
installs() {
	make -C "$tmp/a" install DESTDIR="$tmp/d" PREFIX=/usr && [ -x "$tmp/d/usr/bin/gpustat" ] &&
		[ -f "$tmp/d/usr/share/man/man1/gpustat.1" ] &&
		make -C "$tmp/a" install-strip DESTDIR="$tmp/e" BINDIR=/sbin MANDIR=/man PROG=gs &&
		[ -f "$tmp/e/man/man1/gs.1" ] && ! nm "$tmp/e/sbin/gs" 2>/dev/null | grep -q .
}
user_flags() {
	cd "$tmp/b/deeper/still" && make clean && [ ! -e gpustat ] &&
		make CFLAGS='-O1 -DUSER_FLAG' CPPFLAGS=-DCPP_FLAG LDFLAGS=-Wl,-z,nognustack UAPI=/usr/include >"$tmp/o" &&
		grep -q -e '-O1 -DUSER_FLAG' "$tmp/o" && grep -q -e -DCPP_FLAG "$tmp/o" &&
		grep -q -e -Wl,-z,nognustack "$tmp/o" && "$root/tests/static" ./gpustat
}
names_package() {
	cd "$tmp/a" && make clean && ! make CC=gcc 2>"$tmp/e1" && grep -q 'apt-get install musl-tools' "$tmp/e1" &&
		! make CC=/nonexistent/cc 2>"$tmp/e2" && grep -q 'apt-get install musl-tools' "$tmp/e2"
}
# With metric files built in, one and two; and without again, all from one folder.
built_in() {
	mkdir "$tmp/xml" && tar -xJf "$oa/metrics-xml.tar.xz" -C "$tmp/xml" i915/oa-tglgt2.xml i915/oa-hsw.xml &&
		cd "$tmp/a" && make clean && make -s && cp gpustat plain || return 1
	tgl=$tmp/xml/i915/oa-tglgt2.xml hsw=$tmp/xml/i915/oa-hsw.xml rec=$oa/rec/tgl_ctx.rec
	lists() { ./gpustat oa list --platform "$1" | grep -q '^RenderBasic .* built-in$'; }
	make -s OA_XML="$tgl" && "$root/tests/static" ./gpustat && lists tglgt2 && ! lists hsw || return 1
	./gpustat oa --replay "$rec" -o json >"$tmp/bare" 2>&1 && ./plain oa --replay "$rec" --metrics "$tgl" -o json |
		cmp - "$tmp/bare" && [ "$(grep -c '"set":"ComputeBasic"' "$tmp/bare")" -gt 50 ] || return 1
	make -s OA_XML="$hsw $tgl" && lists tglgt2 && lists hsw || return 1
	! make -s OA_XML="$tmp/none.xml" && ! make -s OA_XML=README.md || return 1
	make -s && cmp gpustat plain && [ "$(make --no-print-directory | wc -l)" -le 1 ]
}
dists() {
	make dist VERSION=0 && tar -tzf gpustat-0.tar.gz | grep -q '^gpustat-0/gpustat.c$'
	status=$?
	rm -f gpustat-0.tar.gz
	return $status
}

manual_clean() { cd "$root" && mandoc -Tlint -Wwarning gpustat.1; }
# Every option that --help lists stands in the manual, with letter and long name.
manual_whole() {
	cd "$root" && "$prog" --help | sed -n 's/^-\(.\), --\([a-z-]*\).*/\1 \2/p; s/^    --\([a-z-]*\).*/- \1/p' >"$tmp/options" &&
		[ "$(wc -l <"$tmp/options")" -gt 15 ] || return 1
	while read -r letter long; do
		grep -q -e "-$long\\b" gpustat.1 || { echo "--$long"; return 1; }
		[ "$letter" = - ] || grep -q "^\.It .*Fl .*\b$letter\b" gpustat.1 || { echo "-$letter"; return 1; }
	done <"$tmp/options"
}

# Every field that -f help lists.
manual_keys() {
	for command in '' procs cgroups fdinfo stat sample oa counters; do
		# shellcheck disable=SC2086 # none, or one word
		"$prog" $command -f help || return 1
	done | sed 's/ .*//; s/\.NAME//; s/\./\n/' | sort -u >"$tmp/keys"
	[ "$(wc -l <"$tmp/keys")" -gt 60 ] || return 1
	while read -r key; do
		grep -q "^\.\(It \)\{0,1\}Sy .*\b$key\b" "$root/gpustat.1" || { echo "$key"; return 1; }
	done <"$tmp/keys"
}

check 'no interpreter, no library, no heap, no stdio' tests/static "$prog"
check 'stripped size at most 328 KB' small
check 'two builds in two folders are the same bytes' same_builds
check 'gcc has no warning' quiet_gcc
if command -v clang >/dev/null; then
	check 'clang -Weverything has no warning' quiet_clang
else
	skip 'clang -Weverything has no warning' 'needs package clang'
fi
check 'install and install-strip, with DESTDIR PREFIX BINDIR MANDIR PROG' installs
check "the caller's CFLAGS CPPFLAGS LDFLAGS UAPI are used; clean" user_flags
check 'a compiler that does not target musl: the package is named' names_package
oa=$root/../shared/oa
if ! [ -e "$oa/metrics-xml.tar.xz" ]; then
	skip 'make OA_XML="..." builds metric files in' 'no ../shared/oa'
elif ! command -v xz >/dev/null; then
	skip 'make OA_XML="..." builds metric files in' 'needs package xz-utils'
else
	check 'make OA_XML="..." builds metric files in' built_in
fi
if git rev-parse HEAD >/dev/null 2>&1; then
	check 'dist' dists
else
	skip 'dist' 'not a git checkout'
fi
check 'the manual has every option' manual_whole
check 'the manual has every field' manual_keys
if command -v mandoc >/dev/null; then
	check 'the manual is clean under mandoc -Tlint -Wwarning' manual_clean
else
	skip 'the manual is clean under mandoc -Tlint -Wwarning' 'needs package mandoc'
fi
if command -v shellcheck >/dev/null; then
	check 'scripts are clean under shellcheck' shellcheck tests/run tests/unit tests/static tests/toolchain \
		tests/packages tests/showcase tests/fuzz/run tests/boot/run.sh tests/boot/oa.sh tests/pmu/run.sh \
		tests/pmu/fetch tests/pmu/musl-gcc tests/bench/build tests/bench/calls \
		tests/bench/run .ci/run tests/tap.sh tests/t_*.sh
else
	skip 'scripts are clean under shellcheck' 'needs package shellcheck'
fi
finish
