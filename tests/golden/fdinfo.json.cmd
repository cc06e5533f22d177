g fdinfo -o json amdgpu/proc/*/fdinfo/* panthor/proc/*/fdinfo/* xe/proc/*/fdinfo/* amdgpu-legacy/proc/*/fdinfo/* 2>/dev/null
