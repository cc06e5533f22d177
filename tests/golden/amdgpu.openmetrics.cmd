g list --proc amdgpu/proc --sys amdgpu/sys -o openmetrics | sed '/^gpustat_.*self_cpu/s/ .*/ N/'
g cgroups --proc amdgpu/proc --sys amdgpu/sys -w 0.01 -o openmetrics | sed '/^gpustat_.*self_cpu/s/ .*/ N/'
