g --proc dmem/proc --sys dmem/sys -w 0.01 -o openmetrics | sed '/^gpustat_.*self_cpu/s/ .*/ N/'
g cgroups --proc dmem/proc --sys dmem/sys -r -o openmetrics -f cgroup,vram,main_memory,pressure | sed '/^gpustat_.*self_cpu/s/ .*/ N/'
