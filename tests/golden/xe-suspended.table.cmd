g --proc xe-suspended/proc --sys xe-suspended/sys -o table -t none -w 0.01
g clients --proc xe-suspended/proc --sys xe-suspended/sys -o table -t none -w 0.01
g cgroups --proc xe-suspended/proc --sys xe-suspended/sys -o table -t none -w 0.01
g -r --proc xe-suspended/proc --sys xe-suspended/sys -o table -t none
g clients -r --proc xe-suspended/proc --sys xe-suspended/sys -o table -t none
g list --proc xe-suspended/proc --sys xe-suspended/sys -o table -t none
