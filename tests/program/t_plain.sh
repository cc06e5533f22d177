#!/bin/sh
# t_plain.sh PROG: each unit test in C, built with the program's compiler and linked with its
# objects, must print the same as with the sanitizers.
# shellcheck disable=SC2317,SC1091,SC2154 # functions are called through check(); tap.sh sets $tmp
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh
# Some tests also read their files as another user.
chmod 755 "$tmp"
same() { # NAME
	tests/unit "$1" "$tmp/$1" . "${PLAIN:-musl-gcc}" -static -Os || return 1
	TMPDIR=$tmp "$tmp/$1" >"$tmp/plain" || { echo "exit $?" && grep '^not ok' "$tmp/plain"; return 1; }
	tests/unit "$1" >"$tmp/sanitized" && diff "$tmp/sanitized" "$tmp/plain"
}
make -s || exit 1
for t in tests/*/t_*.c; do
	t=${t##*/} t=${t%.c}
	check "$t" same "$t"
done
finish
