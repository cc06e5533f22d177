g --proc amdgpu/proc --sys amdgpu/sys -w 0.01 -o prom | sed '/^gpustat_.*self_cpu/s/ .*/ N/'
g clients --proc amdgpu/proc --sys amdgpu/sys -r -o prom | sed '/^gpustat_.*self_cpu/s/ .*/ N/'
