m='--proc lima/proc --sys lima/sys -o plain -t none -w 0.01'
g $m
g procs $m
g $m -H -f dev,used,temp
g list --proc lima/proc --sys lima/sys -o plain -t none
