g procs --proc accelerators/proc --sys accelerators/sys -o line -t none -w 0.01
g procs --proc accelerators/proc --sys accelerators/sys -o json -t none -w 0.01
g procs -r --proc accelerators/proc --sys accelerators/sys -o csv -t none
