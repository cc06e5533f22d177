g --proc powervr/proc --sys powervr/sys -o logfmt -t none -w 0.01
g clients --proc powervr/proc --sys powervr/sys -o logfmt -t none -w 0.01
g cgroups --proc powervr/proc --sys powervr/sys -o logfmt -t none -w 0.01
g -r --proc powervr/proc --sys powervr/sys -o logfmt -t none
g clients -r --proc powervr/proc --sys powervr/sys -o logfmt -t none
g list --proc powervr/proc --sys powervr/sys -o logfmt -t none
