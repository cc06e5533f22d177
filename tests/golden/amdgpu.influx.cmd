g --proc amdgpu/proc --sys amdgpu/sys -w 0.01 -o influx -t none
g clients --proc amdgpu/proc --sys amdgpu/sys -w 0.01 -o influx -t none
