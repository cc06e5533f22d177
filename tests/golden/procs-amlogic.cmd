g procs --proc amlogic/proc --sys amlogic/sys -o line -t none -w 0.01
g procs --proc amlogic/proc --sys amlogic/sys -o json -t none -w 0.01
g procs -r --proc amlogic/proc --sys amlogic/sys -o csv -t none
