g procs --proc panthor/proc --sys panthor/sys -o line -t none -w 0.01
g procs --proc panthor/proc --sys panthor/sys -o json -t none -w 0.01
g procs -r --proc panthor/proc --sys panthor/sys -o csv -t none
