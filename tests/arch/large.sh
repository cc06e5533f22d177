#!/bin/sh
# large.sh PROG: prints gpustat's output for files of more than 4 GiB, most of which are holes: a
# stream of OA reports with data only at its end, records after an endless line, a dump, a state
# file; and the data that it appends to such a file.
prog=$(realpath "$1") && cd "${0%/*}/.." && tests=$PWD || exit 1
[ -w /dev/shm ] && shm=/dev/shm # where a hole that is read takes no room
tmp=$(mktemp -d ${shm:+-p "$shm"}) && cd "$tmp" || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

roots="--proc $tests/trees/i915/proc --sys $tests/trees/i915/sys"
more=4297064448 # 4 GiB and 2 MiB, a multiple of a report's 576 bytes

says() {
	echo "$*"
	"$prog" "$@" 2>&1
	echo "exit $?"
}

# The data that read(2) of a stream on Lunar Lake would return, without the headers of the records
# and of the recording.
truncate -s $((more / 576 * 576)) reports
head -c $((3 * 576)) "$tests/oa/lnl.rec" >>reports
says oa --replay reports --platform lnl --totals -o json
says oa --replay reports --platform lnl --contexts -o csv -f index,ctx,ticks,ts
printf 'cut' >>reports
says oa --replay reports --platform lnl --totals -o json -f reports

record='{"kind":"device","time":%d,"dt":1,"dev":"card0","engine":{"render":{"busy":%d}}}\n'
# shellcheck disable=SC2059 # a format
printf "$record$record" 4294967296 7 4294967297 8 >line
truncate -s $more line
# shellcheck disable=SC2059 # a format
printf "\n$record" 4294967298 99 >>line
says plot line

cp "$tests/trees/i915/proc/2301/fdinfo/14" dump || exit 1
truncate -s $more dump
says fdinfo -o json dump

truncate -s $more state
# shellcheck disable=SC2086 # words
says --state state -f engine.render.busy $roots
[ "$(stat -c %s state)" -lt 100000 ] && echo 'state: replaced'

truncate -s $more end
# shellcheck disable=SC2086 # words
says -r -o csv -f dev,driver -O end $roots
tail -c +$((more + 1)) end
