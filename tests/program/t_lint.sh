#!/bin/sh
# t_lint.sh PROG: static analysis of the program finds nothing: both compilers with every warning of
# the Makefile, gcc's analyzer, clang-tidy with clang's analyzer, cppcheck. No source suppresses a
# warning.
cd "${0%/*}/../.." || exit 1
dir=build/lint
rm -rf "$dir"
mkdir -p "$dir" || exit 1
sources=$(find . -name '*.c' ! -path './tests/*' ! -path './build/*' | sort)
flags="-std=c11 -D_GNU_SOURCE -DVERSION=\"0\" -I. -Iinclude"
# shellcheck disable=SC2016 # make's variable
warnings=$(make -s --eval 'show-warnings:; @echo $(WARN)' show-warnings)
depth='-Xclang -analyzer-config -Xclang max-nodes=75000'
[ -z "$LINT" ] || depth=
n=0 bad=0

missing() { # PROGRAM PACKAGE
	command -v "$1" >/dev/null && return 1
	n=$((n + 1))
	echo "ok $n - $1 # SKIP needs package $2"
}

# each NAME COMMAND...: runs the command on all sources, in two processes. Its words must not
# contain blanks.
each() {
	log=$dir/$1
	shift
	# shellcheck disable=SC2086 # a list
	printf '%s\n' $sources | xargs -P 2 -n 4 "$@" >"$log" 2>&1
}

clean() { # STATUS NAME WHAT LOG: success, and no warning
	n=$((n + 1))
	if [ "$1" = 0 ] && ! grep -q -E '(warning|error|performance|portability|style):' "$4"; then
		echo "ok $n - $2: $3"
		return
	fi
	bad=$((bad + 1))
	grep -E '(warning|error|performance|portability|style):' "$4" | head -n 20 | sed 's/^/# /'
	[ -s "$4" ] || echo "# it failed without a message"
	echo "not ok $n - $2: $3"
}

# compile NAME COMPILER FLAG...: one file at a time, because -o requires it.
compile() {
	name=$1
	shift
	# shellcheck disable=SC2016,SC2086 # the inner shell's words; a list
	each "$name" sh -c 'flags=$1; shift; status=0
		for s; do case $s in ./*.c) ;; *) continue ;; esac
			$flags -c -o /dev/null "$s" || status=1
		done; exit $status' compile "$* $flags $warnings -Werror"
}

for c in gcc clang; do
	missing "$c" "$c" && continue
	logical=
	[ "$c" = gcc ] && logical="-Wlogical-op -Wduplicated-cond -Wnull-dereference"
	# shellcheck disable=SC2086
	compile "$c" "$c" $logical -O2
	clean $? "$c" "no warning at -O2" "$dir/$c"
done
if ! missing musl-gcc musl-tools; then
	# shellcheck disable=SC2086
	compile fanalyzer musl-gcc -idirafter /usr/include -idirafter "/usr/include/$(uname -m)-linux-gnu" -O1 -fanalyzer
	clean $? "gcc -fanalyzer" "nothing found" "$dir/fanalyzer"
fi
if ! missing cppcheck cppcheck; then
	# shellcheck disable=SC2086
	cppcheck -j 2 --std=c11 --enable=warning,performance,portability --error-exitcode=1 --max-configs=1 -q -I. -Iinclude \
		-D_GNU_SOURCE -DVERSION='"0"' -D__linux__ -D__x86_64__ $sources >"$dir/cppcheck" 2>&1
	clean $? cppcheck "nothing found" "$dir/cppcheck"
fi
if ! missing clang-tidy clang-tidy; then
	# shellcheck disable=SC2086,SC2016
	each clang-tidy sh -c 'flags=$1; shift; clang-tidy --quiet --config-file=tests/lint/clang-tidy "$@" -- $flags' tidy "$flags $depth"
	clean $? clang-tidy "nothing found" "$dir/clang-tidy"
fi

n=$((n + 1))
spared=$(grep -rnE 'NOLINT|cppcheck-suppress|GCC diagnostic|clang diagnostic|__clang_analyzer__' --include='*.[ch]' . | grep -v '^./build/')
if [ -z "$spared" ]; then
	echo "ok $n - no source has a warning silenced"
else
	printf '%s\n' "$spared" | sed 's/^/# /'
	echo "not ok $n - no source has a warning silenced"
	bad=$((bad + 1))
fi
echo "# proof: warnings = $bad"
echo "1..$n"
[ "$bad" = 0 ]
