# shellcheck shell=sh disable=SC2034
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
	else
		echo "not ok $n - $name"
		sed 's/^/# /' "$tmp/log" | tail -n 20
		bad=1
	fi
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
