g --proc accelerators/proc --sys accelerators/sys -o logfmt -t none -w 0.01
g clients --proc accelerators/proc --sys accelerators/sys -o logfmt -t none -w 0.01
g cgroups --proc accelerators/proc --sys accelerators/sys -o logfmt -t none -w 0.01
g -r --proc accelerators/proc --sys accelerators/sys -o logfmt -t none
g clients -r --proc accelerators/proc --sys accelerators/sys -o logfmt -t none
g list --proc accelerators/proc --sys accelerators/sys -o logfmt -t none
