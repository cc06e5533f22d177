#!/bin/bash
# /usr/lib/dracut/modules.d/99gpustat/module-setup.sh - adds gpustat to the initramfs; then run
# dracut --force. The module is not added automatically: use --add gpustat, or
# add_dracutmodules+=" gpustat ".
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
