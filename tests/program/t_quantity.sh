#!/bin/sh
# t_quantity.sh PROG: a quantity is one row of include/quantities.h. A copy of the sources gets a
# new quantity (hwmon's humidity) and the row of sysfs.c that reads it; every format must show its
# value.
# shellcheck disable=SC2317,SC1091,SC2154,SC2086 # functions are called through check(); $roots is words
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh
new=$tmp/src/gpustat
machine=$tmp/machine
roots="--proc $machine/proc --sys $machine/sys"

insert() { # FILE PATTERN LINES: LINES before the line that begins with PATTERN
	awk -v at="$2" -v new="$3" 'index($0, at) == 1 && !done { print new; done = 1 } { print } END { exit !done }' \
		"$1" >"$tmp/edited" && cp "$tmp/edited" "$1"
}
build() {
	mkdir "$tmp/src" && tar -c --exclude=./build --exclude=./tests --exclude='*.o' --exclude='*.d' --exclude=./gpustat --exclude=.git . |
		tar -x -C "$tmp/src" && mkdir "$tmp/src/tests" && cp tests/toolchain "$tmp/src/tests" && cd "$tmp/src" || return 1
	insert include/quantities.h 'QUANTITY(TEMP,' 'QUANTITY(HUMIDITY, LEVEL, UNSIGNED, HUMIDITY, NONE, NONE,
	 "humidity", NULL, S_INST, U_PERCENT, W_DEVICE | BOTH | W_TABLE, "humidity", "humidity")' &&
		insert sources/device/sysfs.c '	{ F_HWMON, T_NUMBER, D_FREQ_CUR,' \
			'	{ F_HWMON, T_NUMBER, D_HUMIDITY, 0, 0, FROM_CHAN, "humidity*_input" },' && make -s -j2
}
shows() { # FORMAT PATTERN
	"$new" $roots -w 10ms -o "$1" >"$tmp/out" && grep -q -e "$2" "$tmp/out" && return
	cat "$tmp/out"
	return 1
}
helped() { "$new" -f help | grep -q '^humidity\.NAME  *%  *humidity$'; }
named() {
	"$new" counters $roots | grep -q 'amdgpu % .* drm/card0/humidity1/humidity  *humidity (%)$' &&
		"$new" counters $roots -w 10ms -o csv drm/card0/humidity1/humidity |
		grep -q ',value,drm/card0/humidity1/humidity,43$'
}
plotted() {
	"$new" $roots -o csv 0.01 3 >"$tmp/run.csv" && "$new" plot "$tmp/run.csv" -f humidity | grep -q '>card0 · humidity'
}
checked() {
	"$new" check $roots -w 10ms -m humidity -w :40 -c :90 >"$tmp/out"
	status=$?
	cat "$tmp/out"
	[ "$status" = 1 ] && grep -q 'humidity1.*43\.2' "$tmp/out"
}

mkdir "$machine" && cp -r tests/trees/amdgpu/proc tests/trees/amdgpu/sys "$machine" || exit 1
for chip in "$machine"/sys/class/drm/card0/device/hwmon/hwmon*; do
	echo 43210 >"$chip/humidity1_input"
done
check 'a quantity needs one row, and one row that reads it' build
check 'json' shows json '"humidity":{"humidity1":43\.210*}'
check 'csv' shows csv ',humidity,humidity1,43\.21$'
check 'logfmt' shows logfmt ' humidity\.humidity1=43\.21'
check 'table' shows table ' humidity1'
check 'prom' shows prom '^gpustat_humidity_ratio{dev="card0",sensor="humidity1"} 0\.4321$'
check 'openmetrics' shows openmetrics '^gpustat_humidity_ratio{dev="card0",sensor="humidity1"} 0\.4321$'
check 'influx' shows influx '^gpustat_humidity,dev=card0,sensor=humidity1 ratio=0\.4321 '
check 'graphite' shows graphite 'card0\.humidity\.humidity1\.ratio 0\.4321 '
check 'statsd' shows statsd 'card0\.humidity\.humidity1\.ratio:0\.4321|g'
check 'collectd' shows collectd 'gpustat-card0/percent-humidity-humidity1" N:43\.21$'
check 'kmsg' shows kmsg ' humidity\.humidity1=43\.21'
check '-f help lists the quantity' helped
check 'the quantity is a named counter' named
check 'plot draws the quantity' plotted
check 'check compares the quantity with a threshold' checked
finish
