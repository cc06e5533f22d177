g --proc msm/proc --sys msm/sys -o line -t none -w 0.01
g clients --proc msm/proc --sys msm/sys -o line -t none -w 0.01
g cgroups --proc msm/proc --sys msm/sys -o line -t none -w 0.01
g -r --proc msm/proc --sys msm/sys -o line -t none
g clients -r --proc msm/proc --sys msm/sys -o line -t none
g list --proc msm/proc --sys msm/sys -o line -t none
