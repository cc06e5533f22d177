g procs --proc intel_vpu/proc --sys intel_vpu/sys -o line -t none -w 0.01
g procs --proc intel_vpu/proc --sys intel_vpu/sys -o json -t none -w 0.01
g procs -r --proc intel_vpu/proc --sys intel_vpu/sys -o csv -t none
