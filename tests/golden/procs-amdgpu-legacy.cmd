g procs --proc amdgpu-legacy/proc --sys amdgpu-legacy/sys -o line -t none -w 0.01
g procs --proc amdgpu-legacy/proc --sys amdgpu-legacy/sys -o json -t none -w 0.01
g procs -r --proc amdgpu-legacy/proc --sys amdgpu-legacy/sys -o csv -t none
