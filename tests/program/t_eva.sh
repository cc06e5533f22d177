#!/bin/sh
# t_eva.sh: Frama-C's Eva proves that the pure files have no undefined behaviour for any input: it
# analyses each harness of tests/eva with arbitrary values. Each harness also runs with sanitizers
# and random values, which checks its results.
# shellcheck disable=SC1091,SC2154,SC2034,SC2317 # tap.sh's, which calls functions through check()
cd "${0%/*}/../.." || exit 1
. tests/tap.sh

if command -v frama-c >/dev/null; then
	tests/eva/run >"$tmp/eva"
	while IFS= read -r line; do
		case $line in
		'ok - '*) n=$((n + 1)) && echo "ok $n${line#ok}" ;;
		'not ok - '*) n=$((n + 1)) bad=1 && echo "not ok $n${line#not ok}" ;;
		*) echo "$line" ;;
		esac
	done <"$tmp/eva"
	awk 'match($0, /: [0-9]+ alarms/) { n += substr($0, RSTART + 2) + 0; seen = 1 }
		/no count of/ { lost = 1 }
		END { print "# proof: Eva alarms = " (seen && !lost ? n : "unknown") }' "$tmp/eva"
else
	skip 'the proofs of Eva' 'needs package frama-c-base'
fi

# Compiles a harness with the functions of the program that Eva replaces by models.
sanitize='-std=c11 -D_GNU_SOURCE -I. -Iinclude -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all'
library() {
	for s in parse.c perfstream.c counters.c sources/os/tables.c sources/perf/tpfields.c sources/device/gpumetrics.c sources/device/nvidiadecode.c sources/oa/oadevice.c sources/oa/oabasic.c sources/oa/oametrics.c views/*.c; do
		# shellcheck disable=SC2086 # a list
		gcc $sanitize -c -o "$tmp/$(echo "${s%.c}" | tr / -).o" "$s" || return 1
	done
	ar rc "$tmp/library.a" "$tmp"/*.o
}
random() { # NAME
	# shellcheck disable=SC2086 # a list
	gcc $sanitize -o "$tmp/$1" "tests/eva/$1.c" "$tmp/library.a" && "$tmp/$1"
}
if echo 'int main(void) { return 0; }' | gcc -fsanitize=address,undefined -o "$tmp/a" -x c - 2>/dev/null && "$tmp/a"; then
	library
	for f in tests/eva/*.c; do
		f=${f##*/}
		check "${f%.c} has the expected results with random values" random "${f%.c}"
	done
else
	skip 'the harnesses with random values' 'gcc has no sanitizers here'
fi
memory() {
	clang -std=c11 -D_GNU_SOURCE -I. -Iinclude -O1 -g -fsanitize=memory -fno-sanitize-recover=all -o "$tmp/memory" \
		tests/eva/parse_put.c parse.c && "$tmp/memory"
}
if echo 'int main(void) { return 0; }' | clang -fsanitize=memory -o "$tmp/a" -x c - 2>/dev/null && "$tmp/a"; then
	check 'parse_put: reads only bytes that were written' memory
else
	skip 'parse_put: reads only bytes that were written' 'needs package clang'
fi
finish
