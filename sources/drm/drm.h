/* drm.h - interface of sources/drm: client discovery, fdinfo, kfd, the file of --state. Functions
 * that are not declared here are static. SPDX-License-Identifier: MIT */
#ifndef DRM_H
#define DRM_H

#include "base.h"
#include "parse.h"
#include "counters.h"
#include "sources/os/os.h"

/* --- sources/drm/clients.c: DRM clients of a process, and their fdinfo files ------------------ */

/* Settings of sources/drm/clients.c that a command of gpustat makes: what to read besides the
 * counters of clients. */
extern struct fdinfo_scope {
	bool tasks;  /* true: read the names and cgroups of processes */
	/* true: store the lines of fdinfo whose keys drm-usage-stats does not define */
	bool others;
} fdinfo_scope;
/* function that is called after each reading of the clients, or NULL */
extern void (*fdinfo_hook)(void);
void fdinfo_put(struct client *c, struct str text, const struct fdhead *h, i64 t);
void new_engines_baseline(struct client *c, struct str driver);
u64 task_start(u32 pid);
bool task_is_foreign(int dir, u32 pid);

/* The state of an fd scan, which goes through all descriptors of one process. It may be interrupted
 * after each descriptor. */
struct fd_scan {
	struct dir d;
	/* stat(2) of the folder /proc/PID/fd, made when the scan began; zeros in a run with only
	 * one scan */
	struct stat st;
	/* number of descriptors that gpustat itself had open in order to scan, when this scan
	 * began */
	i32 own;
	/* pid: PID of the scanned process; no: number of this scan: the member `seen` of struct
	 * holder is set to it for each holder that the scan finds */
	u32 pid, no;
	/* n: number of descriptors listed so far; nseen: number of these that are holders, that is,
	 * through which the process holds a client */
	u32 n, nseen;
	/* open: the scan has not ended yet; over: nothing is left to list; refused: permission was
	 * denied */
	bool open, over, refused;
	/* true: the folder of the process is closed, because gpustat had no descriptor left; the
	 * scan opens it again when it continues */
	bool suspended;
	/* true: some descriptors of the process were not scanned, because gpustat had no descriptor
	 * or memory left */
	bool incomplete;
	/* true: the scan lists /proc/PID/fdinfo, because /proc/PID/fd cannot be opened */
	bool by_fdinfo;
	/* true: a descriptor was skipped, because reading its fdinfo could wake its device */
	bool asleep;
	/* true: the scan is part of the rescan, which has its own count of descriptors with unknown
	 * client */
	bool in_rescan;
	/* descriptor of the process from pidfd_open(2), if by_fdinfo is set and reading fdinfo
	 * could wake a device; otherwise -1 */
	int pidfd;
};

void fd_scan_begin(struct fd_scan *l, u32 pid, char *names, size_t cap);
bool fd_scan_step(struct fd_scan *l);
bool descriptor_found(u32 pid, u32 fd, unsigned maj, unsigned min);
void fd_scan_end(struct fd_scan *l, bool record);
void fd_scan_forget(const struct fd_scan *l);
u32 full_scan_begin(void);
void full_scan_forget(u32 scan);
void process_gone(u32 pid);
void compute_scan(void);
void task_describe(struct task *t);
void holder_verify(u32 n);
void clients_read(void);
void clients_drop(bool keep_orphans);
void clients_next_sample(void);
bool clients_orphaned(void);
void anonymous_resolve(void);
bool devices_woke(void);
void fdinfo_begin(void);
void fdinfo_close(void);
/* Number of holders that were added since gpustat started; the number never decreases. A holder is
 * a descriptor through which a process holds a client. */
extern u32 holders_found;

/* --- sources/drm/taskinfo.c: facts of processes (optional) ------------------------------------ */

void taskinfos_begin(bool (*shows)(u8 desc), const u32 *pids, size_t n);

/* --- sources/drm/discovery.c: which processes are scanned, and when --------------------------- */

extern const struct source src_fdinfo;

/* The estimated length of a rescan cycle, in which every descriptor of every process is scanned
 * once. */
struct rescan_facts {
	u64 descriptors;    /* number of descriptors of all processes */
	/* maximum number of samples that a rescan cycle takes; 0: unknown, or rescans are off */
	u64 samples;
	/* true: `samples` is computed from the number of system calls that the rescan made per
	 * sample, because it uses less than its budget */
	bool measured_pace;
	bool scanned;       /* true if at least one full scan of /proc has begun */
};

struct rescan_facts rescan_facts(void);
bool fd_scans_suspend(void);
bool any_node(void);
int namespace_is_inner(int proc, const char *link, const char *initial);
const char *proc_hidden_reason(void);
/* text that proc_hidden_reason() returns if the mount option hidepid of /proc hides processes */
extern const char proc_hidepid[];

/* --- sources/drm/iterator.c: BPF iterator over all descriptors of GPU nodes (optional) -------- */

/* State of the BPF iterator over descriptors. reason: why the iterator is not used; NULL if it was
 * loaded. denied: true if capabilities are missing. error: -errno of the file or system call that
 * `reason` names, or 0. */
struct iterator_state {
	const char *reason;
	long error;
	bool denied;
};

void iterator_load(bool always, bool no_node);
const struct iterator_state *iterator_state(void);
bool iterator_scan(void);

/* --- sources/drm/processes.c: the process table and the scan queues --------------------------- */

#define RESCAN_ALL UINT32_MAX

/* Limits of the rescan, which finds what inotify does not report. budget: system calls per sample;
 * 0: no rescan; RESCAN_ALL: a full scan in each sample. */
extern struct rescan {
	u32 budget;
	/* true: the rescan stops after 0.2 ms in each sample, even if its budget is not used up */
	bool timed;
} rescan;
/* returns true if the descriptors of the process may be scanned, because the options do not exclude
 * it; NULL: all processes may be scanned */
extern bool (*process_filter)(u32 pid);

/* The queues of processes whose descriptors wait for a scan. NOTIFIED: inotify has reported an open
 * of a device node, a client has lost its last known holder (descriptor), or a device has woken up.
 * NEW: the process is new. CHANGED: the process's number of descriptors has changed, or the last
 * scan of its descriptors was incomplete. */
enum scan_queue { QUEUE_NOTIFIED, QUEUE_NEW, QUEUE_CHANGED, QUEUES };

/* Large buffers for names of directory entries, so that listing a folder needs few system calls.
 * They can be used after proc_list_begin(true) has opened /proc. */
extern struct scan_names {
	char proc[32 << 10]; /* room for the names of about 1000 processes in /proc */
	char fds[32 << 10];  /* room for the names of about 1300 descriptors of one process */
} *scan_names;

bool pid_is_self(u32 pid);
void proc_list_begin(bool at_once);
void proc_list_end(void);
bool proc_list_is_open(void);
u32 proc_list_next(void (*gone)(u32 pid));
bool proc_list_suspend(void);
bool process_changed(u32 pid, bool notice);
void process_enqueue(u32 pid, bool notice);
u32 process_dequeue(u8 queue);
bool processes_notified(void);
u32 process_after(u32 pid);
bool process_is_stale(u32 pid);
void processes_enqueue_asleep(void);

bool kernel_counts_fds(void);
void process_scanned(u32 pid, const struct stat *st, i32 own, u32 n, bool refused, bool asleep);
/* number of processes whose descriptors gpustat has no permission to read */
u32 processes_refused(void);
u32 processes_known(void);    /* number of rows of the process table */
u32 processes_unlisted(void); /* number of processes that had no room in the process table */

/* --- sources/drm/state.c: the readings of the last run, kept in a file ------------------------ */

const char *state_load(const char *path, bool filtered, i64 *age);
void state_sample(void);
long state_save(const char *path);

/* --- sources/drm/kfd.c: compute processes of amdgpu, which hold no DRM file ------------------- */

bool kfd_scan(void (*found)(u32 pid, u32 device, u32 slot));
bool kfd_read(struct client *c, u32 pid, i64 t);

#endif
