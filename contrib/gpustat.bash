# gpustat.bash - what bash completes behind gpustat. contrib/completion made it of gpustat --help: change that, not this.
# SPDX-License-Identifier: MIT
_gpustat()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} prog=$1
	local commands='procs cgroups list fdinfo counters host doctor top events stat sample oa check munin plot' times='none epoch iso mono'
	local cmd='' formats='' options='' words='' files='' kind='' names='' o i

	COMPREPLY=()
	for ((i = 1; i < COMP_CWORD; i++)); do
		case " $commands " in *" ${COMP_WORDS[i]} "*) cmd=${COMP_WORDS[i]}; break ;; esac
	done
	case $cmd in
	'' | procs | cgroups)
		options='-i=T --interval=T -c=N --count=N -n=N --count=N -w=T --window=T -r --raw --state=FILE --inner=T --align --on-stdin --http -d=SEL --device=SEL -p=PID --pid=PID -C=NAME --comm=NAME -g=PATH --cgroup=PATH -k=N --top=N -s=FIELD --sort=FIELD -f=A,B --fields=A,B -o=F --format=F -O=FILE --output=FILE -1 --one-line -H --no-header -t=HOW --time=HOW -S --summary --sweep=N --enable-profiling -q --quiet -v --verbose --proc=DIR --sys=DIR --no-sandbox -h --help -V --version'
		formats='line table csv json logfmt prom openmetrics influx graphite statsd collectd kmsg svg'
		;;
	list)
		options='-d=SEL --device=SEL -p=PID --pid=PID -C=NAME --comm=NAME -g=PATH --cgroup=PATH -k=N --top=N -s=FIELD --sort=FIELD -f=A,B --fields=A,B -o=F --format=F -O=FILE --output=FILE -1 --one-line -H --no-header -t=HOW --time=HOW -q --quiet -v --verbose --proc=DIR --sys=DIR --no-sandbox -h --help -V --version'
		formats='line table csv json logfmt prom openmetrics influx graphite statsd collectd kmsg svg'
		;;
	fdinfo)
		options='-r --raw -f=A,B --fields=A,B -o=F --format=F -O=FILE --output=FILE -1 --one-line -H --no-header -t=HOW --time=HOW -q --quiet -v --verbose --proc=DIR --sys=DIR --no-sandbox -h --help -V --version'
		formats='line table csv json logfmt prom openmetrics influx graphite statsd collectd kmsg'
		files=1
		;;
	counters | host)
		options='-i=T --interval=T -c=N --count=N -n=N --count=N -w=T --window=T --align --on-stdin --http --all -f=A,B --fields=A,B -o=F --format=F -O=FILE --output=FILE -1 --one-line -H --no-header -t=HOW --time=HOW -q --quiet -v --verbose --proc=DIR --sys=DIR --no-sandbox -h --help -V --version'
		formats='line table csv json logfmt prom openmetrics influx graphite statsd collectd kmsg svg'
		;;
	doctor)
		options='-f=A,B --fields=A,B -o=F --format=F -O=FILE --output=FILE -1 --one-line -H --no-header -q --quiet -v --verbose --proc=DIR --sys=DIR --no-sandbox -h --help -V --version'
		formats='line table csv json logfmt prom openmetrics influx graphite statsd collectd kmsg'
		;;
	top)
		options='-i=T --interval=T -c=N --count=N -n=N --count=N -d=SEL --device=SEL -p=PID --pid=PID -C=NAME --comm=NAME -g=PATH --cgroup=PATH -s=FIELD --sort=FIELD --sweep=N --enable-profiling --ascii -q --quiet -v --verbose --proc=DIR --sys=DIR --no-sandbox -h --help -V --version'
		;;
	events)
		options='-q --quiet -v --verbose --pmu-file=FILE --resolve --map --proc=DIR --sys=DIR --no-sandbox -h --help -V --version'
		;;
	stat)
		options='-i=T --interval=T -c=N --count=N -w=T --window=T -f=A,B --fields=A,B -o=F --format=F -O=FILE --output=FILE -1 --one-line -H --no-header -q --quiet -v --verbose --pmu-file=FILE --proc=DIR --sys=DIR --no-sandbox -h --help -V --version -e=LIST --event=LIST -a --all-cpus -C=LIST --cpu=LIST -p=PIDS --pid=PIDS -t=TIDS --tid=TIDS -G=PATHS --cgroup=PATHS --filter=EXPR --log-fd=N --no-inherit --timeout=MS -D=MS --delay=MS --control=HOW --all-user --all-kernel -j --json --device=SEL --time=HOW -I=MS --interval-print=MS -r=N --repeat=N -n --null -d --detailed -A --per-cpu --per-core --per-socket --per-thread --set=SET --no-scale --raw -x=C --field-separator=C --no-aggr -g=PATHS --cgroup=PATHS --no-merge --interval-count=N'
		formats='line table csv json logfmt prom openmetrics influx graphite statsd collectd kmsg svg perf-csv'
		;;
	sample)
		options='-c=N --count=N -w=T --window=T -k=N --top=N -f=A,B --fields=A,B -o=F --format=F -O=FILE --output=FILE -1 --one-line -H --no-header -q --quiet -v --verbose --pmu-file=FILE --proc=DIR --sys=DIR --no-sandbox -h --help -V --version -e=LIST --event=LIST -a --all-cpus -C=LIST --cpu=LIST -p=PIDS --pid=PIDS -t=TIDS --tid=TIDS -G=PATHS --cgroup=PATHS --filter=EXPR --log-fd=N --no-inherit --timeout=MS -D=MS --delay=MS --control=HOW --all-user --all-kernel -j --json --device=SEL --time=HOW --reset-on-overflow -F=HZ --freq=HZ --sample-period=N -g --call-graph --summary --limit=N --period-random=MASK,SEED --long-period=N --short-period=N -m=N --mmap-pages=N --wakeup=N --watermark=BYTES'
		formats='line table csv json logfmt prom openmetrics influx graphite statsd collectd kmsg svg folded perfdata'
		;;
	oa)
		options='-i=T --interval=T -c=N --count=N -n=N --count=N -d=SEL --device=SEL -f=A,B --fields=A,B -o=F --format=F -O=FILE --output=FILE -1 --one-line -H --no-header -t=HOW --time=HOW -q --quiet -v --verbose --proc=DIR --sys=DIR --no-sandbox -h --help -V --version -m=NAME --metric-set=NAME --metrics=FILE -r --raw --reports --totals --contexts --period=T --ctx=N --engine=CLASS[:N] --hold-preemption --sseu=S:SS:MIN:MAX --poll-period=T --oa-unit=N --buffer-size=BYTES --wait-reports=N --record=FILE --replay=FILE --platform=NAME'
		formats='line table csv json logfmt prom openmetrics influx graphite statsd collectd kmsg svg'
		words='list pack'
		;;
	check)
		options='--window=T --state=FILE -d=SEL --device=SEL --enable-profiling -q --quiet -v --verbose --proc=DIR --sys=DIR --no-sandbox -h --help -V --version -w=RANGE --warning=RANGE -c=RANGE --critical=RANGE -m=FIELD --metric=FIELD -t=T --timeout=T'
		;;
	munin)
		options='--window=T --state=FILE -d=SEL --device=SEL --enable-profiling -q --quiet -v --verbose --proc=DIR --sys=DIR --no-sandbox -h --help -V --version'
		words='config autoconf'
		;;
	plot)
		options='-f=A,B --fields=A,B -O=FILE --output=FILE -q --quiet -v --verbose --proc=DIR --sys=DIR --no-sandbox -h --help -V --version'
		files=1
		;;
	esac

	# --name=value is three words to bash, and stands as `--name`, `=`, `value` here.
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
	case $kind in
	F) names=$formats ;;
	HOW)
		names=$times
		[ "$o" != --control ] || return
		;;
	SEL) names=$("$prog" list -H -o csv -f dev 2>/dev/null) ;;
	A,B | FIELD) names=$("$prog" ${cmd:+"$cmd"} -f help 2>/dev/null | sed 's/ .*//' | sort -u) ;;
	PID | PIDS) names=$(cd /proc && echo [0-9]*) ;;
	FILE | DIR)
		compopt -o filenames 2>/dev/null
		[ "$kind" = DIR ] && o=-d || o=-f
		mapfile -t COMPREPLY < <(compgen "$o" -- "$cur")
		return
		;;
	?*) return ;; # a number, a name, a pattern: nobody knows
	*)
		[[ $cur == -* ]] || names=$words
		[[ $cur == -* || -n $cmd ]] || names=$commands
		;;
	esac
	case $kind in A,B | SEL | PID*) # lists: what stands behind the last comma
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
