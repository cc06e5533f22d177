m='--proc mixed/proc --sys mixed/sys -w 0.01 -t none'
g $m -1
g $m -1 -o json -f dev,state
g $m -d 1 -H
g $m -d card0,driver:intel_vpu
g $m -d renderD129 -f dev,vram.used -o csv
g $m -d 0000:02:00.0 -f name
g $m -s clients -k 2 -f dev,clients
g $m -f freq -o json
g $m -d 7; echo "exit $?"
g clients $m -s memory.system0.resident -f pid,comm,memory.system0.resident -o csv
g clients $m -p 1610,2911 -f dev,pid
g clients $m -C 'X*' -f comm
g clients --proc containers/proc --sys containers/sys -w 0.01 -t none -g /user.slice/user-1000.slice/session-2.scope -f comm -o logfmt
g clients --proc containers/proc --sys containers/sys -w 0.01 -t none -g a1b2c3d4e5f6 -f comm,container -o json
g 0.01 2 -S -t none -d 0 --proc i915-dgpu/proc --sys i915-dgpu/sys -f summary,temp,fan,memory.local0.resident -o json
g 0.01 2 -S -t none -d 0 --proc i915-dgpu/proc --sys i915-dgpu/sys -f summary,temp,fan -o csv
