m='--proc amdgpu/proc --sys amdgpu/sys -o plain -t none -w 0.01'
g $m
g procs $m
g $m -H -f dev,used,temp
g list --proc amdgpu/proc --sys amdgpu/sys -o plain -t none
