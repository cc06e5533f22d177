g --proc i915-dgpu/proc --sys i915-dgpu/sys -o json -t none -w 0.01
g clients --proc i915-dgpu/proc --sys i915-dgpu/sys -o json -t none -w 0.01
g cgroups --proc i915-dgpu/proc --sys i915-dgpu/sys -o json -t none -w 0.01
g -r --proc i915-dgpu/proc --sys i915-dgpu/sys -o json -t none
g clients -r --proc i915-dgpu/proc --sys i915-dgpu/sys -o json -t none
g list --proc i915-dgpu/proc --sys i915-dgpu/sys -o json -t none
