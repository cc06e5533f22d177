g -w 0.01 --proc jetson/proc --sys amdgpu/sys -t none
g -w 0.01 --proc jetson/proc --sys amdgpu/sys -t none -1
