for how in '' --reports --totals 0.002; do
	echo "--raw $how"
	g oa --replay ../oa/skl.rec --raw $how -o json
	g oa --replay ../oa/lnl.rec --raw $how -o csv -f index,ctx,lost,id,PEC0,PEC63
	g oa --replay ../oa/hsw.raw --platform hsw --raw $how -f index,reason,ts,A0,A44,B7,C2
done
