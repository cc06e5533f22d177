g --proc xe/proc --sys xe/sys -o logfmt -t none -w 0.01
g clients --proc xe/proc --sys xe/sys -o logfmt -t none -w 0.01
g cgroups --proc xe/proc --sys xe/sys -o logfmt -t none -w 0.01
g -r --proc xe/proc --sys xe/sys -o logfmt -t none
g clients -r --proc xe/proc --sys xe/sys -o logfmt -t none
g list --proc xe/proc --sys xe/sys -o logfmt -t none
