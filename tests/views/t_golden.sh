#!/bin/sh
# shellcheck disable=SC2317 # g is called by the .cmd
# t_golden.sh PROG [--bless]: compares the output of golden/NAME.cmd with golden/NAME.want. A .cmd
# is shell code that runs the program as `g` in trees/. Intervals are masked, because they differ in
# every run. ONLY=PATTERN: only the names that match.
prog=$(realpath "$1") || exit 1
cd "${0%/*}/../trees" || exit 1
n=0 bad=0
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
unset GPUSTAT_COUNTERS
partial=$("$prog" --version | grep '^not built in: ')
# Runs the program. A program that was built without a feature writes the feature to $tmp/lacks.
g() {
	"$prog" "$@"
	status=$?
	[ -z "$partial" ] || [ "$status" != 2 ] || "$prog" "$@" 2>&1 >/dev/null </dev/null | grep -ao 'not built in: [a-z]*' >>"$tmp/lacks"
	return "$status"
}
# lacks GOT NAME: prints the reason to skip a test: a feature that is not built in. Either the
# program says so in its output, or the feature only adds values, and golden/needs lists the tests
# that show these values. A list of features differs too.
lacks() {
	[ "$partial" ] || return
	{
		grep -aoh 'not built in: [a-z]*' "$tmp/lacks" "$1"
		awk -v left="$partial " -v name=" $2 " '{ feature = $1; sub(/:$/, "", feature); $1 = "" }
			index(left, " " feature " ") && index($0 " ", name) { print "not built in: " feature }' "${NEEDS:-../golden/needs}"
	} | head -n 1 | grep .
}

for cmd in ../golden/${ONLY:-*}.cmd; do
	name=$(basename "$cmd" .cmd)
	want=../golden/$name.want
	n=$((n + 1))
	: >"$tmp/lacks"
	# shellcheck disable=SC1090 # a .cmd is meant to be sourced
	(. "./$cmd") 2>&1 | sed -E 's/"dt":[0-9.]+/"dt":DT/g; s/ dt=[0-9.]+/ dt=DT/g; s/^,[0-9]+\.[0-9]{6},/,DT,/' >"$tmp/got"
	[ "$2" = --bless ] && cp "$tmp/got" "$want"
	if cmp -s "$tmp/got" "$want"; then
		echo "ok $n - $name"
	elif lacking=$(lacks "$tmp/got" "$name"); then
		echo "ok $n - $name # SKIP $lacking"
	else
		echo "not ok $n - $name"
		diff -a "$want" "$tmp/got" | head -n 8 | cut -c1-300 | sed 's/^/# /'
		bad=1
	fi
done
echo "1..$n"
exit $bad
