#!/bin/bash
# /usr/lib/dracut/modules.d/99gpustat/module-setup.sh - takes gpustat into the initramfs; then: dracut --force
# Not by itself: --add gpustat, or add_dracutmodules+=" gpustat ".
check() {
	require_binaries gpustat || return 1
	return 255
}

depends() {
	return 0
}

install() {
	inst_binary gpustat
}
