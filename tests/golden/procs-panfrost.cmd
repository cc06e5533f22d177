g procs --proc panfrost/proc --sys panfrost/sys -o line -t none -w 0.01
g procs --proc panfrost/proc --sys panfrost/sys -o json -t none -w 0.01
g procs -r --proc panfrost/proc --sys panfrost/sys -o csv -t none
