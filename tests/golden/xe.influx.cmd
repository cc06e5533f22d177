g --proc xe/proc --sys xe/sys -w 0.01 -o influx -t none
g clients --proc xe/proc --sys xe/sys -w 0.01 -o influx -t none
