for a in '-o xml' 'foo'; do
	g $a >/dev/null
	echo "exit $?"
done
g --version | sed 's/^gpustat .*/gpustat/'
