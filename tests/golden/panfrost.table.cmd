g --proc panfrost/proc --sys panfrost/sys -o table -t none -w 0.01
g clients --proc panfrost/proc --sys panfrost/sys -o table -t none -w 0.01
g cgroups --proc panfrost/proc --sys panfrost/sys -o table -t none -w 0.01
g -r --proc panfrost/proc --sys panfrost/sys -o table -t none
g clients -r --proc panfrost/proc --sys panfrost/sys -o table -t none
g list --proc panfrost/proc --sys panfrost/sys -o table -t none
