g --proc powervr/proc --sys powervr/sys -o csv -t none -w 0.01
g clients --proc powervr/proc --sys powervr/sys -o csv -t none -w 0.01
g cgroups --proc powervr/proc --sys powervr/sys -o csv -t none -w 0.01
g -r --proc powervr/proc --sys powervr/sys -o csv -t none
g clients -r --proc powervr/proc --sys powervr/sys -o csv -t none
g list --proc powervr/proc --sys powervr/sys -o csv -t none
