g --proc xe-suspended/proc --sys xe-suspended/sys -o csv -t none -w 0.01
g clients --proc xe-suspended/proc --sys xe-suspended/sys -o csv -t none -w 0.01
g cgroups --proc xe-suspended/proc --sys xe-suspended/sys -o csv -t none -w 0.01
g -r --proc xe-suspended/proc --sys xe-suspended/sys -o csv -t none
g clients -r --proc xe-suspended/proc --sys xe-suspended/sys -o csv -t none
g list --proc xe-suspended/proc --sys xe-suspended/sys -o csv -t none
