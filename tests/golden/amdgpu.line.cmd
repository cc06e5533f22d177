g --proc amdgpu/proc --sys amdgpu/sys -o line -t none -w 0.01
g clients --proc amdgpu/proc --sys amdgpu/sys -o line -t none -w 0.01
g cgroups --proc amdgpu/proc --sys amdgpu/sys -o line -t none -w 0.01
g -r --proc amdgpu/proc --sys amdgpu/sys -o line -t none
g clients -r --proc amdgpu/proc --sys amdgpu/sys -o line -t none
g list --proc amdgpu/proc --sys amdgpu/sys -o line -t none
