g --proc amlogic/proc --sys amlogic/sys -o logfmt -t none -w 0.01
g clients --proc amlogic/proc --sys amlogic/sys -o logfmt -t none -w 0.01
g cgroups --proc amlogic/proc --sys amlogic/sys -o logfmt -t none -w 0.01
g -r --proc amlogic/proc --sys amlogic/sys -o logfmt -t none
g clients -r --proc amlogic/proc --sys amlogic/sys -o logfmt -t none
g list --proc amlogic/proc --sys amlogic/sys -o logfmt -t none
