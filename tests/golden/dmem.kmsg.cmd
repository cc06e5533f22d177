g --proc dmem/proc --sys dmem/sys -o kmsg -t none -w 0.01
g cgroups --proc dmem/proc --sys dmem/sys -o kmsg -t none -r -f cgroup,vram,main_memory,pressure
