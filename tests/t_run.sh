#!/bin/sh
# t_run.sh PROG: what tests/run promises: each test that is named runs once; a name that no test has is an error.
# shellcheck disable=SC2317,SC1091,SC2154 # functions are called through check()
prog=$(realpath "$1") || exit 1
cd "$(dirname "$0")/.." || exit 1
. tests/tap.sh
run() { LOGS="$tmp/logs" CI='' tests/run "$prog" "$@" >"$tmp/out" 2>"$tmp/err"; }

unknown() {
	! run t_nosuch && grep -qx "run: no test is named 't_nosuch'" "$tmp/err" && [ ! -s "$tmp/out" ] &&
		! run t_map.py t_nosuch.py && grep -qx "run: no test is named 't_nosuch.py'" "$tmp/err" && [ ! -s "$tmp/out" ] &&
		! run t_map && ! run ''
}
once() {
	run t_map.py t_ring t_profile.c || { cat "$tmp/out" "$tmp/err"; return 1; }
	[ "$(sed 's/ .*//' "$tmp/out" | grep '^t_' | sort | tr '\n' ' ')" = 't_map.py t_profile t_ring ' ] && grep -q ' passed, 0 failed, 0 skipped$' "$tmp/out"
}

check 'a name that no test has is named, and nothing runs' unknown
check 'each test that is named runs once, of C with its suffix or without' once
finish
