g fdinfo -o table amdgpu/proc/*/fdinfo/* panthor/proc/*/fdinfo/* xe/proc/*/fdinfo/* amdgpu-legacy/proc/*/fdinfo/* 2>/dev/null
