#!/bin/sh
# shellcheck disable=SC2317,SC1091,SC2154,SC2086,SC2013 # functions are called through check(); words
# t_features.sh PROG: make WITHOUT="..." and SMALL=1 leave out exactly the named features, and the
# program reports this. Tests builds without each feature in turn, and with SMALL=1 a large part of
# the tests.
prog=$(realpath "$1") || exit 1
# A make that calls this script passes its own variables on.
unset MAKEFLAGS MFLAGS MAKEOVERRIDES MAKELEVEL CC CFLAGS CPPFLAGS LDFLAGS WITHOUT SMALL
cd "${0%/*}/../.." || exit 1
. tests/tap.sh
dir=$PWD/build/variants
mkdir -p "$dir"
features=$(make -s features) || exit 1

if [ "$("$prog" --version | sed -n 2p)" != 'features: all' ]; then
	echo '1..0 # SKIP only for a program with all features'
	exit
fi

# Warnings are errors. Only objects that differ from the previous variant are compiled again.
build() { # NAME WITHOUT=...: as $dir/NAME
	name=$1
	shift
	make -s O="$dir/" PROG="$dir/$name" CPPFLAGS=-Werror "$@"
}
at_most() { # NAME BYTES
	${STRIP:-strip} -o "$tmp/stripped" "$dir/$1" && set -- "$(stat -c %s "$tmp/stripped")" "$2" && echo "$1 bytes" && [ "$1" -le "$2" ]
}
options_of() { # PROG COMMAND
	"$1" "$2" --help | sed -n 's/^\(-.,\|   \) \(--[^ ]*\).*/\1 \2/p'
}
# Each option of --help is also one of the full program, and a feature that -V lists as left out is
# neither a command nor a format.
says() { # NAME
	commands_of "$dir/$1" >"$tmp/has" && ! commands_of "$prog" | grep -vxF "$(cat "$tmp/has")" | grep -xF -f "$tmp/has" && "$dir/$1" --version >"$tmp/v" || return 1
	while read -r c; do
		options_of "$prog" "$c" >"$tmp/all" && options_of "$dir/$1" "$c" >"$tmp/own" && [ -s "$tmp/own" ] && ! grep -vxF -f "$tmp/all" "$tmp/own" || return 1
	done <"$tmp/has"
	for f in $(sed -n 's/^not built in: //p' "$tmp/v"); do
		grep -qx "$f" "$tmp/has" && return 1
		case " $features " in *" $f "*) ;; *) return 1 ;; esac
	done
	echo "$features" | tr ' ' '\n' | sort >"$tmp/names"
	sed -n 's/^features: //p; s/^not built in: //p' "$tmp/v" | sed 's/^none$//' | tr ' ' '\n' | grep . | sort | cmp - "$tmp/names"
}
# Every command, option and format of the full program works, or the message names its missing
# feature. The options of a missing command are tested only after that command.
answers() { # NAME WORD...
	p=$dir/$1
	shift
	said=$("$p" "$@" 2>&1 </dev/null)
	status=$?
	case $said in
	'gpustat: not built in: '*) [ "$status" = 2 ] && told=$((told + 1)) ;;
	*'unknown option '* | *': invalid '* | *'not a command'*) echo "$*: $said" && return 1 ;;
	esac
}
tells() { # NAME
	told=0
	commands_of "$dir/$1" >"$tmp/has"
	for c in $(commands_of "$prog"); do
		answers "$1" "$c" --help || return 1
		for o in $("$prog" "$c" --help | grep -o '^-[^,], --[a-z-]*\|^    --[a-z-]*' | grep -o -- '-[^, ]*'); do
			answers "$1" "$c" "$o" || return 1
			! grep -qx "$c" "$tmp/has" || answers "$1" "$o" || return 1
		done
	done
	for f in line block table plain csv json logfmt prom openmetrics influx graphite statsd collectd kmsg svg perfetto chrome perf-csv perf-json folded perfdata; do
		c=procs
		case $f in block) c=list ;; perf-csv | perf-json) c=stat ;; folded | perfdata) c=sample ;; esac
		"$prog" "$c" --help | grep -qw -e "$f" && answers "$1" -o "$f" -f help || return 1
	done
	echo "$told are reported as not built in"
	[ "$told" -gt 0 ]
}
rows='parse gpustat sources/os/privilege sources/os/files sources/device/sysfs sources/device/nodes commands/shared/messages commands/shared/options commands/shared/confine sources/drm/clients sources/drm/discovery commands/shared/sampling commands/shared/select commands/shared/sink commands/shared/output counters views/record views/out sources/catalog/catalog sources/catalog/eventcounters commands/named sources/perf/virtual sources/catalog/probe sources/oa/oapacks'
names() {
	for s in $rows; do cat "$s.c"; done | grep -oE '(HAS|OPTION|COMMAND|FORMAT)\([a-z]+' | sed 's/.*(//' | grep -vx feature | sort -u >"$tmp/used"
	(echo "$features" && echo perf named metrics udp replaced) | tr ' ' '\n' | sort | diff - "$tmp/used" && [ "$(sed -n 's/^ROWS = //p' Makefile)" = "$rows" ] &&
		! grep -rl --include='*.c' built.h ./*.c sources views commands | sed 's/^\.\///; s/\.c$//' | grep -vxF "$(echo "$rows" | tr ' ' '\n')"
}
unknown() {
	! make -n WITHOUT='oa nope' >"$tmp/o" 2>&1 && grep -q 'there is no nope; there are: procs host' "$tmp/o"
}
# Only the objects with rows of features are compiled again when WITHOUT changes.
again() {
	build again WITHOUT=top && build again WITHOUT=top >"$tmp/o" 2>&1 && [ ! -s "$tmp/o" ] && "$dir/again" -V | grep -qx 'not built in: top' &&
		build again WITHOUT=munin && "$dir/again" -V | grep -qx 'not built in: munin' && build again && "$dir/again" -V | grep -qx 'features: all'
}
# The variant is not optimized, and ccache compiles only the files that the feature changes.
cached=$(command -v ccache) && export CCACHE_DIR="$dir/ccache"
without() { # FEATURE
	make -s O="$dir/fast/" PROG="$dir/no_$1" CC="${cached:+ccache }musl-gcc" CPPFLAGS=-Werror CFLAGS=-O0 WITHOUT="$1" && says "no_$1"
	status=$?
	rm -f "$dir/no_$1"
	return "$status"
}
# The command line for Debian's other compiler.
clang_line() {
	line=$(sed -n 's/^make \(CC="clang .*\)/\1/p' docs/build.md) && [ "$line" ] &&
		eval "make -s -j2 O='$dir/clang/' PROG='$dir/clang/gpustat' $line" && tests/static "$dir/clang/gpustat" && "$dir/clang/gpustat" -V
}
cross_line() {
	lines=$(sed -n '/^export CROSS=/,/tests\/arch\/musl-gcc/p' docs/build.md) && [ "$lines" ] && rm -f build/arm64/gpustat && eval "$lines" &&
		file build/arm64/gpustat | grep -q 'ARM aarch64.*statically linked' && qemu-aarch64-static build/arm64/gpustat -V
}

check 'features have the same names in the tables and in the Makefile' names
check 'an unknown feature is an error that names it' unknown
check 'WITHOUT=all builds without a warning' build all WITHOUT=all -j2
if [ "$(uname -m)" = x86_64 ]; then
	check 'WITHOUT=all: the program has at most 143 360 bytes' at_most all 143360
fi
check 'WITHOUT=all: --help and --version match the features' says all
check 'WITHOUT=all: each command, option and format works or is reported as not built in' tells all
check 'SMALL=1 builds without a warning' build small SMALL=1
if [ "$(uname -m)" = x86_64 ]; then
	check 'SMALL=1: the program has at most 215 040 bytes' at_most small 215040
fi
check 'SMALL=1: --help and --version match the features' says small
check 'SMALL=1: each command, option and format works or is reported as not built in' tells small
check 'SMALL=1: golden files are reproduced' env ONLY='[a-k]*' tests/views/t_golden.sh "$dir/small"
for f in $features perf named metrics; do
	check "WITHOUT=$f builds without a warning" without "$f"
done
check 'another WITHOUT compiles the tables of features again' again
if command -v clang >/dev/null && [ -e /usr/include/x86_64-linux-musl ]; then
	check "docs/build.md: the command line with clang builds the program" clang_line
else
	skip "docs/build.md: the command line with clang builds the program" 'needs package clang'
fi
check 'docs/build.md: the command lines of a cross build work' cross_line
check 'SMALL=1: the suite passes' env LOGS=build/tests_small tests/run "$dir/small" t_golden.sh t_clients.py t_discovery.py t_bad_input.py t_dumps.py t_cgroups.py t_options.py t_output.py t_check.py t_doctor.py \
		t_formats.py t_counters_cli.py t_faults.py t_munin.py t_state.py t_sink.py t_http.py t_top.py t_events.py \
		t_stat.py t_stat_sets.py t_stat_errors.py \
		t_sample.py t_sample_symbols.py t_sample_perfdata.py t_sample_errors.py \
		t_oa_broken.py t_oa_sets.py t_oa_cli.py t_svg.py t_map.py
finish
