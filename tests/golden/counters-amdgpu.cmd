g counters -v --proc amdgpu/proc --sys amdgpu/sys -o line -t none
g counters --proc amdgpu/proc --sys amdgpu/sys -t none -w 0.05 'G*' 'Primitive count' 'drm/*'
