g procs --proc xe/proc --sys xe/sys -o line -t none -w 0.01
g procs --proc xe/proc --sys xe/sys -o json -t none -w 0.01
g procs -r --proc xe/proc --sys xe/sys -o csv -t none
