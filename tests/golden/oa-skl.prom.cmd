g oa --replay ../oa/skl.rec --totals -o prom | sed '/^gpustat_.*self_cpu/s/ .*/ N/'
