g host --proc host/proc --sys host/sys -o line -t none -w 0.05
g host --proc host/proc --sys host/sys -o line -t none -w 0.05 -f 'memory/-/used,thermal/*,cpu/all/*,GPU memory usage'
g host --proc mixed/proc --sys mixed/sys -t none -w 0.05 -H
