# shellcheck shell=sh disable=SC2154 # variables are those of run
# counting.sh - sourced by tests/bench/run: measures the cost of counting perf events, compared with
# perf, and of reading OA recordings, compared with IGT. The programs of ./build are in the current
# folder. Variables: SAMPLES of 10 ms; REPORTS of a recording that is read REPLAYS times.
samples=${SAMPLES:-500} reports=${REPORTS:-780000} replays=${REPLAYS:-5}
events='cpu-clock,context-switches,cpu-migrations,page-faults'

# --- one static command ---
g='./gpustat stat -e task-clock ./nothing' p=${perf:+'perf stat -e task-clock ./nothing'}
bench "$runs" "${cpu:--}" ./nothing "$g" ${perf:+"$p"}
{ read -r w w1 w3 _; read -r gw gw1 gw3 _; read -r pw pw1 pw3 _; } <out
head "A static command that does nothing, under stat -e task-clock: $runs alternating runs of each on CPU ${cpu:-any}, medians.
Alone it takes $w us (quartiles $w1 to $w3)."
row 'wall time without the command, us' %.0f "$(calc 'v[1]-v[2]' "$gw" "$w")" "$(calc 'v[1]-v[2]' "$pw" "$w")" '1/10'
row '  quartiles' %s "$((gw1 - w))..$((gw3 - w))" ${pw:+"$((pw1 - w))..$((pw3 - w))"}
bench rss "$g" ${perf:+"$p"}
{ read -r gr; read -r pr; } <out
row 'peak resident size, KiB' %d "$gr" "$pr" '1/10'
# shellcheck disable=SC2086 # commands are words
{ own=$(calls ./nothing) gc=$(calls $g) pc=$(calls $p); }
row "system calls without the command's${own:+ ($own)}" %d "$(calc 'v[1]-v[2]' "$gc" "$own")" "$(calc 'v[1]-v[2]' "$pc" "$own")" 40

# --- intervals ---
# Two lengths, the first with few samples; the difference excludes start and exit.
g="./gpustat stat -a -e $events -I 10 -c" p=${perf:+"perf stat -a -e $events -I 10 --interval-count"}
few=10
bench 3 - "$g $few" "$g $samples" ${perf:+"$p $few" "$p $samples"}
{ read -r gw1 _ _ _ g1; read -r gw2 _ _ _ g2; read -r pw1 _ _ _ p1; read -r pw2 _ _ _ p2; } <out
n=$((samples - few))
head "Four software events on all $(getconf _NPROCESSORS_ONLN) CPUs each 10 ms: $samples samples minus $few, which excludes start and exit; median of 3 alternating runs"
row 'CPU time per sample, ms' %.4f "$(calc "(v[2]-v[1])/1000/$n" "$g1" "$g2")" "$(calc "(v[2]-v[1])/1000/$n" "$p1" "$p2")" '0.07 ms'
row "$n samples take, s" %s "$(calc '(v[2]-v[1])/1e6' "$gw1" "$gw2")" "$(calc '(v[2]-v[1])/1e6' "$pw1" "$pw2")"
row '  delay per sample, us' %.1f "$(calc "(v[2]-v[1])/$n-10000" "$gw1" "$gw2")" "$(calc "(v[2]-v[1])/$n-10000" "$pw1" "$pw2")"
# shellcheck disable=SC2086
{ g1=$(calls $g 10) g2=$(calls $g 110) p1=$(calls $p ${p:+10}) p2=$(calls $p ${p:+110}); }
row 'system calls per sample' %.2f "$(calc '(v[2]-v[1])/100' "$g1" "$g2")" "$(calc '(v[2]-v[1])/100' "$p1" "$p2")" 6

# --- OA recordings ---
# The commands are pinned to one CPU; the recording is read once before, so that it is in the page
# cache.
oa=$here/../../../shared/oa
if ! ./gpustat oa --help >/dev/null 2>&1; then
	echo
	echo 'oa: not in this binary'
elif ! [ -e "$oa/gen_recording.py" ]; then
	echo
	echo 'oa: ../shared/oa is missing, which generates the recording'
elif ! command -v python3 >/dev/null; then
	echo
	echo 'oa: python3 is not installed, which generates the recording'
else
	python3 -B "$oa/gen_recording.py" tglgt2 big.rec --quick --reports "$reports" --exponent 4 || exit 1
	tar -xJf "$oa/metrics-xml.tar.xz" i915/oa-tglgt2.xml || exit 1
	one=${cpu:-0}
	g='./gpustat oa --replay big.rec --metrics i915/oa-tglgt2.xml'
	five=GpuTime,EuActive,EuStall,PsThreads,L3ShaderThroughput
	bench 1 "$one" './bench read big.rec'
	bench "$replays" "$one" './bench read big.rec' "$g --totals -o csv" './gpustat oa --replay big.rec --raw --totals -o csv'
	{ read -r w _ _ c _; read -r gw _ _ gc _; read -r rw _ _ _; } <out
	mb=$(($(wc -c <big.rec) / 1000000))
	head "A recording of $reports reports, $mb MB, in memory, on CPU $one: the sum of all, compared with read() of the file; median of $replays alternating runs" 'read()'
	row '--totals of RenderBasic, ms' %.1f "$(calc 'v[1]/1000' "$gw")" "$(calc 'v[1]/1000' "$w")" 5
	row '  CPU time, ms' %.1f "$(calc 'v[1]/1000' "$gc")" "$(calc 'v[1]/1000' "$c")" 5
	row '  MB/s' %.0f "$(calc 'v[1]*1e6/v[2]' "$mb" "$gw")" "$(calc 'v[1]*1e6/v[2]' "$mb" "$w")" '1/5'
	row '--totals --raw, ms' %.1f "$(calc 'v[1]/1000' "$rw")" "$(calc 'v[1]/1000' "$w")"
	row '--totals, ns per report' %.1f "$(calc 'v[1]*1000/v[2]' "$gw" "$reports")"

	p='i915-perf-reader -r -c'
	command -v i915-perf-reader >/dev/null || p=
	head "The same, a line of CSV per report to /dev/null, compared with i915-perf-reader -r, which prints a line per counter; median of 3 alternating runs" IGT
	[ -n "$p" ] || echo 'i915-perf-reader: not installed (package intel-gpu-tools); its column stays empty'
	bench 3 "$one" "$g -o csv -f $five" "$g -o csv -f counter" ${p:+"$p $five big.rec" "$p all big.rec"}
	{ read -r gw _ _ gc _; read -r aw _ _ ac _; read -r pw _ _ pc _; read -r qw _ _ qc _; } <out
	row 'five counters, ms' %.0f "$(calc 'v[1]/1000' "$gw")" "$(calc 'v[1]/1000' "$pw")" '1/2'
	row '  CPU time, ms' %.0f "$(calc 'v[1]/1000' "$gc")" "$(calc 'v[1]/1000' "$pc")" '1/2'
	row 'all counters, ms' %.0f "$(calc 'v[1]/1000' "$aw")" "$(calc 'v[1]/1000' "$qw")" '1/3'
	row '  CPU time, ms' %.0f "$(calc 'v[1]/1000' "$ac")" "$(calc 'v[1]/1000' "$qc")" '1/3'
	bench rss "$g -o csv -f $five" ${p:+"$p $five big.rec"}
	{ read -r gr; read -r pr; } <out
	row 'peak resident size, KiB' %d "$gr" "$pr"

	head "The same, all counters as lines and as a table, compared with CSV; median of 3 alternating runs" CSV
	bench 3 "$one" "$g -o csv -f counter" "$g -o line" "$g -o table"
	{ read -r _ _ _ ac _; read -r _ _ _ lc _; read -r _ _ _ tc _; } <out
	row 'line, CPU time, ms' %.0f "$(calc 'v[1]/1000' "$lc")" "$(calc 'v[1]/1000' "$ac")" 1.5
	row 'table, CPU time, ms' %.0f "$(calc 'v[1]/1000' "$tc")" "$(calc 'v[1]/1000' "$ac")" 1.5
	rm -f big.rec
fi
