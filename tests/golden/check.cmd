for t in amdgpu i915 mixed xe-suspended nvidia; do
	g check --window 1ms --proc $t/proc --sys $t/sys -w 30 -c 90
	echo $?
done
g check --window 1ms --proc amdgpu/proc --sys amdgpu/sys -m temp,vram.used,power,throttle -w 60,1000:,~:100 -c @70:80
echo $?
g check --proc amdgpu/proc --sys amdgpu/sys -m bogus
echo $?
g check -V
echo $?
