g --proc lima/proc --sys lima/sys -o csv -t none -w 0.01
g procs --proc lima/proc --sys lima/sys -o csv -t none -w 0.01
g cgroups --proc lima/proc --sys lima/sys -o csv -t none -w 0.01
g -r --proc lima/proc --sys lima/sys -o csv -t none
g procs -r --proc lima/proc --sys lima/sys -o csv -t none
g list --proc lima/proc --sys lima/sys -o csv -t none
