#!/bin/sh
# wide.sh PROG: prints gpustat's output for numbers, offsets and sizes that exceed 32 bits. A file
# has 4 GiB plus half the bytes of its data: it must be read completely or rejected, never read as
# that half.
prog=$(realpath "$1") || exit 1
tmp=$(mktemp -d) && cd "$tmp" || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

printf '%s\t%s\n' drm-driver: i915 drm-client-id: 7 drm-engine-render: '18446744073709551615 ns' \
	drm-engine-copy: '9223372036854775809 ns' drm-engine-video: '4294967297 ns' \
	drm-memory-system0: '17179869183 GiB' drm-total-system0: '8589934592 KiB' | "$prog" fdinfo -o json -

cat >m.xml <<'XML'
<metrics version="1"><set name="A" symbol_name="A" chipset="SKLGT2" hw_config_guid="1ed5e4f2-0000-4000-8000-000000000000">
<counter name="Time" symbol_name="Time" data_type="uint64" units="ns" equation="GPU_TIME 0 READ"/></set></metrics>
XML
cp m.xml over4g && truncate -s $((4294967296 + $(wc -c <m.xml) / 2)) over4g || exit 1
"$prog" oa list --metrics m.xml >small.list 2>&1 || exit 1
"$prog" oa list --metrics over4g 2>&1 | sed 's/ over4g$/ m.xml/' >large.list
if cmp -s small.list large.list || grep -qx 'gpustat: over4g: File too large' large.list; then
	echo 'whole or refused'
else
	head -n 3 large.list
fi
