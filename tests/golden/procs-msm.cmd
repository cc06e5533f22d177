g procs --proc msm/proc --sys msm/sys -o line -t none -w 0.01
g procs --proc msm/proc --sys msm/sys -o json -t none -w 0.01
g procs -r --proc msm/proc --sys msm/sys -o csv -t none
