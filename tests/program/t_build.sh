#!/bin/sh
# shellcheck disable=SC2317,SC2012,SC2086,SC2154,SC1091 # functions are called through check()
# t_build.sh PROG: tests the targets of the Makefile and their results.
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
# Fails if a string fills its char[N] without a NUL, which C compilers accept silently.
names_end() {
	cd "$root" || return 1
	for f in ./*.c $(find sources views commands perfmon -name '*.c'); do
		gcc -std=c11 -D_GNU_SOURCE -DVERSION='""' -I. -Iinclude -fsyntax-only -Wc++-compat "$f" 2>&1
	done | grep 'error:\|too long for C++' && return 1
	echo 'char a[2] = "ab";' | gcc -fsyntax-only -Wc++-compat -x c - 2>&1 | grep -q 'too long for C++'
}
# Also tests that a source that breaks both rules is found.
calls_down() {
	cd "$tmp/built" && tests/lint/report -c || return 1
	echo 'int cmd_live(void); int up(void); int up(void) { return cmd_live(); }' >sources/os/up.c &&
		gcc -c -o sources/os/up.o sources/os/up.c && ! tests/lint/report -c >"$tmp/o" &&
		grep -q 'sources/os -> commands' "$tmp/o" && grep -A 1 'without a unit test: 1$' "$tmp/o" | grep -qx ' *sources/os/up.c' && rm sources/os/up.[co]
}
quiet_gcc() { ! grep -i warning "$tmp/build.log"; }
quiet_clang() {
	inc=$(ls -d /usr/include/*-linux-musl | head -n 1) && cd "$root" || return 1
	for f in ./*.c $(find sources views commands perfmon -name '*.c'); do
		# Disabled: warnings about C99 itself, about padding, and about switches on an enum
		# with a default.
		clang -fsyntax-only -std=c11 -D_GNU_SOURCE -nostdlibinc -isystem "$inc" \
			-idirafter /usr/include -idirafter "/usr/include/$(uname -m)-linux-gnu" -I. -Iinclude \
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
	# With another PROG, every file has that name; otherwise the default name.
	grep -q '^\.Nm gs$' "$tmp/e/man/man1/gs.1" && ! grep -q '^\.Nm gpustat$' "$tmp/e/man/man1/gs.1" &&
		cmp gpustat.1 "$tmp/d/usr/share/man/man1/gpustat.1" && "$tmp/e/sbin/gs" -V | grep -q '^gpustat ' &&
		grep -q '^complete -F _gs gs$' "$tmp/e/usr/local/share/bash-completion/completions/gs" &&
		cmp contrib/gpustat.bash "$tmp/d/usr/share/bash-completion/completions/gpustat" &&
		cmp contrib/gpustat.zsh "$tmp/d/usr/share/zsh/site-functions/_gpustat" &&
		cmp contrib/gpustat.fish "$tmp/d/usr/share/fish/vendor_completions.d/gpustat.fish" &&
		grep -q '^#compdef gs$' "$tmp/e/usr/local/share/zsh/site-functions/_gs" &&
		grep -q '^complete -c gs ' "$tmp/e/usr/local/share/fish/vendor_completions.d/gs.fish" &&
		[ -f "$tmp/d/usr/share/doc/gpustat/README.md" ] || return 1
	make -C "$tmp/a" install DESTDIR="$tmp/f" BASHCOMPDIR=/comp DOCDIR=/doc && [ -f "$tmp/f/comp/gpustat" ] &&
		[ -f "$tmp/f/doc/README.md" ] && [ "$(stat -c %a "$tmp/f/comp/gpustat" "$tmp/f/usr/local/bin/gpustat" | tr '\n' ' ')" = '644 755 ' ] &&
		! grep -n setcap "$tmp/log"
}
# setcap applies to the installed program only, and has its own target.
caps() {
	make -C "$tmp/a" --no-print-directory -n setcap GROUP=g DESTDIR="$tmp/d" BINDIR=/b PROG=gs >"$tmp/o" && grep -q "^chown root:g $tmp/d/b/gs " "$tmp/o" &&
		[ "$(tail -n 2 "$tmp/o")" = "chmod 750 $tmp/d/b/gs
setcap cap_sys_ptrace+ep $tmp/d/b/gs" ] &&
		make -C "$tmp/a" -n setcap PERFMON=1 DESTDIR="$tmp/d" BINDIR=/b >"$tmp/o" && grep -q "^chown root:gpustat $tmp/d/b/gpustat " "$tmp/o" &&
		grep -qx "setcap cap_sys_ptrace,cap_perfmon+ep $tmp/d/b/gpustat" "$tmp/o"
}
# Without an existing group, or with an unknown variant, the file is not changed.
caps_refused() {
	mkdir -p "$tmp/caps" && cp /bin/true "$tmp/caps/gs" && chmod 755 "$tmp/caps/gs" || return 1
	for args in GROUP= GROUP=no-such-group 'GROUP=root PERFMON=yes'; do
		! make -C "$tmp/a" setcap $args BINDIR="$tmp/caps" PROG=gs >"$tmp/o" 2>&1 && [ "$(stat -c %a "$tmp/caps/gs")" = 755 ] || return 1
		case $args in
		*PERFMON*) grep -q '^make setcap: PERFMON is 1 or not set, not yes$' "$tmp/o" || return 1 ;;
		*no-such*) grep -q '^nothing was changed. To create the group: groupadd --system no-such-group; ' "$tmp/o" || return 1 ;;
		*) grep -q '^make setcap: GROUP is empty; name a group' "$tmp/o" || return 1 ;;
		esac
	done
}
# User nobody, who is not in the group, may not run the file even with the earlier capabilities.
sets_caps() {
	f=$tmp/d/usr/bin/gpustat gid=$(getent group daemon | cut -d: -f3)
	for try in ' cap_sys_ptrace=ep' '1 cap_sys_ptrace,cap_perfmon=ep'; do
		chmod 755 "$f" && make -C "$tmp/a" setcap GROUP=daemon PERFMON="${try% *}" DESTDIR="$tmp/d" PREFIX=/usr &&
			[ "$(stat -c '%a %u %g' "$f")" = "750 0 $gid" ] && [ "$(getcap "$f")" = "$f ${try#* }" ] || return 1
	done
}
user_flags() {
	cd "$tmp/b/deeper/still" && make clean && [ ! -e gpustat ] &&
		make CFLAGS='-O0 -DUSER_FLAG' CPPFLAGS=-DCPP_FLAG LDFLAGS=-Wl,-z,nognustack UAPI=/usr/include >"$tmp/o" &&
		grep -q -e '-O0 -DUSER_FLAG' "$tmp/o" && grep -q -e -DCPP_FLAG "$tmp/o" &&
		grep -q -e -Wl,-z,nognustack "$tmp/o" && "$root/tests/static" ./gpustat || return 1
	# Flags of the environment are used too; those of the Makefile come before them.
	make clean && CFLAGS='-O1 -DUSER_FLAG' LDFLAGS=-Wl,-z,nognustack make -n >"$tmp/o" &&
		grep -q -e '-fno-ident -O1 -DUSER_FLAG' "$tmp/o" && grep -q -e '-Wl,--build-id=none -Wl,-z,nognustack' "$tmp/o"
}
# The Makefile tests the flags of CC only if something is compiled, and only once.
asks_once() {
	printf '#!/bin/sh\necho "$*" >>"%s"\nexec musl-gcc "$@"\n' "$tmp/asked" >"$tmp/asker" && chmod +x "$tmp/asker" &&
		cd "$tmp/a" && rm -f counters.o gpustat.o && make CC="$tmp/asker" counters.o gpustat.o || return 1
	n=$(grep -c -e '-x c /dev/null' "$tmp/asked") && echo "asked $n times" && [ "$n" -lt 10 ] || return 1
	rm "$tmp/asked" && make CC="$tmp/asker" counters.o gpustat.o && make -n CC="$tmp/asker" clean && [ ! -e "$tmp/asked" ]
}
names_package() {
	cd "$tmp/a" && make clean && ! make CC=gcc 2>"$tmp/e1" && grep -q 'apt-get install musl-tools' "$tmp/e1" &&
		! make CC=/nonexistent/cc 2>"$tmp/e2" && grep -q 'apt-get install musl-tools' "$tmp/e2"
}
# The specs of musl-gcc do not support static PIE, but the library does.
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
# Builds with one metric file, with two, and without any again, all in one folder. The files are the
# public ones, or without ../shared those of tests/oa/gen_metrics.py.
built_in() {
	mkdir "$tmp/xml" && if [ -e "$oa/metrics-xml.tar.xz" ]; then
		tar -xJf "$oa/metrics-xml.tar.xz" -C "$tmp/xml" && cp "$oa/rec/tgl_ctx.rec" "$tmp/"
	else
		python3 -B "$root/tests/oa/gen_metrics.py" "$tmp/xml" &&
			python3 -B "$root/tests/oa/gen_recording.py" tglgt2 "$tmp/tgl_ctx.rec" --reports 60 --set ComputeBasic
	fi && cd "$tmp/built" && make -s && cp gpustat plain || return 1
	tgl=$tmp/xml/i915/oa-tglgt2.xml hsw=$tmp/xml/i915/oa-hsw.xml rec=$tmp/tgl_ctx.rec
	lists() { ./gpustat oa list --platform "$1" | grep -q '^RenderBasic .* built-in$'; }
	make -s OA_XML="$tgl" && "$root/tests/static" ./gpustat && lists tglgt2 && ! lists hsw || return 1
	./gpustat oa --replay "$rec" -o json >"$tmp/bare" 2>&1 && ./plain oa --replay "$rec" --metrics "$tgl" -o json |
		cmp - "$tmp/bare" && [ "$(grep -c '"set":"ComputeBasic"' "$tmp/bare")" -gt 50 ] || return 1
	make -s OA_XML="$hsw $tgl" && lists tglgt2 && lists hsw || return 1
	! make -s OA_XML="$tmp/none.xml" && ! make -s OA_XML=README.md || return 1
	make -s oa-pack OA_XML="$hsw $tgl" && ./gpustat oa list | grep -q '^RenderBasic  *TGLGT2 .*/gpu.pack$' && rm gpu.pack || return 1
	[ ! -e "$oa/metrics-xml.tar.xz" ] || make -s oa-sets OA_XML="$tmp/xml/*/oa-*.xml" && cmp sources/oa/oabuiltin.h "$root/sources/oa/oabuiltin.h" || return 1
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

manual_clean() { cd "$root" && mandoc -Tlint -Wwarning gpustat.1 docs/gpustat-*.1; }
check 'two builds in two folders are identical' same_builds
check "a room calls only itself and rooms above it in HACKING.md's map, and a command no other command; each source has a unit test" calls_down
check 'gcc prints no warning' quiet_gcc
check 'each string in a table of char arrays ends with a NUL' names_end
if command -v clang >/dev/null; then
	check 'clang -Weverything prints no warning' quiet_clang
else
	skip 'clang -Weverything prints no warning' 'needs package clang'
fi
check 'install and install-strip use DESTDIR PREFIX BINDIR MANDIR BASHCOMPDIR PROG' installs
check 'the setcap target applies to the installed program' caps
check 'the setcap target requires a group, and one of two sets of capabilities' caps_refused
if [ "$(id -u)" = 0 ] && command -v setcap >/dev/null && cp /bin/true "$tmp/true" && setcap cap_sys_ptrace+ep "$tmp/true"; then
	check 'make setcap sets the file capabilities, for members of the group only' sets_caps
else
	skip 'make setcap sets the file capabilities, for members of the group only' 'needs root, and a folder that keeps attributes'
fi
check "CFLAGS CPPFLAGS LDFLAGS and UAPI of the caller are used; make clean works" user_flags
check 'the flags of a compiler are tested once, and only to compile' asks_once
check 'the message about a compiler that does not target musl names the package' names_package
in_motion() {
	"$root/tests/showcase" "$root/gpustat" >"$tmp/o" 2>&1 && grep -qE ' card0 +i915 +[1-9][0-9.]*% render [1-9]' "$tmp/o"
}
if "$root/gpustat" >"$tmp/o" 2>&1 || [ "$?" != 3 ]; then
	skip 'make run shows engines at work on a machine without a GPU' 'this machine has a GPU'
else
	check 'make run shows engines at work on a machine without a GPU' in_motion
fi
if [ -e "/usr/lib/$(uname -m)-linux-musl/rcrt1.o" ]; then
	check 'make STATIC=-static-pie builds a static PIE' static_pie
else
	skip 'make STATIC=-static-pie builds a static PIE' 'this musl has no rcrt1.o'
fi
oa=$root/../shared/oa
if [ -e "$oa/metrics-xml.tar.xz" ] && ! command -v xz >/dev/null; then
	skip 'make OA_XML="..." includes metric files' 'needs package xz-utils'
else
	check 'make OA_XML="..." includes metric files' built_in
fi
if git rev-parse HEAD >/dev/null 2>&1; then
	check 'make dist creates identical archives from the same commit' dists
else
	skip 'make dist creates identical archives from the same commit' 'not a git checkout'
fi
if command -v mandoc >/dev/null; then
	check 'the manual has no warning of mandoc -Tlint -Wwarning' manual_clean
else
	skip 'the manual has no warning of mandoc -Tlint -Wwarning' 'needs package mandoc'
fi
if command -v shellcheck >/dev/null; then
	check 'scripts have no warning of shellcheck' shellcheck tests/unit tests/fuzz/replay tests/static tests/toolchain \
		tests/packages tests/showcase contrib/completion contrib/gpustat.bash \
		contrib/initramfs-tools/hooks/gpustat contrib/dracut/99gpustat/module-setup.sh contrib/mkinitcpio/install/gpustat tests/fuzz/run tests/boot/*.sh tests/pmu/run.sh \
		tests/arch/run.sh tests/arch/parts.sh tests/arch/suite.sh tests/arch/wide.sh tests/arch/fetch tests/arch/musl-gcc tests/eva/run tests/inject/build tests/proof tests/bench/build tests/bench/calls \
		tests/bench/run tests/bench/*.sh .ci/run contrib/munin/gpustat tests/tap.sh tests/*/t_*.sh
else
	skip 'scripts have no warning of shellcheck' 'needs package shellcheck'
fi
finish
