/* perfapi.c - include/gpustat/perf.h, a thin layer over perf_event_open(2): counters as
 * descriptors, their ring buffers, and reading them without a system call.
 * SPDX-License-Identifier: MIT */
#include "gpustat/perf.h"
#include "parse.h"
#include "perfstream.h"
#include "sources/os/os.h"
#include "sources/perf/perf.h"
#include "sys.h"

#include <linux/hw_breakpoint.h>

_Static_assert(sizeof(union evattr) == sizeof(((struct gp_event *)0)->attr),
	       "attr is as wide as the kernel's");

/* --- opening ---------------------------------------------------------------------------------- */

/* Removes or changes the next field of *a (perf_event_attr) that an older kernel, or a 64-bit
 * kernel below a 32-bit program, may refuse. False: no such field is left. */
static bool attr_downgrade(struct perf_event_attr *a, bool precise)
{
	if (a->read_format & PERF_FORMAT_LOST)
		/* the kernel knows PERF_FORMAT_LOST since Linux 6.0 */
		a->read_format &= ~(u64)PERF_FORMAT_LOST;
	else if (a->build_id)
		a->build_id = 0; /* the kernel knows build_id since Linux 5.12 */
	else if (a->ksymbol)
		a->ksymbol = 0; /* the kernel knows ksymbol since Linux 5.1 */
	else if (sizeof(long) == 4 && a->type == PERF_TYPE_BREAKPOINT &&
		 a->bp_type == HW_BREAKPOINT_X && a->bp_len == 4)
		/* the length of an execution breakpoint must be that of the kernel's long, which
		 * may be 8 bytes */
		a->bp_len = 8;
	else if (precise && a->precise_ip)
		a->precise_ip--;
	else if (a->sample_type & PERF_SAMPLE_READ && a->inherit)
		/* Linux before 6.12 refuses inherit together with PERF_SAMPLE_READ */
		a->inherit = 0;
	else
		return false;
	return true;
}

int gp_open(struct gp_event *e, int pid, int cpu, int group)
{
	union evattr attr;
	long fd;
	u8 was;

	if (!e)
		return -EFAULT;
	memcpy(&attr, e->attr, sizeof(attr));
	was = privilege_raise(MAY_PERF);
	do
		fd = sys_perf_open(&attr, pid, cpu, group, e->cgroup ? PERF_FLAG_PID_CGROUP : 0);
	while ((fd == -EINVAL || fd == -EOPNOTSUPP) && attr_downgrade(&attr.a, e->precise));
	privilege_lower(was);
	if (fd >= 0)
		memcpy(e->attr, &attr, sizeof(attr));
	return (int)fd;
}

int gp_open_all(struct gp_event *e, int n, int pid, int cpu, int *fds)
{
	int leader = -1;

	if (!e || !fds)
		return -EFAULT;
	if (n < 1)
		return -EINVAL;
	for (int i = 0; i < n; i++) {
		bool member = i > 0 && e[i].group && e[i].group == e[i - 1].group;

		fds[i] = gp_open(&e[i], pid, cpu, member ? leader : -1);
		leader = member ? leader : fds[i];
		if (fds[i] < 0) {
			int error = fds[i];

			for (int k = 0; k <= i; k++) {
				if (k < i)
					sys_close(fds[k]);
				fds[k] = -1;
			}
			return error;
		}
	}
	return 0;
}

/* --- switching -------------------------------------------------------------------------------- */

int gp_enable(int fd)
{
	return (int)sys_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
}

int gp_disable(int fd)
{
	return (int)sys_ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
}

int gp_enable_group(int fd)
{
	return (int)sys_ioctl(fd, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
}

int gp_disable_group(int fd)
{
	return (int)sys_ioctl(fd, PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
}

int gp_refresh(int fd, int n)
{
	return n < 1 ? -EINVAL : (int)sys_ioctl(fd, PERF_EVENT_IOC_REFRESH, (unsigned long)n);
}

int gp_reset(int fd)
{
	return (int)sys_ioctl(fd, PERF_EVENT_IOC_RESET, 0);
}

int gp_reset_group(int fd)
{
	return (int)sys_ioctl(fd, PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP);
}

int gp_period(int fd, uint64_t period)
{
	return (int)sys_ioctl(fd, PERF_EVENT_IOC_PERIOD, (unsigned long)(uintptr_t)&period);
}

int gp_task_enable(void)
{
	return (int)sys_prctl(PR_TASK_PERF_EVENTS_ENABLE);
}

int gp_task_disable(void)
{
	return (int)sys_prctl(PR_TASK_PERF_EVENTS_DISABLE);
}

int gp_filter(int fd, const char *filter)
{
	return (int)sys_ioctl(fd, PERF_EVENT_IOC_SET_FILTER, (unsigned long)(uintptr_t)filter);
}

int gp_output(int fd, int ring_fd)
{
	return (int)sys_ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, (unsigned long)ring_fd);
}

int gp_id(int fd, uint64_t *id)
{
	return (int)sys_ioctl(fd, PERF_EVENT_IOC_ID, (unsigned long)(uintptr_t)id);
}

int gp_recover(int fd)
{
	return gp_enable(fd);
}

/* --- reading ---------------------------------------------------------------------------------- */

int gp_read(int fd, uint64_t read_format, struct gp_count *to, int cap)
{
	/* result of read(2): number of events, time_enabled, time_running; then value, ID and
	 * number of lost samples of each event */
	u64 b[3 + 3 * GP_MAX_GROUP];
	long got = sys_read(fd, b, sizeof(b));
	struct str values = { (const char *)b, (const char *)b + (got > 0 ? got : 0) };
	struct pvalue v;
	size_t i = 0;
	int n = 0;

	if (got <= 0)
		return (int)got;
	if (!to && cap > 0)
		return -EFAULT;
	for (; values_next(values, read_format, &i, &v); n++) {
		if (n >= cap)
			return -ENOSPC;
		to[n] = (struct gp_count){ v.value, v.id, v.lost, v.enabled, v.running };
	}
	/* no count was stored: the event was opened with another read_format than the parameter
	 * read_format */
	return n ? n : -EINVAL;
}

uint64_t gp_scaled(const struct gp_count *c)
{
	if (!c || !c->running)
		return 0;
	return c->running == c->enabled ? c->value : muldiv(c->value, c->enabled, c->running);
}

/* --- notification ----------------------------------------------------------------------------- */

int gp_nonblock(int fd, int on)
{
	return (int)sys_set_flags(fd, on ? O_NONBLOCK : 0, on ? 0 : O_NONBLOCK);
}

int gp_notify(int fd, int sig, int tid)
{
	struct f_owner_ex owner = { .type = F_OWNER_TID, .pid = tid ? tid : sys_tid() };
	long r;

	if (!sig)
		return (int)sys_set_flags(fd, 0, O_ASYNC);
	r = sys_set_owner(fd, sig, F_SETOWN_EX, (long)&owner);
	return (int)(r < 0 ? r : sys_set_flags(fd, O_ASYNC, 0));
}

/* --- rings ------------------------------------------------------------------------------------ */

/* Returns a pointer to the low word (as wide as a long) of the u64 at byte `at` of a ring's control
 * page. The kernel, too, uses only the low word (ring_buffer_has_space() takes an unsigned long),
 * and a 32-bit processor cannot read or write the whole u64 in one access. */
static size_t *low_word(void *page, size_t at)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	at += sizeof(u64) - sizeof(size_t);
#endif
	/* the conversion to size_t * is safe, because the control page is aligned */
	return (size_t *)(void *)((char *)page + at);
}

/* Returns the number of bytes that the kernel has ever written to a ring, its data_head. was: the
 * result of an earlier call, which supplies the high word on 32-bit machines. The caller must call
 * this before it reads the records up to that byte. */
u64 ring_head(void *page, u64 was)
{
	size_t *head = low_word(page, offsetof(struct perf_event_mmap_page, data_head));

	return was + (__atomic_load_n(head, __ATOMIC_ACQUIRE) - (size_t)was);
}

/* Releases the ring's bytes before `tail` to the kernel. perf_event_open(2): data_tail may be
 * written only after the last of these bytes was used. */
void ring_release(void *page, u64 tail)
{
	__atomic_store_n(low_word(page, offsetof(struct perf_event_mmap_page, data_tail)),
			 (size_t)tail,
			 __ATOMIC_RELEASE);
}

int gp_map(struct gp_ring *r, int fd, uint32_t pages)
{
	size_t page = sys_page_size();
	long error;

	if (!r)
		return -EFAULT;
	*r = (struct gp_ring){ .fd = fd };
	if (pages & (pages - 1) || pages > SIZE_MAX / 2 / page)
		return -EINVAL;
	r->size = pages * page;
	r->bytes = r->size + page;
	r->page = sys_mmap(fd, r->bytes, &error);
	if (!r->page)
		return (int)error;
	r->data = (const char *)r->page + page;
	if (!((const struct perf_event_mmap_page *)r->page)->compat_version)
		return 0;
	gp_unmap(r);
	return -ENOTSUP;
}

int gp_unmap(struct gp_ring *r)
{
	long error;

	if (!r)
		return -EFAULT;
	error = r->page ? sys_munmap(r->page, r->bytes) : -EINVAL;
	r->page = NULL;
	return (int)error;
}

long gp_next(struct gp_ring *r, void *b, size_t cap)
{
	struct ring data;
	size_t n;

	if (!r || !b)
		return -EFAULT;
	if (!r->page)
		return -EINVAL;
	data = (struct ring){ .p = r->data, .size = r->size, .tail = r->tail };
	data.head = r->head = ring_head(r->page, r->head);
	/* read the record's size only once: the kernel may change shared memory */
	n = ring_size(&data);
	if (n > cap)
		return -EFBIG;
	if (n)
		ring_load(&data, r->tail, b, n);
	else if (r->head == r->tail)
		return 0;
	r->tail = n ? r->tail + n : r->head;
	ring_release(r->page, r->tail);
	return n ? (long)n : -EBADMSG;
}

/* --- reading counters without a system call --------------------------------------------------- */

/* read_pmc() reads the hardware counter that the field `index` of an event's control page selects;
 * read_clock() reads the clock from which the times in the control page are calculated. */
#if defined(__x86_64__) || defined(__i386__)
#define HAS_USER_COUNTERS

static u64 read_pmc(u32 index)
{
	u32 low, high;

	__asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(index - 1));
	return low | (u64)high << 32;
}

static u64 read_clock(void)
{
	u32 low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return low | (u64)high << 32;
}
#elif defined(__aarch64__)
#define HAS_USER_COUNTERS

/* The machine code of mrs contains the number of the register: each counter register requires an
 * instruction of its own. */
#define PMEV(n)                                                                     \
	case (n) + 1:                                                               \
		__asm__ volatile("mrs %0, pmevcntr" #n "_el0" : "=r"(v));          \
		break

static u64 read_pmc(u32 index)
{
	u64 v = 0;

	switch (index) {
	PMEV(0); PMEV(1); PMEV(2); PMEV(3); PMEV(4); PMEV(5); PMEV(6); PMEV(7);
	PMEV(8); PMEV(9); PMEV(10); PMEV(11); PMEV(12); PMEV(13); PMEV(14); PMEV(15);
	PMEV(16); PMEV(17); PMEV(18); PMEV(19); PMEV(20); PMEV(21); PMEV(22); PMEV(23);
	PMEV(24); PMEV(25); PMEV(26); PMEV(27); PMEV(28); PMEV(29); PMEV(30);
	case 32:
		__asm__ volatile("mrs %0, pmccntr_el0" : "=r"(v));
		break;
	default:
		break;
	}
	return v;
}

static u64 read_clock(void)
{
	u64 v;

	__asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(v) : : "memory");
	return v;
}
#endif

#ifdef HAS_USER_COUNTERS
/* Returns the time in ns since the kernel last wrote an event's control page. cycles: the value
 * that read_clock() returned just now. The formula is in linux/perf_event.h, in the comments on
 * time_offset and cap_user_time_short. */
static u64 page_delta(const volatile struct perf_event_mmap_page *p, u64 cycles)
{
	u16 shift = p->time_shift & 63;
	u32 mult = p->time_mult;

	if (p->cap_user_time_short)
		cycles = p->time_cycles + ((cycles - p->time_cycles) & p->time_mask);
	return p->time_offset + (cycles >> shift) * mult +
	       ((cycles & (((u64)1 << shift) - 1)) * mult >> shift);
}

/* Calculates the count and the times of an event from its control page and hardware counter, and
 * stores them in *c. False if the page does not allow this, so that read(2) must be used. */
static bool page_count(const volatile struct perf_event_mmap_page *p, struct gp_count *c)
{
	u32 index = p->index;
	u16 width = p->pmc_width;
	u64 offset = (u64)p->offset, delta, sign, low;

	if (!index || !p->cap_user_rdpmc || !p->cap_user_time || width < 1 || width > 64)
		return false;
	/* The hardware counter is a signed number, whose highest bit is the sign. Its sum with
	 * `offset` is calculated modulo 2^64: unsigned overflow is intended. */
	sign = UINT64_C(1) << (width - 1);
	low = read_pmc(index) & (sign | (sign - 1));
	c->value = offset + (low ^ sign) - sign;
	delta = page_delta(p, read_clock());
	c->enabled = p->time_enabled + delta;
	c->running = p->time_running + delta;
	return true;
}

/* Repeats page_count() until the kernel did not write the control page during the call: each write
 * changes the page's member `lock`, a seqlock. The kernel writes on this CPU, between two
 * instructions of this function, so that fences for the compiler are enough. */
static bool page_read(const volatile struct perf_event_mmap_page *p, struct gp_count *c)
{
	/* maximum number of calls of page_count(); then the count is read with read(2) */
	enum { TRIES = 100 };

	for (int i = 0; i < TRIES; i++) {
		u32 lock = p->lock;
		bool known;

		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		known = page_count(p, c);
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		if (p->lock == lock && !(lock & 1))
			return known;
	}
	return false;
}
#endif

int gp_read_self(const struct gp_ring *r, uint64_t read_format, struct gp_count *c)
{
	struct gp_count all[GP_MAX_GROUP] = { 0 };
	uint64_t id = 0;
	int n;

	if (!r || !c)
		return -EFAULT;
	if (!r->page)
		return -EINVAL;
	*c = (struct gp_count){ 0 };
#ifdef HAS_USER_COUNTERS
	if (page_read(r->page, c))
		return 1;
#endif
	n = gp_read(r->fd, read_format, all, GP_MAX_GROUP);
	if (n <= 0)
		return n ? n : -ENODATA;
	if (n > 1) { /* the event is in a group: find its count by its ID */
		int error = gp_id(r->fd, &id);

		if (error)
			return error;
		while (n > 0 && all[n - 1].id != id)
			n--;
		if (n == 0)
			return -EINVAL;
	}
	*c = all[n - 1];
	return 0;
}
