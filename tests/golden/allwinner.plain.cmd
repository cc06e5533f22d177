m='--proc allwinner/proc --sys allwinner/sys -o plain -t none -w 0.01'
g $m
g procs $m
g $m -H -f dev,used,temp
g list --proc allwinner/proc --sys allwinner/sys -o plain -t none
