r=../oa/skl.rec
# Messages behind the records: how much of a pipe comes at once is chance.
late() { g oa "$@" 2>"$tmp/err"; status=$?; cat "$tmp/err"; return $status; }
# Cut in a header, in the device info, in the third report; nothing at all; a size of 0 and of 4; a size beyond the end.
for n in 4 12 100 1300; do
	echo "$n bytes"
	head -c $n $r | late --replay - -o csv -f index,lost,GpuBusy
	echo "exit $?"
done
g oa --replay /dev/null
echo "exit $?"
for size in '\000\000' '\004\000' '\377\377'; do
	{ head -c 944 $r; printf '\001\000\000\000\000\000'"$size"; tail -c +953 $r; } | late --replay - -o csv -f index,GpuBusy
	echo "exit $?"
done
# A set that nobody knows, a GPU that nobody knows; a stream without a word on its GPU, and one that is named.
sed 's/Basic/Bsaic/; s/1ed5e4f2/0ed5e4f2/' $r | late --replay - --totals -o json -f set,reports,GpuBusy
echo "exit $?"
sed 's/Basic/Bsaic/' $r | late --replay - --totals -o json -f set,reports,GpuBusy
echo "exit $?"
for a in '' '--platform hsw' '--platform hsw -o A13'; do
	head -c 1000 ../oa/hsw.raw | late --replay - $a -o csv -f index,GpuTime --totals
	echo "exit $?"
done
