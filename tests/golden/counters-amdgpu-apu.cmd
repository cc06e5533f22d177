g counters --proc amdgpu-apu/proc --sys amdgpu-apu/sys -t none -w 0.05 -o csv -f vendor,name,value,unit 'G*' 'Primitive count' 'drm/*'
