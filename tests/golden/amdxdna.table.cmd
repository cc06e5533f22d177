g --proc amdxdna/proc --sys amdxdna/sys -o table -t none -w 0.01
g procs --proc amdxdna/proc --sys amdxdna/sys -o table -t none -w 0.01
g cgroups --proc amdxdna/proc --sys amdxdna/sys -o table -t none -w 0.01
g -r --proc amdxdna/proc --sys amdxdna/sys -o table -t none
g procs -r --proc amdxdna/proc --sys amdxdna/sys -o table -t none
g list --proc amdxdna/proc --sys amdxdna/sys -o table -t none
