g --proc amdxdna/proc --sys amdxdna/sys -o line -t none -w 0.01
g clients --proc amdxdna/proc --sys amdxdna/sys -o line -t none -w 0.01
g cgroups --proc amdxdna/proc --sys amdxdna/sys -o line -t none -w 0.01
g -r --proc amdxdna/proc --sys amdxdna/sys -o line -t none
g clients -r --proc amdxdna/proc --sys amdxdna/sys -o line -t none
g list --proc amdxdna/proc --sys amdxdna/sys -o line -t none
