g --proc xe-suspended/proc --sys xe-suspended/sys -o table -t none -w 0.01
g procs --proc xe-suspended/proc --sys xe-suspended/sys -o table -t none -w 0.01
g cgroups --proc xe-suspended/proc --sys xe-suspended/sys -o table -t none -w 0.01
g -r --proc xe-suspended/proc --sys xe-suspended/sys -o table -t none
g procs -r --proc xe-suspended/proc --sys xe-suspended/sys -o table -t none
g list --proc xe-suspended/proc --sys xe-suspended/sys -o table -t none
