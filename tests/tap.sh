# shellcheck shell=sh disable=SC2034,SC2154
# tap.sh - sourced by tests that are lists of checks: numbers them and prints TAP. $tmp is a folder
# that is removed at the end, also after a signal; bad is 1 after a failed check.
n=0 bad=0
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

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
# Prints the message of the program that it was built without the requested feature. False if there
# is no such message.
lacks() { # FILE with its output
	sed -n 's/^[^:]*: \(not built in: [a-z]*\)$/\1/p' "$1" | head -n 1 | grep . && "$prog" --version | grep -q '^not built in: '
}
# Prints the names of the commands that PROG --help shows in two columns.
commands_of() { # PROG
	"$1" --help | awk '!NF { n++; next } n == 1 { print substr($0, 1, 8); print substr($0, 41, 8) }' | tr -d ' ' | grep '^[a-z]'
}
skip() {
	n=$((n + 1))
	echo "ok $n - $1 # SKIP $2"
}
# Prints the plan and exits with the result of the test.
finish() {
	echo "1..$n"
	exit "$bad"
}
