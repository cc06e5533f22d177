g procs --proc rockchip/proc --sys rockchip/sys -o line -t none -w 0.01
g procs --proc rockchip/proc --sys rockchip/sys -o json -t none -w 0.01
g procs -r --proc rockchip/proc --sys rockchip/sys -o csv -t none
