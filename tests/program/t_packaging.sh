#!/bin/sh
# shellcheck disable=SC2317,SC2154,SC1091,SC2086,SC2016 # functions are called through check()
# t_packaging.sh PROG: tests contrib/ for distributions, as far as possible on Debian. The package
# is built, installed, used by the hooks, units and cron lines without changes, and removed.
prog=$(realpath "$1") || exit 1
# A make that calls this script passes its own variables on.
unset MAKEFLAGS MFLAGS MAKEOVERRIDES MAKELEVEL CC CFLAGS CPPFLAGS LDFLAGS
root=$(pwd)
. "$root/tests/tap.sh"
c=$root/contrib
version=$(sed -n 's/^VERSION = //p' Makefile)
tree="--proc $root/tests/trees/mixed/proc --sys $root/tests/trees/mixed/sys"
installed=
trap '[ -z "$installed" ] || dpkg -P gpustat-static >/dev/null 2>&1; rm -rf /usr/lib/dracut/modules.d/99gpustat; rm -rf "$tmp"' EXIT

versions() {
	[ -n "$version" ] && "$prog" -V | grep -qx "gpustat $version" &&
		grep -qx "GPUSTAT_VERSION = $version" "$c/buildroot/gpustat.mk" && grep -qx "PKG_VERSION:=$version" "$c/openwrt/Makefile" &&
		grep -qx "pkgver=$version" "$c/alpine/APKBUILD" && [ -f "$c/yocto/gpustat_$version.bb" ] &&
		[ "$(find "$c/yocto" -name '*.bb' | wc -l)" = 1 ] && head -n 1 "$c/debian/changelog" | grep -q "^gpustat-static ($version) "
}
# Sources APKBUILD as abuild does, and runs its functions with a make that only prints its
# arguments.
alpine() {
	sh -n "$c/alpine/APKBUILD" && sh -euc '. "$1"; CC=cc pkgdir=/pkg; make() { echo "$*"; }; build; check; package
		[ "$install" = "gpustat.pre-install gpustat.pre-upgrade" ] || exit 1
		for f in $install; do [ -f "${1%/*}/$f" ] && sh -n "${1%/*}/$f" || exit 1; done
		for v in "$pkgname" "$pkgver" "$pkgdesc" "$arch" "$license" "$source"; do [ -n "$v" ]; done' sh "$c/alpine/APKBUILD" >"$tmp/apk" &&
		printf '%s\n' 'CC=cc' 'CC=cc check' 'CC=cc DESTDIR=/pkg PREFIX=/usr install' | cmp - "$tmp/apk"
}
# Replaces generic-package by one that only prints the commands, for sources in the folder x.
buildroot() {
	cat >"$tmp/br.mk" <<-'END'
		generic-package = x/all: ; $$(GPUSTAT_BUILD_CMDS)
		KCONFIG_ENABLE_OPT = enabled $(1)
		TARGET_CONFIGURE_OPTS = CC=musl-gcc CFLAGS="-Os -DBUILDROOT"
		STAGING_DIR = /staging
		include $(MK)
		x/install: ; $(GPUSTAT_INSTALL_TARGET_CMDS)
		config: ; @echo $(strip $(GPUSTAT_LINUX_CONFIG_FIXUPS))
		users: ; @echo '$(strip $(GPUSTAT_USERS))'
	END
	grep -q '^config BR2_PACKAGE_GPUSTAT$' "$c/buildroot/Config.in" &&
		[ "$(make -s -f "$tmp/br.mk" MK="$c/buildroot/gpustat.mk" config)" = 'enabled CONFIG_PERF_EVENTS' ] &&
		[ "$(make -s -f "$tmp/br.mk" MK="$c/buildroot/gpustat.mk" users)" = '- - gpustat -1 - - - - -' ] &&
		make -n -f "$tmp/br.mk" MK="$c/buildroot/gpustat.mk" x/all x/install TARGET_DIR=/t >"$tmp/br.out" 2>&1 &&
		printf 'make CC=musl-gcc CFLAGS="-Os -DBUILDROOT" SMALL= WITHOUT= UAPI=/staging/usr/include -C x%s\n' \
			'' ' PREFIX=/usr DESTDIR=/t install' | cmp - "$tmp/br.out"
}
openwrt() {
	mkdir -p "$tmp/ow" && : >"$tmp/ow/rules.mk" && cat >"$tmp/ow/package.mk" <<-'END' || return 1
		BuildPackage = $(eval $(call Package/$(1)))all: ; $(call Package/$(1)/install,/to)
	END
	make -n -f "$c/openwrt/Makefile" TOPDIR="$tmp/ow" INCLUDE_DIR="$tmp/ow" INSTALL_DIR='install -d' INSTALL_BIN=install \
		PKG_BUILD_DIR=/b >"$tmp/ow/out" 2>&1 && printf '%s\n' 'install -d /to/usr/bin' 'install /b/gpustat /to/usr/bin/' | cmp - "$tmp/ow/out"
}
# The recipe must contain only assignments and shell functions, and the checksum of LICENSE.
yocto() {
	bb=$c/yocto/gpustat_$version.bb
	grep -q "md5=$(md5sum <LICENSE | cut -d' ' -f1)\"" "$bb" &&
		! sed '/^do_.*() {$/,/^}$/d' "$bb" | grep -vE '^(#.*|inherit useradd|[A-Z][]A-Z_:{}$a-z[-]* (=|\?\?=|\+=|=\+) ".*"|)$' &&
		sed -n '/^do_.*() {$/,/^}$/{s/\${/${x/g;p}' "$bb" | sh -n &&
		for v in SUMMARY LICENSE LIC_FILES_CHKSUM SRC_URI EXTRA_OEMAKE; do grep -q "^$v = " "$bb" || return 1; done
}
# All recipes list the existing features, in the same order; Yocto has an option for each.
features() {
	all=$(make -s features) && for f in openwrt buildroot; do
		sed -n '/Any of:/,/kmsg/p' "$c/$f/Config.in" | tr -s ' \t\n' ' ' | grep -qF "Any of: $all" || { echo "$f"; return 1; }
	done && grep -qxF "PACKAGECONFIG ??= \"$all\"" "$c/yocto/gpustat_$version.bb" && [ "$all" = "$(sed -n 's/^PACKAGECONFIG\[\(.*\)\] = ",\(.*\)"$/\1 \2/p' \
		"$c/yocto/gpustat_$version.bb" | awk '$1 == $2 { printf "%s%s", sep, $1; sep = " " }')" ] &&
		sed -n '/BR2_PACKAGE_GPUSTAT_SMALL/,/size/p' "$c/buildroot/Config.in" | tr -s " \t\n" " " | grep -q "clients, cgroups, list, fdinfo, procs, host, doctor and" &&
		make -n -f "$tmp/br.mk" MK="$c/buildroot/gpustat.mk" x/all BR2_PACKAGE_GPUSTAT_SMALL=y BR2_PACKAGE_GPUSTAT_WITHOUT='"oa top"' |
		grep -q 'SMALL=1 WITHOUT="oa top" UAPI' &&
		make -n -f - TOPDIR="$tmp/ow" INCLUDE_DIR="$tmp/ow" CONFIG_GPUSTAT_SMALL=y CONFIG_GPUSTAT_WITHOUT='"oa top"' flags <<-END |
			include $c/openwrt/Makefile
			flags: ; echo \$(MAKE_FLAGS)
		END
		grep -q 'SMALL=1 WITHOUT="oa top"'
}
scripts() {
	sh -n "$c/initramfs-tools/hooks/gpustat" && bash -n "$c/dracut/99gpustat/module-setup.sh" && bash -n "$c/mkinitcpio/install/gpustat" &&
		[ "$(sh "$c/initramfs-tools/hooks/gpustat" prereqs)" = '' ] &&
		[ "$(bash -c 'add_binary() { echo "$@"; }; . "$1"; build' bash "$c/mkinitcpio/install/gpustat")" = gpustat ]
}

deb_build() {
	mkdir -p "$tmp/deb/src" && tar -c --exclude=.git --exclude=./build --exclude=./tests --exclude='*.o' --exclude=./gpustat . | tar -x -C "$tmp/deb/src" &&
		mkdir "$tmp/deb/src/tests" && cp tests/toolchain "$tmp/deb/src/tests" && cp -r contrib/debian "$tmp/deb/src/debian" &&
		cd "$tmp/deb/src" && env -u CC -u CFLAGS -u LDFLAGS -u MAKEFLAGS -u MAKELEVEL dpkg-buildpackage -b -us -uc && ls ../*.deb
}
deb_lintian() {
	lintian --allow-root --no-user-dirs --fail-on error,warning "$tmp"/deb/*.changes >"$tmp/lint" 2>&1
	status=$?
	cat "$tmp/lint"
	return "$status"
}
deb_installs() {
	dpkg -i "$tmp"/deb/gpustat-static_*.deb && [ "$(/usr/bin/gpustat -V | head -n 1)" = "gpustat $version" ] && ! readelf -lW /usr/bin/gpustat | grep -q INTERP &&
		dpkg -L gpustat-static | grep -qx /usr/share/bash-completion/completions/gpustat &&
		dpkg -L gpustat-static | grep -qx /usr/share/man/man1/gpustat.1.gz &&
		dpkg -s gpustat-static | grep -qx 'Conflicts: gpustat' && ! getcap /usr/bin/gpustat | grep -q . &&
		getent group gpustat
}
# Checks that man and bash find their files. dpkg may be configured to exclude manuals and
# documents, as in containers.
deb_found() {
	dpkg-deb --fsys-tarfile "$tmp"/deb/gpustat-static_*.deb | tar -xO ./usr/share/man/man1/gpustat.1.gz | gzip -dc >"$tmp/man" &&
		cmp gpustat.1 "$tmp/man" && bash -c '. /usr/share/bash-completion/bash_completion; _completion_loader gpustat
		complete -p gpustat' | grep -qx 'complete -F _gpustat gpustat'
}
# Builds the package under another name, for use with the other program called gpustat. It reuses
# the objects, to save time.
deb_other_name() {
	mkdir "$tmp/deb/first" && cp "$tmp"/deb/*.deb "$tmp/deb/first" && cd "$tmp/deb/src" && rm -rf debian/gpustat-static &&
		PROG=gpustat-static env -u MAKEFLAGS -u MAKELEVEL dpkg-buildpackage -b -nc -us -uc && dpkg-deb -c ../gpustat-static_*.deb >"$tmp/list" &&
		grep -q ' \./usr/bin/gpustat-static$' "$tmp/list" && grep -q ' \./usr/share/man/man1/gpustat-static.1.gz$' "$tmp/list" &&
		grep -q ' \./usr/share/bash-completion/completions/gpustat-static$' "$tmp/list" &&
		! grep -v '/examples/' "$tmp/list" | grep -E '/gpustat(\.1\.gz)?$' && ! dpkg-deb -f ../gpustat-static_*.deb Conflicts | grep -q .
}
deb_removed() {
	dpkg -L gpustat-static >"$tmp/had" && dpkg -P gpustat-static && installed= && [ ! -e /usr/bin/gpustat ] && while read -r f; do
		[ -d "$f" ] || [ ! -e "$f" ] || { echo "$f"; return 1; }
	done <"$tmp/had" && [ ! -e /usr/share/doc/gpustat-static ]
}

# Prints the engine time of a device in a text file.
total() { sed -n 's/^gpustat_engine_busy_seconds_total{dev="card0",engine="render"} //p' "$1"; }
# Runs the lines of cron.d as cron does, on a machine with GPUs: they write their files and print
# nothing. Between two runs a client exits, and its engine time must stay in the totals.
cron_lines() {
	mkdir -p "$tmp/cron" && cp -r tests/trees/mixed "$tmp/cron/mixed" && at="--proc $tmp/cron/mixed/proc --sys $tmp/cron/mixed/sys" && grep -E '^(# )?[*][*/0-9]* ' "$c/cron.d/gpustat" | sed 's/^# //' >"$tmp/cron/lines" && [ "$(wc -l <"$tmp/cron/lines")" = 3 ] &&
		! grep -vE '^(#.*|[A-Z]+=.*|[0-9*/]+( [0-9*/,-]+){4} root .*)$' "$c/cron.d/gpustat" || return 1
	for run in 1 2; do
		echo "run $run"
		sed 's/^\([^ ]* \)\{6\}//' "$tmp/cron/lines" | sed "s|/var/[a-z/-]*/|$tmp/cron/|g; s|^gpustat |gpustat $at |" >"$tmp/cron/cmds"
		while read -r line; do
			env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LOGNAME=root SHELL=/bin/sh sh -c "$line" >"$tmp/cron/mail" 2>&1 </dev/null ||
				{ echo "$line: $?"; cat "$tmp/cron/mail"; return 1; }
			[ ! -s "$tmp/cron/mail" ] || { echo "$line:"; cat "$tmp/cron/mail"; return 1; }
		done <"$tmp/cron/cmds"
		sum=$(total "$tmp/cron/gpustat.prom")
		echo "total: ${first:=$sum}, then $sum"
		[ "$first" = "$sum" ] && [ -n "$sum" ] || return 1
		rm -rf "$tmp/cron/mixed/proc/2720"
	done
	[ "$(sed -n 's/^gpustat_clients{dev="card0"} //p' "$tmp/cron/gpustat.prom")" = 2 ] && [ "$(grep -c 'card0' "$tmp/cron/gpustat.log")" = 4 ] &&
		[ "$(stat -c %a "$tmp/cron/gpustat.prom" "$tmp"/cron/*.state | tr '\n' ' ')" = '644 600 600 ' ]
}

units_verify() {
	for u in gpustat-textfile.service gpustat-textfile.timer gpustat.socket gpustat@.service; do
		systemd-analyze verify --man=no "$c/systemd/$u" 2>&1 | grep -e "$u" -e gpustat | grep -v 'is not executable' && return 1
	done
	# The packages create a group gpustat: systemd creates no user of that name then.
	! grep -hE '^((ProtectProc|ProcSubset|PrivateDevices)=|User=gpustat$)' "$c"/systemd/*
}
# As with DynamicUser=, the command runs as another user, with only the unit's capabilities of root,
# as ambient ones.
units_run() {
	caps=$(sed -n 's/^CapabilityBoundingSet=//p' "$c/systemd/gpustat-textfile.service")
	[ "$caps" = "$(sed -n 's/^AmbientCapabilities=//p' "$c/systemd/gpustat-textfile.service")" ] || return 1
	plus=$(for w in $caps; do printf ',+%s' "$(echo "${w#CAP_}" | tr '[:upper:]' '[:lower:]')"; done)
	state=$tmp/$(sed -n 's/^StateDirectory=//p' "$c/systemd/gpustat-textfile.service")
	run=$(sed -n 's/^ExecStart=//p' "$c/systemd/gpustat-textfile.service" | sed "s|/usr/bin/gpustat|& --proc $tmp/mixed/proc --sys $tmp/mixed/sys|
		s|/var/lib/prometheus/node-exporter|$tmp/unit|; s|\${STATE_DIRECTORY}|$state|")
	mkdir -m 755 "$tmp/unit" && install -d -m 755 -o 65534 -g 65534 "$state" && chmod 711 "$tmp" && cp -r tests/trees/mixed "$tmp/mixed" || return 1
	# The first run reports that there is no state; the second reports nothing.
	for said in 'the --state file is ignored: does not exist yet' ''; do
		setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set "-all$plus" --inh-caps "-all$plus" --ambient-caps "-all$plus" \
			--no-new-privs $run >"$tmp/said" 2>&1 && [ "$(sed 's/.*: \(the --state file\)/\1/' "$tmp/said")" = "$said" ] &&
			grep -q '^gpustat_clients{' "$tmp/unit/gpustat.prom" || return 1
	done
}
# The service of the socket: one request on the socket from systemd, with the options of the unit.
units_http() {
	run=$(sed -n 's/^ExecStart=//p' "$c/systemd/gpustat@.service")
	# inetd also connects stderr to the socket.
	grep -qxF "9846 stream tcp nowait root /usr/bin/gpustat gpustat -q $(echo "${run#* }" | sed 's|${STATE_DIRECTORY}/http|/var/lib/gpustat-http.state|')" \
		"$c/inetd/inetd.conf" || return 1
	run=$(echo "$run" | sed "s|/usr/bin/gpustat|& $tree|; s|\${STATE_DIRECTORY}|$tmp|") && python3 - $run <<-'END'
		import socket, subprocess, sys
		ours, theirs = socket.socketpair()
		ours.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
		ours.settimeout(60)
		subprocess.run(sys.argv[1:], stdin=theirs, stdout=theirs, check=True, timeout=60)
		theirs.close()
		got = b""
		while piece := ours.recv(65536):
		    got += piece
		assert got.startswith(b"HTTP/1.") and b" 200 " in got.split(b"\r\n")[0], got[:200]
		assert got.endswith(b"# EOF\n") and b"gpustat_clients{" in got, got[-200:]
	END
}

# Builds a virtual machine with the initramfs of Debian's kernel and the hook, a display adapter,
# and a test script.
kernel() { for k in /lib/modules/*/kernel; do v=${k%/kernel} v=${v##*/} && [ -e "/boot/vmlinuz-$v" ] && echo "$v"; done | sort -V | tail -n 1; }
initramfs() {
	d=$tmp/conf
	mkdir -p "$d/hooks" "$d/scripts/init-premount" "$d/conf.d" && cp /etc/initramfs-tools/update-initramfs.conf "$d" 2>/dev/null
	cp "$c/initramfs-tools/hooks/gpustat" "$d/hooks/gpustat" && chmod 755 "$d/hooks/gpustat" && echo bochs >"$d/modules" &&
		printf '%s\n' MODULES=list BUSYBOX=y KEYMAP=n COMPRESS=gzip DEVICE= NFSROOT=auto RUNSIZE=10% FSTYPE=auto >"$d/initramfs.conf" || return 1
	cat >"$d/scripts/init-premount/look" <<-'END'
		#!/bin/sh
		[ "$1" = prereqs ] && exit 0
		exec >/dev/ttyS0 2>&1
		look() { echo "[$*]"; "$@"; echo "rc $?"; }
		look gpustat
		look gpustat list
		look gpustat stat -e task-clock true
		umount -l /sys
		look gpustat
		mount -t sysfs sys /sys
		mkdir -p /keep && mount -t proc proc /keep
		umount -l /proc
		look gpustat
		echo o >/keep/sysrq-trigger
		sleep 60
	END
	chmod 755 "$d/scripts/init-premount/look" && mkinitramfs -d "$d" -o "$tmp/initrd" "$(kernel)" && lsinitramfs "$tmp/initrd" | grep -qx usr/bin/gpustat
}
boots() {
	timeout -k 5 600 qemu-system-x86_64 -accel tcg -cpu max -smp 1 -m 512 -nodefaults -no-user-config -display none -no-reboot \
		-device bochs-display -serial "file:$tmp/console" -kernel "/boot/vmlinuz-$(kernel)" -initrd "$tmp/initrd" \
		-append 'console=ttyS0 quiet panic=-1' </dev/null || return 1
	tr -d '\r' <"$tmp/console" >"$tmp/text"
	cat "$tmp/text"
	[ "$(grep -c '^rc ' "$tmp/text")" = 5 ] && grep -A4 '^\[gpustat\]' "$tmp/text" | grep -q '^[0-9:]* *card0 *bochs' &&
		grep -A9 '^\[gpustat list\]' "$tmp/text" | grep -q bochs && grep -q 'task-clock' "$tmp/text" &&
		[ "$(grep '^rc ' "$tmp/text" | tr '\n' ' ')" = 'rc 0 rc 0 rc 0 rc 1 rc 1 ' ] &&
		grep -q 'gpustat: /sys is not mounted; as root: mount -t sysfs sys /sys' "$tmp/text" &&
		grep -q -E 'gpustat: /proc(: No such|.*mount -t proc proc /proc)' "$tmp/text"
}
dracut_image() {
	cp -r "$c/dracut/99gpustat" /usr/lib/dracut/modules.d/ && mkdir -p "$tmp/dr/root" "$tmp/dr/conf" &&
		dracut --force --no-kernel --no-hostonly --no-early-microcode -m gpustat --conf /dev/null --confdir "$tmp/dr/conf" --tmpdir "$tmp/dr" --gzip "$tmp/dr/img" "$(kernel)"
	rm -rf /usr/lib/dracut/modules.d/99gpustat
	cd "$tmp/dr/root" && gzip -dc ../img | cpio -idm --quiet && [ -x usr/bin/gpustat ] && [ "$(chroot . /usr/bin/gpustat -V | head -n 1)" = "gpustat $version" ] &&
		! chroot . /usr/bin/gpustat 2>"$tmp/said" && grep -q '^gpustat: /proc and /sys are not mounted' "$tmp/said"
}

# Runs tests/packages with an apt-get and a dpkg that only record their arguments: no service may
# start during an installation, and the policy that prevents this is removed afterwards, even after
# a signal.
packages() {
	policy=$tmp/tests/policy-rc.d
	mkdir -p "$tmp/bin" "$tmp/tests" && cp tests/levels "$tmp/tests" &&
		sed "s|^policy=/usr/sbin/policy-rc.d$|policy=$policy|" tests/packages >"$tmp/tests/packages" && cat >"$tmp/bin/apt-get" <<-END &&
		#!/bin/sh
		case "\$*" in *update*) exit 0 ;; esac
		$policy
		echo "\$? \$*" >>"$tmp/apt"
		[ -z "\$STOP" ] || kill -TERM \$PPID
		: >"$tmp/have"
	END
		cat >"$tmp/bin/dpkg-query" <<-END && chmod 755 "$tmp/bin"/* || return 1
		#!/bin/sh
		[ ! -e "$tmp/have" ] || echo 'install ok installed'
	END
	PATH="$tmp/bin:$PATH" sh "$tmp/tests/packages" consumers && [ ! -e "$policy" ] && [ "$(wc -l <"$tmp/apt")" = 1 ] &&
		grep -q '^101 .* lintian .*prometheus' "$tmp/apt" && rm "$tmp/have" &&
		! STOP=1 PATH="$tmp/bin:$PATH" sh "$tmp/tests/packages" consumers && [ "$(wc -l <"$tmp/apt")" = 2 ] && [ ! -e "$policy" ]
}

check 'all versions equal the Makefile'"'"'s' versions
check 'Alpine: the functions of APKBUILD call make correctly' alpine
check 'Buildroot: gpustat.mk expands to the right commands' buildroot
check 'OpenWrt: the Makefile installs the program' openwrt
check 'Yocto: the recipe has valid assignments and functions' yocto
check 'Buildroot, OpenWrt and Yocto list the same features as the Makefile' features
check 'the hooks of initramfs-tools, dracut and mkinitcpio are valid scripts' scripts

# try PROGRAM PACKAGE NAME COMMAND: runs a test that requires a program, root, and the installed
# package.
try() {
	command -v "$1" >/dev/null || [ -e "$1" ] || { skip "$3" "needs package $2"; return; }
	shift 2
	check "$@"
}
if [ "$(id -u)" != 0 ] || ! command -v dpkg >/dev/null; then
	skip 'Debian: the package is built, installed, used and removed' 'needs root on Debian'
	finish
fi
check 'packages are installed without starting their services' packages
if dpkg -s gpustat >/dev/null 2>&1 || [ -e /usr/bin/gpustat ]; then
	skip 'Debian: the package is built, installed, used and removed' 'a /usr/bin/gpustat of another package is installed'
	finish
fi
if ! command -v dh >/dev/null || ! command -v dpkg-buildpackage >/dev/null; then
	skip 'Debian: the package is built' 'needs package debhelper'
	finish
fi
check 'Debian: the package is built' deb_build
# Without a package there is nothing to test; the reason was printed above.
[ -n "$(find "$tmp/deb" -maxdepth 1 -name '*.deb')" ] || finish
try lintian lintian 'Debian: lintian reports nothing' deb_lintian
installed=1
check 'Debian: the package is installed' deb_installs
try /usr/share/bash-completion/bash_completion bash-completion 'Debian: the manual and the completion are found' deb_found
check 'cron: the lines run without output' cron_lines
try systemd-analyze systemd 'systemd: the units are valid' units_verify
try setpriv util-linux 'systemd: the capabilities of the unit are sufficient for its command' units_run
try python3 python3 'systemd, inetd: the command of the socket answers a request' units_http
if [ "$(uname -m)" != x86_64 ] || [ -z "$(kernel)" ]; then
	skip 'initramfs-tools: the hook adds the program to an initramfs' 'needs an x86-64 kernel'
else
	try mkinitramfs initramfs-tools-core 'initramfs-tools: the hook adds the program to an initramfs' initramfs
	try qemu-system-x86_64 qemu-system-x86 'initramfs-tools: the program runs in the initramfs, and reports the file systems that are not mounted' boots
	try /usr/lib/dracut/modules.d dracut-core 'dracut: the module adds the program to an initramfs, where it runs' dracut_image
fi
check 'Debian: the removal leaves no files' deb_removed
check 'Debian: the package can be built under another name' deb_other_name
finish
