g counters --proc xe-suspended/proc --sys xe-suspended/sys -t none -w 0.05 -o csv -f vendor,name,value,unit 'G*' 'Primitive count' 'drm/*'
