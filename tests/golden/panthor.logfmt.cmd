g --proc panthor/proc --sys panthor/sys -o logfmt -t none -w 0.01
g clients --proc panthor/proc --sys panthor/sys -o logfmt -t none -w 0.01
g cgroups --proc panthor/proc --sys panthor/sys -o logfmt -t none -w 0.01
g -r --proc panthor/proc --sys panthor/sys -o logfmt -t none
g clients -r --proc panthor/proc --sys panthor/sys -o logfmt -t none
g list --proc panthor/proc --sys panthor/sys -o logfmt -t none
