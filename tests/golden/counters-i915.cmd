g counters -v --proc i915/proc --sys i915/sys -o line -t none
g counters --proc i915/proc --sys i915/sys -t none -w 0.05 'G*' 'Primitive count' 'drm/*'
