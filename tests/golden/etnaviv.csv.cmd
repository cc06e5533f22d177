g --proc etnaviv/proc --sys etnaviv/sys -o csv -t none -w 0.01
g clients --proc etnaviv/proc --sys etnaviv/sys -o csv -t none -w 0.01
g cgroups --proc etnaviv/proc --sys etnaviv/sys -o csv -t none -w 0.01
g -r --proc etnaviv/proc --sys etnaviv/sys -o csv -t none
g clients -r --proc etnaviv/proc --sys etnaviv/sys -o csv -t none
g list --proc etnaviv/proc --sys etnaviv/sys -o csv -t none
