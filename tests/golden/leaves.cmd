for t in amdgpu i915-dgpu jetson mixed; do
	for o in csv line table plain; do
		g --proc $t/proc --sys $t/sys -w 0.01 -t none -o $o -f dev,temp,engine.busy,throttle 2>&1
	done
done
g procs --proc mixed/proc --sys mixed/sys -r -o csv -f pid,pids,engine,engine.render.busy_ns,memory.vram
g -d 0 -H -o plain -f used --proc amdgpu/proc --sys amdgpu/sys
