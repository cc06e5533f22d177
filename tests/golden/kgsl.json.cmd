g --proc kgsl/proc --sys kgsl/sys -o json -t none -w 0.01
g clients --proc kgsl/proc --sys kgsl/sys -o json -t none -w 0.01
g cgroups --proc kgsl/proc --sys kgsl/sys -o json -t none -w 0.01
g -r --proc kgsl/proc --sys kgsl/sys -o json -t none
g clients -r --proc kgsl/proc --sys kgsl/sys -o json -t none
g list --proc kgsl/proc --sys kgsl/sys -o json -t none
