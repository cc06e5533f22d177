/* perfmon_v2.c - tests the v2.3 interface, used as in programs of its time: a thread that counts
 * itself, is notified of its overflows, samples itself into a mapped buffer, multiplexes sets,
 * counts another thread and a whole processor. Prints TAP. The counted events are described in
 * pfm.h. SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* F_SETSIG */
#include <perfmon/perfmon_v2.h>
#include <perfmon/perfmon_dfl_smpl.h>

#include "pfm.h"

enum { SETS = 3, PERIOD = 20 /* units */, TIMES = 10 };

static pfarg_ctx_t ctx;
static pfarg_pmc_t pc[4];
static pfarg_pmd_t pd[4];
static pfarg_load_t load_args;

static void clear(void)
{
	memset(&ctx, 0, sizeof(ctx));
	memset(pc, 0, sizeof(pc));
	memset(pd, 0, sizeof(pd));
	memset(&load_args, 0, sizeof(load_args));
	load_args.load_pid = (uint32_t)tid();
	pd[1].reg_num = pc[1].reg_num = 1;
	pc[0].reg_value = main_event;
	pc[1].reg_value = other_event;
}

/* Repeats the same work: the cost of entering and leaving the kernel varies, but has a minimum. */
static uint64_t least(int fd)
{
	uint64_t found = ~(uint64_t)0;
	int i;

	for (i = 0; i < 16; i++) {
		pd[0].reg_value = 0;
		pfm_write_pmds(fd, pd, 1);
		pfm_start(fd, NULL);
		work(1000);
		pfm_stop(fd);
		pfm_read_pmds(fd, pd, 2);
		found = pd[0].reg_value < found ? pd[0].reg_value : found;
	}
	return found;
}

/* task, self: the classic sequence of calls. */
static void test_self(void)
{
	uint64_t first;
	int fd, again;

	clear();
	fd = pfm_create_context(&ctx, NULL, NULL, 0);
	well(fd, "self: create_context returns the descriptor");
	well(pfm_write_pmcs(fd, pc, 2), "self: write_pmcs");
	well(pfm_write_pmds(fd, pd, 2), "self: write_pmds");
	well(pfm_load_context(fd, &load_args), "self: load_context");
	for (again = 0; again < 3; again++) {
		pd[0].reg_value = pd[1].reg_value = 0;
		pfm_write_pmds(fd, pd, 2);
		pfm_start(fd, NULL);
		work(1000);
		pfm_stop(fd);
		well(pfm_read_pmds(fd, pd, 2), "self: read_pmds");
	}
	pd[0].reg_value = 0;
	well(pfm_write_pmds(fd, pd, 1), "self: a PMD can be written while loaded");
	well(pfm_start(fd, NULL), "self: start");
	work(1000);
	well(pfm_stop(fd), "self: stop");
	pfm_read_pmds(fd, pd, 1);
	between(pd[0].reg_value, 1000 * unit, 1000 * unit + 20000 * (unit > 1) + 10, "self: the work of the thread is counted");
	first = least(fd);
	is(least(fd), first, "self: the same work has the same count");
	ok(pd[1].reg_value >= 1000 * unit, "self: the second PMD counts as well");
	well(pfm_unload_context(fd), "self: unload_context");
	close(fd);
	fails(pfm_start(fd, NULL), EBADF, "self: start after close fails with EBADF");
}

static volatile sig_atomic_t notified, wrong_message;
static int notify_fd;

/* As in handlers of those programs: reads the message, reprograms nothing, restarts. */
static void on_overflow(int sig, siginfo_t *info, void *more)
{
	pfarg_msg_t m;

	(void)sig;
	(void)info;
	(void)more;
	if (read(notify_fd, &m, sizeof(m)) != (long)sizeof(m))
		return;
	wrong_message |= m.type != PFM_MSG_OVFL || !(m.pfm_ovfl_msg.msg_ovfl_pmds[0] & 1) ||
			 m.pfm_ovfl_msg.msg_ovfl_tid != (uint32_t)getpid();
	notified++;
	pfm_restart(notify_fd);
}

static void test_notify_self(void)
{
	struct sigaction sa;
	uint64_t until = now_ns() + (uint64_t)SOON * 1000000;

	clear();
	memset(&sa, 0, sizeof(sa));
	sa.sa_sigaction = on_overflow;
	sa.sa_flags = SA_SIGINFO;
	sigaction(SIGIO, &sa, NULL);
	notify_fd = pfm_create_context(&ctx, NULL, NULL, 0);
	pd[0].reg_value = pd[0].reg_long_reset = pd[0].reg_short_reset = -(PERIOD * unit);
	pd[0].reg_flags = PFM_REGFL_OVFL_NOTIFY;
	ok(pfm_write_pmcs(notify_fd, pc, 2) == 0 && pfm_write_pmds(notify_fd, pd, 2) == 0 &&
	   pfm_load_context(notify_fd, &load_args) == 0, "notify_self: a period with PFM_REGFL_OVFL_NOTIFY is loaded");
	ok(fcntl(notify_fd, F_SETFL, fcntl(notify_fd, F_GETFL, 0) | O_ASYNC | O_NONBLOCK) == 0 &&
	   fcntl(notify_fd, F_SETOWN, getpid()) == 0 && fcntl(notify_fd, F_SETSIG, SIGIO) == 0, "notify_self: SIGIO is requested");
	pfm_start(notify_fd, NULL);
	while (notified < TIMES && now_ns() < until)
		work(5);
	pfm_stop(notify_fd);
	ok(notified >= TIMES, "notify_self: a signal for each overflow, while the thread continues to work");
	ok(!wrong_message, "notify_self: each signal has a message about PMD 0 and this thread");
	signal(SIGIO, SIG_IGN);
	close(notify_fd);
}

static void test_self_smpl(void)
{
	pfm_dfl_smpl_arg_t arg;
	pfm_dfl_smpl_hdr_t *hdr;
	pfm_dfl_smpl_entry_t *e;
	pfarg_msg_t m;
	uint64_t seen = 0, room, bad = 0, i;
	static char name[] = PFM_DFL_SMPL_NAME, unknown[] = "no such format";
	int fd, round;

	clear();
	memset(&arg, 0, sizeof(arg));
	arg.buf_size = (uint64_t)sysconf(_SC_PAGESIZE);
	fails(pfm_create_context(&ctx, unknown, &arg, sizeof(arg)), EINVAL, "self_smpl: an unknown format name: EINVAL");
	fails(pfm_create_context(&ctx, name, &arg, 3), EINVAL, "self_smpl: a wrong size of the argument: EINVAL");
	fd = pfm_create_context(&ctx, name, &arg, sizeof(arg));
	well(fd, "self_smpl: the default format is found by its name");
	hdr = mmap(NULL, (size_t)arg.buf_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (!ok(hdr != MAP_FAILED, "self_smpl: the buffer is mapped"))
		return;
	ok(PFM_VERSION_MAJOR(hdr->hdr_version) == PFM_VERSION_MAJOR(PFM_DFL_SMPL_VERSION), "self_smpl: the version of the buffer is known");
	pd[0].reg_value = pd[0].reg_long_reset = pd[0].reg_short_reset = -(PERIOD * unit);
	pd[0].reg_flags = PFM_REGFL_OVFL_NOTIFY;
	pd[0].reg_smpl_pmds[0] = 2;
	ok(pfm_write_pmcs(fd, pc, 2) == 0 && pfm_write_pmds(fd, pd, 2) == 0 && pfm_load_context(fd, &load_args) == 0,
	   "self_smpl: one PMD is set to sample, another to be recorded");
	for (room = 0; hdr->hdr_buf_size - sizeof(*hdr) - room * (sizeof(*e) + 8) >= hdr->hdr_min_buf_space; room++)
		;
	pfm_start(fd, NULL);
	for (round = 0; round < 5; round++) {
		work(((long)room + 2) * PERIOD);
		if (!readable(fd, SOON) || read(fd, &m, sizeof(m)) != (long)sizeof(m) || m.type != PFM_MSG_OVFL)
			break;
		e = (pfm_dfl_smpl_entry_t *)(void *)(hdr + 1);
		for (i = 0; i < hdr->hdr_count; i++) {
			bad |= e->ovfl_pmd != 0 || e->pid != (uint32_t)tid() || e->tgid != (uint32_t)getpid() || !e->ip ||
			       e->last_reset_val != -(PERIOD * unit);
			e = (pfm_dfl_smpl_entry_t *)(void *)((uint64_t *)(void *)(e + 1) + 1);
		}
		seen += hdr->hdr_count;
		pfm_restart(fd);
	}
	pfm_stop(fd);
	is((uint64_t)round, 5, "self_smpl: the buffer is filled and released five times");
	is(seen, 5 * room, "self_smpl: the buffer is full each time");
	ok(!bad, "self_smpl: each sample is about this thread and PMD 0");
	is(hdr->hdr_overflows, 5, "self_smpl: hdr_overflows counts the full buffers");
	close(fd);
}

static void test_multiplex(void)
{
	pfarg_setdesc_t sets[SETS];
	pfarg_setinfo_t info[SETS];
	uint64_t began, took, duration = 0, runs = 0, bad = 0;
	int fd, i;

	clear();
	memset(sets, 0, sizeof(sets));
	memset(info, 0, sizeof(info));
	fd = pfm_create_context(&ctx, NULL, NULL, 0);
	for (i = 0; i < SETS; i++) {
		info[i].set_id = sets[i].set_id = (uint16_t)i;
		sets[i].set_flags = PFM_SETFL_TIME_SWITCH;
		sets[i].set_timeout = 10000000;
	}
	well(pfm_create_evtsets(fd, sets, SETS), "multiplex: create_evtsets");
	ok(sets[1].set_timeout >= 10000000 && sets[1].set_timeout < 21000000, "multiplex: create_evtsets returns the actual timeout in ns");
	for (i = 0; i < SETS; i++) {
		pc[0].reg_set = pd[0].reg_set = (uint16_t)i;
		pd[0].reg_value = 0;
		bad |= pfm_write_pmcs(fd, pc, 1) || pfm_write_pmds(fd, pd, 1);
	}
	ok(!bad, "multiplex: registers of each set can be written");
	well(pfm_load_context(fd, &load_args), "multiplex: load_context");
	began = now_ns();
	pfm_start(fd, NULL);
	while (now_ns() < began + 400000000)
		work(20);
	pfm_stop(fd);
	took = now_ns() - began;
	well(pfm_getinfo_evtsets(fd, info, SETS), "multiplex: getinfo_evtsets");
	for (bad = 0, i = 0; i < SETS; i++) {
		pd[0].reg_set = (uint16_t)i;
		bad |= pfm_read_pmds(fd, pd, 1) != 0 || pd[0].reg_value == 0 || info[i].set_runs == 0;
		duration += info[i].set_act_duration;
		runs += info[i].set_runs;
	}
	ok(!bad, "multiplex: each set ran and counted");
	ok(info[0].set_runs - info[SETS - 1].set_runs <= 1, "multiplex: the sets alternate");
	between(runs, 6, took / 10000000 + 1, "multiplex: no set is active for less than its time");
	between(duration, took * 9 / 10, took, "multiplex: one set is active at any time");
	ok(info[0].set_avail_pmcs[0] & 1 && info[0].set_avail_pmds[0] & 1, "multiplex: getinfo lists the available registers");
	ok(!(info[0].set_avail_pmds[3] >> 40), "multiplex: getinfo omits unavailable registers");
	close(fd);
}

static void test_task(void)
{
	struct worker w = worker_start(-1);
	pfarg_msg_t m;
	int fd;

	clear();
	fd = pfm_create_context(&ctx, NULL, NULL, 0);
	pfm_write_pmcs(fd, pc, 2);
	pfm_write_pmds(fd, pd, 2);
	load_args.load_pid = (uint32_t)w.pid;
	well(pfm_load_context(fd, &load_args), "task: load_context of another process");
	pfm_start(fd, NULL);
	worker_work(&w, 500);
	worker_end(&w);
	ok(readable(fd, SOON) && read(fd, &m, sizeof(m)) == (long)sizeof(m) && m.type == PFM_MSG_END, "task: PFM_MSG_END at the end of the process");
	well(pfm_read_pmds(fd, pd, 2), "task: the counts can be read after the end of the process");
	ok(pd[0].reg_value >= 500 * unit && pd[1].reg_value >= 500 * unit, "task: all work of the process is counted");
	close(fd);
}

static void test_syst(void)
{
	struct worker w;
	int fd;

	clear();
	ctx.ctx_flags = PFM_FL_SYSTEM_WIDE;
	load_args.load_pid = 0;
	fd = pfm_create_context(&ctx, NULL, NULL, 0);
	well(fd, "syst: a system-wide context is created");
	pfm_write_pmcs(fd, pc, 2);
	pfm_write_pmds(fd, pd, 2);
	if (pfm_load_context(fd, &load_args) && (errno == EACCES || errno == EPERM)) {
		skip("syst: load_context selects the processor", "root is required");
		close(fd);
		return;
	}
	w = worker_start(0);
	well(pfm_start(fd, NULL), "syst: load_context selects the processor");
	worker_work(&w, 3000);
	pfm_stop(fd);
	pfm_read_pmds(fd, pd, 2);
	ok(pd[0].reg_value >= 3000 * unit, "syst: all threads of the processor are counted");
	worker_end(&w);
	close(fd);
}

/* The structures of 64-bit machines, as defined by libpfm 3. */
static void test_layout(void)
{
	if (sizeof(void *) != 8) {
		skip("structures are laid out as perfmon's", "only for 64-bit machines");
		return;
	}
	ok(sizeof(pfarg_ctx_t) == 64 && sizeof(pfarg_setdesc_t) == 64 && offsetof(pfarg_setdesc_t, set_timeout) == 8 &&
	   sizeof(pfarg_setinfo_t) == 200 && offsetof(pfarg_setinfo_t, set_act_duration) == 64 &&
	   offsetof(pfarg_setinfo_t, set_avail_pmds) == 112 && sizeof(pfarg_msg_t) == 64 &&
	   offsetof(pfarg_ovfl_msg_t, msg_ovfl_ip) == 16 && offsetof(pfarg_ovfl_msg_t, msg_ovfl_pmds) == 24 &&
	   sizeof(pfarg_pmd_t) == 176 && sizeof(pfarg_pmc_t) == 48 && sizeof(pfarg_load_t) == 32 && sizeof(pfarg_start_t) == 32,
	   "structures are laid out as perfmon's");
}

int main(void)
{
	choose_machine();
	test_layout();
	alarm(PATIENCE);
	test_self();
	test_notify_self();
	test_self_smpl();
	test_multiplex();
	test_task();
	test_syst();
	return finish();
}
