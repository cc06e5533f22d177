g --proc amdgpu-legacy/proc --sys amdgpu-legacy/sys -o json -t none -w 0.01
g clients --proc amdgpu-legacy/proc --sys amdgpu-legacy/sys -o json -t none -w 0.01
g cgroups --proc amdgpu-legacy/proc --sys amdgpu-legacy/sys -o json -t none -w 0.01
g -r --proc amdgpu-legacy/proc --sys amdgpu-legacy/sys -o json -t none
g clients -r --proc amdgpu-legacy/proc --sys amdgpu-legacy/sys -o json -t none
g list --proc amdgpu-legacy/proc --sys amdgpu-legacy/sys -o json -t none
