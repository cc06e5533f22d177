g host --proc host/proc --sys host/sys -o json -t none -w 0.05
g host --proc host/proc --sys host/sys -o json -t none -w 0.05 -f 'memory/-/used,thermal/*,cpu/all/*,GPU memory usage'
