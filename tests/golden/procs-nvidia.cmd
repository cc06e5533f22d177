g procs --proc nvidia/proc --sys nvidia/sys -o line -t none -w 0.01
g procs --proc nvidia/proc --sys nvidia/sys -o json -t none -w 0.01
g procs -r --proc nvidia/proc --sys nvidia/sys -o csv -t none
