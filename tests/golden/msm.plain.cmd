m='--proc msm/proc --sys msm/sys -o plain -t none -w 0.01'
g $m
g procs $m
g $m -H -f dev,used,temp
g list --proc msm/proc --sys msm/sys -o plain -t none
