m='--proc powervr/proc --sys powervr/sys -o plain -t none -w 0.01'
g $m
g procs $m
g $m -H -f dev,used,temp
g list --proc powervr/proc --sys powervr/sys -o plain -t none
