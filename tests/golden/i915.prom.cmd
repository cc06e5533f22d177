g --proc i915/proc --sys i915/sys -w 0.01 -o prom | sed '/^gpustat_.*self_cpu/s/ .*/ N/'
g clients --proc i915/proc --sys i915/sys -r -o prom | sed '/^gpustat_.*self_cpu/s/ .*/ N/'
