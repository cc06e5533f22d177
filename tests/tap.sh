# shellcheck shell=sh disable=SC2034,SC2154
# tap.sh - sourced by tests that are lists of checks: numbers them and prints TAP. $tmp goes with the test; bad is 1 where
# one failed.
n=0 bad=0
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

check() { # NAME COMMAND...
	name=$1
	shift
	n=$((n + 1))
	if ("$@") >"$tmp/log" 2>&1; then
		echo "ok $n - $name"
	elif lacking=$(lacks "$tmp/log"); then
		echo "ok $n - $name # SKIP $lacking"
	else
		echo "not ok $n - $name"
		sed 's/^/# /' "$tmp/log" | tail -n 20
		bad=1
	fi
}
# Why the program did nothing: it says that it was built without what was asked of it, and that it lacks something. False:
# it does not.
lacks() { # FILE of what it said
	sed -n 's/^[^:]*: \(not built in: [a-z]*\)$/\1/p' "$1" | head -n 1 | grep . && "$prog" --version | grep -q '^not built in: '
}
skip() {
	n=$((n + 1))
	echo "ok $n - $1 # SKIP $2"
}
# The plan, and what the test exits with.
finish() {
	echo "1..$n"
	exit "$bad"
}
