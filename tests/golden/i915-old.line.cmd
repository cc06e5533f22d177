g --proc i915-old/proc --sys i915-old/sys -o line -t none -w 0.01
g clients --proc i915-old/proc --sys i915-old/sys -o line -t none -w 0.01
g cgroups --proc i915-old/proc --sys i915-old/sys -o line -t none -w 0.01
g -r --proc i915-old/proc --sys i915-old/sys -o line -t none
g clients -r --proc i915-old/proc --sys i915-old/sys -o line -t none
g list --proc i915-old/proc --sys i915-old/sys -o line -t none
