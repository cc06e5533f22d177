g procs --proc amdgpu-apu/proc --sys amdgpu-apu/sys -o line -t none -w 0.01
g procs --proc amdgpu-apu/proc --sys amdgpu-apu/sys -o json -t none -w 0.01
g procs -r --proc amdgpu-apu/proc --sys amdgpu-apu/sys -o csv -t none
