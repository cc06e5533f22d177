g procs --proc v3d/proc --sys v3d/sys -o line -t none -w 0.01
g procs --proc v3d/proc --sys v3d/sys -o json -t none -w 0.01
g procs -r --proc v3d/proc --sys v3d/sys -o csv -t none
