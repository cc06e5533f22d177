g --proc nvidia/proc --sys nvidia/sys -o csv -t none -w 0.01
g clients --proc nvidia/proc --sys nvidia/sys -o csv -t none -w 0.01
g cgroups --proc nvidia/proc --sys nvidia/sys -o csv -t none -w 0.01
g -r --proc nvidia/proc --sys nvidia/sys -o csv -t none
g clients -r --proc nvidia/proc --sys nvidia/sys -o csv -t none
g list --proc nvidia/proc --sys nvidia/sys -o csv -t none
