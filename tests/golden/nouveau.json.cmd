g --proc nouveau/proc --sys nouveau/sys -o json -t none -w 0.01
g clients --proc nouveau/proc --sys nouveau/sys -o json -t none -w 0.01
g cgroups --proc nouveau/proc --sys nouveau/sys -o json -t none -w 0.01
g -r --proc nouveau/proc --sys nouveau/sys -o json -t none
g clients -r --proc nouveau/proc --sys nouveau/sys -o json -t none
g list --proc nouveau/proc --sys nouveau/sys -o json -t none
