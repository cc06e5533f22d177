g host --proc host/proc --sys host/sys -o prom -w 0.05 -f 'memory/-/used,thermal/*,cpu/all/*' | sed '/^gpustat_.*self_cpu/s/ .*/ N/'
