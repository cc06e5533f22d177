g --proc amdgpu-legacy/proc --sys amdgpu-legacy/sys -o table -t none -w 0.01
g procs --proc amdgpu-legacy/proc --sys amdgpu-legacy/sys -o table -t none -w 0.01
g cgroups --proc amdgpu-legacy/proc --sys amdgpu-legacy/sys -o table -t none -w 0.01
g -r --proc amdgpu-legacy/proc --sys amdgpu-legacy/sys -o table -t none
g procs -r --proc amdgpu-legacy/proc --sys amdgpu-legacy/sys -o table -t none
g list --proc amdgpu-legacy/proc --sys amdgpu-legacy/sys -o table -t none
