g --proc mixed/proc --sys mixed/sys -o json -t none -w 0.01
g clients --proc mixed/proc --sys mixed/sys -o json -t none -w 0.01
g cgroups --proc mixed/proc --sys mixed/sys -o json -t none -w 0.01
g -r --proc mixed/proc --sys mixed/sys -o json -t none
g clients -r --proc mixed/proc --sys mixed/sys -o json -t none
g list --proc mixed/proc --sys mixed/sys -o json -t none
