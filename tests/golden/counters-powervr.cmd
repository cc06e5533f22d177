g counters --proc powervr/proc --sys powervr/sys -t none -w 0.05 -o csv -f vendor,name,value,unit 'G*' 'Primitive count' 'drm/*'
