m='--proc mixed/proc --sys mixed/sys'
for d in amdgpu 01:00.0 'radeon rx' ARC nvidia i915 Meteor card1,npu 'geforce rtx 3070'; do
	echo "-d $d"
	g -r $m -d "$d" -f dev,driver,name -H
done
for d in crad0 amdgup 0000:00:02.1 zzzzzz randerD129 card0,card9x; do
	g -r $m -d "$d" -f dev -H
	echo "exit $?"
done
g --proc host/proc --sys host/sys; echo "exit $?"
g -r $m -d card1 -o block
g -r $m -o json -f name
