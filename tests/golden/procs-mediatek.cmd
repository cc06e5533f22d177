g procs --proc mediatek/proc --sys mediatek/sys -o line -t none -w 0.01
g procs --proc mediatek/proc --sys mediatek/sys -o json -t none -w 0.01
g procs -r --proc mediatek/proc --sys mediatek/sys -o csv -t none
