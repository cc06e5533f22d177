for a in '--nope' '-z' '-i' '-i 0' '-i -1' '-i 5x' '-c 0' '-t noon' '1 0' '1 2 3' 'procs x' 'list 1' 'fdinfo' \
	'-f nope' '-s nope' '-k 0' '-p x' '-d ,' '-1 -o csv' '--raw=1' '--interval' '-w 0' '1 ten'; do
	g $a >/dev/null
	echo "exit $?"
done
g --proc /nonexistent; echo "exit $?"
g fdinfo /nonexistent amdgpu/proc/1/comm . -H; echo "exit $?"
