g procs --proc i915-dgpu/proc --sys i915-dgpu/sys -o line -t none -w 0.01
g procs --proc i915-dgpu/proc --sys i915-dgpu/sys -o json -t none -w 0.01
g procs -r --proc i915-dgpu/proc --sys i915-dgpu/sys -o csv -t none
