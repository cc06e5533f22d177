/* os.h - interface of sources/os: tables, files, privileges, the sandbox, processes. Functions that
 * are not declared here are static. SPDX-License-Identifier: MIT */
#ifndef OS_H
#define OS_H

#include "base.h"

/* --- sources/os/tables.c: tables that grow ---------------------------------------------------- */

/* A table of rows of one type. The owner has a pointer to the rows, which is NULL before the first
 * row is used. New rows are filled with zeros. */
struct table {
	void *rows;          /* address of the owner's pointer */
	const char *name;    /* what the rows hold, for messages: "clients" */
	u32 size : 20;       /* bytes of a row */
	u32 first : 10;      /* pages of 4 KiB in the first step; later steps add half the size */
	u32 begun : 1;       /* it was used: address space has been reserved, if there was any */
	u32 cut : 1;         /* address space was too short for `most` rows */
	u32 most;            /* maximum number of rows; reduced at the first use if it is cut */
	u32 ready;           /* rows that may be used now */
	u32 dropped;         /* rows that had no room since table_full() last returned it */
};

#define TABLE_OF(owner, row_bytes, most_rows, first_bytes, what) \
	{ .rows = &(owner), .name = (what), .size = (row_bytes), \
	  .first = ((first_bytes) + 4095) >> 12, .most = (most_rows) }
/* Initializes the table of a pointer, which may be a member of the owner's state. */
#define TABLE_ROW(pointer, most_rows, first_rows, what) \
	TABLE_OF(pointer, sizeof(*(pointer)), most_rows, (first_rows) * sizeof(*(pointer)), what)
/* A table with its pointer: the rows are name.rows[i], the table is name.t. */
#define TABLE(type, name, most_rows, first_rows, what) \
	struct { struct table t; type *rows; } name = { \
		TABLE_ROW((name).rows, most_rows, first_rows, what), NULL \
	}

/* The same for the bytes of one object, which is used up to some byte. */
#define TABLE_BYTES(pointer, first_bytes, what) \
	struct table pointer##_table = TABLE_OF(pointer, 1, sizeof(*(pointer)), first_bytes, what)

/* Reserves the address space of all tables; else the first use of a table does it. It must be
 * called before system calls are filtered. */
void tables_reserve(void);
/* Makes the row usable. False: there is no room, and the row is counted as dropped. */
bool table_has(struct table *t, size_t row);
/* Makes all rows usable, or as many as there is room for. Returns how many. For tables that are
 * passed on as one buffer. */
size_t table_all(struct table *t);
/* A table could not grow: memory or address space is short. An object that was not found may be one
 * that had no room. */
extern bool tables_short;
/* Returns the next table that dropped rows since it was last returned, and how many; NULL: none. */
const struct table *table_full(u32 *dropped);
/* Returns an empty buffer on all bytes of a table, or on as many as there is room for. */
struct buf table_buf(struct table *t);

/* --- sources/os/privilege.c: capabilities beyond those of the user ---------------------------- */

enum {
	MAY_READ = 1,    /* kernel files that only root may read */
	MAY_WRITE = 2,   /* files and folders of other users */
	MAY_PTRACE = 4,  /* read processes of other users */
	MAY_PERF = 8,    /* count any event in any process */
	MAY_SYMBOLS = 16, /* read the kernel's addresses */
	MAY_KILL = 32,   /* signal any process */
	MAY_BPF = 64,    /* load the iterator of descriptors */
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

/* Groups of system calls that a command needs. */
enum {
	CALLS_FILES = 1,     /* find and read files */
	CALLS_REPLACE = 2,   /* create a file, and rename it over another one */
	CALLS_WRITE = 4,     /* write existing files */
	CALLS_WATCH = 8,     /* find the processes that have a device open */
	CALLS_PERF = 16,     /* read perf events */
	CALLS_OPEN_PERF = 32, /* open perf events */
	CALLS_DRM = 64,      /* ioctls of devices and OA streams */
	CALLS_NET = 128,     /* use a connection */
	CALLS_CHILD = 256,   /* start a command, and wait for it */
	CALLS_SCREEN = 1024, /* a terminal's modes */
	CALLS_GETFD = 2048,  /* duplicate descriptors of processes whose fd/ may not be read */
};

struct sandbox {
	long filter;   /* 0, or -errno if there is none; -ECANCELED: not requested */
	long landlock; /* version of its ABI, or -errno */
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
	const char *proc_name; /* NULL: /proc */
	bool proc_given;       /* --proc: its pids may be those of another system */
	bool sys_given;
} roots;
extern struct fileio {
	long limit;          /* descriptors that may be open */
	u32 calls;           /* system calls made on folders and small files, modulo 2^32 */
	i32 open_fds;        /* descriptors that scans and clients have open now */
	u32 transient;       /* transient errors: the object may exist */
	u32 unread;          /* objects not read in this run; some are in registry.dropped */
	char error_name[80]; /* ": NAME: " of the last such object, or ": " */
	long error;          /* -errno of the last such object or unreadable file; 0: none */
} fileio;
/* Returns whether an error says nothing about the object: no descriptor or memory was left, a
 * signal came, or the medium failed. */
bool is_transient_error(long r);
void files_note_missing(const char *name, long error); /* counts an object left out */
long files_note_error(long r); /* counts r if it is a transient error; returns r */

struct dir {
	int fd;
	int n;  /* bytes in p; 0: at the end; -errno: the folder vanished */
	int at; /* offset of the next name */
	char *p;
	size_t cap;
	i64 place; /* file offset to continue at, while it is suspended */
	_Alignas(8) char b[2048];
};

long open_retry(int at, const char *path, int flags); /* retries after a signal */
long dir_open(struct dir *d, int at, const char *path);
long dir_adopt(struct dir *d, long fd); /* fd: of an open folder, or -errno */
void dir_suspend(struct dir *d);
bool dir_resume(struct dir *d, int at, const char *path);
/* Like dir_open(), with a larger buffer p for the names; p must live as long as d. */
long dir_open_in(struct dir *d, int at, const char *path, char *p, size_t cap);
const char *dir_next(struct dir *d);
void dir_close(struct dir *d);
long slurp(int dir, const char *path, char *b, size_t cap);
long slurp_fd(int fd, char *b, size_t cap);
long slurp_table_fd(int fd, struct table *t); /* the table grows as the file is read */
bool slurp_line(int dir, const char *path, char *b, size_t cap, struct str *line);
enum { TASK_PATH = 32 };
void task_path(char path[TASK_PATH], u32 id, const char *leaf);
extern const int stop_signals[3]; /* signals that end a run; its results so far are printed */
/* How write_all() writes. */
extern struct writing {
	volatile bool urgent; /* the run was stopped: it waits two seconds at most */
	bool binary;          /* the output has no lines: it is not cut */
} writing;
long write_all(int fd, const char *p, size_t n);

/* For the libraries. lib_lock: only one call at a time uses tables. */
extern int lib_lock;
long roots_open(void); /* opens /proc and /sys as the roots that are not open yet */

/* --- sources/os/trace.c: files that this run finds and reads, an optional feature ------------- */

enum traced { TRACED_THERE, TRACED_FILE, TRACED_FOLDER, TRACED_DENIED };

/* The functions that are called for each file below the roots. Its path begins with "proc/" or
 * "sys/", with links as the program used them; it is a number, see trace_path(). While one of them
 * runs, nothing is traced. */
struct tracer {
	bool (*may_open)(u32 path); /* false: the program gets -ENOENT */
	void (*found)(u32 path, enum traced what);
	void (*node)(u32 path, const u32 rdev[2]); /* a character device */
	bool (*whole)(u32 path); /* the first read goes on to the end of the file */
	/* The bytes that were read at an offset, UINT64_MAX: after those before, and the texts of
	 * links. They may be changed. Both return the new length, at most cap, or -errno. */
	long (*content)(u32 path, char *b, long n, size_t cap, u64 at);
	long (*link)(u32 path, char *b, long n, size_t cap);
};

enum { TRACE_PATHS = 1 << 17 };

extern const struct tracer *tracer; /* NULL: nothing is traced */
u32 trace_number(struct str path); /* of a path, which is added if it is new; 0: no room */
struct str trace_path(u32 number);
extern u32 ntraced; /* the numbers are 1 to ntraced */

/* --- sources/os/replace.c: atomic replacement of a file --------------------------------------- */

struct replacement {
	int dir, fd; /* fd: of the temporary file in the same folder; -1: there is none */
	const char *base;
	char name[256];
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
extern i32 tasks_wake;

/* Raises the limit on open descriptors for this process, but not for the command that it starts. */
void files_raise(void);
void tasks_catch(bool command);
long tasks_wait(struct pollfd *fds, size_t n, i64 until);
int tasks_signal(void);
i32 tasks_overflow(void);
i64 next_due(i64 start, i64 due, i64 step);
/* A helper process forks and signals the command's processes, run after run, so that this process
 * does not need the right to do so. */
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
