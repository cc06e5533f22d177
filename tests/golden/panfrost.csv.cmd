g --proc panfrost/proc --sys panfrost/sys -o csv -t none -w 0.01
g clients --proc panfrost/proc --sys panfrost/sys -o csv -t none -w 0.01
g cgroups --proc panfrost/proc --sys panfrost/sys -o csv -t none -w 0.01
g -r --proc panfrost/proc --sys panfrost/sys -o csv -t none
g clients -r --proc panfrost/proc --sys panfrost/sys -o csv -t none
g list --proc panfrost/proc --sys panfrost/sys -o csv -t none
