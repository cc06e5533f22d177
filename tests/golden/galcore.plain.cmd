m='--proc galcore/proc --sys galcore/sys -o plain -t none -w 0.01'
g $m
g procs $m
g $m -H -f dev,used,temp
g list --proc galcore/proc --sys galcore/sys -o plain -t none
