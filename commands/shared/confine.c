/* confine.c - the privileges, system calls and files that a command keeps after its start.
 * SPDX-License-Identifier: MIT */
#include "built.h"
#include "commands/shared/shared.h"
#include "sources/device/device.h"
#include "sources/drm/drm.h"
#include "sys.h"

/* Functions of optional features. They are NULL if the feature is left out, and are not called
 * then. */
#pragma weak vcio_fd
#pragma weak iterator_load
#pragma weak iterator_state

/* Drops the privileges that are needed neither to open the files of options nor by the command.
 * With --proc or --sys the command needs no privileges, because these files are not those of the
 * kernel. Returns false with a message on errors. */
bool drop_privileges(void)
{
	u8 files = opt.output || opt.state || opt.oa.record || opt.control ||
		   opt.cmd->with & WITH_MUNIN ? MAY_READ | MAY_WRITE : MAY_READ;
	bool reads = opt.oa.replay || is_oa_list_or_pack();
	u8 may = reads ? 0 : opt.cmd->privileges;
	long r = privilege_begin(opt.proc || opt.sys ? 0 : may, files | may, opt.command);

	if (r < 0)
		say_error("capabilities", r);
	return r >= 0;
}

/* Starts the Landlock rules of a command that reads no other process. After confine() the command
 * can open only files that were passed to sandbox_file() or sandbox_folder(). The folder of a file
 * that -O replaces stays writable. */
void close_files(void)
{
	if (opt.no_sandbox)
		return;
	sandbox_begin_files();
	sandbox_folder(sink_folder(), true);
}

static void say_without(const char *what, long r)
{
	if (opt.verbose && r < 0 && r != -ECANCELED)
		say(what, error_text(r), NULL);
}

/* Prints, if --verbose was given, how the descriptors of processes are found: by the kernel's BPF
 * iterator, or by a scan of /proc, with the reason. */
static void say_iterator(void)
{
	const struct iterator_state *s = iterator_state();
	char text[128];
	struct buf b = BUF_Z(text);

	put_z(&b, s->reason ? "descriptors: a scan of /proc: " :
			      "descriptors: the kernel's iterator");
	put_z(&b, s->reason ? s->reason : "");
	put_z(&b, s->error ? ": " : "");
	put_z(&b, s->error ? error_text(s->error) : "");
	say_z(buf_z(&b));
}

/* Loads a BPF iterator over the descriptors of all processes, for a command that scans the
 * processes once. Then drops the privilege to load BPF programs. */
static void iterator_prepare(void)
{
	bool doctor = opt.cmd->with & WITH_DOCTOR;

	if (!(opt.cmd->privileges & MAY_BPF))
		return;
	if (!opt.proc && !opt.interval && !opt.on_stdin) {
		iterator_load(doctor, doctor || opt.sys);
		if (opt.verbose && !doctor)
			say_iterator();
	}
	privilege_drop(MAY_BPF, opt.cmd->privileges & (u8)~MAY_BPF);
}

/* Installs the seccomp filter and Landlock: from here on, only the system calls that the current
 * command of gpustat needs are permitted. child: PID of the process that was forked for the user's
 * command (stat -- COMMAND), or 0. */
void confine(i32 child)
{
	static bool done;
	u16 calls = opt.cmd->calls | opt.calls;

	if (HAS(bpf) && !done)
		iterator_prepare();
	if (opt.no_sandbox || done)
		return;
	done = true;
	if (HAS(nvidia) && calls & CALLS_WATCH && !opt.proc && !opt.sys)
		nvidia_admit();
	if (opt.oa.replay)
		calls &= (u16)~CALLS_WATCH;
	if (opt.state || sink_folder() >= 0)
		calls |= CALLS_REPLACE;
	/* The option --enable-profiling and the command `gpustat oa pack` write files. */
	if (opt.profiling || (opt.nwords && opt.cmd->with & WITH_OA))
		calls |= CALLS_WRITE;
	if (calls & CALLS_WATCH && !privilege_has(MAY_READ))
		calls |= CALLS_GETFD;
	/* with --http the program is confined before it reads the request, and opens its counters
	 * later */
	if (opt.http)
		calls |= opt.cmd->with & WITH_NAMED ?
			 CALLS_NET | CALLS_OPEN_PERF | CALLS_WRITE : CALLS_NET;
	if (HAS(vcio) && calls & CALLS_WATCH)
		sandbox_ioctl(vcio_fd(), VCIO_REQUEST);
	sandbox_enter(calls, child);
	say_without("the system call filter is off: ", sandbox.filter);
	say_without("Landlock is off: ", sandbox.landlock);
}

/* Drops all privileges except those in `may` (bits MAY_*), the one to replace the file of -O, and
 * the one to stop the user's command. The caller has opened all other files. */
void keep_privileges(u8 may)
{
	privilege_keep(may | (opt.output && sink_gathers() ? MAY_WRITE : 0) |
		       (opt.command ? MAY_KILL : 0));
}

/* Confines a command of gpustat that has opened all files that it reads: no files, only its system
 * calls, no privileges. */
void confine_to_opened(void)
{
	close_files();
	confine(0);
	keep_privileges(0);
}
