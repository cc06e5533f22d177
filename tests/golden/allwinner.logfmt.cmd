g --proc allwinner/proc --sys allwinner/sys -o logfmt -t none -w 0.01
g clients --proc allwinner/proc --sys allwinner/sys -o logfmt -t none -w 0.01
g cgroups --proc allwinner/proc --sys allwinner/sys -o logfmt -t none -w 0.01
g -r --proc allwinner/proc --sys allwinner/sys -o logfmt -t none
g clients -r --proc allwinner/proc --sys allwinner/sys -o logfmt -t none
g list --proc allwinner/proc --sys allwinner/sys -o logfmt -t none
