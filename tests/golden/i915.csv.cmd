g --proc i915/proc --sys i915/sys -o csv -t none -w 0.01
g clients --proc i915/proc --sys i915/sys -o csv -t none -w 0.01
g cgroups --proc i915/proc --sys i915/sys -o csv -t none -w 0.01
g -r --proc i915/proc --sys i915/sys -o csv -t none
g clients -r --proc i915/proc --sys i915/sys -o csv -t none
g list --proc i915/proc --sys i915/sys -o csv -t none
