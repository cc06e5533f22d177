#!/bin/sh
# oa.sh PROG FOLDER N: checks the OA recording in FOLDER, which oa.c made in the emulated machine:
# gpustat and i915-perf-reader read it. Prints TAP, starting with number N + 1.
prog=$(realpath "$1") || exit 1
n=$3
cd "$2" || exit 1

# verdict STATUS NAME: prints one TAP line; the file log has the reason of a failure.
verdict() {
	n=$((n + 1))
	if [ "$1" = 0 ]; then
		echo "ok $n - $2"
	else
		echo "not ok $n - $2"
		head -n 20 log | cut -c1-300 | sed 's/^/# /'
	fi
}

# Removes values that differ: a recording has no time of day and no device, and its CPU times are
# computed from other correlations.
same() { sed 's/"time":[^,]*,//; s/"dev":[^,]*,//; s/"cpu_time":[^,]*,//' "$1"; }
replays() {
	"$prog" oa --replay out.rec --metrics test.xml -o json >again.json 2>log || return 1
	same live.json >was
	same again.json | diff was - >>log && ! [ -s log ] && [ "$(wc -l <was)" -gt 300 ]
}
replays
verdict $? "the recording of the emulated machine is replayed without a message, with the values of the live run"

# Rewrites the lines " report3 = timer" and "   Counter0: 37000" of i915-perf-reader as
# "timer .. 37000 ..", one line per report, the form used for gpustat's output.
values() { # FILE NAME,...
	awk -v names="$2" '
	BEGIN { n = split(names, name, ",") }
	function line(i) {
		if (why) {
			for (i = 1; i <= n; i++)
				why = why " " v[name[i]]
			print why
		}
		why = ""
	}
	/^ report[0-9]+ = / { line(); why = $3; split("", v); next }
	/^(Time:|hw_id=)/ { line() }
	/^   [A-Za-z0-9]+: / { sub(":", "", $1); v[$1] = $2 }
	END { line() }' "$1"
}
# Reads the recording with gpustat, with the set of --metrics or a built-in one.
reads() { # READER FILE NAME,... --metrics FILE
	reader=$1 rec=$2 names=$3
	shift 3
	"$reader" -r -c "$names" "$rec" >theirs 2>log || return 1
	! [ -s log ] || return 1
	"$prog" oa --replay "$rec" "$@" -H -o csv -f "reason,$names" | tr , ' ' >ours
	values theirs "$names" | diff ours - >log && [ "$(wc -l <ours)" -gt 300 ]
}
# reader_reads READER FILE...: prints its line of TAP.
reader_reads() {
	why=
	[ -e "$2" ] || why='the machine has no such GPU'
	if ! command -v "$1" >/dev/null; then
		why='needs package intel-gpu-tools'
		[ "$1" != xe-perf-reader ] || why='Debian 12 does not have it'
	fi
	if [ "$why" ]; then
		n=$((n + 1))
		echo "ok $n - $1 reads $2 # SKIP $why"
	else
		reads "$@"
		verdict $? "$1 reads $2 without a message, with the same counters"
	fi
}
reader_reads i915-perf-reader out.rec GpuTime,GpuCoreClocks,Counter0,Counter7,Counter8 --metrics test.xml
reader_reads i915-perf-reader basic.rec GpuTime,GpuCoreClocks,VsThreads,PsThreads,SamplesWritten,SlmBytesRead,GtiReadThroughput
reader_reads xe-perf-reader xe.rec GpuTime,GpuCoreClocks
