COLLECTD_HOSTNAME=web.example COLLECTD_INTERVAL=10 g --proc dmem/proc --sys dmem/sys -o collectd -t none -w 0.01
COLLECTD_HOSTNAME=web.example COLLECTD_INTERVAL=10 g cgroups --proc dmem/proc --sys dmem/sys -o collectd -t none -r -f cgroup,vram,main_memory,pressure
