#!/bin/sh
# command.sh PROG FOLDER N: checks the perf.data files in FOLDER, which command.c made in the emulated
# machine: the perf of this machine reads them. Prints TAP, starting with number N + 1.
n=$3
cd "$2" || exit 1

# verdict STATUS NAME: prints one TAP line; the files out and log have the reason of a failure.
verdict() {
	n=$((n + 1))
	if [ "$1" = 0 ]; then
		echo "ok $n - $2"
	else
		echo "not ok $n - $2"
		cat log out | head -n 20 | cut -c1-300 | sed 's/^/# /'
	fi
}

# reads ARGUMENTS...: runs perf, whose output goes to the file out. Fails if its exit status is not 0.
reads() {
	perf --no-pager "$@" >out 2>log </dev/null
}
# has N PATTERN: fails unless N or more lines of the output match.
has() {
	[ "$(grep -cE "$2" out)" -ge "$1" ] || { echo "fewer than $1 lines: $2" >>log && false; }
}

names='perf report has the samples of both events of a command
perf script has each system call of the command, with its fields
perf report --header-only names the emulated machine, the command line and the events
perf report has the tasks and call chains of the machine'
why=
if ! command -v perf >/dev/null; then
	why='needs package linux-perf'
elif ! reads version; then
	why='perf does not work here'
fi
if [ "$why" ]; then
	echo "$names" | while read -r name; do
		n=$((n + 1))
		echo "ok $n - $name # SKIP $why"
	done
	exit 0
fi
name() {
	echo "$names" | sed -n "$1p"
}

reads report --stdio --stdio-color=never --sort comm -i command.data &&
	has 1 "of event 'cpu-clock'" && has 1 "of event 'raw_syscalls:sys_enter'" && has 2 '%  +init'
verdict $? "$(name 1)"
# 110: number of getppid() on x86-64
reads script -F comm,event,trace -i command.data && has 100 '^ *init +cpu-clock' &&
	has 1000 '^ *init +raw_syscalls:sys_enter: NR 110 \('
verdict $? "$(name 2)"
reads report --header-only -i command.data && grep -qxF "# os release : $(cat release)" out &&
	has 1 '^# cmdline : gpustat sample .* -- /init spin' && has 1 '^# event : name = cpu-clock,' &&
	has 1 '^# event : name = raw_syscalls:sys_enter,' && has 1 '^# total memory : [1-9]'
verdict $? "$(name 3)"
reads report --stdio --stdio-color=never --children --sort comm -i machine.data && has 1 '%.*  init' &&
	has 1 '^ +(\||--|-)'
verdict $? "$(name 4)"
