# gpustat.bash - bash completion for gpustat. contrib/completion generated this file from gpustat
# --help: change that script, not this file.
# SPDX-License-Identifier: MIT
_gpustat()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} prog=$1
	local commands='procs clients cgroups list fdinfo counters host doctor top events stat sample run oa check munin capture plot' times='none epoch iso mono'
	local cmd='' formats='' options='' words='' files='' kind='' names='' o i

	COMPREPLY=()
	for ((i = 1; i < COMP_CWORD; i++)); do
		case " $commands help version " in *" ${COMP_WORDS[i]} "*) cmd=${COMP_WORDS[i]}; break ;; esac
	done
	case $cmd in
	help) words=$commands ;;
	'' | procs | clients | cgroups)
		options='-i=T --interval=T -c=N --count=N -n=N --count=N -w=T --window=T -r --raw --state=FILE --inner=T --align --on-stdin --http -d=SEL --device=SEL --not=SEL --ids=DIR -p=PID --pid=PID --children -C=NAME --comm=NAME -g=PATH --cgroup=PATH -k=N --top=N -s=FIELD --sort=FIELD -f=A,B --fields=A,B -o=F --format=F -j --json -O=FILE --output=FILE -1 --one-line -H --no-header --csv-exact -t=HOW --time=HOW -S --summary --sweep=N --enable-profiling -q --quiet -v --verbose --proc=DIR --sys=DIR --no-sandbox -h --help -V --version'
		formats='line table plain csv json logfmt prom openmetrics influx graphite statsd collectd kmsg svg perfetto chrome'
		;;
	list)
		options='-d=SEL --device=SEL --not=SEL --ids=DIR -p=PID --pid=PID --children -C=NAME --comm=NAME -g=PATH --cgroup=PATH -k=N --top=N -s=FIELD --sort=FIELD -f=A,B --fields=A,B -o=F --format=F -j --json -O=FILE --output=FILE -1 --one-line -H --no-header --csv-exact -t=HOW --time=HOW -q --quiet -v --verbose --proc=DIR --sys=DIR --no-sandbox -h --help -V --version'
		formats='line table block plain csv json logfmt prom openmetrics influx graphite statsd collectd kmsg'
		;;
	fdinfo)
		options='-r --raw -f=A,B --fields=A,B -o=F --format=F -j --json -O=FILE --output=FILE -1 --one-line -H --no-header --csv-exact -t=HOW --time=HOW -q --quiet -v --verbose --proc=DIR --sys=DIR --no-sandbox -h --help -V --version'
		formats='line table plain csv json logfmt prom openmetrics influx graphite statsd collectd kmsg'
		files=1
		;;
	counters | host)
		options='-i=T --interval=T -c=N --count=N -n=N --count=N -w=T --window=T --align --on-stdin --http --all --not=SEL -f=A,B --fields=A,B -o=F --format=F -j --json -O=FILE --output=FILE -1 --one-line -H --no-header --csv-exact -t=HOW --time=HOW -q --quiet -v --verbose --proc=DIR --sys=DIR --no-sandbox -h --help -V --version'
		formats='line table plain csv json logfmt prom openmetrics influx graphite statsd collectd kmsg svg perfetto chrome'
		;;
	doctor)
		options='--not=SEL -f=A,B --fields=A,B -o=F --format=F -j --json -O=FILE --output=FILE -1 --one-line -H --no-header --csv-exact -q --quiet -v --verbose --proc=DIR --sys=DIR --no-sandbox -h --help -V --version'
		formats='line table plain csv json logfmt prom openmetrics influx graphite statsd collectd kmsg'
		;;
	top)
		options='-i=T --interval=T -c=N --count=N -n=N --count=N -d=T --delay=T --device=SEL --not=SEL --ids=DIR -p=PID --pid=PID --children -C=NAME --comm=NAME -g=PATH --cgroup=PATH -s=FIELD --sort=FIELD --sweep=N --enable-profiling --ascii --replay=FILE -q --quiet -v --verbose --proc=DIR --sys=DIR --no-sandbox -h --help -V --version'
		;;
	events)
		options='-o=F --format=F -j --json -q --quiet -v --verbose --pmu-file=FILE --resolve --map --perfmon --proc=DIR --sys=DIR --no-sandbox -h --help -V --version --device=SEL'
		formats='line json'
		;;
	stat)
		options='-c=N --count=N --not=SEL -f=A,B --fields=A,B -o=F --format=F -j --json -O=FILE --output=FILE -1 --one-line -H --no-header --csv-exact -q --quiet -v --verbose --pmu-file=FILE --proc=DIR --sys=DIR --no-sandbox -h --help -V --version -e=LIST --event=LIST -a --all-cpus -C=LIST --cpu=LIST -p=PIDS --pid=PIDS -t=TIDS --tid=TIDS -G=PATHS --cgroup=PATHS --filter=EXPR --log-fd=N -i --no-inherit --timeout=MS -D=MS --delay=MS --control=HOW --all-user --all-kernel --device=SEL --time=HOW -w=T --window=T --interval=T -I=MS --interval-print=MS -r=N --repeat=N --pre=COMMAND --post=COMMAND -n --null -d --detailed -A --per-cpu --per-core --per-socket --per-die --per-cluster --per-cache --per-node --per-thread --set=SET --summary --for-each-cgroup=PATHS -B --big-num --no-scale --raw -x=SEP --field-separator=SEP --no-csv-summary --json-output --no-aggr -g=PATHS --cgroup=PATHS --append --no-merge --interval-count=N'
		formats='line table plain csv json logfmt prom openmetrics influx graphite statsd collectd kmsg svg perfetto chrome perf-csv perf-json'
		;;
	sample)
		options='--not=SEL -k=N --top=N -f=A,B --fields=A,B -o=F --format=F -j --json -O=FILE --output=FILE -1 --one-line -H --no-header --csv-exact -q --quiet -v --verbose --pmu-file=FILE --proc=DIR --sys=DIR --no-sandbox -h --help -V --version -e=LIST --event=LIST -a --all-cpus -C=LIST --cpu=LIST -p=PIDS --pid=PIDS -t=TIDS --tid=TIDS -G=PATHS --cgroup=PATHS --filter=EXPR --log-fd=N -i --no-inherit --timeout=MS -D=MS --delay=MS --control=HOW --all-user --all-kernel --device=SEL --time=HOW -w=T --window=T --reset-on-overflow -F=HZ --freq=HZ --count=N -c=N --sample-period=N -g --call-graph --summary --latency --syscalls --live --limit=N --period-random=MASK,SEED --long-period=N --short-period=N -m=N --mmap-pages=N --wakeup=N --watermark=BYTES'
		formats='line table plain csv json logfmt prom openmetrics influx graphite statsd collectd kmsg svg perfetto chrome folded perfdata'
		;;
	run)
		options='-i=T --interval=T -d=SEL --device=SEL --not=SEL -f=A,B --fields=A,B -o=F --format=F -j --json -O=FILE --output=FILE -1 --one-line -H --no-header --csv-exact -t=HOW --time=HOW -q --quiet -v --verbose --proc=DIR --sys=DIR --no-sandbox -h --help -V --version'
		formats='line table plain csv json logfmt prom openmetrics influx graphite statsd collectd kmsg'
		;;
	oa)
		options='-i=T --interval=T -c=N --count=N -n=N --count=N -d=SEL --device=SEL --not=SEL --ids=DIR -f=A,B --fields=A,B -o=F --format=F -j --json -O=FILE --output=FILE -1 --one-line -H --no-header --csv-exact -t=HOW --time=HOW -q --quiet -v --verbose --proc=DIR --sys=DIR --no-sandbox -h --help -V --version -m=NAME --metric-set=NAME --metrics=FILE -r --raw --reports --totals --contexts --period=T --ctx=N --engine=CLASS[:N] --hold-preemption --sseu=S:SS:MIN:MAX --poll-period=T --oa-unit=N --buffer-size=BYTES --wait-reports=N --record=FILE --replay=FILE --platform=NAME'
		formats='line table plain csv json logfmt prom openmetrics influx graphite statsd collectd kmsg svg perfetto chrome'
		words='list pack stalls'
		;;
	check)
		options='--window=T --state=FILE -d=SEL --device=SEL --not=SEL --ids=DIR --enable-profiling -q --quiet -v --verbose --proc=DIR --sys=DIR --no-sandbox -h --help -V --version -w=RANGE --warning=RANGE -c=RANGE --critical=RANGE -m=FIELD --metric=FIELD -t=T --timeout=T -j --json'
		;;
	munin)
		options='--window=T --state=FILE -d=SEL --device=SEL --not=SEL --ids=DIR --enable-profiling -q --quiet -v --verbose --proc=DIR --sys=DIR --no-sandbox -h --help -V --version'
		words='config autoconf'
		;;
	capture)
		options='--not=SEL -O=FILE --output=FILE --plain-names -q --quiet -v --verbose --proc=DIR --sys=DIR --no-sandbox -h --help -V --version'
		;;
	plot)
		options='-f=A,B --fields=A,B -O=FILE --output=FILE -q --quiet -v --verbose --proc=DIR --sys=DIR --no-sandbox -h --help -V --version'
		files=1
		;;
	esac

	# bash splits --name=value into three words: `--name`, `=`, `value`.
	if [ "$cur" = = ]; then
		cur='' o=$prev
	elif [ "$prev" = = ]; then
		o=${COMP_WORDS[COMP_CWORD-2]}
	else
		o=$prev
	fi
	for i in $options; do
		[ "${i%%=*}" != "$o" ] || case $i in *=*) kind=${i#*=} ;; esac
		names+=" ${i%%=*}"
	done
	[[ $cmd$kind != events || $cur == -* ]] || { kind=LIST o=-e; }
	case $kind in
	F) names=$formats ;;
	HOW)
		names=$times
		[ "$o" != --control ] || return
		;;
	SEL) names=$("$prog" list -H -o csv -f dev 2>/dev/null) ;;
	LIST) # words with = and : are split by bash
		case $o in -e | --event) ;; *) return ;; esac
		names=$("$prog" events 2>/dev/null | sed '/^[^ ]*[=:]/d; /^rNNN/d; s/ .*//')
		;;
	A,B | FIELD) names=$("$prog" ${cmd:+"$cmd"} -f help 2>/dev/null | sed 's/ .*//' | sort -u) ;;
	PID | PIDS) names=$(cd /proc && echo [0-9]*) ;;
	FILE | DIR)
		compopt -o filenames 2>/dev/null
		[ "$kind" = DIR ] && o=-d || o=-f
		mapfile -t COMPREPLY < <(compgen "$o" -- "$cur")
		return
		;;
	?*) return ;; # a number, a name or a pattern: it cannot be completed
	*)
		[[ $cur == -* ]] || names=$words
		[[ $cur == -* || -n $cmd ]] || names="$commands help version"
		;;
	esac
	case $kind in A,B | SEL | PID* | LIST) # lists: completes the word after the last comma
		o=
		[[ $cur != *,* ]] || o=${cur%,*},
		mapfile -t COMPREPLY < <(compgen -P "$o" -W "$names" -- "${cur##*,}")
		return
		;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$names" -- "$cur")
	[[ -n $kind || $cur == -* ]] || case $cmd in
	stat | sample) mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -c -- "$cur") ;;
	*) [ -z "$files" ] || {
		compopt -o filenames 2>/dev/null
		mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$cur")
	} ;;
	esac
}
complete -F _gpustat gpustat
