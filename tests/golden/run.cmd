masked() { sed -E 's/[0-9]+\.[0-9]+ ([sJW])/N \1/g'; }
for t in mixed amdgpu-apu i915; do
	g run --sys $t/sys -- sh -c 'exit 3' 2>&1 >/dev/null | masked
done
g run --sys i915/sys -o json -t none -- true 2>&1 | sed -E 's|":[0-9]+\.[0-9]+|":N|g; s|"readings":[0-9]+|"readings":N|; s,"(processes|opens)":[0-9a-z]+,"\1":N,g'
g run --sys mixed/sys -d driver:amdgpu -- true 2>&1 | masked
