g procs --proc mixed/proc --sys mixed/sys -o line -t none -w 0.01
g procs --proc mixed/proc --sys mixed/sys -o json -t none -w 0.01
g procs -r --proc mixed/proc --sys mixed/sys -o csv -t none
