/* os.h - interface of sources/os: tables, files, privileges, the sandbox, processes. Functions that
 * are not declared here are static. SPDX-License-Identifier: MIT */
#ifndef OS_H
#define OS_H

#include "base.h"

/* --- sources/os/tables.c: tables that grow ---------------------------------------------------- */

/* A table of rows of one type, whose memory grows with the number of rows in use. The owner of the
 * table has a pointer to the rows, which is NULL before the first row is used. New rows are filled
 * with zeros. */
struct table {
	void *rows;          /* address of the owner's variable that points to the rows */
	const char *name;    /* noun that messages use for the rows, for example "clients" */
	u32 size : 20;       /* size of a row in bytes */
	/* Size of the table's first growth step, in pages of 4 KiB. Each later step adds half of
	 * the table's size. */
	u32 first : 10;
	/* true after the first use of the table; this use reserves address space for the table if
	 * there is any */
	u32 begun : 1;
	/* true if the table has fewer rows (most) than its owner asked for, because address space
	 * was short */
	u32 cut : 1;
	u32 most; /* maximum number of rows; the first use reduces it if address space is short */
	u32 ready;           /* number of rows that have memory and may be used now */
	/* number of rows that could not be added since table_full() last returned this table */
	u32 dropped;
};

#define TABLE_OF(owner, row_bytes, most_rows, first_bytes, what) \
	{ .rows = &(owner), .name = (what), .size = (row_bytes), \
	  .first = ((first_bytes) + 4095) >> 12, .most = (most_rows) }
/* Initializer of a struct table for rows of the type to which `pointer` points. `pointer` is the
 * owner's variable, or a member of a struct, that will point to the rows. */
#define TABLE_ROW(pointer, most_rows, first_rows, what) \
	TABLE_OF(pointer, sizeof(*(pointer)), most_rows, (first_rows) * sizeof(*(pointer)), what)
/* Defines the struct `name`, which has a table t and the pointer to its rows: row i is
 * name.rows[i]. */
#define TABLE(type, name, most_rows, first_rows, what) \
	struct { struct table t; type *rows; } name = { \
		TABLE_ROW((name).rows, most_rows, first_rows, what), NULL \
	}

/* Defines a table whose rows are the bytes of one object, *pointer. The table is named like the
 * pointer, with _table at the end. Only the bytes up to the last one used take memory. */
#define TABLE_BYTES(pointer, first_bytes, what) \
	struct table pointer##_table = TABLE_OF(pointer, 1, sizeof(*(pointer)), first_bytes, what)

/* Reserves the address space of all tables, unless the first use of a table has done so. It must be
 * called before system calls are filtered. */
void tables_reserve(void);
/* Makes the row with index `row` of a table usable. Returns false, and counts the row as dropped,
 * if the table is full or no memory is left. */
bool table_has(struct table *t, size_t row);
/* Makes all rows of a table usable, or as many as memory allows. Returns the number of usable rows.
 * For a table that is passed to a function as one buffer. */
size_t table_all(struct table *t);
/* True if a table could once not grow, because memory or address space was short. An object that is
 * not found in a table may then exist nevertheless. */
extern bool tables_short;
/* Returns a table that has dropped rows since this function last returned it, and stores their
 * number in *dropped; NULL if there is no such table. */
const struct table *table_full(u32 *dropped);
/* Returns an empty buffer for text in the memory of a table of bytes. The buffer has the maximum
 * size of the table, or less if memory is short. */
struct buf table_buf(struct table *t);

/* --- sources/os/privilege.c: Linux capabilities that the user does not have ------------------- */

enum {
	MAY_READ = 1,    /* right to read kernel files that only root may read */
	MAY_WRITE = 2,   /* right to write files and folders of other users */
	MAY_PTRACE = 4,  /* right to read the files in /proc of other users' processes */
	MAY_PERF = 8,    /* right to count any perf event in any process */
	MAY_SYMBOLS = 16, /* right to read the addresses of kernel symbols */
	MAY_KILL = 32,   /* right to send signals to any process */
	MAY_BPF = 64, /* right to load a BPF program that lists the descriptors of all processes */
};

long privilege_begin(u8 may, u8 here, bool starts);
long privilege_keep(u8 may);
void privilege_drop(u8 may, u8 others);
u8 privilege_raise(u8 may);
void privilege_lower(u8 was);
void privilege_end(void);
bool privilege_from_file(void);
bool privilege_has(u8 may);
const char *privilege_getenv(const char *name);

/* --- sources/os/sandbox.c: seccomp filter and Landlock rules of this process ------------------ */

/* Groups of system calls that the seccomp filter can allow (CALLS_*). Each command of gpustat names
 * the groups that it needs. */
enum {
	CALLS_FILES = 1,     /* system calls that find and read files */
	CALLS_REPLACE = 2,   /* system calls that create a file, and rename it over another one */
	CALLS_WRITE = 4,     /* system calls that write existing files */
	CALLS_WATCH = 8,     /* system calls that find the processes which have a GPU device open */
	CALLS_PERF = 16,     /* system calls that read perf events */
	CALLS_OPEN_PERF = 32, /* system calls that open perf events */
	/* ioctl requests of DRM devices and OA streams (GPU performance counters) */
	CALLS_DRM = 64,
	CALLS_NET = 128,     /* system calls that send to and receive from an open socket */
	CALLS_CHILD = 256,   /* system calls that wait for the user's command and signal it */
	CALLS_SCREEN = 1024, /* ioctl requests that read and set a terminal's modes */
	/* pidfd_getfd(2): duplicates a descriptor of a process whose folder /proc/PID/fd may not be
	 * read */
	CALLS_GETFD = 2048,
};

/* The state of this process's sandbox: a seccomp filter and Landlock rules. */
struct sandbox {
	/* 0: the seccomp filter is in force; -ECANCELED: no filter was requested; else -errno */
	long filter;
	/* version of the kernel's Landlock ABI if Landlock rules are in force, or will be after
	 * sandbox_enter(); -ECANCELED: no rules were requested, or they were dropped on purpose;
	 * else -errno */
	long landlock;
};
extern struct sandbox sandbox;

void sandbox_begin_files(void);
void sandbox_folder(i32 fd, bool write);
bool sandbox_file(const char *path, bool write);
bool sandbox_ioctl(i32 fd, u32 request);
void sandbox_enter(u16 groups, i32 child);

/* --- sources/os/files.c: reading of small files below the folders of --proc and --sys --------- */

extern struct roots {
	/* descriptors of the root folders: those of --proc and --sys, or /proc and /sys; -1: not
	 * open */
	int proc, sys;
	const char *proc_name; /* path of the folder that --proc names; NULL: /proc */
	/* true if --proc was given: PIDs in its folder may be those of another system */
	bool proc_given;
	bool sys_given; /* true if --sys was given: the folder may be that of another system */
} roots;
extern struct fileio {
	long limit;          /* maximum number of open descriptors of this process */
	u32 calls; /* number of system calls for folders and small files so far, modulo 2^32 */
	/* number of descriptors of folders that are open, and of fdinfo files that stay open */
	i32 open_fds;
	/* number of transient errors so far (is_transient_error()): after such an error, the file
	 * or other object that could not be read may exist nevertheless */
	u32 transient;
	/* number of files and other objects that this run could not read; some of them are also
	 * counted in registry.dropped */
	u32 unread;
	/* text that messages show before the error: ": NAME: ", the name of the object that was
	 * last counted as unread, for example ": stat: "; ": " if the name is not known */
	char error_name[80];
	long error;          /* error (-errno) of the last object that could not be read; 0: none */
} fileio;
/* True if r is -errno of a transient error, after which it is unknown whether the object to be read
 * exists: no descriptor or memory was left, a signal came, or an I/O error occurred. */
bool is_transient_error(long r);
/* Counts an object, for example the file `name`, as unread: this run leaves it out, because reading
 * it failed with `error` (-errno). */
void files_note_missing(const char *name, long error);
long files_note_error(long r); /* counts r as a transient error if it is one (-errno); returns r */

/* A folder whose names are being listed. */
struct dir {
	int fd;
	/* number of bytes in the buffer p that directory entries use; 0: the end of the folder was
	 * reached; -errno: the folder can no longer be read */
	int n;
	int at; /* offset in the buffer p of the next directory entry */
	char *p;
	size_t cap;
	/* position in the folder at which dir_resume() continues the listing while the folder is
	 * closed */
	i64 place;
	/* buffer for directory entries (p points to it), unless dir_open_in() was called with
	 * another buffer */
	_Alignas(8) char b[2048];
};

/* openat(2), repeated if a signal interrupts it */
long open_retry(int at, const char *path, int flags);
long dir_open(struct dir *d, int at, const char *path);
/* Starts a listing of an open folder, whose descriptor fd dir_close() will close. fd may be -errno:
 * counts and returns this error then. */
long dir_adopt(struct dir *d, long fd);
void dir_suspend(struct dir *d);
bool dir_resume(struct dir *d, int at, const char *path);
/* Like dir_open(), with the caller's buffer p of cap bytes for the directory entries; p must exist
 * until dir_close(d). */
long dir_open_in(struct dir *d, int at, const char *path, char *p, size_t cap);
const char *dir_next(struct dir *d);
void dir_close(struct dir *d);
long slurp(int dir, const char *path, char *b, size_t cap);
long slurp_fd(int fd, char *b, size_t cap);
/* reads an open file into the table t, whose rows are bytes; see slurp_fd() */
long slurp_table_fd(int fd, struct table *t);
i64 setting_read(const char *path, i64 unknown);

/* Kinds of data that a gpustat whose file has capabilities can read, although its user may not. In
 * the order of the constants: kernel addresses; addresses, modules and paths of tasks of other
 * users; fields of tracepoints; addresses in programs on the GPU, those of all users. */
enum see { SEE_KERNEL_ADDRESSES, SEE_OTHERS_ADDRESSES, SEE_TRACEPOINT_FIELDS, SEE_GPU_ADDRESSES };
bool may_see(u8 what);
bool slurp_line(int dir, const char *path, char *b, size_t cap, struct str *line);
enum { TASK_PATH = 32 };
void task_path(char path[TASK_PATH], u32 id, const char *leaf);
/* signals that end a run of gpustat, which then prints the results so far */
extern const int stop_signals[3];
/* Settings of write_all(), which writes all output. */
extern struct writing {
	/* true after a signal has stopped the run: write_all() waits at most 2 s for a reader */
	volatile bool urgent;
	/* true if the output is binary, or known to be a regular file: write_all() does not split
	 * it at ends of lines, and does not ask what it is */
	bool whole;
} writing;
long write_all(int fd, const char *p, size_t n);

/* Lock of gpustat's libraries: each library call that uses tables holds it, so that only one thread
 * at a time uses the tables. */
extern int lib_lock;
/* opens /proc and /sys as root folders (struct roots), each unless the option --proc or --sys has
 * set it */
long roots_open(void);

/* --- sources/os/trace.c: tracing of the files that this run reads (optional) ------------------ */

/* Facts about a file that trace.c reports, in the order of the constants: it exists; it was opened;
 * it is a folder that was opened; it exists, but access was refused. */
enum traced { TRACED_THERE, TRACED_FILE, TRACED_FOLDER, TRACED_DENIED };

/* Functions that trace.c calls for each file below the --proc and --sys roots that gpustat finds or
 * reads. path: number of the file's path, for trace_path(); the path begins with "proc/" or "sys/",
 * and its symbolic links are not resolved. While one of these functions runs, it may use files
 * itself: these are not traced. */
struct tracer {
	/* returns true if gpustat may open the file; if false, gpustat's open(2) fails with
	 * -ENOENT */
	bool (*may_open)(u32 path);
	void (*found)(u32 path, enum traced what);
	/* called for each character device that gpustat has found; rdev: major and minor number of
	 * the device */
	void (*node)(u32 path, const u32 rdev[2]);
	/* returns true if the first read of the file has to return the whole file, so that
	 * content() gets it at once */
	bool (*whole)(u32 path);
	/* content: called with the n bytes in b that gpustat has read from the file. at: offset of
	 * the first byte; UINT64_MAX: where the previous read ended. link: called with the target
	 * of a symbolic link. n is -errno if reading failed. Both functions may change the bytes in
	 * b, and return the new number of bytes, at most cap, or -errno. */
	long (*content)(u32 path, char *b, long n, size_t cap, u64 at);
	long (*link)(u32 path, char *b, long n, size_t cap);
};

enum { TRACE_PATHS = 1 << 17 };

extern const struct tracer *tracer; /* the tracer in use; NULL: nothing is traced */
/* Returns the number of a path in the table of traced paths, and adds the path if it is new.
 * Returns 0 if the table is full. */
u32 trace_number(struct str path);
struct str trace_path(u32 number); /* returns the traced path that has this number */
extern u32 ntraced; /* number of traced paths; their numbers are 1 to ntraced */

/* --- sources/os/replace.c: atomic replacement of a file --------------------------------------- */

/* A file that is being replaced: its new content goes to a temporary file in the same folder, which
 * is then renamed. */
struct replacement {
	/* dir: descriptor of the file's folder; fd: descriptor of the temporary file; each is -1 if
	 * it is not open */
	int dir, fd;
	const char *base; /* name of the file that is replaced, without the folder */
	char name[256];   /* name of the temporary file */
};

long file_open(const char *path, int flags);
long file_slurp(const char *path, char *b, size_t cap);
long file_slurp_table(const char *path, struct table *t);
long replace_begin(struct replacement *f, const char *path);
void replace_clean(struct replacement *f);
long replace_open(struct replacement *f, u32 mode);
long replace_finish(struct replacement *f, long r);

/* --- sources/os/process.c: the child process that runs a command; signals and waits ----------- */

struct pollfd;
/* Descriptor that becomes readable when a stop signal (SIGINT, SIGTERM, SIGHUP) comes; -1: there is
 * none, because gpustat runs a command or tasks_catch() was not called. */
extern i32 tasks_wake;

/* Raises the limit on open descriptors of this process; the command that gpustat starts gets the
 * old limit. */
void files_raise(void);
void tasks_catch(bool command);
long tasks_wait(struct pollfd *fds, size_t n, i64 until);
int tasks_signal(void);
i32 tasks_overflow(void);
i64 next_due(i64 start, i64 due, i64 step);
/* True if a helper process starts the command and sends signals to it in every repetition. This
 * process may then drop the rights to fork and to send signals. */
extern bool child_forker;
void child_hooks(char **argv, const char *before, const char *after);
int child_hook(bool after);
long child_start(char **argv, bool repeats);
long child_release(void);
void child_abort(void);
bool child_ended(int *status);
void child_times(u64 *user, u64 *system);
bool children_ended(int *status);
void child_stop(bool at_once);
void tasks_notify(i32 fd);
long child_failure(void);

/* --- sources/os/tree.c: the processes that descend from this one ------------------------------ */

void tree_begin(void);
bool tree_has(u32 pid);
u32 tree_size(u32 *living);

#endif
