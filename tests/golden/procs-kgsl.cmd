g procs --proc kgsl/proc --sys kgsl/sys -o line -t none -w 0.01
g procs --proc kgsl/proc --sys kgsl/sys -o json -t none -w 0.01
g procs -r --proc kgsl/proc --sys kgsl/sys -o csv -t none
