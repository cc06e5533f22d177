g --proc lima/proc --sys lima/sys -o json -t none -w 0.01
g clients --proc lima/proc --sys lima/sys -o json -t none -w 0.01
g cgroups --proc lima/proc --sys lima/sys -o json -t none -w 0.01
g -r --proc lima/proc --sys lima/sys -o json -t none
g clients -r --proc lima/proc --sys lima/sys -o json -t none
g list --proc lima/proc --sys lima/sys -o json -t none
