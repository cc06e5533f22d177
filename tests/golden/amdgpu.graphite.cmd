g --proc amdgpu/proc --sys amdgpu/sys -w 0.01 -o graphite | sed 's/^gpustat\.[^.]*/gpustat.HOST/; s/ [0-9]\{10\}$/ TIME/'
g clients --proc amdgpu/proc --sys amdgpu/sys -r -o graphite | sed 's/^gpustat\.[^.]*/gpustat.HOST/; s/ [0-9]\{10\}$/ TIME/'
