#!/bin/sh
# oa.sh PROG FOLDER N: what oa.c's machine recorded, in FOLDER, read outside of it: by us and by i915-perf-reader. Prints
# TAP from number N + 1 on.
prog=$(realpath "$1") || exit 1
n=$3
cd "$2" || exit 1

# verdict STATUS NAME: what was wrong stands in the file log.
verdict() {
	n=$((n + 1))
	if [ "$1" = 0 ]; then
		echo "ok $n - $2"
	else
		echo "not ok $n - $2"
		head -n 20 log | cut -c1-300 | sed 's/^/# /'
	fi
}

# Time of day and device are not in a recording; the CPU's time is made of other correlations.
same() { sed 's/"time":[^,]*,//; s/"dev":[^,]*,//; s/"cpu_time":[^,]*,//' "$1"; }
replays() {
	"$prog" oa --replay out.rec --metrics test.xml -o json >again.json 2>log || return 1
	same live.json >was
	same again.json | diff was - >>log && ! [ -s log ] && [ "$(wc -l <was)" -gt 300 ]
}
replays
verdict $? "the recording of the emulated machine: replayed without complaint, with live's own values"

# " report3 = timer" and "   Counter0: 37000" become "timer GpuTime=.. Counter0=..", a line per report, as ours do.
values() {
	awk '
	function line() { if (why) print why, v["GpuTime"], v["GpuCoreClocks"], v["Counter0"], v["Counter7"], v["Counter8"]; why = "" }
	/^ report[0-9]+ = / { line(); why = $3; split("", v); next }
	/^(Time:|hw_id=)/ { line() }
	/^   [A-Za-z0-9]+: / { sub(":", "", $1); v[$1] = $2 }
	END { line() }' "$1"
}
reads() {
	i915-perf-reader -r -c GpuTime,GpuCoreClocks,Counter0,Counter7,Counter8 out.rec >theirs 2>log || return 1
	! [ -s log ] || return 1
	"$prog" oa --replay out.rec --metrics test.xml -H -o csv \
		-f reason,GpuTime,GpuCoreClocks,Counter0,Counter7,Counter8 | tr , ' ' >ours
	values theirs | diff ours - >log && [ "$(wc -l <ours)" -gt 300 ]
}
if command -v i915-perf-reader >/dev/null; then
	reads
	verdict $? 'i915-perf-reader opens it without complaint, and finds the same counters'
else
	n=$((n + 1))
	echo "ok $n - i915-perf-reader opens it # SKIP needs package intel-gpu-tools"
fi
