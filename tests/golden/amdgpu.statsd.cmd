g clients --proc amdgpu/proc --sys amdgpu/sys -w 0.01 -o statsd | sed 's/^gpustat\.[^.]*/gpustat.HOST/'
