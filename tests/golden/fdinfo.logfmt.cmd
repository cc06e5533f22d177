g fdinfo -o logfmt amdgpu/proc/*/fdinfo/* panthor/proc/*/fdinfo/* xe/proc/*/fdinfo/* amdgpu-legacy/proc/*/fdinfo/* 2>/dev/null
