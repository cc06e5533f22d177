SUMMARY = "What a machine's GPUs, NPUs and perf counters are doing"
DESCRIPTION = "One static binary without a library: engine time, memory, clocks and power of every DRM driver, perf events."
LICENSE = "MIT"
LIC_FILES_CHKSUM = "file://LICENSE;md5=aef22c53ab5029134c487b5adaef8f47"

# The archive that `make dist` writes, beside this recipe in files/.
SRC_URI = "file://gpustat-${PV}.tar.gz"

# UAPI: musl and glibc sysroots have the kernel's headers there.
EXTRA_OEMAKE = "'CC=${CC}' 'CFLAGS=${CFLAGS}' 'LDFLAGS=${LDFLAGS}' 'UAPI=${STAGING_INCDIR}'"

# What is built in; of a distribution: PACKAGECONFIG:remove:pn-gpustat = "oa top". An initramfs has a use for
# PACKAGECONFIG:pn-gpustat = "host doctor check logfmt prom".
PACKAGECONFIG ??= "host doctor check munin counters events stat sample oa top plot http state summary table logfmt prom openmetrics influx graphite statsd collectd kmsg"
PACKAGECONFIG[host] = ",host"
PACKAGECONFIG[doctor] = ",doctor"
PACKAGECONFIG[check] = ",check"
PACKAGECONFIG[munin] = ",munin"
PACKAGECONFIG[counters] = ",counters"
PACKAGECONFIG[events] = ",events"
PACKAGECONFIG[stat] = ",stat"
PACKAGECONFIG[sample] = ",sample"
PACKAGECONFIG[oa] = ",oa"
PACKAGECONFIG[top] = ",top"
PACKAGECONFIG[plot] = ",plot"
PACKAGECONFIG[http] = ",http"
PACKAGECONFIG[state] = ",state"
PACKAGECONFIG[summary] = ",summary"
PACKAGECONFIG[table] = ",table"
PACKAGECONFIG[logfmt] = ",logfmt"
PACKAGECONFIG[prom] = ",prom"
PACKAGECONFIG[openmetrics] = ",openmetrics"
PACKAGECONFIG[influx] = ",influx"
PACKAGECONFIG[graphite] = ",graphite"
PACKAGECONFIG[statsd] = ",statsd"
PACKAGECONFIG[collectd] = ",collectd"
PACKAGECONFIG[kmsg] = ",kmsg"
EXTRA_OEMAKE += "'WITHOUT=${PACKAGECONFIG_CONFARGS}'"

do_install() {
    oe_runmake install DESTDIR=${D} PREFIX=${prefix} BINDIR=${bindir} MANDIR=${mandir}
}

FILES:${PN}-bash-completion = "${datadir}/bash-completion"
PACKAGES =+ "${PN}-bash-completion"

# Static: there is no table of dynamic symbols to look at.
INSANE_SKIP:${PN} += "ldflags"
