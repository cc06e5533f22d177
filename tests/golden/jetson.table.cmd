g --proc jetson/proc --sys jetson/sys -o table -t none -w 0.01
g clients --proc jetson/proc --sys jetson/sys -o table -t none -w 0.01
g cgroups --proc jetson/proc --sys jetson/sys -o table -t none -w 0.01
g -r --proc jetson/proc --sys jetson/sys -o table -t none
g clients -r --proc jetson/proc --sys jetson/sys -o table -t none
g list --proc jetson/proc --sys jetson/sys -o table -t none
