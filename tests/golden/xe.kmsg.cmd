g --proc xe/proc --sys xe/sys -w 0.01 -o kmsg
g procs --proc xe/proc --sys xe/sys -w 0.01 -o kmsg
