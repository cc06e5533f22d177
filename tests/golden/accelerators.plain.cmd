m='--proc accelerators/proc --sys accelerators/sys -o plain -t none -w 0.01'
g $m
g procs $m
g $m -H -f dev,used,temp
g list --proc accelerators/proc --sys accelerators/sys -o plain -t none
