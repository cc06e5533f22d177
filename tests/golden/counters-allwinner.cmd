g counters --proc allwinner/proc --sys allwinner/sys -t none -w 0.05 -o csv -f vendor,name,value,unit 'G*' 'Primitive count' 'drm/*'
