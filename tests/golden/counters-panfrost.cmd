g counters -v --proc panfrost/proc --sys panfrost/sys -o line -t none
g counters --proc panfrost/proc --sys panfrost/sys -t none -w 0.05 'G*' 'Primitive count' 'drm/*'
