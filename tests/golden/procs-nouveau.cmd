g procs --proc nouveau/proc --sys nouveau/sys -o line -t none -w 0.01
g procs --proc nouveau/proc --sys nouveau/sys -o json -t none -w 0.01
g procs -r --proc nouveau/proc --sys nouveau/sys -o csv -t none
