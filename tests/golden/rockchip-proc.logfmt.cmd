g --proc rockchip-proc/proc --sys rockchip-proc/sys -o logfmt -t none -w 0.01
g clients --proc rockchip-proc/proc --sys rockchip-proc/sys -o logfmt -t none -w 0.01
g cgroups --proc rockchip-proc/proc --sys rockchip-proc/sys -o logfmt -t none -w 0.01
g -r --proc rockchip-proc/proc --sys rockchip-proc/sys -o logfmt -t none
g clients -r --proc rockchip-proc/proc --sys rockchip-proc/sys -o logfmt -t none
g list --proc rockchip-proc/proc --sys rockchip-proc/sys -o logfmt -t none
