#!/bin/sh
# shellcheck disable=SC2317,SC2154,SC1091,SC2086 # functions are called through check()
# t_program.sh PROG: the program is static and small, its sources compile without a warning, and the
# manual describes every option and field that it has. t_build.sh tests the targets of the Makefile.
prog=$(realpath "$1") || exit 1
root=$(pwd)
. "$root/tests/tap.sh"
no_interpreter() { ! readelf -lW "$prog" | grep -q INTERP; }
kib=620
small() {
	strip -o "$tmp/stripped" "$prog" && size=$(stat -c %s "$tmp/stripped") && echo "$size bytes" &&
		[ "$size" -le $((kib * 1024)) ]
}
# tests/sanitized.mk keeps the warnings of each object; t_lint.sh uses more compilers.
no_warning() {
	make -s -C "$root" -f tests/sanitized.mk build/sanitized/program.a && n=$(find "$root/build/sanitized" -name '*.o' | wc -l) && [ "$n" -gt 100 ] &&
		! find "$root/build/sanitized" -name '*.warnings' -size +0 | grep .
}
# The manuals contain every option of --help, with its letter and its long name.
manual_whole() {
	cd "$root" && for c in $(commands_of "$prog"); do "$prog" "$c" --help; done | sort -u | sed -n 's/^-\(.\), --\([a-z-]*\).*/\1 \2/p; s/^    --\([a-z-]*\).*/- \1/p' >"$tmp/options" &&
		[ "$(wc -l <"$tmp/options")" -gt 15 ] || return 1
	while read -r letter long; do
		grep -q -e "-$long\\b" gpustat.1 docs/gpustat-*.1 || { echo "--$long"; return 1; }
		[ "$letter" = - ] || grep -q "^\.It .*Fl .*\b$letter\b" gpustat.1 docs/gpustat-*.1 || { echo "-$letter"; return 1; }
	done <"$tmp/options"
}

# The commands have the same order in --help, in the synopsis and in the descriptions.
manual_order() {
	commands_of "$prog" >"$tmp/order" && [ "$(wc -l <"$tmp/order")" -gt 10 ] &&
		sed -n '/^\.Sh SYN/,/^\.Sh DESC/s/^\.Cm \([a-z]*\).*/\1/p' "$root/gpustat.1" | uniq | sed 's/^procs$/&\nclients\ncgroups/' | diff "$tmp/order" - &&
		sed -n '/^The commands are/,/^\.El/s/^\.It Cm //p' "$root/gpustat.1" | diff "$tmp/order" -
}

# The manuals contain every field that -f help lists.
manual_keys() {
	for command in '' procs clients cgroups fdinfo stat sample run oa counters doctor; do
		# shellcheck disable=SC2086 # none, or one word
		"$prog" $command -f help || return 1
	done | sed 's/ .*//; s/\.NAME//; s/\./\n/' | sort -u >"$tmp/keys"
	[ "$(wc -l <"$tmp/keys")" -gt 60 ] || return 1
	while read -r key; do
		grep -q "^\.\(It \)\{0,1\}Sy .*\b$key\b" "$root"/gpustat.1 "$root"/docs/gpustat-*.1 || { echo "$key"; return 1; }
	done <"$tmp/keys"
}


check 'the program has no interpreter, no library, no heap and no stdio' tests/static "$prog"
check 'readelf finds no interpreter' no_interpreter
check "the stripped size is at most $kib KiB" small
check 'gcc prints no warning' no_warning
check 'the manual contains every option' manual_whole
check 'the manual contains every field' manual_keys
check 'the manual lists commands in the order of --help' manual_order
finish
