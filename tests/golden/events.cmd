p=../pmus/intel
g events --sys $p --proc mixed/proc 'i915*'
g events --sys $p --proc mixed/proc imc
g events --sys ../pmus/odd --proc mixed/proc hv_24x7
g events --resolve --sys $p --proc mixed/proc 'cycles:u,{imc/cas_count_read/,imc/cas_count_write/}:D' cpu/mem-loads,ldlat=30/pp \
	gpu-busy 'sched:*' mem:0x1000:rw uprobe:/bin/sh:0x40 energy-pkg duration_time proc/ctxt/
g events --resolve --sys ../pmus/xe --proc mixed/proc gpu-busy gpu-freq gpu-energy
g events --resolve --sys ../pmus/hybrid --proc mixed/proc '{cycles,instructions}'
for e in cpu/evnt=3/ cpu/event=256/ cycles:uu nosuch '{cycles' sched:nosuch nopmu//; do
	g events --resolve --sys $p --proc mixed/proc "$e"
	echo "exit $?"
done
g events --resolve --sys ../pmus/odd --proc mixed/proc hv_24x7/PM_TWO/ sched:x; echo "exit $?"
g events --raw; echo "exit $?"
g events a b; echo "exit $?"
