for t in i915 i915-dgpu i915-old xe xe-suspended intel_vpu; do
	g --proc $t/proc --sys $t/sys -w 0.01 -o csv -f dev,busy,temp,engine.busy,load,freq,power,fan,vram,throttle 2>&1
done
