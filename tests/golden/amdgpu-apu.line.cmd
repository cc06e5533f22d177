g --proc amdgpu-apu/proc --sys amdgpu-apu/sys -o line -t none -w 0.01
g clients --proc amdgpu-apu/proc --sys amdgpu-apu/sys -o line -t none -w 0.01
g cgroups --proc amdgpu-apu/proc --sys amdgpu-apu/sys -o line -t none -w 0.01
g -r --proc amdgpu-apu/proc --sys amdgpu-apu/sys -o line -t none
g clients -r --proc amdgpu-apu/proc --sys amdgpu-apu/sys -o line -t none
g list --proc amdgpu-apu/proc --sys amdgpu-apu/sys -o line -t none
