g procs --proc jetson-xavier/proc --sys jetson-xavier/sys -o line -t none -w 0.01
g procs --proc jetson-xavier/proc --sys jetson-xavier/sys -o json -t none -w 0.01
g procs -r --proc jetson-xavier/proc --sys jetson-xavier/sys -o csv -t none
