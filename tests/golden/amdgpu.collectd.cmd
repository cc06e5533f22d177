COLLECTD_HOSTNAME=web.example COLLECTD_INTERVAL=10 g --proc amdgpu/proc --sys amdgpu/sys -w 0.01 -o collectd
COLLECTD_HOSTNAME=web.example COLLECTD_INTERVAL=10 g clients --proc amdgpu/proc --sys amdgpu/sys -w 0.01 -o collectd -f engine,used
