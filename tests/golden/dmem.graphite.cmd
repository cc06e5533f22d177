g --proc dmem/proc --sys dmem/sys -o graphite -t none -w 0.01 | sed 's/^gpustat\.[^.]*/gpustat.HOST/; s/ [0-9]\{10\}$/ TIME/'
g cgroups --proc dmem/proc --sys dmem/sys -o graphite -t none -r -f cgroup,vram,main_memory,pressure | sed 's/^gpustat\.[^.]*/gpustat.HOST/; s/ [0-9]\{10\}$/ TIME/'
