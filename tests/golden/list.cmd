for t in */sys; do
	t=${t%/sys}
	echo "== $t"
	g list --proc "$t/proc" --sys "$t/sys"
done
