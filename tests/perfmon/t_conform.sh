#!/bin/sh
# t_conform.sh PROG: tests the programming interfaces against their specifications, on this machine:
# tests/conform/*.c are compiled with glibc and with musl, linked with both libraries, and run.
# ONLY=NAME: runs only that program.
cd "$(dirname "$0")/../.." || exit 1
dir=build/conform
mkdir -p "$dir" || exit 1
n=0 bad=0

result() { # ok|not ok, NAME
	n=$((n + 1))
	echo "$1 $n - $2"
	[ "$1" = ok ] || bad=1
}
# Prints a program's TAP with the program's name before each test name, and with the numbers of this
# test. One more check is that the program ran all tests of its plan.
pass_on() { # NAME LOG STATUS
	awk -v name="$1" -v n="$n" -v status="$3" '
	/^(not )?ok / {
		seen++
		good = $1 == "ok" ? "ok" : "not ok"
		failed += good != "ok"
		sub(/^(not )?ok [0-9]+( -)? */, "")
		print good " " ++n " - " name ": " $0
		next
	}
	/^1\.\.[0-9]+ *$/ { split($1, a, "\\.\\."); plan = a[2]; next }
	/^1\.\.0/ { plan = 0; sub(/^[^#]*/, ""); print "ok " ++n " - " name " " $0; whole = 1; next }
	{ sub(/^#* */, ""); print "# " $0 }
	END {
		whole = whole || (seen > 0 && plan == seen && (status == 0) == (failed == 0))
		if (!whole)
			print "# planned " plan + 0 ", ran " seen + 0 ", exit " status
		print (whole ? "ok " : "not ok ") ++n " - " name ": it ran all planned tests"
		exit failed > 0 || !whole
	}' "$2" || bad=1
	n=$(($(awk -v n="$n" '/^(not )?ok /{ n++ } /^1\.\.0/ { n++ } END { print n + 1 }' "$2")))
}

run() { # SOURCE LIBC COMPILER...
	source=$1 name=$(basename "$1" .c) libc=$2
	shift 2
	out=$dir/$name.$libc
	if ! "$@" -std=c99 -pedantic -Wall -Wextra -Werror -Iinclude -o "$out" "$source" -L. -lperfmon2 -lgpustat \
		-lpthread >"$out.log" 2>&1; then
		result 'not ok' "$name ($libc) builds"
		sed 's/^/# /' "$out.log" | head -n 20
		return
	fi
	result ok "$name ($libc) builds"
	timeout 400 "$out" >"$out.log" 2>&1
	pass_on "$name ($libc)" "$out.log" $?
}

flock build/lib.lock make -s lib >"$dir/make.log" 2>&1 || { sed 's/^/# /' "$dir/make.log"; echo 'Bail out! make lib'; exit 1; }
for source in tests/conform/*.c; do
	[ -z "$ONLY" ] || [ "$(basename "$source" .c)" = "$ONLY" ] || continue
	run "$source" glibc gcc
	if command -v musl-gcc >/dev/null; then
		run "$source" musl musl-gcc -static -idirafter /usr/include -idirafter "/usr/include/$(uname -m)-linux-gnu"
	else
		n=$((n + 1))
		echo "ok $n - $(basename "$source" .c) (musl) # SKIP needs package musl-tools"
	fi
done
echo "1..$n"
exit $bad
