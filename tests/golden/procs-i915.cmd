g procs --proc i915/proc --sys i915/sys -o line -t none -w 0.01
g procs --proc i915/proc --sys i915/sys -o json -t none -w 0.01
g procs -r --proc i915/proc --sys i915/sys -o csv -t none
