g counters --proc intel_vpu/proc --sys intel_vpu/sys -t none -w 0.05 -o csv -f vendor,name,value,unit 'G*' 'Primitive count' 'drm/*'
