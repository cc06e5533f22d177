g counters --proc jetson-xavier/proc --sys jetson-xavier/sys -t none -w 0.05 -o csv -f vendor,name,value,unit 'G*' 'Primitive count' 'drm/*'
