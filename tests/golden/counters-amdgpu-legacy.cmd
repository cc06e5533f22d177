g counters --proc amdgpu-legacy/proc --sys amdgpu-legacy/sys -t none -w 0.05 -o csv -f vendor,name,value,unit 'G*' 'Primitive count' 'drm/*'
