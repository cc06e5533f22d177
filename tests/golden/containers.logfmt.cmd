g --proc containers/proc --sys containers/sys -o logfmt -t none -w 0.01
g clients --proc containers/proc --sys containers/sys -o logfmt -t none -w 0.01
g cgroups --proc containers/proc --sys containers/sys -o logfmt -t none -w 0.01
g -r --proc containers/proc --sys containers/sys -o logfmt -t none
g clients -r --proc containers/proc --sys containers/sys -o logfmt -t none
g list --proc containers/proc --sys containers/sys -o logfmt -t none
