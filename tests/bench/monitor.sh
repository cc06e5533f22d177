# shellcheck shell=sh disable=SC2154 # variables are those of run
# monitor.sh - sourced by tests/bench/run: measures the cost of monitoring devices, compared with
# programs that make only the necessary system calls, and with other monitors. TURNS: runs of each
# command; LOOKS: samples of a run; CROWD: number of processes and of their descriptors.
turns=${TURNS:-20} looks=${LOOKS:-60} crowd=${CROWD:-505 12500}
gputop=${GPUTOP:-gputop} one=${cpu:-0}
sys=$here/../trees/amdgpu/sys text=$here/../trees/amdgpu/proc/3456/fdinfo/21
live="./gpustat --sys $sys"
machine() { # TREE
	case $1 in
	small) echo '505 processes, 12 500 descriptors, 150 clients' ;;
	large) echo '5 000 processes, 100 000 descriptors, 150 clients' ;;
	many) echo '1 000 processes, 20 000 descriptors, 10 000 clients' ;;
	esac
}

# A tree is created in memory if possible: access to a disk's folders costs more than to the
# kernel's. Only root can create device nodes.
have_trees=
if ./tree "$trees/small" 505 12500 150 "$text" 2>err && ./tree "$trees/large" 5000 100000 150 "$text" 2>err &&
	./tree "$trees/many" 1000 20000 10000 "$text" 2>err && ./tree "$trees/1000" 100 100 1000 "$text" 2>err; then
	have_trees=yes
else
	echo "fake trees: $(tail -n 1 err); machines with clients are not measured"
fi
has_gputop=
command -v "$gputop" >/dev/null && has_gputop=yes
[ -n "$has_gputop" ] || echo 'gputop: not installed (intel-gpu-tools from 1.28 on; GPUTOP names one); its column stays empty'
if command -v nvtop >/dev/null && nvtop -s >/dev/null 2>&1 </dev/null; then
	echo 'nvtop: not measured: it only draws on a terminal, or shows one sample of an existing GPU'
else
	echo 'nvtop: not installed, or it finds no GPU, which it requires; it has no column'
fi
has_valgrind=
command -v valgrind >/dev/null && has_valgrind=yes
[ -n "$has_valgrind" ] || echo 'valgrind: not installed; no instructions are counted'

# --- one sample ---
# look WHAT ROOT [KEEPER...]: compares a one-shot run with one full scan and with two; the wait for
# the interval takes no CPU time.
look() {
	what=$1 root=$2 g="$live --proc $2 -w 1ms"
	shift 2
	"$@" ./bench "$turns" "$one" "./walk $root" "./walk $root 2" "$g" 2>err >out || echo "bench: $(tail -n 1 err)" >&2
	{ read -r _ _ _ w _; read -r _ _ _ w2 _; read -r _ _ _ gc _; } <out
	head "One sample of $what, median CPU time of $turns alternating runs on CPU $one" 'full scan'
	row 'CPU time, ms' %.2f "$(calc 'v[1]/1000' "$gc")" "$(calc 'v[1]/1000' "$w")" 1.05
	row '  compared with two scans' %.2f "$(calc 'v[1]/1000' "$gc")" "$(calc 'v[1]/1000' "$w2")" 0.5
	# shellcheck disable=SC2086 # a command is words
	row 'system calls' %d "$("$@" "$here/calls" $g)" "$("$@" "$here/calls" ./walk "$root")" 1.05
}
# shellcheck disable=SC2086
look "$(echo $crowd | sed 's/ / real processes with /') descriptors, in addition to those of this machine, no client" /proc ./crowd $crowd
[ -z "$have_trees" ] || look "a fake tree: $(machine small)" "$trees/small/proc"

# --- the kernel's iterator of descriptors ---
# once PROCESSES DESCRIPTORS KEEP: compares a one-shot run by the iterator, and by a scan of /proc,
# with a bare scan. Sets it and scan to their CPU times.
once() {
	g="./gpustat --sys $sys procs -r -o json"
	./crowd "$1" "$2" ./bench "$turns" "$one" './walk /proc' "$g" "$g --proc /proc" 2>err >out || echo "bench: $(tail -n 1 err)" >&2
	{ read -r _ _ _ w _; read -r _ _ _ it _; read -r _ _ _ scan _; } <out
	row "$1 processes, $2 descriptors: CPU time, ms" %.2f "$(calc 'v[1]/1000' "$it")" "$(calc 'v[1]/1000' "$w")" "$3"
	row '  by a scan of /proc' %.2f "$(calc 'v[1]/1000' "$scan")" "$(calc 'v[1]/1000' "$w")"
}
how=$(./crowd 200 2000 ./gpustat --sys "$sys" procs -r -v 2>&1 | sed -n 's/.*descriptors: //p')
head "One look, procs -r, by the kernel's iterator, with no client, in addition to the processes of this machine; median of $turns alternating runs on CPU $one" 'bare scan'
if [ "$how" = "the kernel's iterator" ]; then
	once 200 5000 ''
	few=$it few_scan=$scan
	once 505 12500 1/4
	# Both times are linear in the number of processes, to which those of this machine are added.
	text_row 'as cheap as a scan at this number of processes' %.0f \
		"$(calc '200+305*(v[1]-v[3])/(v[4]-v[3]-v[2]+v[1])+v[5]' "$few" "$it" "$few_scan" "$scan" "$(find /proc -maxdepth 1 -name "[0-9]*" | wc -l)")"
	once 5000 100000 1/8
else
	echo "not used here: $how"
fi

# --- sample by sample ---
# per_sample TREE BUSY MS COMMAND...: prints the median CPU time per sample in ns.
per_sample() {
	tree=$trees/$1
	shift
	./stir "$tree" "$@" 2>err | cut -d ' ' -f 1
	[ ! -s err ] || echo "stir: $(tail -n 1 err)" >&2
}
# calls_per_sample COMMAND...: prints the system calls per sample of a command with the number of
# samples as its last argument.
calls_per_sample() {
	few=$("$here/calls" "$@" 10) many=$("$here/calls" "$@" 40)
	calc '(v[2]-v[1])/30' "$few" "$many"
}
steady() { # TREE CLIENTS KEEP-MS KEEP-CALLS
	root=$trees/$1/proc g="$live --proc $trees/$1/proc"
	echo "$(machine "$1"):"
	# shellcheck disable=SC2086
	{
		idle=$(per_sample "$1" "$looks" 0 1 $g --on-stdin -H)
		work=$(per_sample "$1" "$looks" "$2" 1 $g --on-stdin -H)
		base=$(per_sample "$1" "$looks" "$2" 1 ./walk "$root" fdinfo)
		n=$(calls_per_sample ./gpustat --sys bare --proc "$root" --sweep 80 -H 20ms)
	}
	row '  CPU time, ms, all clients idle' %.3f "$(calc 'v[1]/1e6' "$idle")" "$(calc 'v[1]/1e6' "$base")" "$3"
	row '  CPU time, ms, all clients busy' %.3f "$(calc 'v[1]/1e6' "$work")" "$(calc 'v[1]/1e6' "$base")" "$3"
	row '  system calls, 80 of them for the rescan' %.1f "$n" "$(($2 + 2))" "$4"
}
mkdir -p bare/class bare/bus bare/dev/char bare/devices # a /sys without any device, or sensors
if [ -n "$have_trees" ]; then
	head "A quiet sample, median of $looks: its total cost, compared with only pread() of the clients' fdinfo files" 'pread()'
	steady small 150 '0.6 ms' 250
	small=$work small_n=$n
	# shellcheck disable=SC2086
	row '  system calls, with the sensors of a Radeon' %.1f "$(calls_per_sample $live --proc "$trees/small/proc" --sweep 80 -H 20ms)" 152
	steady large 150 '0.6 ms' 250
	row '  all clients busy, compared with 505 processes, ms' %.3f "$(calc 'v[1]/1e6' "$work")" "$(calc 'v[1]/1e6' "$small")" 1.2
	row '  system calls, compared with 505 processes' %.1f "$n" "$small_n" 1.2
	steady many 10000 '30 ms' ''
	g="$live --proc $trees/small/proc --on-stdin -H"
	# shellcheck disable=SC2086
	{
		cold=$(per_sample small 16 150 1000 $g)
		cold_base=$(per_sample small 16 150 1000 ./walk "$trees/small/proc" fdinfo)
		all=$(per_sample small 16 150 1 $g --sweep all)
		walk=$(per_sample small 16 150 1 ./walk "$trees/small/proc" each)
	}
	echo '505 processes, all 150 clients busy:'
	row '  a sample each second, CPU time, ms' %.3f "$(calc 'v[1]/1e6' "$cold")" "$(calc 'v[1]/1e6' "$cold_base")" '0.6 ms'
	row '  --sweep all, compared with a full scan, ms' %.3f "$(calc 'v[1]/1e6' "$all")" "$(calc 'v[1]/1e6' "$walk")"
fi

# --- other monitors ---
# Uses the difference of two run lengths, which excludes start and exit. No GPU is required; on a
# fake tree gputop would skip most descriptors.
peer() { # KEEPER...
	g="$live --proc /proc -H 100ms"
	# shellcheck disable=SC2086
	{
		"$@" ./bench 3 "$one" "$g 4" "$g 24" ${has_gputop:+"$gputop -d 0.1 -n 4" "$gputop -d 0.1 -n 24"} 2>err >out ||
			echo "bench: $(tail -n 1 err)" >&2
		{ read -r _ _ _ g1 _; read -r _ _ _ g2 _; read -r _ _ _ p1 _; read -r _ _ _ p2 _; } <out
		row 'CPU time per sample, ms' %.3f "$(calc '(v[2]-v[1])/20000' "$g1" "$g2")" "$(calc '(v[2]-v[1])/20000' "$p1" "$p2")"
		g1=$("$@" "$here/calls" $g 4) g2=$("$@" "$here/calls" $g 14) p1='' p2=''
		[ -z "$has_gputop" ] || { p1=$("$@" "$here/calls" "$gputop" -d 0.5 -n 4) p2=$("$@" "$here/calls" "$gputop" -d 0.5 -n 8); }
		row 'system calls per sample' %.0f "$(calc '(v[2]-v[1])/10' "$g1" "$g2")" "$(calc '(v[2]-v[1])/4' "$p1" "$p2")"
	}
	bench rss "$g 4" ${has_gputop:+"$gputop -d 0.1 -n 4"}
	{ read -r gr; read -r pr; } <out
	row 'peak resident size, KiB' %d "$gr" "$pr"
}
head "Compared with IGT, which scans all of /proc in each sample: $(echo "$crowd" | sed 's/ / processes with /') descriptors" gputop
# shellcheck disable=SC2086
peer ./crowd $crowd
# --- start to exit ---
# On a machine that has a GPU, with an empty /sys.
g=./gpustat
if [ -n "$(ls /sys/class/drm /sys/class/accel 2>/dev/null)" ]; then
	g="./gpustat --sys bare"
fi
bench "$runs" "$one" ./nothing "$g"
{ read -r w _ _ c _; read -r gw gw1 gw3 gc _; } <out
head "Start to exit without a GPU, $runs runs alternating with an empty static program on CPU $one" nothing
row 'wall time, us' %d "$gw" "$w"
row '  quartiles' %s "$gw1..$gw3" ''
row 'CPU time, us' %d "$gc" "$c" '400 us'
# shellcheck disable=SC2086
row 'system calls' %d "$(calls $g)" "$(calls ./nothing)" 60
bench rss "$g" ./nothing
{ read -r gr; read -r r; } <out
row 'peak resident size, KiB' %d "$gr" "$r" '400 KiB'
if [ -n "$have_trees" ]; then
	bench rss "$live --proc $trees/1000/proc 10ms 5"
	read -r gr <out
	row '  watching 1 000 clients, KiB' %d "$gr" '' '1 MiB'
fi

# --- text ---
# Uses the fastest of several repetitions, because other programs can only slow one down.
# Instructions are those of eleven repetitions minus those of one.
instructions_per_byte() { # PROGRAM ARGUMENTS...: the first argument of the program is the number of repetitions
	p=$1
	shift
	[ -n "$has_valgrind" ] || return 0
	read -r b _ <out
	calc '(v[2]-v[1])/v[3]/10' "$(instructions "$p" 1 "$@")" "$(instructions "$p" 11 "$@")" "$b"
}
speed() { # SCALE: computed from the program's output in the file out
	awk -v scale="$1" '{ printf "%.3f", $1 / $2 * scale }' out
}
if [ -x parse ]; then
	# shellcheck disable=SC2046 # names without blanks
	set -- $(find "$here/../trees" -path '*/fdinfo/*' -type f | sort)
	./parse copy 2000 "$@" >out && c=$(speed 1)
	./parse pread 500 "$@" >out && r=$(speed 1)
	./parse 500 "$@" >out && w=$(speed 1)
	head "The fdinfo text of all drivers, $(cut -d ' ' -f 1 out) bytes: GB/s of fdinfo_head and fdinfo_next" other
	row 'compared with pread() of the same bytes' %.2f "$w" "$r" '1 GB/s'
	row 'compared with memcpy() of the same bytes' %.2f "$w" "$c"
	row 'instructions per byte' %.2f "$(instructions_per_byte ./parse "$@")"
fi
if [ -x format ]; then
	head 'Formatting 300 client records of 42 values, in memory: MB/s' instr/byte
	for f in json csv logfmt prom openmetrics influx graphite statsd collectd line table; do
		./format 40 client "$f" 8 300 "$text" >out
		text_row "$f" %.0f "$(speed 1000)" "$(instructions_per_byte ./format client "$f" 8 300 "$text")" '200 MB/s'
	done
fi

# --- size ---
head 'Size' bytes
cp "$prog" stripped && strip stripped 2>/dev/null
text_row 'stripped binary, KB' %.1f "$(calc 'v[1]/1000' "$(wc -c <stripped)")" "$(wc -c <stripped)" '150 KB'
rm -rf "${trees:?}"/*
