/*
 * remedies.h: which trial of remedies.c or oa.c makes the kernel refuse a call for each reason that
 * the program knows, and applies the remedy. Other tests compare these lists with the program's
 * tables, so that a new row without a trial is an error.
 */
#ifndef REMEDIES_H
#define REMEDIES_H

/* The rows of errors[] in sources/perf/perfevent.c, in their order: kind of event, error of
 * perf_event_open(2), state, trial. t_perfevent.c compares them. */
#define PERF_ERRORS(ROW)                                       \
	ROW(KIND_UPROBE, ENOENT, CS_NO_FILE, uprobe_no_file)     \
	ROW(KIND_UPROBE, EACCES, CS_UPROBE, uprobe_denied)       \
	ROW(KIND_UPROBE, EPERM, CS_UPROBE, uprobe_filtered)      \
	ROW(KIND_KPROBE, ENOENT, CS_NO_FUNCTION, kprobe_none)    \
	ROW(KIND_KPROBE, EADDRNOTAVAIL, CS_NO_FUNCTION, kprobe_several) \
	ROW(KIND_KPROBE, EINVAL, CS_NO_FUNCTION, kprobe_barred)  \
	ROW(KIND_KPROBE, EACCES, CS_KPROBE, kprobe_denied)       \
	ROW(KIND_KPROBE, EPERM, CS_LOCKDOWN, kprobe_filtered)    \
	ROW(KIND_HARDENED, EACCES, CS_HARDENED, hardened)        \
	ROW(KIND_SOFTWARE, ENOENT, CS_NO_SOFTWARE, software_unknown) \
	ROW(KIND_BREAKPOINT, EINVAL, CS_BREAKPOINT, breakpoint_odd) \
	ROW(KIND_BREAKPOINT, EOPNOTSUPP, CS_BREAKPOINT, breakpoint_refused) \
	ROW(KIND_BREAKPOINT, ENOENT, CS_BREAKPOINT, breakpoint_none) \
	ROW(KIND_TRACEFS, EACCES, CS_TRACEFS, tracefs_private)   \
	ROW(KIND_OTHERS, EACCES, CS_OTHERS, others_denied)       \
	ROW(KIND_OTHERS, EPERM, CS_OTHERS, others_filtered)      \
	ROW(KIND_ANY, EACCES, CS_DENIED, wide_denied)            \
	ROW(KIND_ANY, EPERM, CS_DENIED, wide_filtered)           \
	ROW(KIND_ANY, ESRCH, CS_GONE, process_gone)              \
	ROW(KIND_ANY, ENODEV, CS_OFFLINE, cpu_offline)           \
	ROW(KIND_ANY, ENOSPC, CS_NO_SLOT, breakpoints_all_used)  \
	ROW(KIND_ANY, EMFILE, CS_NO_FILES, files_of_process)     \
	ROW(KIND_ANY, ENFILE, CS_NO_FILES, files_of_machine)     \
	ROW(KIND_ANY, EINVAL, CS_REFUSED, settings_refused)      \
	ROW(KIND_ANY, E2BIG, CS_REFUSED, settings_too_big)       \
	ROW(KIND_ANY, ENOMEM, CS_NO_MEMORY, no_memory)           \
	ROW(KIND_ANY, ENOSYS, CS_NO_PERF, no_perf)

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

/* The rows of failures[] in sources/oa/oastream.c, in their order: call, errno (0: any), options
 * that were requested and not requested, name, reason why oa.c does not try the row; NULL: it does.
 * t_oalive.c compares them. */
#define OA_FAILURES(ROW) \
	ROW(C_NODE, ENOENT, 0, 0, NODE_NONE, NULL) \
	ROW(C_NODE, EACCES, 0, 0, NODE_DENIED, NULL) \
	ROW(C_NODE, 0, 0, 0, NODE_OTHER, NULL) \
	ROW(C_DRIVER, 0, BIT(A_OTHER), 0, DRIVER_OTHER, SELECTED) \
	ROW(C_DRIVER, 0, 0, 0, DRIVER_SILENT, NULL) \
	ROW(C_CLOCK, 0, 0, 0, CLOCK_UNKNOWN, NULL) \
	ROW(C_UNIT, 0, BIT(P_UNIT), 0, UNIT_NUMBER, NULL) \
	ROW(C_UNIT, 0, BIT(P_CLASS), 0, UNIT_ENGINE, NULL) \
	ROW(C_UNIT, 0, 0, 0, UNIT_NONE, NULL) \
	ROW(C_SET, 0, 0, 0, SET_REGISTERS, NULL) \
	ROW(C_FORMAT, EINVAL, 0, 0, FORMAT_NONE, NULL) \
	ROW(C_FORMAT, 0, 0, 0, FORMAT_UNKNOWN, NULL) \
	ROW(C_ADD, EACCES, BIT(A_XE), 0, ADD_DENIED_XE, NULL) \
	ROW(C_ADD, EACCES, 0, 0, ADD_DENIED, NULL) \
	ROW(C_ADD, EINVAL, 0, 0, ADD_REGISTER, NULL) \
	ROW(C_ADD, EADDRINUSE, 0, 0, ADD_THERE, NULL) \
	ROW(C_ADD, ENOTSUPP, 0, 0, ADD_NO_OA, NULL) \
	ROW(C_ADD, ENODEV, 0, 0, ADD_GONE, NULL) \
	ROW(C_ADD, 0, 0, 0, ADD_OTHER, NULL) \
	ROW(C_OPEN, ENOTSUPP, 0, 0, OPEN_NO_OA, NULL) \
	ROW(C_OPEN, ENODEV, BIT(P_SSEU), BIT(A_XE), OPEN_SLICES, NULL) \
	ROW(C_OPEN, ENODEV, BIT(A_XE), 0, OPEN_NO_OA_XE, NULL) \
	ROW(C_OPEN, ENODEV, 0, 0, OPEN_GONE, NULL) \
	ROW(C_OPEN, EACCES, BIT(A_RATE), 0, OPEN_RATE, NULL) \
	ROW(C_OPEN, EACCES, BIT(A_XE), 0, OPEN_DENIED_XE, NULL) \
	ROW(C_OPEN, EACCES, 0, 0, OPEN_DENIED, NULL) \
	ROW(C_OPEN, ENOENT, BIT(P_CTX), 0, OPEN_NO_CONTEXT, NULL) \
	ROW(C_OPEN, ENOENT, 0, 0, OPEN_LOST, NULL) \
	ROW(C_OPEN, EINVAL, BIT(P_HOLD), BIT(P_CTX), OPEN_HOLD, NULL) \
	ROW(C_OPEN, EINVAL, BIT(P_POLL), 0, OPEN_POLL, NULL) \
	ROW(C_OPEN, EINVAL, BIT(P_BUFFER), 0, OPEN_BUFFER, NULL) \
	ROW(C_OPEN, EINVAL, BIT(P_WAIT), 0, OPEN_WAIT, NULL) \
	ROW(C_OPEN, EINVAL, BIT(P_CLASS), 0, OPEN_ENGINE, NULL) \
	ROW(C_OPEN, EINVAL, BIT(P_SSEU), 0, OPEN_SSEU, NULL) \
	ROW(C_OPEN, EINVAL, BIT(P_CTX), 0, OPEN_CONTEXT, NULL) \
	ROW(C_OPEN, EINVAL, 0, 0, OPEN_FORMAT, NULL) \
	ROW(C_OPEN, ENOMEM, 0, 0, OPEN_NO_MEMORY, NULL) \
	ROW(C_OPEN, 0, 0, 0, OPEN_OTHER, NULL) \
	ROW(C_STALLS, 0, BIT(A_OTHER), 0, STALLS_I915, SELECTED) \
	ROW(C_STALLS, EINVAL, 0, 0, STALLS_OLD, NULL) \
	ROW(C_STALLS, ENODEV, 0, 0, STALLS_GPU, NULL) \
	ROW(C_STALLS, 0, 0, 0, STALLS_SILENT, SILENT) \
	ROW(C_GT, 0, 0, 0, STALLS_GT, NULL) \
	ROW(C_OPEN_STALLS, EACCES, 0, 0, STALLS_DENIED, NULL) \
	ROW(C_OPEN_STALLS, EINVAL, BIT(P_WAIT), 0, STALLS_WAIT, NULL) \
	ROW(C_OPEN_STALLS, EINVAL, 0, 0, STALLS_NO_EUS, NULL) \
	ROW(C_OPEN_STALLS, ENOMEM, 0, 0, STALLS_NO_MEMORY, NULL) \
	ROW(C_OPEN_STALLS, 0, 0, 0, STALLS_OTHER, NULL) \
	ROW(C_READ_STALLS, ENODEV, 0, 0, STALLS_RESET, NULL) \
	ROW(C_READ_STALLS, 0, 0, 0, STALLS_UNREADABLE, NULL) \
	ROW(C_READ, EIO, 0, 0, READ_STOPPED, NULL) \
	ROW(C_READ, ENOSPC, 0, 0, READ_LARGE, NULL) \
	ROW(C_READ, ENODEV, 0, 0, READ_GONE, NULL) \
	ROW(C_READ, 0, 0, 0, READ_OTHER, NULL)
#define SELECTED "no command opens such a device; t_oalive.c tests the row"
#define SILENT "the emulated driver answers the query; t_oalive.c tests the row"

#endif
