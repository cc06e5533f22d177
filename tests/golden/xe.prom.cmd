g --proc xe/proc --sys xe/sys -w 0.01 -o prom | sed '/^gpustat_.*self_cpu/s/ .*/ N/'
g clients --proc xe/proc --sys xe/sys -r -o prom | sed '/^gpustat_.*self_cpu/s/ .*/ N/'
