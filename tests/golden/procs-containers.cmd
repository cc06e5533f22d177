g procs --proc containers/proc --sys containers/sys -o line -t none -w 0.01
g procs --proc containers/proc --sys containers/sys -o json -t none -w 0.01
g procs -r --proc containers/proc --sys containers/sys -o csv -t none
