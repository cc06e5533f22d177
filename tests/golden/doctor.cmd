# What the trees decide, not the machine that the test runs on.
for f in line csv json logfmt; do
	g doctor -o $f --proc panthor/proc --sys panthor/sys | grep -a -v -e perf -e ' of others' -e /dev/ -e seccomp -e landlock -e inotify
done
g doctor -f help
g doctor -f source,status,detail -H --proc mixed/proc --sys mixed/sys | grep -a -v /dev/ | grep -a -e card -e accel -e hwmon -e devices
