g procs --proc i915-old/proc --sys i915-old/sys -o line -t none -w 0.01
g procs --proc i915-old/proc --sys i915-old/sys -o json -t none -w 0.01
g procs -r --proc i915-old/proc --sys i915-old/sys -o csv -t none
