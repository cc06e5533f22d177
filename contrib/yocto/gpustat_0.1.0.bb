SUMMARY = "What a machine's GPUs, NPUs and perf counters are doing"
DESCRIPTION = "One static binary without a library: engine time, memory, clocks and power of every DRM driver, perf events."
LICENSE = "MIT"
LIC_FILES_CHKSUM = "file://LICENSE;md5=aef22c53ab5029134c487b5adaef8f47"

# The archive that `make dist` writes, beside this recipe in files/.
SRC_URI = "file://gpustat-${PV}.tar.gz"

# UAPI: musl and glibc sysroots have the kernel's headers there.
EXTRA_OEMAKE = "'CC=${CC}' 'CFLAGS=${CFLAGS}' 'LDFLAGS=${LDFLAGS}' 'UAPI=${STAGING_INCDIR}'"

do_install() {
    oe_runmake install DESTDIR=${D} PREFIX=${prefix} BINDIR=${bindir} MANDIR=${mandir}
}

FILES:${PN}-bash-completion = "${datadir}/bash-completion"
PACKAGES =+ "${PN}-bash-completion"

# Static: there is no table of dynamic symbols to look at.
INSANE_SKIP:${PN} += "ldflags"
