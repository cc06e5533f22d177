g oa --replay ../oa/skl.rec -f index,reason,ctx,GpuTime,EuActive
g oa --replay ../oa/skl.rec -o table -f index,counter.GpuBusy,EuStall -H
g oa --replay ../oa/skl.rec -o csv -f counter
g oa --replay ../oa/skl.rec -o json -f index,GpuBusy,counter.EuActive --totals
g oa --replay ../oa/skl.rec -o logfmt -f index,freq,GpuBusy --ctx 26
g oa --replay ../oa/lnl.rec -o csv -f index,PEC3,counter.PEC40 --raw
g oa --replay ../oa/skl.rec -1 -o json -f index,lost
g oa --replay - -o csv -f index,lost,GpuBusy <../oa/skl.rec
for f in Nope counter.Nope A0 GpuTime,GpuTme; do
	g oa --replay ../oa/skl.rec -f $f
	echo "exit $?"
done
