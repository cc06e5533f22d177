g procs --proc jetson/proc --sys jetson/sys -o line -t none -w 0.01
g procs --proc jetson/proc --sys jetson/sys -o json -t none -w 0.01
g procs -r --proc jetson/proc --sys jetson/sys -o csv -t none
