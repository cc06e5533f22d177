m='--proc i915-dgpu/proc --sys i915-dgpu/sys -o plain -t none -w 0.01'
g $m
g procs $m
g $m -H -f dev,used,temp
g list --proc i915-dgpu/proc --sys i915-dgpu/sys -o plain -t none
