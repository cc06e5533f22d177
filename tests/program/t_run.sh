#!/bin/sh
# t_run.sh PROG: tests/run: each test has a level, each named test runs once, and an unknown name is
# an error. Reasons for skipping, failures and an interrupted run are tested with other tests, in
# another folder.
# shellcheck disable=SC2317,SC1091,SC2154,SC2016 # functions are called through check(); scripts in quotes
prog=$(realpath "$1") || exit 1
cd "$(dirname "$0")/../.." || exit 1
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

# Makes another folder with tests/run and no tests.
tree=$tmp/tree
mkdir -p "$tree/tests/room" && cp tests/run tests/skips tests/proof "$tree/tests/" && cp SECURITY.md "$tree/"
write_test() { # NAME TEXT
	echo "$1 live - a test of tests/run" >>"$tree/tests/levels"
	printf '#!/bin/sh\n%s\n' "$2" >"$tree/tests/room/$1"
	chmod +x "$tree/tests/room/$1"
}
# Runs tests in the other folder.
other() { # CI NAME...
	ci=$1
	shift
	LOGS="$tmp/logs" CI=$ci "$tree/tests/run" "$prog" "$@" >"$tmp/out" 2>"$tmp/err"
}
ends_with() { # LINE
	[ "$(tail -n 1 "$tmp/out")" = "$1" ] || { cat "$tmp/out" "$tmp/err"; return 1; }
}
skips() {
	write_test t_a.sh 'echo "ok 1 - a"; echo "ok 2 - b # SKIP no ../shared/oa"; echo "ok 3 - c # SKIP no ../shared/fdinfo"; echo 1..3'
	write_test t_b.sh 'echo "1..0 # SKIP needs package other"; exit 77'
	write_test t_c.sh 'echo "ok 1 - a # SKIP needs package nosuch"; echo 1..1'
	write_test t_d.sh 'echo "ok 1 - a # SKIP no reason that anybody wrote down"; echo 1..1'
	other '' t_a.sh t_b.sh t_c.sh t_d.sh && ends_with '1 passed, 0 failed, 5 skipped' || return 1
	[ "$(grep -c '^skipped: ' "$tmp/out")" = 3 ] && grep -qx 'skipped:    2  no ../shared' "$tmp/out" &&
		grep -qx 'skipped:    1  not in tests/skips' "$tmp/out" && grep -qx 'skipped:    2  a package is missing' "$tmp/out"
}
skips_in_ci() {
	other true t_a.sh && ends_with '1 passed, 0 failed, 2 skipped' || return 1
	for t in t_b.sh t_c.sh t_d.sh; do
		! other true t_a.sh "$t" && ends_with '1 passed, 1 failed, 2 skipped' || return 1
	done
}
# A failed check is printed with at most 30 lines of its output, and again at the end.
failures() {
	write_test t_e.sh 'echo "not ok 1 - a"; for i in $(seq 50); do echo "# line $i"; done; echo "ok 2 - b"; echo 1..2'
	! other '' t_e.sh t_a.sh && ends_with '2 passed, 1 failed, 2 skipped' && [ "$(grep -c '^# line' "$tmp/out")" = 30 ] &&
		[ "$(grep -cx 'FAIL t_e.sh: not ok 1 - a' "$tmp/out")" = 2 ] && [ "$(tail -n 2 "$tmp/out" | head -n 1)" = 'FAIL t_e.sh: not ok 1 - a' ]
}
# A test that prints no check, or fewer than it planned, or that ends with an error has failed.
broken() {
	write_test t_f.sh 'exit 0' && write_test t_g.sh 'echo "ok 1 - a"; echo 1..2' && write_test t_h.sh 'echo "ok 1 - a"; echo 1..1; exit 3'
	! other '' t_f.sh t_g.sh t_h.sh && ends_with '2 passed, 3 failed, 0 skipped' && grep -qx 'FAIL t_f.sh: printed no check' "$tmp/out" &&
		grep -qx 'FAIL t_g.sh: planned 2, ran 1' "$tmp/out" && grep -qx 'FAIL t_h.sh: exit 3' "$tmp/out"
}
# A folder that cannot be written causes one message, and no test runs.
read_only() {
	mkdir -p "$tmp/ro/tests/room" && cp tests/run tests/levels tests/skips tests/proof "$tmp/ro/tests/" && : >"$tmp/ro/tests/room/t_ring.c" &&
		chmod -R a+rX "$tmp" && chmod a-w "$tmp/ro" || return 1
	if [ "$(id -u)" = 0 ]; then
		! setpriv --reuid=65534 --clear-groups env LOGS= "$tmp/ro/tests/run" /bin/true t_ring >"$tmp/out" 2>"$tmp/err"
	else
		! LOGS='' "$tmp/ro/tests/run" /bin/true t_ring >"$tmp/out" 2>"$tmp/err"
	fi && grep -q "^run: $tmp/ro cannot be written, and the unit tests are built there: use a copy of it$" "$tmp/err" && ! grep -q passed "$tmp/out"
}
# Each test of the folder is in the table once, and each row of the table is a test.
in_the_table() {
	{ for t in tests/*/t_*.c tests/*/t_*.py tests/*/t_*.sh; do t=${t##*/} && echo "${t%.c}"; done; } | sort >"$tmp/tests"
	awk '!/^#/ && NF { print $1 }' tests/levels | grep -v ':' | grep '^t_' | sort | diff "$tmp/tests" - &&
		! awk '!/^#/ && NF && $2 !~ /^(quick|live|machines|consumers|deep)$/' tests/levels | grep . &&
		! awk '!/^#/ && NF { print $1 }' tests/levels | sort | uniq -d | grep .
}
# The tests write their PIDs and wait: all of them must end with tests/run.
interrupted() {
	for i in 1 2 3; do
		write_test "t_w$i.sh" "echo \$\$ >'$tmp/pid$i'; exec sleep 300"
	done
	LOGS="$tmp/logs" "$tree/tests/run" "$prog" t_w1.sh t_w2.sh t_w3.sh >"$tmp/out" 2>"$tmp/err" &
	until [ -s "$tmp/pid1" ] && [ -s "$tmp/pid2" ]; do
		sleep 0.1
	done
	kill $!
	wait $!
	[ $? = 143 ] || return 1
	for i in 1 2; do
		! kill -0 "$(cat "$tmp/pid$i")" 2>/dev/null || { echo 'a test still runs'; return 1; }
	done
	[ ! -e "$tmp/pid3" ] || { echo 'a test was started after the signal'; return 1; }
}
# Prints the reasons in the sources of the tests, up to the first part that varies.
reasons() {
	{
		sed -nE 's/.*[^_a-z]Skip\(f?"([^"{]+).*/\1/p; s/.*[^_a-z]skip\(f?"[^"]*", f?"([^"{]+).*/\1/p' tests/*/*.py tests/*.py
		sed -nE 's/.*# SKIP ([a-zA-Z./][^"%$]+).*/\1/p' tests/*/*.c tests/*/*.sh tests/*/run
		sed -nE "s/.*skip '[^']*' ['\"]([^'\"\$]+).*/\1/p" tests/*/*.sh
		sed -nE 's/.*[^_a-z]skip\(.*, "([^"]+)"\);/\1/p' tests/conform/*.c
	} | grep -vx -e reason -e 'no reason that anybody wrote down' -e 'needs package other' | sort -u
}
listed() {
	reasons >"$tmp/reasons"
	[ "$(wc -l <"$tmp/reasons")" -ge 85 ] || { wc -l "$tmp/reasons"; return 1; }
	awk -F '\t' 'FNR == NR { if (!/^#/) pattern[++n] = $2; next }
	{ seen = 0; for (i = 1; i <= n; i++) seen = seen || $0 ~ pattern[i]; if (!seen) { print "not in tests/skips: " $0; bad = 1 } }
	END { exit bad }' tests/skips "$tmp/reasons"
}

check 'an unknown name is an error that names it, and no test runs' unknown
check 'each named test runs once; a C test may have its suffix or not' once
check 'the table at the end has the reasons of the skipped tests' skips
check 'CI=true: a reason that tests/skips does not allow is a failure' skips_in_ci
check 'a failure is printed at once with 30 lines, and again at the end' failures
check 'a test without a check, with fewer than planned, or with an error has failed' broken
check 'a folder that cannot be written is an error' read_only
check 'each test has one row in tests/levels' in_the_table
check 'a run that is interrupted ends its tests and starts no other' interrupted
check 'each reason in the sources of the tests is in tests/skips' listed
finish
