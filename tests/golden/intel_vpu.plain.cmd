m='--proc intel_vpu/proc --sys intel_vpu/sys -o plain -t none -w 0.01'
g $m
g procs $m
g $m -H -f dev,used,temp
g list --proc intel_vpu/proc --sys intel_vpu/sys -o plain -t none
