g --proc amdgpu/proc --sys amdgpu/sys -w 0.01 -o kmsg
g clients --proc amdgpu/proc --sys amdgpu/sys -w 0.01 -o kmsg
