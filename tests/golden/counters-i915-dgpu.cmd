g counters --proc i915-dgpu/proc --sys i915-dgpu/sys -t none -w 0.05 -o csv -f vendor,name,value,unit 'G*' 'Primitive count' 'drm/*'
