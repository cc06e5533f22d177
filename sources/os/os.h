/* os.h - interface of sources/os: tables, files, privileges, the sandbox, processes. Functions that
 * are not declared here are static. SPDX-License-Identifier: MIT */
#ifndef OS_H
#define OS_H

#include "base.h"

/* --- sources/os/tables.c: tables that grow ---------------------------------------------------- */

/* A table of rows of one type that grows as rows are used. Its owner has a pointer to the rows,
 * which is NULL before the first row is used. New rows are filled with zeros. */
struct table {
	void *rows;          /* address of the owner's pointer to the rows */
	const char *name;    /* noun for the rows in messages: "clients" */
	u32 size : 20;       /* bytes of a row */
	/* A table grows in steps: size of the first step, in pages of 4 KiB. Later steps add half
	 * of the table's size. */
	u32 first : 10;
	u32 begun : 1;       /* the table has been used: it has address space, if any was left */
	u32 cut : 1; /* address space was too short for the `most` rows that the owner asked for */
	u32 most;            /* maximum number of rows; the first use reduces it if cut is set */
	u32 ready;           /* number of rows that may be used now */
	/* number of times that a row had no room, since table_full() last returned this table */
	u32 dropped;
};

#define TABLE_OF(owner, row_bytes, most_rows, first_bytes, what) \
	{ .rows = &(owner), .name = (what), .size = (row_bytes), \
	  .first = ((first_bytes) + 4095) >> 12, .most = (most_rows) }
/* Initializes a table whose rows the owner's pointer will point to. The pointer may be a member of
 * a struct. */
#define TABLE_ROW(pointer, most_rows, first_rows, what) \
	TABLE_OF(pointer, sizeof(*(pointer)), most_rows, (first_rows) * sizeof(*(pointer)), what)
/* Defines a table together with the pointer to its rows: the rows are name.rows[i], the table is
 * name.t. */
#define TABLE(type, name, most_rows, first_rows, what) \
	struct { struct table t; type *rows; } name = { \
		TABLE_ROW((name).rows, most_rows, first_rows, what), NULL \
	}

/* Defines the table pointer_table, whose rows are the bytes of one object, *pointer. Only the bytes
 * up to the last one used take memory. */
#define TABLE_BYTES(pointer, first_bytes, what) \
	struct table pointer##_table = TABLE_OF(pointer, 1, sizeof(*(pointer)), first_bytes, what)

/* Reserves the address space of all tables, unless the first use of a table has done so. It must be
 * called before system calls are filtered. */
void tables_reserve(void);
/* Makes the row with this index usable. Returns false, and counts the row as dropped, if the table
 * is full or no memory is left. */
bool table_has(struct table *t, size_t row);
/* Makes all rows of a table usable, or as many as memory allows. Returns the number of usable rows.
 * For tables that are passed to a function as one buffer. */
size_t table_all(struct table *t);
/* True after a table could not grow because memory or address space was short. Then an object that
 * is not found in a table may exist: the table may have had no room for it. */
extern bool tables_short;
/* Returns a table that has dropped rows since this function last returned it, and stores their
 * number in *dropped; NULL if there is no such table. */
const struct table *table_full(u32 *dropped);
/* Returns an empty buffer that uses all bytes of a table, or as many as memory allows. */
struct buf table_buf(struct table *t);

/* --- sources/os/privilege.c: capabilities beyond those of the user ---------------------------- */

enum {
	MAY_READ = 1,    /* read kernel files that only root may read */
	MAY_WRITE = 2,   /* write files and folders of other users */
	MAY_PTRACE = 4,  /* read processes of other users */
	MAY_PERF = 8,    /* count any event in any process */
	MAY_SYMBOLS = 16, /* read addresses of kernel symbols */
	MAY_KILL = 32,   /* signal any process */
	MAY_BPF = 64,    /* load the BPF iterator over the descriptors of all processes */
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

/* --- sources/os/sandbox.c: limits on later system calls and files ----------------------------- */

/* Groups of system calls: a command needs one or more of them. */
enum {
	CALLS_FILES = 1,     /* find and read files */
	CALLS_REPLACE = 2,   /* create a file, and rename it over another one */
	CALLS_WRITE = 4,     /* write existing files */
	CALLS_WATCH = 8,     /* find the processes that have a device open */
	CALLS_PERF = 16,     /* read perf events */
	CALLS_OPEN_PERF = 32, /* open perf events */
	CALLS_DRM = 64,      /* ioctls of DRM devices and OA streams */
	CALLS_NET = 128,     /* send to and receive from an open socket */
	CALLS_CHILD = 256,   /* wait for the command that was started before, and signal it */
	CALLS_SCREEN = 1024, /* read and set a terminal's modes */
	CALLS_GETFD = 2048,  /* duplicate descriptors of processes whose fd/ may not be read */
};

/* The parts of the sandbox that this process has. */
struct sandbox {
	long filter;   /* seccomp filter: 0, or -errno if none; -ECANCELED: not requested */
	/* version of the kernel's Landlock ABI, or -errno if Landlock is not used; -ECANCELED: not
	 * requested, or the rules were dropped on purpose */
	long landlock;
};
extern struct sandbox sandbox;

void sandbox_close_files(void);
void sandbox_folder(i32 fd, bool write);
bool sandbox_file(const char *path, bool write);
bool sandbox_ioctl(i32 fd, u32 request);
void sandbox_enter(u16 groups, i32 child);

/* --- sources/os/files.c: small files below the two roots -------------------------------------- */

extern struct roots {
	int proc, sys;         /* descriptors of --proc and --sys; -1: not open */
	const char *proc_name; /* folder of --proc; NULL: /proc */
	bool proc_given;       /* --proc was given: PIDs in it may be those of another system */
	bool sys_given;        /* --sys was given */
} roots;
extern struct fileio {
	long limit;          /* maximum number of open descriptors of this process */
	u32 calls; /* number of system calls made on folders and small files, modulo 2^32 */
	i32 open_fds;        /* number of descriptors that scans and clients have open now */
	u32 transient;       /* number of transient errors: after one, the object may exist */
	/* number of files and other objects that could not be read in this run; registry.dropped
	 * counts some of them too */
	u32 unread;
	char error_name[80]; /* ": NAME: " of the object that was last counted as unread, or ": " */
	long error;          /* -errno of the last object that could not be read; 0: none */
} fileio;
/* True if r is a transient error (-errno), which does not tell whether the object exists: no
 * descriptor or memory was left, a signal came, or an I/O error occurred. */
bool is_transient_error(long r);
/* Counts an object, for example a file, that this run leaves out because of error (-errno). */
void files_note_missing(const char *name, long error);
long files_note_error(long r); /* if r (-errno) is a transient error, counts it; returns r */

/* A folder whose names are being listed. */
struct dir {
	int fd;
	/* number of bytes of directory entries in p; 0: at the end of the folder; -errno: the
	 * folder can no longer be read */
	int n;
	int at; /* offset of the next directory entry in p */
	char *p;
	size_t cap;
	i64 place; /* file offset at which dir_resume() continues, while the folder is closed */
	_Alignas(8) char b[2048]; /* the buffer p, unless dir_open_in() was given another one */
};

long open_retry(int at, const char *path, int flags); /* openat(), repeated after EINTR */
long dir_open(struct dir *d, int at, const char *path);
/* Starts a listing of the open folder fd; an fd that is -errno is counted and returned. */
long dir_adopt(struct dir *d, long fd);
void dir_suspend(struct dir *d);
bool dir_resume(struct dir *d, int at, const char *path);
/* Like dir_open(), with the caller's buffer p for the directory entries; p must live as long as
 * d. */
long dir_open_in(struct dir *d, int at, const char *path, char *p, size_t cap);
const char *dir_next(struct dir *d);
void dir_close(struct dir *d);
long slurp(int dir, const char *path, char *b, size_t cap);
long slurp_fd(int fd, char *b, size_t cap);
long slurp_table_fd(int fd, struct table *t); /* t: table of bytes, which grows as necessary */
i64 setting_read(const char *path, i64 unknown);

/* Data that gpustat can read with the capabilities of its program file, although its user may not:
 * addresses of the kernel; addresses, modules and paths of other users' tasks; the fields of
 * tracepoints; addresses of programs on the GPU, which are of all users. */
enum see { SEE_KERNEL_ADDRESSES, SEE_OTHERS_ADDRESSES, SEE_TRACEPOINT_FIELDS, SEE_GPU_ADDRESSES };
bool may_see(u8 what);
bool slurp_line(int dir, const char *path, char *b, size_t cap, struct str *line);
enum { TASK_PATH = 32 };
void task_path(char path[TASK_PATH], u32 id, const char *leaf);
extern const int stop_signals[3]; /* signals that end a run; results so far are printed */
/* How write_all() writes. */
extern struct writing {
	volatile bool urgent; /* a signal has stopped the run: wait for a reader 2 s at most */
	bool binary;          /* output to a pipe is binary: do not split it at ends of lines */
} writing;
long write_all(int fd, const char *p, size_t n);

/* For the libraries. lib_lock: held by each library call that uses tables, so that only one thread
 * at a time uses them. */
extern int lib_lock;
long roots_open(void); /* opens /proc and /sys as roots, for each root that is not open yet */

/* --- sources/os/trace.c: files that this run finds and reads, an optional feature ------------- */

/* Reports of trace.c about a file: it exists; it was opened; it is a folder that was opened; it
 * exists, but access was refused. */
enum traced { TRACED_THERE, TRACED_FILE, TRACED_FOLDER, TRACED_DENIED };

/* Functions that trace.c calls for each file below the --proc and --sys roots that the program
 * finds or reads. path: number of the file's path, for trace_path(). The path begins with "proc/"
 * or "sys/"; symbolic links in it are not resolved. While one of these functions runs, nothing is
 * traced. */
struct tracer {
	bool (*may_open)(u32 path); /* false: the program's open() of the file returns -ENOENT */
	void (*found)(u32 path, enum traced what);
	/* reports a character device; rdev: its major and minor number */
	void (*node)(u32 path, const u32 rdev[2]);
	bool (*whole)(u32 path); /* true: the first read of the file reads it to its end */
	/* content: receives the n bytes in b that the program read at file offset at; UINT64_MAX:
	 * at the end of the read before. link: receives the target of a symbolic link. n is -errno
	 * if the read failed. Both may change the bytes, and return the new length, at most cap,
	 * or -errno. */
	long (*content)(u32 path, char *b, long n, size_t cap, u64 at);
	long (*link)(u32 path, char *b, long n, size_t cap);
};

enum { TRACE_PATHS = 1 << 17 };

extern const struct tracer *tracer; /* the tracer in use; NULL: nothing is traced */
/* Returns the number of a path, which is added if it is new. 0 if the table is full. */
u32 trace_number(struct str path);
struct str trace_path(u32 number); /* returns the path with this number */
extern u32 ntraced; /* number of known paths: their numbers are 1 to ntraced */

/* --- sources/os/replace.c: atomic replacement of a file --------------------------------------- */

/* A file that is being replaced: its new content goes to a temporary file in the same folder, which
 * is then renamed. */
struct replacement {
	int dir, fd; /* descriptors of the folder, and of the temporary file or -1 */
	const char *base; /* name of the file to replace, without its folder */
	char name[256];   /* name of the temporary file */
};

long file_open(const char *path, int flags);
long file_slurp(const char *path, char *b, size_t cap);
long file_slurp_table(const char *path, struct table *t);
long replace_begin(struct replacement *f, const char *path);
void replace_clean(struct replacement *f);
long replace_open(struct replacement *f, u32 mode);
long replace_finish(struct replacement *f, long r);

/* --- sources/os/process.c: the child that runs a command, signals and waits ------------------- */

struct pollfd;
extern i32 tasks_wake; /* descriptor that becomes readable when a stop signal comes, or -1 */

/* Raises the limit on open descriptors for this process, but not for the command that it starts. */
void files_raise(void);
void tasks_catch(bool command);
long tasks_wait(struct pollfd *fds, size_t n, i64 until);
int tasks_signal(void);
i32 tasks_overflow(void);
i64 next_due(i64 start, i64 due, i64 step);
/* True if a helper process forks and signals the command's process in every repetition, so that
 * this process can drop the right to do so. */
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
