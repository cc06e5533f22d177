g procs --proc rockchip-proc/proc --sys rockchip-proc/sys -o line -t none -w 0.01
g procs --proc rockchip-proc/proc --sys rockchip-proc/sys -o json -t none -w 0.01
g procs -r --proc rockchip-proc/proc --sys rockchip-proc/sys -o csv -t none
