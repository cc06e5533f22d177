g procs --proc allwinner/proc --sys allwinner/sys -o line -t none -w 0.01
g procs --proc allwinner/proc --sys allwinner/sys -o json -t none -w 0.01
g procs -r --proc allwinner/proc --sys allwinner/sys -o csv -t none
