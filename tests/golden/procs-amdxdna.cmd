g procs --proc amdxdna/proc --sys amdxdna/sys -o line -t none -w 0.01
g procs --proc amdxdna/proc --sys amdxdna/sys -o json -t none -w 0.01
g procs -r --proc amdxdna/proc --sys amdxdna/sys -o csv -t none
