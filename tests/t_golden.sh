#!/bin/sh
# shellcheck disable=SC2317 # g is called by the .cmd
# t_golden.sh PROG [--bless]: golden/NAME.cmd against golden/NAME.want. A .cmd is shell whose `g` is the
# program; it runs in trees/. Intervals are the only thing that differs from run to run. ONLY=PATTERN: of these names.
prog=$(realpath "$1") || exit 1
cd "${0%/*}/trees" || exit 1
n=0 bad=0
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
unset GPUSTAT_COUNTERS
partial=$("$prog" --version | grep '^not built in: ')
# What a program that was built without something did not do is in $tmp/lacks.
g() {
	"$prog" "$@"
	status=$?
	[ -z "$partial" ] || [ "$status" != 2 ] || "$prog" "$@" 2>&1 >/dev/null </dev/null | grep -ao 'not built in: [a-z]*' >>"$tmp/lacks"
	return "$status"
}
# Its own list of features is another one, too.
lacks() {
	[ "$partial" ] && grep -aoh 'not built in: [a-z]*' "$tmp/lacks" "$1" | head -n 1 | grep .
}

for cmd in ../golden/${ONLY:-*}.cmd; do
	name=$(basename "$cmd" .cmd)
	want=../golden/$name.want
	n=$((n + 1))
	: >"$tmp/lacks"
	# shellcheck disable=SC1090 # that is what a .cmd is for
	(. "./$cmd") 2>&1 | sed -E 's/"dt":[0-9.]+/"dt":DT/g; s/ dt=[0-9.]+/ dt=DT/g; s/^,[0-9]+\.[0-9]{6},/,DT,/' >"$tmp/got"
	[ "$2" = --bless ] && cp "$tmp/got" "$want"
	if cmp -s "$tmp/got" "$want"; then
		echo "ok $n - $name"
	elif lacking=$(lacks "$tmp/got"); then
		echo "ok $n - $name # SKIP $lacking"
	else
		echo "not ok $n - $name"
		diff -a "$want" "$tmp/got" | head -n 8 | cut -c1-300 | sed 's/^/# /'
		bad=1
	fi
done
echo "1..$n"
exit $bad
