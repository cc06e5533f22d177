g --proc i915/proc --sys i915/sys -w 0.01 -o kmsg
g clients --proc i915/proc --sys i915/sys -w 0.01 -o kmsg
