g --proc amdgpu-legacy/proc --sys amdgpu-legacy/sys -o logfmt -t none -w 0.01
g procs --proc amdgpu-legacy/proc --sys amdgpu-legacy/sys -o logfmt -t none -w 0.01
g cgroups --proc amdgpu-legacy/proc --sys amdgpu-legacy/sys -o logfmt -t none -w 0.01
g -r --proc amdgpu-legacy/proc --sys amdgpu-legacy/sys -o logfmt -t none
g procs -r --proc amdgpu-legacy/proc --sys amdgpu-legacy/sys -o logfmt -t none
g list --proc amdgpu-legacy/proc --sys amdgpu-legacy/sys -o logfmt -t none
