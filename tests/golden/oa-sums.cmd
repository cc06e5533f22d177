for how in --totals --contexts '-i 1ms' 0.002; do
	echo "$how"
	g oa --replay ../oa/skl.rec $how -o json
	g oa --replay ../oa/lnl.rec $how -f index,ctx,ts,ticks,lost,reports,GpuTime,XVE_ACTIVE
	g oa --replay ../oa/hsw.raw --platform hsw $how -o csv -f index,dt,reports,GpuTime,GpuBusy
done
