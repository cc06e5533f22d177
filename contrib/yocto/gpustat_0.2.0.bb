SUMMARY = "What a machine's GPUs, NPUs and perf counters are doing"
DESCRIPTION = "One static binary without a library: engine time, memory, clocks and power of every DRM driver, perf events."
LICENSE = "MIT"
LIC_FILES_CHKSUM = "file://LICENSE;md5=aef22c53ab5029134c487b5adaef8f47"

# The archive that `make dist` writes; it is in files/ next to this recipe.
SRC_URI = "file://gpustat-${PV}.tar.gz"

# UAPI: the folder of the kernel's headers in musl and glibc sysroots.
EXTRA_OEMAKE = "'CC=${CC}' 'CFLAGS=${CFLAGS}' 'LDFLAGS=${LDFLAGS}' 'UAPI=${STAGING_INCDIR}'"

# The features that are built in. A distribution can remove some with
# PACKAGECONFIG:remove:pn-gpustat = "oa top". For an initramfs, use
# PACKAGECONFIG:pn-gpustat = "host doctor check logfmt prom".
PACKAGECONFIG ??= "procs host doctor check munin counters events stat sample run oa oasets top plot capture http state summary gpuevents help names boards vcio containers dmem nvidia bpf block table plain logfmt prom openmetrics influx graphite statsd collectd kmsg timeline"
PACKAGECONFIG[procs] = ",procs"
PACKAGECONFIG[host] = ",host"
PACKAGECONFIG[doctor] = ",doctor"
PACKAGECONFIG[check] = ",check"
PACKAGECONFIG[munin] = ",munin"
PACKAGECONFIG[counters] = ",counters"
PACKAGECONFIG[events] = ",events"
PACKAGECONFIG[stat] = ",stat"
PACKAGECONFIG[sample] = ",sample"
PACKAGECONFIG[run] = ",run"
PACKAGECONFIG[oa] = ",oa"
PACKAGECONFIG[oasets] = ",oasets"
PACKAGECONFIG[top] = ",top"
PACKAGECONFIG[plot] = ",plot"
PACKAGECONFIG[capture] = ",capture"
PACKAGECONFIG[http] = ",http"
PACKAGECONFIG[state] = ",state"
PACKAGECONFIG[summary] = ",summary"
PACKAGECONFIG[gpuevents] = ",gpuevents"
PACKAGECONFIG[help] = ",help"
PACKAGECONFIG[names] = ",names"
PACKAGECONFIG[boards] = ",boards"
PACKAGECONFIG[vcio] = ",vcio"
PACKAGECONFIG[containers] = ",containers"
PACKAGECONFIG[dmem] = ",dmem"
PACKAGECONFIG[nvidia] = ",nvidia"
PACKAGECONFIG[bpf] = ",bpf"
PACKAGECONFIG[block] = ",block"
PACKAGECONFIG[table] = ",table"
PACKAGECONFIG[plain] = ",plain"
PACKAGECONFIG[logfmt] = ",logfmt"
PACKAGECONFIG[prom] = ",prom"
PACKAGECONFIG[openmetrics] = ",openmetrics"
PACKAGECONFIG[influx] = ",influx"
PACKAGECONFIG[graphite] = ",graphite"
PACKAGECONFIG[statsd] = ",statsd"
PACKAGECONFIG[collectd] = ",collectd"
PACKAGECONFIG[kmsg] = ",kmsg"
PACKAGECONFIG[timeline] = ",timeline"
EXTRA_OEMAKE += "'WITHOUT=${PACKAGECONFIG_CONFARGS}'"

# Members of this group may run the program if it is given capabilities.
inherit useradd
USERADD_PACKAGES = "${PN}"
GROUPADD_PARAM:${PN} = "--system gpustat"

do_install() {
    oe_runmake install DESTDIR=${D} PREFIX=${prefix} BINDIR=${bindir} MANDIR=${mandir}
}

FILES:${PN}-bash-completion = "${datadir}/bash-completion"
FILES:${PN}-zsh-completion = "${datadir}/zsh"
FILES:${PN}-fish-completion = "${datadir}/fish"
PACKAGES =+ "${PN}-bash-completion ${PN}-zsh-completion ${PN}-fish-completion"

# The binary is static: it has no table of dynamic symbols that the check could read.
INSANE_SKIP:${PN} += "ldflags"
