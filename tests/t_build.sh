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
		cmp "$tmp/a/gpustat" "$tmp/b/deeper/still/gpustat" && cp -a "$tmp/a" "$tmp/built"
}
kib=404
small() {
	strip -o "$tmp/stripped" "$prog" && size=$(stat -c %s "$tmp/stripped") && echo "$size bytes" &&
		[ "$size" -le $((kib * 1024)) ]
}
# A name in a table of char[N] that fills it has no end: C takes it without a word.
names_end() {
	cd "$root" || return 1
	for f in ./*.c sources/*.c views/*.c commands/*.c perfmon/*.c; do
		gcc -std=c11 -D_GNU_SOURCE -DVERSION='""' -Iinclude -fsyntax-only -Wc++-compat "$f" 2>&1
	done | grep 'error:\|too long for C++' && return 1
	echo 'char a[2] = "ab";' | gcc -fsyntax-only -Wc++-compat -x c - 2>&1 | grep -q 'too long for C++'
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
		[ -f "$tmp/e/man/man1/gs.1" ] && ! nm "$tmp/e/sbin/gs" 2>/dev/null | grep -q . || return 1
	# Under the other name everywhere, and by default under its own.
	grep -q '^\.Nm gs$' "$tmp/e/man/man1/gs.1" && ! grep -q '^\.Nm gpustat$' "$tmp/e/man/man1/gs.1" &&
		cmp gpustat.1 "$tmp/d/usr/share/man/man1/gpustat.1" && "$tmp/e/sbin/gs" -V | grep -q '^gpustat ' &&
		grep -q '^complete -F _gs gs$' "$tmp/e/usr/local/share/bash-completion/completions/gs" &&
		cmp contrib/gpustat.bash "$tmp/d/usr/share/bash-completion/completions/gpustat" &&
		[ -f "$tmp/d/usr/share/doc/gpustat/README.md" ] || return 1
	make -C "$tmp/a" install DESTDIR="$tmp/f" BASHCOMPDIR=/comp DOCDIR=/doc && [ -f "$tmp/f/comp/gpustat" ] &&
		[ -f "$tmp/f/doc/README.md" ] && [ "$(stat -c %a "$tmp/f/comp/gpustat" "$tmp/f/usr/local/bin/gpustat" | tr '\n' ' ')" = '644 755 ' ] &&
		! grep -n setcap "$tmp/log"
}
# What is installed and nothing else gets the capabilities, by a command of its own.
caps() {
	make -C "$tmp/a" -n setcap DESTDIR="$tmp/d" BINDIR=/b PROG=gs | grep -qx "setcap cap_perfmon,cap_sys_ptrace+ep $tmp/d/b/gs"
}
sets_caps() {
	make -C "$tmp/a" setcap DESTDIR="$tmp/d" PREFIX=/usr && getcap "$tmp/d/usr/bin/gpustat" |
		grep -q 'cap_sys_ptrace,cap_perfmon=ep'
}
no_interpreter() { ! readelf -lW "$prog" | grep -q INTERP; }
user_flags() {
	cd "$tmp/b/deeper/still" && make clean && [ ! -e gpustat ] &&
		make CFLAGS='-O0 -DUSER_FLAG' CPPFLAGS=-DCPP_FLAG LDFLAGS=-Wl,-z,nognustack UAPI=/usr/include >"$tmp/o" &&
		grep -q -e '-O0 -DUSER_FLAG' "$tmp/o" && grep -q -e -DCPP_FLAG "$tmp/o" &&
		grep -q -e -Wl,-z,nognustack "$tmp/o" && "$root/tests/static" ./gpustat || return 1
	# The environment's as well; ours stay before them.
	make clean && CFLAGS='-O1 -DUSER_FLAG' LDFLAGS=-Wl,-z,nognustack make -n >"$tmp/o" &&
		grep -q -e '-fno-ident -O1 -DUSER_FLAG' "$tmp/o" && grep -q -e '-Wl,--build-id=none -Wl,-z,nognustack' "$tmp/o"
}
# Which flags CC has: asked when something is compiled, once.
asks_once() {
	printf '#!/bin/sh\necho "$*" >>"%s"\nexec musl-gcc "$@"\n' "$tmp/asked" >"$tmp/asker" && chmod +x "$tmp/asker" &&
		cd "$tmp/a" && rm -f parse.o perfstream.o && make CC="$tmp/asker" parse.o perfstream.o || return 1
	n=$(grep -c -e '-x c /dev/null' "$tmp/asked") && echo "asked $n times" && [ "$n" -lt 10 ] || return 1
	rm "$tmp/asked" && make CC="$tmp/asker" parse.o perfstream.o && make -n CC="$tmp/asker" clean && [ ! -e "$tmp/asked" ]
}
names_package() {
	cd "$tmp/a" && make clean && ! make CC=gcc 2>"$tmp/e1" && grep -q 'apt-get install musl-tools' "$tmp/e1" &&
		! make CC=/nonexistent/cc 2>"$tmp/e2" && grep -q 'apt-get install musl-tools' "$tmp/e2"
}
# musl-gcc's specs know no static PIE; its library does.
static_pie() {
	lib=/usr/lib/$(uname -m)-linux-musl own=$(gcc -print-libgcc-file-name)
	cat >"$tmp/cc" <<END
#!/bin/sh
case " \$* " in
*' -c '* | *' -E '*) exec gcc -nostdinc -isystem /usr/include/${lib##*/} -isystem ${own%/*}/include "\$@" ;;
*' -static-pie '*) exec gcc -nostdlib -static-pie -Wl,-z,text "\$@" $lib/rcrt1.o $lib/crti.o $lib/libc.a $own $lib/crtn.o ;;
esac
exec musl-gcc "\$@"
END
	chmod +x "$tmp/cc" && cd "$tmp/a" && make clean && make -s CC="$tmp/cc" STATIC=-static-pie CFLAGS='-Os -fPIE' &&
		readelf -hW gpustat | grep -q 'Type: *DYN' && ! readelf -lW gpustat | grep -q INTERP && ./gpustat -V
}
# With metric files built in, one and two; and without again, all from one folder.
built_in() {
	mkdir "$tmp/xml" && tar -xJf "$oa/metrics-xml.tar.xz" -C "$tmp/xml" i915/oa-tglgt2.xml i915/oa-hsw.xml &&
		cd "$tmp/built" && make -s && cp gpustat plain || return 1
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
	git clone -q --no-hardlinks . "$tmp/clone/x" && git clone -q --no-hardlinks . "$tmp/clone/y" &&
		(cd "$tmp/clone/x" && umask 077 && make dist VERSION=0) && (cd "$tmp/clone/y" && umask 022 && make dist VERSION=0) &&
		tar -tzf "$tmp/clone/x/gpustat-0.tar.gz" | grep -q '^gpustat-0/gpustat.c$' &&
		(cd "$tmp/clone/x" && make -s dist VERSION=0 | tee "$tmp/sums" | grep ' gpustat-0.tar.gz$' | sha256sum -c --ignore-missing) &&
		(cd "$tmp/clone/x" && sha512sum -c --ignore-missing <"$tmp/sums") &&
		cmp "$tmp/clone/x/gpustat-0.tar.gz" "$tmp/clone/y/gpustat-0.tar.gz" || return 1
	(cd "$tmp/clone/x" && SOURCE_DATE_EPOCH=86400 make dist VERSION=0 &&
		TZ=UTC tar -tvzf gpustat-0.tar.gz | grep -q ' 0/0 .* 1970-01-02 00:00 gpustat-0/Makefile$')
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

# The commands in the same order in --help, in the synopsis and below it.
manual_order() {
	"$prog" --help | sed -n 's/^gpustat \([a-z]*\) .*/\1/p' >"$tmp/order" && [ "$(wc -l <"$tmp/order")" -gt 10 ] &&
		sed -n '/^\.Sh SYN/,/^\.Sh DESC/s/^\.Cm \([a-z]*\).*/\1/p' "$root/gpustat.1" | uniq | sed 's/^procs$/&\ncgroups/' | diff "$tmp/order" - &&
		sed -n '/^The commands are/,/^\.El/s/^\.It Cm //p' "$root/gpustat.1" | diff "$tmp/order" -
}

# Every field that -f help lists.
manual_keys() {
	for command in '' procs cgroups fdinfo stat sample oa counters doctor; do
		# shellcheck disable=SC2086 # none, or one word
		"$prog" $command -f help || return 1
	done | sed 's/ .*//; s/\.NAME//; s/\./\n/' | sort -u >"$tmp/keys"
	[ "$(wc -l <"$tmp/keys")" -gt 60 ] || return 1
	while read -r key; do
		grep -q "^\.\(It \)\{0,1\}Sy .*\b$key\b" "$root/gpustat.1" || { echo "$key"; return 1; }
	done <"$tmp/keys"
}

check 'no interpreter, no library, no heap, no stdio' tests/static "$prog"
check 'readelf sees no interpreter' no_interpreter
check "stripped size at most $kib KiB" small
check 'two builds in two folders are the same bytes' same_builds
check 'gcc has no warning' quiet_gcc
check 'each name in a table of characters has its end' names_end
if [ "$CI" != true ]; then
	skip 'clang -Weverything has no warning' 'long: CI=true runs it'
elif command -v clang >/dev/null; then
	check 'clang -Weverything has no warning' quiet_clang
else
	skip 'clang -Weverything has no warning' 'needs package clang'
fi
check 'install and install-strip, with DESTDIR PREFIX BINDIR MANDIR BASHCOMPDIR PROG' installs
check 'setcap is of what is installed' caps
if [ "$(id -u)" = 0 ] && command -v setcap >/dev/null && cp /bin/true "$tmp/true" && setcap cap_sys_ptrace+ep "$tmp/true"; then
	check 'make setcap' sets_caps
else
	skip 'make setcap' 'needs root, and a folder that keeps attributes'
fi
check "the caller's CFLAGS CPPFLAGS LDFLAGS UAPI are used; clean" user_flags
check 'a compiler is asked for its flags once, and only to compile' asks_once
check 'a compiler that does not target musl: the package is named' names_package
if [ "$CI" != true ]; then
	skip 'make STATIC=-static-pie' 'long: CI=true runs it'
elif [ -e "/usr/lib/$(uname -m)-linux-musl/rcrt1.o" ]; then
	check 'make STATIC=-static-pie' static_pie
else
	skip 'make STATIC=-static-pie' 'this musl has no rcrt1.o'
fi
oa=$root/../shared/oa
if ! [ -e "$oa/metrics-xml.tar.xz" ]; then
	skip 'make OA_XML="..." builds metric files in' 'no ../shared/oa'
elif ! command -v xz >/dev/null; then
	skip 'make OA_XML="..." builds metric files in' 'needs package xz-utils'
else
	check 'make OA_XML="..." builds metric files in' built_in
fi
if git rev-parse HEAD >/dev/null 2>&1; then
	check 'dist: the same bytes from the same commit' dists
else
	skip 'dist' 'not a git checkout'
fi
check 'the manual has every option' manual_whole
check 'the manual has every field' manual_keys
check 'the manual has the commands in the order of --help' manual_order
if command -v mandoc >/dev/null; then
	check 'the manual is clean under mandoc -Tlint -Wwarning' manual_clean
else
	skip 'the manual is clean under mandoc -Tlint -Wwarning' 'needs package mandoc'
fi
if command -v shellcheck >/dev/null; then
	check 'scripts are clean under shellcheck' shellcheck tests/run tests/unit tests/static tests/toolchain \
		tests/packages tests/showcase contrib/completion contrib/gpustat.bash \
		contrib/initramfs-tools/hooks/gpustat contrib/dracut/99gpustat/module-setup.sh contrib/mkinitcpio/install/gpustat tests/fuzz/run tests/boot/run.sh tests/boot/oa.sh tests/pmu/run.sh \
		tests/arch/run.sh tests/arch/parts.sh tests/arch/suite.sh tests/arch/wide.sh tests/arch/fetch tests/arch/musl-gcc tests/eva/run tests/inject/build tests/proof tests/bench/build tests/bench/calls \
		tests/bench/run tests/bench/lib.sh tests/bench/monitor.sh .ci/run contrib/munin/gpustat tests/tap.sh tests/t_*.sh
else
	skip 'scripts are clean under shellcheck' 'needs package shellcheck'
fi
finish
