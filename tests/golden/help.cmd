g --help
g -V
for c in procs list fdinfo counters doctor top events stat sample oa check munin plot capture; do
	g help $c
done
g -f help
g clients -f help
g fdinfo -f help
