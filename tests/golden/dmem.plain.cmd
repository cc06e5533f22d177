g --proc dmem/proc --sys dmem/sys -o plain -t none -w 0.01
g cgroups --proc dmem/proc --sys dmem/sys -o plain -t none -w 0.01
g cgroups --proc dmem/proc --sys dmem/sys -o plain -t none -r -f cgroup,vram,main_memory,pressure
g list --proc dmem/proc --sys dmem/sys -o plain -t none
