g --proc galcore/proc --sys galcore/sys -o table -t none -w 0.01
g clients --proc galcore/proc --sys galcore/sys -o table -t none -w 0.01
g cgroups --proc galcore/proc --sys galcore/sys -o table -t none -w 0.01
g -r --proc galcore/proc --sys galcore/sys -o table -t none
g clients -r --proc galcore/proc --sys galcore/sys -o table -t none
g list --proc galcore/proc --sys galcore/sys -o table -t none
