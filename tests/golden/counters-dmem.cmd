g counters --proc dmem/proc --sys dmem/sys -t none -w 0.05 -o csv -f vendor,name,value,unit 'drm/*'
