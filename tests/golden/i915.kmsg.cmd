g --proc i915/proc --sys i915/sys -w 0.01 -o kmsg
g procs --proc i915/proc --sys i915/sys -w 0.01 -o kmsg
