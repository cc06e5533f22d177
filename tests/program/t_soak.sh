#!/bin/sh
# t_soak.sh PROG: simulates days of samples in minutes: SAMPLES of them, default a million.
cd "${0%/*}/../.." || exit 1
samples=${SAMPLES:-1000000}
dir=build/soak
mkdir -p "$dir" || exit 1
command -v "${PLAIN:-musl-gcc}" >/dev/null || { echo "1..0 # SKIP needs package musl-tools"; exit 77; }

# The objects are those of the build for fault injection.
# shellcheck disable=SC2015 # both must succeed
tests/inject/build >"$dir/build.log" 2>&1 && "${PLAIN:-musl-gcc}" -std=gnu11 -Wall -Wextra -Os -fno-pie -static -no-pie \
	-Wl,--wrap=clock_gettime,--wrap=clock_nanosleep,--wrap=write -o "$dir/gpustat" tests/soak/soak.c build/inject/*.o \
	>>"$dir/build.log" 2>&1 || {
	sed 's/^/# /' "$dir/build.log"
	echo "not ok 1 - soak: builds"
	echo "1..1"
	exit 1
}
tmp=$(mktemp -d -p "$([ -w /dev/shm ] && echo /dev/shm || echo "${TMPDIR:-/tmp}")") || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

n=0 bad=0
# soak STATE SAMPLES ARGUMENT...
soak() {
	state=$1 count=$2
	shift 2
	n=$((n + 1))
	rm -rf "$tmp/m" && mkdir "$tmp/m" || exit 1
	SOAK_SAMPLES=$count SOAK_STATE=$state SOAK_DIR=$tmp/m "$dir/gpustat" --no-sandbox -o openmetrics -i 1 -n "$count" "$@" \
		--proc "$tmp/m/proc" --sys tests/trees/i915/sys 3>"$tmp/report" >"$tmp/out" 2>"$tmp/err"
	status=$?
	if [ $status = 0 ] && grep -q '^ok ' "$tmp/report"; then
		echo "# $(sed 's/^ok //' "$tmp/report")"
		echo "ok $n - $count samples, clients that open and close ($*): counters are exact after each, descriptors and memory do not grow"
		return
	fi
	bad=$((bad + 1))
	sed 's/^/# /' "$tmp/report" "$tmp/err" | head -n 5
	echo "not ok $n - $count samples ($*): exit $status"
}

soak 1 "$samples" --sweep all
leaks=$bad
echo "# proof: samples in a row = $samples"
echo "# proof: leaks = $leaks"
echo "1..$n"
[ "$bad" = 0 ]
