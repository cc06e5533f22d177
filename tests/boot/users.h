/*
 * users.h: an ordinary user, another user who runs a program in a private folder, and the
 * capabilities of the program's file. The including file defines devs[] of play.h.
 */
#ifndef USERS_H
#define USERS_H

#include <sys/xattr.h>

enum {
	OTHER = 1001,
	CAP_DAC_READ_SEARCH = 2,
	CAP_SYS_PTRACE = 19,
	CAP_SYS_ADMIN = 21,
	CAP_PERFMON = 38,
	CAP_BPF = 39
};

#define CAP(n) (1ull << (n))
#define SPIN_AT 0x5a5a5a5a5000ull /* the address at which the other user's program spins */
#define SECRET "/home/other/hidden-prog" /* its path, in a folder of mode 0700 */
#define FOLDER "/tmp/user" /* the current folder of the ordinary user */

/* ---- the other user's program ---- */

static int spin(void)
{
#ifdef __aarch64__
	static const unsigned char loop[] = { 0, 0, 0, 0x14 };
#else
	static const unsigned char loop[] = { 0xeb, 0xfe };
#endif
	void *at;

	/* the program under test gets the processor when it needs it */
	setpriority(PRIO_PROCESS, 0, 19);
	at = mmap((void *)SPIN_AT, 4096, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	if (at == MAP_FAILED)
		return 1;
	memcpy(at, loop, sizeof loop);
	__builtin___clear_cache(at, (char *)at + sizeof loop);
	if (mprotect(at, 4096, PROT_READ | PROT_EXEC))
		return 1;
	((void (*)(void))at)();
	return 0;
}

/* Runs as the command that gpustat or a user starts: word selects whether it ends, waits or spins. */
static int worker(const char *word)
{
	if (strcmp(word, "wait") == 0)
		pause();
	return strcmp(word, "spin") == 0 ? spin() : strcmp(word, "end") == 0 ? 0 : 126;
}

static void become(int id)
{
	if (setgroups(0, NULL) || setresgid(id, id, id) || setresuid(id, id, id))
		_exit(126);
}

static void copy(const char *from, const char *to, int mode)
{
	static char b[1 << 20];
	int in = open(from, O_RDONLY | O_CLOEXEC),
	    out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
	ssize_t n;

	if (in < 0 || out < 0)
		die(to);
	while ((n = read(in, b, sizeof b)) > 0)
		if (write(out, b, n) != n)
			die(to);
	close(in);
	close(out);
}

/* Starts a copy of this program as another user, which also holds a client of the GPU. */
static pid_t user_start(int id, const char *path, const char *word)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (open(devs[0].node, O_RDWR) < 0)
		_exit(1);
	become(id);
	execl(path, strrchr(path, '/') + 1, word, NULL);
	_exit(127);
}

/* Starts the other user's program, and makes the folder of the ordinary user. */
static pid_t other_start(void)
{
	if (mkdir("/home", 0755) || mkdir("/home/other", 0700) || mkdir(FOLDER, 0755) ||
	    chown("/home/other", OTHER, OTHER) || chown(FOLDER, NOBODY, NOBODY))
		die("folders");
	copy("/init", SECRET, 0755);
	if (chown(SECRET, OTHER, OTHER))
		die(SECRET);
	return user_start(OTHER, SECRET, "spin");
}

/* ---- the program's file ---- */

/* Puts the program into a file system that stores capabilities of files; all members of the
 * ordinary user's group may execute it. */
static void program_place(void)
{
	if (mkdir("/tmp", 0755) && errno != EEXIST)
		die("/tmp");
	if (mount("tmp", "/tmp", "tmpfs", 0, NULL))
		die("tmpfs");
	copy("/gpustat", "/tmp/gpustat", 0750);
	if (chown("/tmp/gpustat", 0, NOBODY) ||
	    mount("/tmp/gpustat", "/gpustat", NULL, MS_BIND, NULL))
		die("bind");
}

/* Sets the capabilities of the program's file (bits CAP()), as setcap(8) does: a vfs_cap_data of
 * revision 2, effective. 0: removes them. */
static void file_caps(unsigned long long caps)
{
	struct {
		unsigned magic;
		struct {
			unsigned permitted, inheritable;
		} data[2];
	} vfs = {
		0x02000001,
		{ { (unsigned)caps, 0 }, { (unsigned)(caps >> 32), 0 } },
	};

	removexattr("/gpustat", "security.capability");
	if (caps && setxattr("/gpustat", "security.capability", &vfs, sizeof vfs, 0))
		die("security.capability");
}

#endif
