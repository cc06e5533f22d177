g --proc xe/proc --sys xe/sys -w 0.01 -o kmsg
g clients --proc xe/proc --sys xe/sys -w 0.01 -o kmsg
