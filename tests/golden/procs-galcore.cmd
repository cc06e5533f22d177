g procs --proc galcore/proc --sys galcore/sys -o line -t none -w 0.01
g procs --proc galcore/proc --sys galcore/sys -o json -t none -w 0.01
g procs -r --proc galcore/proc --sys galcore/sys -o csv -t none
