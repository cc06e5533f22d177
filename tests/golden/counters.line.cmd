g counters -v --proc host/proc --sys host/sys -o line -t none -f index,name,max,scale
g counters --proc mixed/proc --sys mixed/sys -o line -t none -w 0.05 'GPU memory usage' 'Context switched / sec' 'Primitive count' 'drm/*/busy'
g counters --proc host/proc --sys host/sys -o line -t none -c 2 -i 0.05 'Physical memory usage' 'CPU 0*' 'host/thermal/*'
g counters --proc mixed/proc --sys mixed/sys -o line -t none -f index,name
