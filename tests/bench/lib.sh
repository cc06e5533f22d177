# shellcheck shell=sh disable=SC2154 # variables are those of run
# lib.sh - sourced by tests/bench/run: prints rows of figures, and measures them. The programs of
# ./build are in the current folder, the scripts in $here.

head() { # TEXT [WHOM]
	echo
	echo "$1"
	printf '%-58s %12s %12s %7s  %s\n' '' gpustat "${2:-perf}" ratio 'to keep'
}
row() { # NAME FORMAT GPUSTAT OTHER KEEP
	awk -v name="$1" -v format="$2" -v g="$3" -v p="$4" -v keep="$5" '
	function show(v) { return v == "" ? "-" : sprintf(format, v) }
	BEGIN {
		if (g != "" && p + 0 > 0 && format != "%s")
			ratio = sprintf("%.3f", g / p)
		printf "%-58s %12s %12s %7s  %s\n", name, show(g), show(p), ratio, keep
	}'
}
# spread FORMAT FILE: prints the lowest, the median and the highest of the figures in a file, one in
# each line; nothing if there is none.
spread() {
	sort -n "$2" | awk -v format="$1" '
	{ v[NR] = $1 }
	END { if (NR) printf format "<" format "<" format, v[1], v[int((NR + 1) / 2)], v[NR] }'
}
spread_head() { # TEXT [WHOM]
	echo
	echo "$1"
	printf '%-58s %19s %19s %15s  %s\n' '' gpustat "${2:-perf}" ratio 'to keep'
}
# spread_row NAME FORMAT GPUSTAT OTHER RATIOS KEEP: a row whose figures are in files, each with its
# spread.
spread_row() {
	printf '%-58s %19s %19s %15s  %s\n' "$1" "$(spread "$2" "$3")" "$(spread "$2" "$4" | grep . || echo -)" "$(spread %.2f "$5")" "$6"
}
# text_row NAME FORMAT FIGURE OTHER KEEP: a row without a ratio.
text_row() {
	row "$1" %s "$(awk -v format="$2" -v v="$3" 'BEGIN { if (v != "") printf format, v }')" "$4" "$5"
}
# calc EXPRESSION FIGURE...: computes an expression of the figures v[1], v[2], ...; prints nothing
# if one is missing.
calc() {
	awk 'BEGIN { for (i = 2; i < ARGC; i++) if ((v[i - 1] = ARGV[i]) == "") exit; printf "%.3f", '"$1"' }' "$@"
}
bench() {
	./bench "$@" 2>err >out || echo "bench: $(tail -n 1 err)" >&2
}
calls() {
	[ -z "$1" ] || "$here/calls" "$@"
}
# instructions COMMAND...: the number of user-space instructions of the command itself; its output
# is discarded.
instructions() {
	valgrind --tool=callgrind --callgrind-out-file=/dev/null "$@" 2>&1 >/dev/null | sed -n 's/.*Collected : \([0-9]*\)$/\1/p'
}
