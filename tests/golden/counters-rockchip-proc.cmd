g counters --proc rockchip-proc/proc --sys rockchip-proc/sys -t none -w 0.05 -o csv -f vendor,name,value,unit 'G*' 'Primitive count' 'drm/*'
