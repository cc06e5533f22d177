g procs --proc powervr/proc --sys powervr/sys -o line -t none -w 0.01
g procs --proc powervr/proc --sys powervr/sys -o json -t none -w 0.01
g procs -r --proc powervr/proc --sys powervr/sys -o csv -t none
