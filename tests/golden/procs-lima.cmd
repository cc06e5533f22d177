g procs --proc lima/proc --sys lima/sys -o line -t none -w 0.01
g procs --proc lima/proc --sys lima/sys -o json -t none -w 0.01
g procs -r --proc lima/proc --sys lima/sys -o csv -t none
