m='--proc v3d/proc --sys v3d/sys -o plain -t none -w 0.01'
g $m
g procs $m
g $m -H -f dev,used,temp
g list --proc v3d/proc --sys v3d/sys -o plain -t none
