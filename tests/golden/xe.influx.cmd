g --proc xe/proc --sys xe/sys -w 0.01 -o influx -t none
g procs --proc xe/proc --sys xe/sys -w 0.01 -o influx -t none
