g --proc intel_vpu/proc --sys intel_vpu/sys -o logfmt -t none -w 0.01
g clients --proc intel_vpu/proc --sys intel_vpu/sys -o logfmt -t none -w 0.01
g cgroups --proc intel_vpu/proc --sys intel_vpu/sys -o logfmt -t none -w 0.01
g -r --proc intel_vpu/proc --sys intel_vpu/sys -o logfmt -t none
g clients -r --proc intel_vpu/proc --sys intel_vpu/sys -o logfmt -t none
g list --proc intel_vpu/proc --sys intel_vpu/sys -o logfmt -t none
