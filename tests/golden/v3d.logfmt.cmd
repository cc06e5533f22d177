g --proc v3d/proc --sys v3d/sys -o logfmt -t none -w 0.01
g clients --proc v3d/proc --sys v3d/sys -o logfmt -t none -w 0.01
g cgroups --proc v3d/proc --sys v3d/sys -o logfmt -t none -w 0.01
g -r --proc v3d/proc --sys v3d/sys -o logfmt -t none
g clients -r --proc v3d/proc --sys v3d/sys -o logfmt -t none
g list --proc v3d/proc --sys v3d/sys -o logfmt -t none
