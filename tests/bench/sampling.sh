# shellcheck shell=sh disable=SC2154 # variables are those of run
# sampling.sh - sourced by tests/bench/run: measures the cost of sampling, compared with perf. The
# programs of ./build are in the current folder. Variables: BUSY seconds of sampling, then WINDOWS of
# 4 or 20 s.
busy=${BUSY:-5} windows=${WINDOWS:-5}

if ! ./gpustat sample --help >/dev/null 2>&1; then
	echo
	echo 'sample: not in this binary'
	return 0
fi
g='./gpustat sample -e cpu-clock -F 10000 -o perfdata -O' p=${perf:+'perf record -e cpu-clock -F 10000 -o'}
bench 3 - "$g g -- ./bench spin 0" ${perf:+"$p p -- ./bench spin 0"}
{ read -r _ _ _ _ g1; read -r _ _ _ _ p1; } <out
bench 1 - "$g g -- ./bench spin $busy" ${perf:+"$p p -- ./bench spin $busy"}
./bench records g >out && read -r gs gl <out
[ -z "$perf" ] || { ./bench records p >out && read -r ps pl <out; }
head "A loop of $busy s CPU time, sampled at 10 kHz of cpu-clock into a perf.data; start and end are the median of 3 alternating
runs. CPU time is that of the sampler, without the loop's."
row 'samples' %s "$gs" "$ps"
row 'lost' %s "$gl" "$pl" 0
row 'CPU time of start and end, ms' %.2f "$(calc 'v[1]/1000' "$g1")" "$(calc 'v[1]/1000' "$p1")"

# Windows within one run, because start and end vary more than the difference of two runs. The windows
# of the two programs alternate, because the load of the machine changes; a ratio is that of two
# windows that follow each other.
spread_head "A busy process, sampled on another CPU: CPU time of the sampler within a window, ns per sample; lowest, median and highest of
$windows windows, which alternate with those of perf. Windows are 4 s, at 1 kHz 20 s, in which perf reads its ring three times."
window() { # HZ COMMAND
	bench window "$([ "$1" -lt 2000 ] && echo 20 || echo 4)" "$1" "$2" && read -r ns <out && echo "$ns"
}
# rate HZ: the samples that the kernel takes in a second of CPU time, which are fewer if the timers of
# this machine are too slow for HZ.
rate() {
	bench 1 - "./gpustat sample -e cpu-clock -F $1 -o perfdata -O g -- ./bench spin 2" &&
		./bench records g >out && read -r n _ <out && echo $((n / 2))
	rm -f g
}
# window_rows NAME HZ KEEP COMMAND [REFERENCE]: measures the windows of a command that samples at HZ and
# of its reference, and prints the row of their figures and of the ratios.
window_rows() {
	hz=$(rate "$2") g=$4 p=${5:-}
	[ -n "$hz" ] || return 0
	: >g.ns && : >p.ns && : >ratios
	for _ in $(seq "$windows"); do
		rm -f g p
		ours=$(window "$hz" "$g") theirs=${p:+$(window "$hz" "$p")}
		[ -z "$ours" ] || echo "$ours" >>g.ns
		[ -z "$theirs" ] || echo "$theirs" >>p.ns
		calc 'v[1]/v[2]' "$ours" "$theirs" | grep . >>ratios
	done
	spread_row "$1, -F $2: $hz samples/s" %.1f g.ns p.ns ratios "$3"
}
for f in 1000 10000 25000; do
	window_rows "perf.data" $f '100 ns' "./gpustat sample -e cpu-clock -F $f -o perfdata -O g -p" \
		"${perf:+perf record -e cpu-clock -F $f -o p -p}"
done
spread_head "The same at 10 kHz as text and as sums. The reference only copies texts of the same size from memory to the file." copying
for o in '-o json' '-o csv' '-o csv -f time,event,pid,comm,symbol' '-o folded' '--summary'; do
	g="./gpustat sample -e cpu-clock -F 10000 -O g $o"
	case $o in
	'-o json' | '-o csv'*)
		n=$(rate 10000)
		[ -z "$n" ] || bench 1 - "$g -- ./bench spin 2"
		bytes=${n:+$(($(wc -c <g) / (2 * n)))}
		;;
	*) bytes= ;;
	esac
	window_rows "$o" 10000 '250 ns' "$g -p" "${bytes:+./bench copy $n $bytes p}"
done
