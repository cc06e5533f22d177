#!/bin/sh
# shellcheck disable=SC2317,SC1091,SC2154,SC2086,SC2013 # functions are called through check(); words
# t_features.sh PROG: what make WITHOUT="..." and SMALL=1 leave out is gone, and the program says so; no more than that is. CI=true:
# without each feature, and the suite with SMALL=1.
prog=$(realpath "$1") || exit 1
# A make that calls this script hands its own variables down.
unset MAKEFLAGS MFLAGS MAKEOVERRIDES MAKELEVEL CC CFLAGS CPPFLAGS LDFLAGS WITHOUT SMALL
cd "${0%/*}/.." || exit 1
. tests/tap.sh
dir=$PWD/build/variants
mkdir -p "$dir"
features=$(make -s features) || exit 1

if [ "$("$prog" --version | sed -n 2p)" != 'features: all' ]; then
	echo '1..0 # SKIP of the program that has all features'
	exit
fi

# Warnings are failures. What a variant has not in common with the one before is compiled anew.
build() { # NAME WITHOUT=...: as $dir/NAME
	name=$1
	shift
	make -s O="$dir/" PROG="$dir/$name" CPPFLAGS=-Werror "$@"
}
at_most() { # NAME BYTES
	${STRIP:-strip} -o "$tmp/stripped" "$dir/$1" && set -- "$(stat -c %s "$tmp/stripped")" "$2" && echo "$1 bytes" && [ "$1" -le "$2" ]
}
# Every line of --help is one of the whole program's: nothing is new, and what -V names as left out is neither command nor format.
says() { # NAME
	"$dir/$1" --help >"$tmp/has" && "$prog" --help >"$tmp/all" && ! grep '^\(gpustat \|-[^o]\|   -\)' "$tmp/has" | grep -vxF -f "$tmp/all" &&
		"$dir/$1" --version >"$tmp/v" && sed -n '2,$p' "$tmp/v" >"$tmp/v2" && sed -n '2,3p' "$tmp/has" | cmp - "$tmp/v2" || return 1
	for f in $(sed -n 's/^not built in: //p' "$tmp/v"); do
		grep -q "^gpustat $f " "$tmp/has" && return 1
		case " $features " in *" $f "*) ;; *) return 1 ;; esac
	done
	echo "$features" | tr ' ' '\n' | sort >"$tmp/names"
	sed -n 's/^features: //p; s/^not built in: //p' "$tmp/v" | sed 's/^none$//' | tr ' ' '\n' | grep . | sort | cmp - "$tmp/names"
}
# A command, an option or a format that the whole program has: it works, or is told by the feature that it is of.
answers() { # NAME WORD...
	p=$dir/$1
	shift
	said=$("$p" "$@" 2>&1 </dev/null)
	status=$?
	case $said in
	'gpustat: not built in: '*) [ "$status" = 2 ] && told=$((told + 1)) ;;
	*'no option '* | *'no such format'* | *'neither a command'*) echo "$*: $said" && return 1 ;;
	esac
}
tells() { # NAME
	told=0
	for c in $("$prog" --help | sed -n 's/^gpustat \([a-z][a-z]*\) .*/\1/p'); do
		answers "$1" "$c" --help || return 1
		for o in $("$prog" "$c" --help | grep -o '^-[^,], --[a-z-]*\|^    --[a-z-]*' | grep -o -- '-[^, ]*'); do
			answers "$1" "$c" "$o" || return 1
			answers "$1" "$o" || return 1
		done
	done
	for f in line table csv json logfmt prom openmetrics influx graphite statsd collectd kmsg svg perf-csv folded perfdata; do
		"$prog" --help | grep -qw "$f" && answers "$1" -o "$f" -f help || return 1
	done
	echo "$told are told"
	[ "$told" -gt 0 ]
}
rows='gpustat views/record views/out sources/catalog commands/counters'
names() {
	for s in $rows; do cat "$s.c"; done | grep -oE '(HAS|OPTION|COMMAND|FORMAT)\([a-z]+' | sed 's/.*(//' | grep -vx feature | sort -u >"$tmp/used"
	(echo "$features" && echo perf named) | tr ' ' '\n' | sort | diff - "$tmp/used" && [ "$(sed -n 's/^ROWS = //p' Makefile)" = "$rows" ] &&
		! grep -l built.h ./*.c sources/*.c views/*.c commands/*.c | sed 's/^\.\///; s/\.c$//' | grep -vxF "$(echo "$rows" | tr ' ' '\n')"
}
unknown() {
	! make -n WITHOUT='oa nope' >"$tmp/o" 2>&1 && grep -q 'there is no nope; there are: host' "$tmp/o"
}
# The objects that have rows follow what is left out; the others stay.
again() {
	build again WITHOUT=top && build again WITHOUT=top >"$tmp/o" 2>&1 && [ ! -s "$tmp/o" ] && "$dir/again" -V | grep -qx 'not built in: top' &&
		build again WITHOUT=munin && "$dir/again" -V | grep -qx 'not built in: munin' && build again && "$dir/again" -V | grep -qx 'features: all'
}
without() { # FEATURE
	build "no_$1" WITHOUT="$1" && "$dir/no_$1" --help >"$tmp/has" && says "no_$1"
	status=$?
	rm -f "$dir/no_$1"
	return "$status"
}
# Debian's other compiler, by the README's own line.
clang_line() {
	line=$(sed -n 's/^make \(CC="clang .*\)/\1/p' README.md) && [ "$line" ] &&
		eval "make -s -j2 O='$dir/clang/' PROG='$dir/clang/gpustat' $line" && tests/static "$dir/clang/gpustat" && "$dir/clang/gpustat" -V
}
cross_line() {
	lines=$(sed -n '/^export CROSS=/,/tests\/arch\/musl-gcc/p' README.md) && [ "$lines" ] && rm -f build/arm64/gpustat && eval "$lines" &&
		file build/arm64/gpustat | grep -q 'ARM aarch64.*statically linked' && qemu-aarch64-static build/arm64/gpustat -V
}

check 'names of features in the tables are those of the Makefile' names
check 'an unknown feature is named' unknown
check 'WITHOUT=all builds without a warning' build all WITHOUT=all -j2
if [ "$(uname -m)" = x86_64 ]; then
	check 'WITHOUT=all: at most 140 000 bytes' at_most all 140000
fi
check 'WITHOUT=all: what it has and what not' says all
check 'WITHOUT=all: each command, option and format works or is told' tells all
check 'SMALL=1 builds without a warning' build small SMALL=1
if [ "$(uname -m)" = x86_64 ]; then
	check 'SMALL=1: at most 200 000 bytes' at_most small 200000
fi
check 'SMALL=1: what it has and what not' says small
check 'SMALL=1: each command, option and format works or is told' tells small
check 'SMALL=1: the golden files of what it has' env ONLY='[a-k]*' tests/t_golden.sh "$dir/small"
some='oa counters'
[ "$CI" = true ] && some="$features perf named metrics"
for f in $some; do
	check "WITHOUT=$f builds without a warning" without "$f"
done
check 'another WITHOUT builds anew what has rows' again
if command -v clang >/dev/null && [ -e /usr/include/x86_64-linux-musl ]; then
	check "README: make CC=clang" clang_line
else
	skip "README: make CC=clang" 'needs package clang'
fi
if [ "$CI" = true ]; then
	check 'README: a cross build' cross_line
	check 'SMALL=1: the suite' env LOGS=build/tests_small tests/run "$dir/small" t_golden.sh t_edges.py t_check.py t_doctor.py \
		t_formats.py t_counters_cli.py t_faults.py t_munin.py t_state.py t_metrics.py t_sink.py t_http.py t_top.py t_events.py t_stat.py \
		t_sample.py t_oa_cli.py t_svg.py t_map.py
else
	skip 'README: a cross build' 'long: CI=true runs it'
	skip 'SMALL=1: the suite' 'long: CI=true runs it'
fi
finish
