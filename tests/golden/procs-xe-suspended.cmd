g procs --proc xe-suspended/proc --sys xe-suspended/sys -o line -t none -w 0.01
g procs --proc xe-suspended/proc --sys xe-suspended/sys -o json -t none -w 0.01
g procs -r --proc xe-suspended/proc --sys xe-suspended/sys -o csv -t none
