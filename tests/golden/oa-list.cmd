g oa list --sys panfrost/sys
g oa list Basic --platform hsw --sys panfrost/sys
g oa list Basic --platform xe-lnl --sys panfrost/sys
g oa list d1582610-6426-4683-b9b6-24d7eb5d6d7a --sys panfrost/sys
for a in 'list Nope' 'list Nope --platform hsw' 'list Basic --platform foo' 'list Basic Basic' 'list --metrics /nonexistent' \
	'list --metrics ../oa/skl.rec' pack 'pack /nonexistent -O /dev/null' 'pack ../oa/skl.rec -O /dev/null'; do
	g oa $a --sys panfrost/sys
	echo "exit $?"
done
out=$(mktemp)
g oa list Basic --platform hsw --sys panfrost/sys -O "$out"
wc -l <"$out"
rm "$out"
