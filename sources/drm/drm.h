/* drm.h - interface of sources/drm: client discovery, fdinfo, kfd, the file of --state. Functions
 * that are not declared here are static. SPDX-License-Identifier: MIT */
#ifndef DRM_H
#define DRM_H

#include "base.h"
#include "parse.h"
#include "counters.h"
#include "sources/os/os.h"

/* --- sources/drm/clients.c: DRM clients of a process, and their fdinfo files ------------------ */

/* Settings that a command of gpustat makes: data to read besides the counters of clients. */
extern struct fdinfo_wants {
	bool tasks;  /* true: read the names and cgroups of processes */
	/* true: store the lines of fdinfo whose keys drm-usage-stats does not define */
	bool others;
} fdinfo_wants;
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
	struct stat st; /* stat(2) of the folder /proc/PID/fd when the scan began */
	i32 own; /* number of descriptors that gpustat had open for scans when this one began */
	/* PID of the scanned process; number of this scan, which is stored in struct holder's
	 * `seen` */
	u32 pid, no;
	/* number of descriptors listed so far; number of those that hold a known client */
	u32 n, nseen;
	/* open: the scan has not ended yet; over: nothing is left to list; refused: permission was
	 * denied */
	bool open, over, refused;
	bool suspended; /* the scan's folder is closed for now, because descriptors ran out */
	bool incomplete; /* some descriptors were not scanned: too few descriptors or memory */
	bool by_fdinfo; /* the scan lists fdinfo/, because fd/ cannot be opened */
	bool asleep;    /* a descriptor was skipped, because reading it could wake its device */
	/* the scan is part of the rescan, which counts descriptors of unknown clients separately */
	bool in_rescan;
	/* pidfd of the process if by_fdinfo is set and reading fdinfo could wake a device;
	 * otherwise -1 */
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
/* number of descriptors of clients (holders) that were added since the start */
extern u32 holders_found;

/* --- sources/drm/taskinfo.c: facts of processes (optional) ------------------------------------ */

void taskinfos_begin(bool (*shows)(u8 desc), const u32 *pids, size_t n);

/* --- sources/drm/discovery.c: which processes are scanned, and when --------------------------- */

extern const struct source src_fdinfo;

/* Facts about the length of a rescan cycle, in which every descriptor of every process is scanned
 * once. */
struct rescan_facts {
	u64 descriptors;    /* number of descriptors of all processes */
	/* maximum number of samples that a rescan cycle takes; 0: unknown, or there is no rescan */
	u64 samples;
	/* true: `samples` is computed from the measured number of system calls per sample */
	bool measured_pace;
	bool scanned;       /* true if at least one full scan of /proc has begun */
};

struct rescan_facts rescan_facts(void);
bool fd_scans_suspend(void);
bool any_node(void);
int namespace_is_inner(int proc, const char *link, const char *initial);
const char *proc_hidden_reason(void);
/* text of proc_hidden_reason() if the mount option hidepid hides processes */
extern const char proc_hidepid[];

/* --- sources/drm/iterator.c: BPF iterator over all descriptors of GPU nodes (optional) -------- */

/* State of the kernel's iterator of descriptors (BPF). reason: why it is not used; NULL if it was
 * loaded. denied: capabilities are missing. error: -errno of the file or system call that `reason`
 * names, or 0. */
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
	bool timed; /* the rescan stops after 0.2 ms in each sample, even if calls are left */
} rescan;
/* returns true for a process that may be scanned; NULL: all */
extern bool (*process_filter)(u32 pid);

/* The queues of processes whose descriptors are to be scanned. NOTIFIED: inotify, a lost client or
 * a device that woke up points at the process. NEW: the process is new. CHANGED: its descriptor
 * count has changed, or its last scan was incomplete. */
enum scan_queue { QUEUE_NOTIFIED, QUEUE_NEW, QUEUE_CHANGED, QUEUES };

/* Large buffers for the names in a folder, so that listing it needs few system calls. They can be
 * used after proc_list_begin(true) has opened /proc. */
extern struct scan_names {
	char proc[32 << 10]; /* room for the names of about 1000 processes in /proc */
	char fds[32 << 10];  /* room for the names of about 1300 descriptors of one process */
} *scan_names;

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
u32 processes_refused(void);  /* number of processes whose descriptors may not be read */
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
