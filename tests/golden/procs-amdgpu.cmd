g procs --proc amdgpu/proc --sys amdgpu/sys -o line -t none -w 0.01
g procs --proc amdgpu/proc --sys amdgpu/sys -o json -t none -w 0.01
g procs -r --proc amdgpu/proc --sys amdgpu/sys -o csv -t none
