for t in amdgpu amdgpu-apu amdgpu-legacy amdxdna; do
	g --proc $t/proc --sys $t/sys -w 0.01 -o csv -f dev,busy,temp,engine.busy,load,freq,power,fan,vram,throttle 2>&1
done
