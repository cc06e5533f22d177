g procs --proc etnaviv/proc --sys etnaviv/sys -o line -t none -w 0.01
g procs --proc etnaviv/proc --sys etnaviv/sys -o json -t none -w 0.01
g procs -r --proc etnaviv/proc --sys etnaviv/sys -o csv -t none
