g --proc xe/proc --sys xe/sys -o line -t none -w 0.01
g clients --proc xe/proc --sys xe/sys -o line -t none -w 0.01
g cgroups --proc xe/proc --sys xe/sys -o line -t none -w 0.01
g -r --proc xe/proc --sys xe/sys -o line -t none
g clients -r --proc xe/proc --sys xe/sys -o line -t none
g list --proc xe/proc --sys xe/sys -o line -t none
