g --proc msm/proc --sys msm/sys -o json -t none -w 0.01
g procs --proc msm/proc --sys msm/sys -o json -t none -w 0.01
g cgroups --proc msm/proc --sys msm/sys -o json -t none -w 0.01
g -r --proc msm/proc --sys msm/sys -o json -t none
g procs -r --proc msm/proc --sys msm/sys -o json -t none
g list --proc msm/proc --sys msm/sys -o json -t none
