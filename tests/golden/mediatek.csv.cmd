g --proc mediatek/proc --sys mediatek/sys -o csv -t none -w 0.01
g clients --proc mediatek/proc --sys mediatek/sys -o csv -t none -w 0.01
g cgroups --proc mediatek/proc --sys mediatek/sys -o csv -t none -w 0.01
g -r --proc mediatek/proc --sys mediatek/sys -o csv -t none
g clients -r --proc mediatek/proc --sys mediatek/sys -o csv -t none
g list --proc mediatek/proc --sys mediatek/sys -o csv -t none
