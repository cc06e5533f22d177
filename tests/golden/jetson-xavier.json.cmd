g --proc jetson-xavier/proc --sys jetson-xavier/sys -o json -t none -w 0.01
g clients --proc jetson-xavier/proc --sys jetson-xavier/sys -o json -t none -w 0.01
g cgroups --proc jetson-xavier/proc --sys jetson-xavier/sys -o json -t none -w 0.01
g -r --proc jetson-xavier/proc --sys jetson-xavier/sys -o json -t none
g clients -r --proc jetson-xavier/proc --sys jetson-xavier/sys -o json -t none
g list --proc jetson-xavier/proc --sys jetson-xavier/sys -o json -t none
