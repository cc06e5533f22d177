/*
 * remedies.h: which trial of remedies.c makes the kernel refuse a call for each reason that the
 * program knows, and applies the remedy. Unit tests compare these lists with the program's tables,
 * so that a new row without a trial is an error.
 */
#ifndef REMEDIES_H
#define REMEDIES_H

/* The rows of errors[] in sources/perf/perfevent.c, in their order: kind of event, error of
 * perf_event_open(2), state, trial. t_perfevent.c compares them. */
#define PERF_ERRORS(ROW)                                       \
	ROW(OF_UPROBE, ENOENT, CS_NO_FILE, uprobe_no_file)     \
	ROW(OF_UPROBE, EACCES, CS_UPROBE, uprobe_denied)       \
	ROW(OF_UPROBE, EPERM, CS_UPROBE, uprobe_filtered)      \
	ROW(OF_KPROBE, ENOENT, CS_NO_FUNCTION, kprobe_none)    \
	ROW(OF_KPROBE, EADDRNOTAVAIL, CS_NO_FUNCTION, kprobe_several) \
	ROW(OF_KPROBE, EINVAL, CS_NO_FUNCTION, kprobe_barred)  \
	ROW(OF_KPROBE, EACCES, CS_KPROBE, kprobe_denied)       \
	ROW(OF_KPROBE, EPERM, CS_LOCKDOWN, kprobe_filtered)    \
	ROW(OF_HARDENED, EACCES, CS_HARDENED, hardened)        \
	ROW(OF_SOFTWARE, ENOENT, CS_NO_SOFTWARE, software_unknown) \
	ROW(OF_BREAKPOINT, EINVAL, CS_BREAKPOINT, breakpoint_odd) \
	ROW(OF_BREAKPOINT, EOPNOTSUPP, CS_BREAKPOINT, breakpoint_refused) \
	ROW(OF_BREAKPOINT, ENOENT, CS_BREAKPOINT, breakpoint_none) \
	ROW(OF_TRACEFS, EACCES, CS_TRACEFS, tracefs_private)   \
	ROW(OF_OTHERS, EACCES, CS_OTHERS, others_denied)       \
	ROW(OF_OTHERS, EPERM, CS_OTHERS, others_filtered)      \
	ROW(OF_ANY, EACCES, CS_DENIED, wide_denied)            \
	ROW(OF_ANY, EPERM, CS_DENIED, wide_filtered)           \
	ROW(OF_ANY, ESRCH, CS_GONE, process_gone)              \
	ROW(OF_ANY, ENODEV, CS_OFFLINE, cpu_offline)           \
	ROW(OF_ANY, ENOSPC, CS_NO_SLOT, breakpoints_all_used)  \
	ROW(OF_ANY, EMFILE, CS_NO_FILES, files_of_process)     \
	ROW(OF_ANY, ENFILE, CS_NO_FILES, files_of_machine)     \
	ROW(OF_ANY, EINVAL, CS_REFUSED, settings_refused)      \
	ROW(OF_ANY, E2BIG, CS_REFUSED, settings_too_big)       \
	ROW(OF_ANY, ENOMEM, CS_NO_MEMORY, no_memory)           \
	ROW(OF_ANY, ENOSYS, CS_NO_PERF, no_perf)

/* The places of sources/catalog/probe.c that set a remedy of a row of gpustat doctor, in their
 * order: function, name, reason why the remedy cannot be applied in an emulated machine; NULL: it
 * is applied. remedies.sh compares the functions. */
#define DOCTOR_REMEDIES(ROW)                                                                  \
	ROW(probe_processes, AT_PROCESSES, NULL)                                           \
	ROW(probe_namespace, AT_HIDEPID, NULL)                                             \
	ROW(probe_iterator, AT_ITERATOR, NULL)                                             \
	ROW(perf_row, AT_PERF_CONTAINER, NO_DOCKER)                                        \
	ROW(perf_row, AT_PERF_LEVEL, NULL)                                                 \
	ROW(perf_row, AT_PERF_CAPABILITY, NULL)                                            \
	ROW(tracefs_row, AT_TRACEPOINTS, NULL)                                             \
	ROW(probe_watchdog, AT_WATCHDOG, NULL)                                             \
	ROW(probe_oa, AT_OA_SETTING, NULL)                                                 \
	ROW(probe_oa, AT_OA_CAPABILITY, NULL)                                              \
	ROW(probe_mount, AT_MOUNT, NULL)                                                   \
	ROW(probe_mount, AT_MOUNT_CONTAINER, NO_DOCKER)                                    \
	ROW(probe_mount, AT_MOUNT_DENIED, NULL)                                            \
	ROW(probe_rapl, AT_RAPL, NULL)                                                     \
	ROW(node_row, AT_GROUP, NULL)                                                      \
	ROW(probe_node, AT_NODE_CONTAINER, NO_DOCKER)                                      \
	ROW(probe_device, AT_PROFILING, NULL)                                              \
	ROW(probe_devices, AT_DRIVER, NULL)                                                \
	ROW(probe_inotify, AT_INSTANCES, NULL)                                             \
	ROW(probe_inotify, AT_WATCHES, NULL)
#define NO_DOCKER "the remedy starts a container again, and the machine has no docker"

#endif
