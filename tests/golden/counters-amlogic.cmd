g counters --proc amlogic/proc --sys amlogic/sys -t none -w 0.05 -o csv -f vendor,name,value,unit 'G*' 'Primitive count' 'drm/*'
