/* messages.c - messages on standard error, and the texts of errors. SPDX-License-Identifier: MIT */
#include "commands/shared/shared.h"
#include "built.h"
#include "sources/os/os.h"
#include "sys.h"

char last_message[512];

bool is_check(void)
{
	return opt.cmd && opt.cmd->with & WITH_CHECK;
}

enum {
	/* number of bytes that a message shows of a text that is too long */
	BEGIN_BYTES = 48,
	/* room for BEGIN_BYTES bytes, each written as \xNN, and for "..." */
	PART_BYTES = 4 * BEGIN_BYTES + 3,
};

/* Appends one text of a message. If it does not fit, appends only its first BEGIN_BYTES bytes and
 * "...". */
static void put_part(struct buf *b, struct str s)
{
	size_t n = b->n;

	put_text(b, s);
	if (!b->full || str_len(s) <= BEGIN_BYTES)
		return;
	b->n = n;
	b->full = false;
	for (s.e = s.p + BEGIN_BYTES; ((u8)*s.e & 0xc0) == 0x80 && s.e > s.p; s.e--)
		; /* if a UTF-8 character was cut, move s.e back to its first byte */
	put_text(b, s);
	put_z(b, "...");
}

/* Prints a message on standard error: who, ": ", and the texts a, b and c, each of which may be
 * NULL. In the command check, stores the message in last_message instead, because the plugin prints
 * it in its line on standard output. */
void say_as(const char *who, const char *a, const char *b, const char *c)
{
	const char *const parts[] = { who, ": ", a, b, c };
	char text[1024];
	bool kept = is_check();
	size_t cap = kept ? sizeof(last_message) - 1 : sizeof(text) - 1;
	struct buf m = { .p = kept ? last_message : text };

	if (opt.quiet && !kept)
		return;
	for (size_t i = kept ? 2 : 0; i < LEN(parts); i++) {
		m.cap = cap;
		for (size_t later = i + 1; later < LEN(parts); later++) {
			size_t max = 4 * str_len(str_z(parts[later]));

			m.cap -= max < PART_BYTES ? max : PART_BYTES;
		}
		put_part(&m, str_z(parts[i]));
	}
	if (kept) {
		last_message[m.n] = '\0';
		return;
	}
	text[m.n++] = '\n';
	sys_write(2, text, m.n);
}

void say(const char *a, const char *b, const char *c)
{
	say_as("gpustat", a, b, c);
}

void say_z(const char *z)
{
	say(z, NULL, NULL);
}

void say_number(u64 n, const char *what)
{
	char text[24];
	struct buf b = BUF_Z(text);

	put_u64(&b, n);
	say(buf_z(&b), what, NULL);
}

/* Returns how many values or entities were left out because there was no room in memory. Files that
 * could not be read are not counted: another message reports them. */
u64 without_room(void)
{
	return registry.dropped > fileio.unread ? registry.dropped - fileio.unread : 0;
}

/* Prints a message for each table that was full, with the number of rows left out. Returns false if
 * no table was full. */
bool say_full(void)
{
	bool any = false;
	u32 dropped;

	for (const struct table *t; (t = table_full(&dropped)); any = true) {
		char text[96];
		struct buf b = BUF_Z(text);

		put_z(&b, ": room for ");
		put_u64(&b, t->ready);
		put_z(&b, " only, ");
		put_u64(&b, dropped);
		put_z(&b, " left out");
		say(t->name, buf_z(&b), NULL);
	}
	return any;
}

/* Prints which tables were full. If no table was full, but values were left out because other
 * memory was full (without_room()), prints their number. */
void say_dropped(void)
{
	if (!say_full() && without_room())
		say_number(without_room(), " values were left out: gpustat's tables are full");
}

/* Prints, if --verbose was given, how many readings of sensors were not plausible, and the last of
 * them. */
void say_implausible(void)
{
	const struct implausible *i = &registry.implausible;
	char text[256];
	struct buf b = BUF_Z(text);

	if (!i->total || !opt.verbose)
		return;
	put_u64(&b, i->total);
	put_z(&b, i->total == 1 ? " reading was not plausible and is unknown: " :
		  " readings were not plausible and are unknown; the last one: ");
	put_z(&b, i->where);
	put_z(&b, ": ");
	put_z(&b, ranges[i->range].what);
	put_c(&b, ' ');
	if (i->range == RG_BYTES) /* the kernel prints sizes as unsigned numbers */
		put_u64(&b, (u64)i->v);
	else
		put_i64(&b, i->v);
	say_z(buf_z(&b));
}

void say_unread_files(void)
{
	say("some files could not be read", fileio.error_name, error_text(fileio.error));
}

/* Prints a message about the contents of a file, with the offset `at` in bytes. */
void say_at(const char *file, u64 at, const char *what)
{
	char text[64];
	struct buf b = BUF_Z(text);

	put_z(&b, ": at byte ");
	put_u64(&b, at);
	put_z(&b, ": ");
	say(file, buf_z(&b), what);
}

int usage(const char *a, const char *b, const char *c)
{
	opt.quiet = false;
	opt.usage_said = true;
	say(a, b, c);
	return EX_USAGE;
}

int usage_z(const char *z)
{
	return usage(z, NULL, NULL);
}

/* ERRORS: texts for common errors, those of libc's strerror(). ERROR_NAMES: other errors that a
 * system call, a driver or a file system of Linux may return; their names are printed. The numbers
 * of errors depend on the architecture. */
#define ERRORS(E) \
	E(ENOEXEC, "Exec format error") E(ESRCH, "No such process") \
	E(EPERM, "Operation not permitted") E(ENOENT, "No such file or directory") \
	E(EIO, "Input/output error") E(EBADF, "Bad file descriptor") \
	E(ENOMEM, "Cannot allocate memory") E(EACCES, "Permission denied") \
	E(ENOTDIR, "Not a directory") E(EISDIR, "Is a directory") E(EINVAL, "Invalid argument") \
	E(ENFILE, "Too many open files in system") \
	E(EMFILE, "Too many open files (RLIMIT_NOFILE)") E(EFBIG, "File too large") \
	E(ENOSPC, "No space left on device") E(EROFS, "Read-only file system") \
	E(EPIPE, "Broken pipe") E(ELOOP, "Too many levels of symbolic links") \
	E(ENAMETOOLONG, "File name too long") E(ENXIO, "No such device or address") \
	E(ENODEV, "No such device") E(EDQUOT, "Disk quota exceeded") E(ETXTBSY, "Text file busy") \
	E(ESPIPE, "Illegal seek") E(ENETUNREACH, "Network unreachable") \
	E(ECONNRESET, "Connection reset by peer") E(ETIMEDOUT, "Operation timed out") \
	E(ENOSYS, "Function not implemented (ENOSYS)") E(EOPNOTSUPP, "Operation not supported") \
	E(EAGAIN, "Resource temporarily unavailable") E(EBUSY, "Device or resource busy")
#define ERROR_NAMES(E) \
	E(EINTR) E(E2BIG) E(ECHILD) E(EFAULT) E(EEXIST) E(EXDEV) E(ENOTTY) E(EDOM) E(ERANGE) \
	E(EDEADLK) E(ENOLCK) E(ENOTEMPTY) E(ENOMSG) E(EIDRM) E(ENODATA) E(ETIME) E(ENOLINK) \
	E(ECOMM) E(EPROTO) E(EBADMSG) E(EOVERFLOW) E(EBADFD) E(EILSEQ) E(EUSERS) E(ENOTSOCK) \
	E(EDESTADDRREQ) E(EMSGSIZE) E(EPROTOTYPE) E(ENOPROTOOPT) E(EPROTONOSUPPORT) \
	E(ESOCKTNOSUPPORT) E(EPFNOSUPPORT) E(EAFNOSUPPORT) E(EADDRINUSE) E(EADDRNOTAVAIL) \
	E(ENETDOWN) E(ENETRESET) E(ECONNABORTED) E(ENOBUFS) E(ENOTCONN) E(ESHUTDOWN) \
	E(ECONNREFUSED) E(EHOSTDOWN) E(EHOSTUNREACH) E(EALREADY) E(EINPROGRESS) E(ESTALE) \
	E(EUCLEAN) E(EREMOTEIO) E(ENOMEDIUM) E(EMEDIUMTYPE) E(ECANCELED) E(ENOKEY) E(EKEYEXPIRED) \
	E(EKEYREVOKED) E(EKEYREJECTED) E(EOWNERDEAD) E(ENOTRECOVERABLE) E(ERFKILL) E(EHWPOISON) \
	E(ENOTSUPP)

const char *error_text(long err)
{
#define NUMBER(number, text) number,
#define TEXT(number, text) text "\0"
#define OTHER_NUMBER(number) number,
#define OTHER_TEXT(number) #number "\0"
	static const u16 numbers[] = { ERRORS(NUMBER) ERROR_NAMES(OTHER_NUMBER) };
	static const char texts[] = ERRORS(TEXT) ERROR_NAMES(OTHER_TEXT);
	static char other[32];
	struct buf b = BUF_Z(other);
	const char *text = texts;

	for (size_t i = 0; i < LEN(numbers); i++, text += strlen(text) + 1)
		if (numbers[i] == -err)
			return text;
	put_z(&b, "error ");
	put_u64(&b, (u64)-err);
	put_z(&b, " (unknown)");
	return buf_z(&b);
}

void say_error(const char *who, long err)
{
	say(who, ": ", error_text(err));
}

/* True if the user's command of `sample` follows directly after its option -g: the user may have
 * meant the word as a method of --call-graph. */
static bool may_be_method(void)
{
	struct str before = str_z(HAS(sample) && opt.argv ? opt.command[-1] : NULL);

	return str_is(before, "-g") || str_is(before, "--call-graph");
}

/* Returns the exit code that a shell would report for the user's command, and prints a message if
 * it could not be started or if its status is unknown. failure: -errno of execve(2), or 0; status:
 * the status of wait(2), or -errno if it is unknown. */
int command_code(long failure, int status)
{
	if (failure < 0) {
		if (failure == -ENOENT && may_be_method())
			say(opt.command[0], ": neither a command nor a method of --call-graph; "
			    "use fp", NULL);
		else
			say_error(opt.command[0], failure);
		return failure == -ENOENT ? 127 : 126;
	}
	if (status < 0) {
		say(opt.command[0], ": the exit status of the command is unknown: ",
		    error_text(status));
		return EX_FAIL;
	}
	return opt.command_exit =
		       WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
