r='--replay ../oa/skl.rec'
for a in "$r --reports --totals" "$r --totals --contexts" "$r --totals 1" "$r 1 2" "$r -n 3" "$r --record x" "$r --platform foo" \
	"$r --metrics" '--platform hsw' '--period 0' '--period x' '--ctx x' '--engine foo' '--engine render:x' '--sseu 1:2:3' \
	'--poll-period' '--oa-unit x' '--buffer-size 0' '--wait-reports x' '-o A46' '-m' '--replay' '1 2 3' '-f nope' 'list -o json' 'pack x -o csv -O y'; do
	g oa --sys nouveau/sys $a >/dev/null
	echo "exit $?"
done
for c in '' procs stat; do
	g $c --sys nouveau/sys -o A13
	echo "exit $?"
done
g oa --sys nouveau/sys
echo "exit $?"
