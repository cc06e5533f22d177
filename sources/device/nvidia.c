/* nvidia.c - asks NVIDIA's driver by ioctl, as NVIDIA's own library does, for utilisation, memory,
 * ECC errors, temperatures and processes of a GPU. nvidiadecode.c has the layouts of the answers.
 * SPDX-License-Identifier: MIT */
#include "parse.h"
#include "counters.h"
#include "sources/os/os.h"
#include "sources/device/device.h"
#include "sys.h"

/* ioctl requests of NVIDIA's driver, from kernel-open/common/inc/nv-ioctl.h and
 * src/nvidia/arch/nvalloc/unix/include/nv_escape.h of the driver's sources. Their type is 'F', and
 * each request number contains the size of the request's argument. None of these requests changes
 * the state of a GPU. */
static const u32 request_card_info = 0xc90046c8, request_alloc = 0xc020462b,
		 request_control = 0xc020462a, request_free = 0xc0104629;

enum {
	MAX_CARDS = 32, CARD_BYTES = 72,
	MAX_PROCS = 1024,
	/* largest numbers of processes in one answer of the driver: to the command GET_PIDS
	 * (MAX_PIDS), and to GET_PID_INFO (MAX_ENTRIES) */
	MAX_PIDS = 950, MAX_ENTRIES = 200,
	/* largest number of ioctl calls for one GPU in one sample */
	MAX_CALLS = 12,
	/* number of ioctl calls, beyond MAX_CALLS, that find out why the driver returned
	 * NV_UNSUPPORTED */
	REASON_CALLS = 3,
	CLASS_CLIENT = 0x41, CLASS_DEVICE = 0x80, CLASS_SUBDEVICE = 0x2080,
	/* Status codes of the driver: src/common/sdk/nvidia/inc/nvstatuscodes.h */
	NV_OK = 0, NV_LOST = 0x0f, NV_DENIED = 0x1b, NV_BAD_SIZE = 0x1f, NV_BAD_PARAMS = 0x3a,
	NV_UNSUPPORTED = 0x56,
	/* Results in addition to the driver's status codes, used only in this file: the reasons why
	 * the driver returned NV_UNSUPPORTED. */
	NV_ON_CHIP = 0x10000, NV_VGPU, NV_MIG, NV_NO_GSP, NV_UNKNOWN,
	/* Results in addition to -errno. NOT_LOADED: NVIDIA's driver is not loaded. LOADED_LATE:
	 * the driver was loaded after nvidia_admit(), but /dev/nvidiactl could not get the
	 * descriptor number LATE_FD, because that was in use. */
	NOT_LOADED = -0x10000, LOADED_LATE,
	/* Descriptor number on which the seccomp filter allows the driver's ioctl requests if the
	 * driver is not loaded yet when the filter is installed. The number is close to the usual
	 * limit of open files, 1024 (INR_OPEN_CUR of linux/fs.h), so that it is probably unused. */
	LATE_FD = 1000,
};

/* Commands for the ioctl request_control. In a command for a subdevice, the upper 16 bits are
 * CLASS_SUBDEVICE. */
enum {
	GET_ID_INFO = 0x205, GET_PIDS = 0x2080018d, GET_PID_INFO = 0x2080018e,
	GET_ECC = 0x2080012f, GET_TEMPERATURES = 0x20800513, GET_MEMORY = 0x20801301,
	GET_PSTATE = 0x20802068, GET_RING = 0x20802096,
	GET_GPU_INFO = 0x20800101, GET_VIRTUALIZATION = 0x800289,
};

/* NVOS21_PARAMETERS of the driver: the argument of request_alloc. Before release 535, it had the
 * status where later releases have `size`. */
struct nvalloc {
	u32 root, parent, object, class;
	u64 params;
	u32 size, status;
};

/* NVOS54_PARAMETERS of the driver: the argument of request_control. */
struct nvcontrol {
	u32 client, object, command, flags;
	u64 params;
	u32 size, status;
};

/* The choice of a row in a table of layouts, such as nvrings[]: control_rows() finds the row that
 * the driver's release accepts. */
struct nvchoice {
	/* row: index in the table of layouts; tried: number of rows that the driver has rejected */
	u8 row, tried;
	/* true after the driver has accepted the size of the argument in this row of the table of
	 * layouts */
	bool sure;
};

struct nvgpu {
	/* number by which the driver identifies the GPU; 0 if it is not known yet */
	u32 id;
	/* descriptor of /dev/nvidiaN, which keeps the GPU awake while it is open; -1: closed */
	i32 node;
	/* handle of the device object that this program has created in the driver for the GPU;
	 * device + 1 is the handle of the subdevice object; NONE: no objects were created */
	u32 device;
	/* serial number (struct entity) of the device that the row describes; 0 if the row is not
	 * in use */
	u32 serial;
	/* true if the GPU may sleep although its node is open (power management "fine-grained"), or
	 * if that is unknown */
	bool fine;
	bool on_chip;     /* true if the GPU is part of a system on a chip */
	/* true if the GPU's values in this struct were read, and the GPU has not slept since
	 * then */
	bool has;
	struct nvchoice ring, ecc;
	i64 tried;        /* CLOCK_MONOTONIC time in ns when the GPU was accessed last */
	/* time in ns (d->e.t) of the last sample of the device that gpu_sample() has handled: each
	 * sample is handled only once */
	i64 state_read;
	/* time of the newest utilisation sample of the driver that is included in busy[], in ns of
	 * the driver's clock */
	u64 newest;
	bool has_newest;
	/* CLOCK_MONOTONIC time in ns of the last reading that found new utilisation samples in the
	 * driver's ring */
	i64 sampled;
	/* CLOCK_MONOTONIC time in ns up to which the work of the engines is included in busy[] */
	i64 worked;
	u64 busy[NV_ENGINES];    /* busy[i]: ns that engine i has worked since the first reading */
	/* percent[i]: utilisation of engine i since the previous reading, in 1/1000 % */
	u32 percent[NV_ENGINES];
	u8 engines;       /* bit i: percent[i] is known (engine i) */
	/* performance state of the GPU, 0 to 15, or NV_NO_PSTATE if it is unknown */
	u8 pstate;
	bool has_memory, has_ecc;
	/* bytes of video memory (total, used); numbers of ECC errors */
	u64 total, used, corrected, uncorrected;
	i64 temps[NV_SENSORS]; /* temperatures of the sensors, in 1/1000 degrees C */
	/* temp_names[i]: the part that sensor i measures, such as "gpu"; NULL if there is no sensor
	 * i */
	const char *temp_names[NV_SENSORS];
	/* why the last reading failed: status of the driver or -errno; 0 if it succeeded */
	long failure;
};

/* A process that was in the driver's last list of the processes that use a GPU. The row is kept
 * while the GPU sleeps or does not answer: the process may still use the GPU, and its busy times
 * must not start again at 0. */
struct nvproc {
	u32 device, pid;
	/* seen: the process is in the list that the driver has returned in this reading */
	bool seen, has_memory;
	u8 engines;
	u64 resident, shared, busy[NV_ENGINES];
	u32 percent[NV_ENGINES];
};

static TABLE(struct nvgpu, gpus, MAX_DEVICES, 1, "GPUs of NVIDIA");
static TABLE(struct nvproc, procs, MAX_PROCS, 32, "processes of NVIDIA GPUs");
static TABLE(char, answer, NV_ANSWER, NV_ANSWER, "bytes of NVIDIA's answers");

static struct {
	/* descriptor of /dev/nvidiactl, -1 if closed; if `admitted` is true it stays open until the
	 * program ends */
	i32 fd;
	/* true if the sandbox allows ioctl requests to the driver, but only on the descriptors fd
	 * and LATE_FD */
	bool admitted;
	/* if negative, the reason why fd is closed: -errno, NOT_LOADED or LOADED_LATE */
	long error;
	/* client: handle that the driver has assigned to this process; left: number of ioctl calls
	 * that this program may still make for the current GPU in this sample */
	u32 client, nprocs, left;
	u32 release; /* major release of the driver, for example 570 of 570.99.01; 0 if unknown */
	bool changed;             /* true if a process was added or removed in this reading */
	bool inner; /* true if this process is not in the machine's initial pid namespace */
	/* the last handle of an object; each handle is used only once, because the driver may fail
	 * to free an object */
	u32 handle;
} ctl = { .fd = -1, .handle = 0x100 };

/* Shortest time between two accesses to a GPU that may sleep, in ns. The driver lets an idle GPU
 * sleep after about 6 s: if the GPU is still awake after 8 s, other processes use it. No
 * utilisation sample is missed, because the driver's ring has the samples of the last 10 s. */
static const i64 pause_ns = 8000000000;

/* Age in ns of the newest utilisation sample in the driver's ring from which the utilisation is
 * reported as unknown. */
static const i64 stale_ns = 2000000000;

static const char engine_names[NV_ENGINES][6] = {
	[NV_MEMORY] = "mem", [NV_GR] = "gr", [NV_NVENC] = "nvenc", [NV_NVDEC] = "nvdec",
	[NV_NVJPG] = "nvjpg", [NV_NVOFA] = "nvofa",
};

/* --- ioctl calls of NVIDIA's driver ----------------------------------------------------------- */

static long call(u32 request, void *arg)
{
	long r = -EBUSY;

	for (; ctl.left; ctl.left--) {
		fileio.calls++;
		r = sys_ioctl(ctl.fd, request, (unsigned long)arg);
		if (r != -EINTR)
			break;
	}
	ctl.left -= ctl.left > 0;
	return r;
}

/* Sends a control command to an object of the driver. Returns 0, the driver's status, or -errno. */
static long control(u32 object, u32 command, void *params, u32 size)
{
	struct nvcontrol c = { .client = ctl.client, .object = object, .command = command,
			       .params = (uintptr_t)params, .size = size };
	long r = call(request_control, &c);

	return r < 0 ? r : (long)c.status;
}

/* Creates an object of the class a.class in the driver. Returns 0, the driver's status, or
 * -errno. */
static long object_make(struct nvalloc a)
{
	u32 size = a.size;
	long r = call(request_alloc, &a);

	if (r < 0)
		return r;
	r = (long)(a.size != size ? a.size : a.status);
	if (r == 0 && a.class == CLASS_CLIENT)
		ctl.client = a.object;
	return r;
}

/* Registers this process as a client of the driver if that was not done yet. Returns 0, the
 * driver's status, or ctl.error. */
static long client_make(void)
{
	return ctl.fd < 0 ? ctl.error :
	       ctl.client ? 0 : object_make((struct nvalloc){ .class = CLASS_CLIENT });
}

/* Moves the descriptor of the control node to the number LATE_FD. nvidia_admit() made the sandbox
 * allow the requests on that number before the driver was loaded. Returns LATE_FD, or LOADED_LATE
 * if that number is in use. */
static long ctl_move(int fd)
{
	long moved = sys_fcntl(fd, F_DUPFD, LATE_FD);

	sys_close(fd);
	if (moved > LATE_FD)
		sys_close((int)moved);
	return moved == LATE_FD ? moved : LOADED_LATE;
}

/* Opens the driver's control node /dev/nvidiactl read-only, which the driver permits and which
 * wakes no GPU. The node is not opened while the driver is not loaded, because that would load the
 * driver. If the driver or the node is missing, the next call tries again. */
static void ctl_open(void)
{
	if (ctl.fd >= 0 || (ctl.error < 0 && ctl.error != NOT_LOADED && ctl.error != -ENOENT))
		return;
	ctl.error = NOT_LOADED;
	if (sys_has_file(AT_FDCWD, "/proc/driver/nvidia/version"))
		ctl.error = open_retry(AT_FDCWD, "/dev/nvidiactl", O_RDONLY);
	if (ctl.error >= 0 && ctl.admitted)
		ctl.error = ctl_move((int)ctl.error);
	if (ctl.error < 0)
		return;
	ctl.fd = (i32)ctl.error;
	ctl.left = 1;
	client_make();
}

void nvidia_admit(void)
{
	i32 fd;

	ctl_open();
	fd = ctl.fd >= 0 ? ctl.fd : LATE_FD;
	ctl.admitted = sandbox_ioctl(fd, request_card_info) && sandbox_ioctl(fd, request_alloc) &&
		       sandbox_ioctl(fd, request_control) && sandbox_ioctl(fd, request_free);
	if (ctl.admitted)
		return;
	if (ctl.fd >= 0)
		sys_close(ctl.fd);
	ctl.fd = -1;
	ctl.error = -EPERM;
}

/* Sends a control command whose argument has another size in each release of the driver. Tries the
 * rows of a table of layouts, from c->row on, until the driver accepts the size. size(row) prepares
 * the argument in `answer` and returns its size in bytes. Returns the same as control(). */
static long control_rows(struct nvchoice *c, u8 rows, u32 object, u32 command, u32 (*size)(u8 row))
{
	long r = c->tried < rows ? -EBUSY : NV_BAD_SIZE;

	while (c->tried < rows && ctl.left) {
		r = control(object, command, answer.rows, size(c->row));
		if (c->sure || (r != NV_BAD_SIZE && r != NV_BAD_PARAMS))
			break;
		c->row = (u8)((c->row + 1) % rows);
		c->tried++;
	}
	c->sure |= r == NV_OK;
	return r;
}

/* --- processes -------------------------------------------------------------------------------- */

static struct nvproc *proc_find(u32 device, u32 pid)
{
	for (u32 i = 0; i < ctl.nprocs; i++)
		if (procs.rows[i].device == device && procs.rows[i].pid == pid)
			return &procs.rows[i];
	return NULL;
}

static void proc_note(u32 device, u32 pid)
{
	struct nvproc *p = proc_find(device, pid);

	if (pid == 0 || pid > INT32_MAX || pid == sys_pid())
		return;
	if (!p) {
		if (!table_has(&procs.t, ctl.nprocs)) {
			registry.dropped++;
			return;
		}
		p = &procs.rows[ctl.nprocs++];
		*p = (struct nvproc){ .device = device, .pid = pid };
		ctl.changed = true;
	}
	p->seen = true;
}

/* Removes the processes of a device that the driver has not listed in this reading. */
static void procs_forget(u32 device)
{
	u32 n = 0;

	for (u32 i = 0; i < ctl.nprocs; i++) {
		bool keep = procs.rows[i].device != device || procs.rows[i].seen;

		ctl.changed |= !keep;
		procs.rows[i].seen &= procs.rows[i].device != device;
		if (keep)
			procs.rows[n++] = procs.rows[i];
	}
	ctl.nprocs = n;
}

/* Reads the list of the processes that use a GPU (that have a subdevice object in the driver) into
 * procs[]. The argument of the command is NV2080_CTRL_GPU_GET_PIDS_PARAMS: type and class of the
 * objects, number of pids, pids. */
static long read_pids(struct nvgpu *g, u32 device)
{
	struct { u32 type, class, n, pids[MAX_PIDS]; } *list = (void *)answer.rows;
	long r;

	*list = (__typeof__(*list)){ .class = CLASS_SUBDEVICE };
	r = control(g->device + 1, GET_PIDS, list, sizeof(*list));
	if (r)
		return r;
	for (u32 i = 0; i < MAX_PIDS && i < list->n; i++)
		proc_note(device, list->pids[i]);
	procs_forget(device);
	return 0;
}

static char *pid_entry(u32 i)
{
	return answer.rows + 8 + (size_t)i * NV_PID_BYTES;
}

/* Reads the memory of up to MAX_ENTRIES (200) processes of a GPU: of those in procs[] from index
 * `from` on. Returns the index in procs[] from which the next call continues. The argument of the
 * command is NV2080_CTRL_GPU_GET_PID_INFO_PARAMS. */
static u32 read_pid_info(struct nvgpu *g, u32 device, u32 from)
{
	const u32 bytes = 8 + MAX_ENTRIES * NV_PID_BYTES;
	u32 n = 0, pid;
	u64 resident, shared;
	long r;

	memset(answer.rows, 0, bytes);
	for (; from < ctl.nprocs && n < MAX_ENTRIES; from++)
		if (procs.rows[from].device == device) {
			procs.rows[from].has_memory = false;
			memcpy(pid_entry(n++), &procs.rows[from].pid, sizeof(pid));
		}
	memcpy(answer.rows, &n, sizeof(n));
	r = n ? control(g->device + 1, GET_PID_INFO, answer.rows, bytes) : 1;
	for (u32 i = 0; r == 0 && i < n; i++)
		if (nvprocess(pid_entry(i), &pid, &resident, &shared)) {
			struct nvproc *p = proc_find(device, pid);

			if (!p)
				continue;
			p->resident = resident;
			p->shared = shared;
			p->has_memory = true;
		}
	return from;
}

/* --- values of a GPU -------------------------------------------------------------------------- */

static u32 utilisation_size(u8 row)
{
	const struct nvring *r = &nvrings[row];
	u32 head[4] = { 2 /* type of samples: engines */, (u32)r->count * r->sample, r->count, 0 };

	memset(answer.rows, 0, r->bytes);
	memcpy(answer.rows, head, sizeof(head));
	return r->bytes;
}

static u32 errors_size(u8 row)
{
	memset(answer.rows, 0, nveccs[row]);
	return nveccs[row];
}

/* Adds up the work of one engine in the driver's samples since the previous reading, by the process
 * `pid`, or by all if pid is NV_ANY. Adds the ns of work to *busy, and stores the utilisation in
 * *percent (1/1000 %) and the time that the samples cover in *time (ns). */
static void work_take(const struct nvgpu *g, const struct nvring *r, u32 pid, u32 engine,
		      u8 *engines, u64 *busy, u32 *percent, u64 *time)
{
	struct nvquery q = { .since = g->newest, .known = g->has_newest, .pid = pid,
			     .engine = (u8)engine, .inner = ctl.inner };
	struct nvsum s;

	if (!nvring_sum(answer.rows, r, &q, &s))
		return;
	*engines |= (u8)(1 << engine);
	*percent = (u32)((s.work * 100000 + s.time / 2) / s.time);
	*busy += g->has_newest ? s.work : 0;
	*time = s.time;
}

static void work_forget(struct nvgpu *g, u32 device)
{
	g->engines = 0;
	for (u32 i = 0; i < ctl.nprocs; i++)
		if (procs.rows[i].device == device)
			procs.rows[i].engines = 0;
}

/* Reads the driver's ring of utilisation samples, and updates the busy times and the utilisation of
 * the GPU and of its processes. Returns 0, the driver's status, or -errno. */
static long read_ring(struct nvgpu *g, u32 device)
{
	long r = control_rows(&g->ring, NV_RINGS, g->device + 1, GET_RING, utilisation_size);
	const struct nvring *ring = &nvrings[g->ring.row];
	i64 now = sys_now(CLOCK_MONOTONIC);
	u64 newest, time = 0;

	if (r || now - g->sampled > stale_ns)
		work_forget(g, device);
	if (r || !nvring_newest(answer.rows, ring, &newest))
		return r;
	/* If the driver was unloaded and loaded again, the times of its samples begin at 0 again:
	 * the newest time is then lower than the one in the previous reading. */
	if (newest - g->newest > INT64_MAX)
		g->has_newest = false;
	if (!g->has_newest)
		g->worked = now;
	for (u32 e = 0; e < NV_ENGINES; e++)
		work_take(g, ring, NV_ANY, e, &g->engines, &g->busy[e], &g->percent[e], &time);
	for (u32 i = 0; i < ctl.nprocs; i++) {
		struct nvproc *p = &procs.rows[i];

		for (u32 e = 0; e < NV_ENGINES && p->device == device; e++)
			work_take(g, ring, p->pid, e, &p->engines, &p->busy[e], &p->percent[e],
				  &time);
	}
	if (!time)
		return 0;
	g->sampled = now;
	g->worked += g->has_newest ? (i64)time : 0;
	g->newest = newest;
	g->has_newest = true;
	return 0;
}

/* Reads n values of a GPU into `list`, which has n pairs of index and value. The argument is
 * NV2080_CTRL_FB_GET_INFO_PARAMS or NV2080_CTRL_GPU_GET_INFO_PARAMS, which have the same layout. */
static long read_info(struct nvgpu *g, u32 command, u32 *list, u32 n)
{
	struct { u64 n, list; } params = { n, (uintptr_t)list };

	return control(g->device + 1, command, &params, sizeof(params));
}

/* Reads the total and the used video memory of a GPU; the driver reports total and free memory in
 * KiB. */
static long read_memory(struct nvgpu *g)
{
	u32 list[4] = { 0x08 /* TOTAL_RAM_SIZE */, 0, 0x16 /* HEAP_FREE */, 0 };
	long r = read_info(g, GET_MEMORY, list, LEN(list) / 2);

	g->has_memory = r == 0 && nvmemory((const char *)list, &g->total, &g->used);
	return r;
}

/* Reads the performance state, the temperatures and the ECC errors of a GPU. Only newer releases of
 * the driver or some GPUs have them: a value is unknown if the driver rejects the request for
 * it. */
static void read_optional(struct nvgpu *g)
{
	u32 mask = 0;
	long r = control(g->device + 1, GET_PSTATE, &mask, sizeof(mask));

	g->pstate = r ? NV_NO_PSTATE : nvpstate(mask);
	nvsensors_ask(answer.rows);
	r = control(g->device + 1, GET_TEMPERATURES, answer.rows, NV_SENSOR_BYTES);
	for (u32 i = 0; i < NV_SENSORS; i++)
		if (r || !nvsensor(answer.rows, i, &g->temp_names[i], &g->temps[i]))
			g->temp_names[i] = NULL;
	r = control_rows(&g->ecc, NV_ECCS, g->device + 1, GET_ECC, errors_size);
	g->has_ecc = r == 0 && nvecc_sum(answer.rows, nveccs[g->ecc.row], &g->corrected,
					 &g->uncorrected);
}

/* --- when a GPU may be accessed --------------------------------------------------------------- */

static void node_close(struct nvgpu *g)
{
	u32 handles[4] = { ctl.client, ctl.client, g->device, 0 };

	if (g->device != NONE) {
		/* allow one more ioctl call, for request_free: gpu_read() has left it out of
		 * ctl.left */
		ctl.left++;
		call(request_free, handles);
	}
	if (g->node >= 0)
		sys_close(g->node);
	g->device = NONE;
	g->node = -1;
}

/* Returns the major release of the driver: the number before the first point in a text such as "...
 * for x86_64  570.99.01  Release Build". 0 if the text has no such number. */
static u32 release_of(struct str text)
{
	struct str word;
	u64 v;

	while (str_word(&text, &word)) {
		const char *e = scan_u64(word, &v);

		if (e && e < word.e && *e == '.' && v < 10000)
			return (u32)v;
	}
	return 0;
}

/* Chooses the rows of nvrings[] and nveccs[] that control_rows() tries first, by the driver's
 * release. */
static void choices_begin(struct nvgpu *g)
{
	static const u16 rings[NV_RINGS] = { 570, 550, 525, 0 },
			 eccs[NV_ECCS] = { 590, 565, 560, 555, 545, 520, 0 };

	while (ctl.release < rings[g->ring.row] && ctl.release)
		g->ring.row++;
	while (ctl.release < eccs[g->ecc.row] && ctl.release)
		g->ecc.row++;
}

/* Returns the text of the file `root` + `slot` + `leaf` of NVIDIA's driver, a path in /proc. */
static struct str slot_file(const char *root, const char *slot, const char *leaf, char *b,
			    size_t cap)
{
	char path[96];
	struct buf p = BUF_Z(path);

	put_z(&p, root);
	put_z(&p, slot);
	put_z(&p, leaf);
	return str_read(b, slurp(roots.proc, buf_z(&p), b, cap));
}

/* Returns the value of the line `name` in the driver's file about a GPU, such as "GPU UUID: \t
 * GPU-0a1b2c3d-..."; an empty text if there is no such line. */
static struct str information_find(const struct device *d, const char *name, char *b, size_t cap)
{
	struct str line, key, rest = slot_file("driver/nvidia/gpus/", d->pdev, "/information", b,
					       cap);

	while (line_next(&rest, &line))
		if (str_cut(&line, ':', &key) && str_is(str_trim(key), name))
			return str_trim(line);
	return (struct str){ b, b };
}

static void gpu_begin(struct nvgpu *g, const struct device *d)
{
	struct str power;
	char text[1024];
	long n;

	*g = (struct nvgpu){ .serial = d->e.serial, .node = -1, .pstate = NV_NO_PSTATE };
	power = slot_file("driver/nvidia/gpus/", d->pdev, "/power", text, sizeof(text));
	g->fine = power.p == power.e || str_find(power, (struct str)STR("fine-grained"));
	ctl.release = release_of(slot_file("driver/nvidia/version", "", "", text, sizeof(text)));
	choices_begin(g);
	n = sys_readlinkat(roots.proc, "self/ns/pid", text, sizeof(text));
	ctl.inner = n > 0 && !str_is(str_of(text, (size_t)n), "pid:[4026531836]");
}

/* True if another process has a device node of the device open. A process whose descriptors this
 * user may not read is regarded as having none open. */
static bool held_by_others(u32 device)
{
	for (u32 h = 1; h <= nrows.holders; h++)
		if (holders[h].client && holders[h].fd <= INT32_MAX &&
		    clients[holders[h].client].device == device)
			return true;
	return false;
}

/* True if gpustat may keep /dev/nvidiaN of a GPU open, because that does not keep the GPU awake any
 * longer than it stays awake without gpustat: its sysfs file power/control is "on", or it has no
 * fine-grained power management and another process has the node open. */
static bool may_hold(const struct nvgpu *g, u32 device)
{
	struct str text = sysfs_text(device, "power/control");

	return str_skip_z(&text, "on") || (!g->fine && held_by_others(device));
}

/* Appends to b the PCI address of a card (nv_ioctl_card_info_t) as it is in /sys:
 * "%04x:%02x:%02x.%d" of pci_setup_device() in drivers/pci/probe.c. Domains behind Intel's VMD have
 * five digits. */
static void put_slot(struct buf *b, const char *card)
{
	u32 domain;

	memcpy(&domain, card + 4, sizeof(domain));
	for (u32 left = 28; left >= 16; left -= 4)
		if (domain >> left)
			put_c(b, "0123456789abcdef"[domain >> left & 15]);
	put_hex(b, (u8)(domain >> 8));
	put_hex(b, (u8)domain);
	put_c(b, ':');
	put_hex(b, (u8)card[8]);
	put_c(b, ':');
	put_hex(b, (u8)card[9]);
	put_z(b, ".");
	put_u64(b, (u8)card[10] & 7);
}

/* Stores the driver's number of a GPU in g->id, and the number of its node in *minor. The driver
 * answers with an array of nv_ioctl_card_info_t. Returns 0, or -errno. */
static long card_find(struct nvgpu *g, const struct device *d, u32 *minor)
{
	long r;

	memset(answer.rows, 0, (size_t)MAX_CARDS * CARD_BYTES);
	r = call(request_card_info, answer.rows);
	for (u32 i = 0; i < MAX_CARDS && r == 0; i++) {
		const char *card = answer.rows + i * (size_t)CARD_BYTES;
		char slot[24];
		struct buf b = BUF(slot);

		put_slot(&b, card);
		if (!card[0] || !str_is((struct str){ slot, slot + b.n }, d->pdev))
			continue;
		memcpy(&g->id, card + 16, sizeof(g->id));
		memcpy(minor, card + 56, sizeof(*minor));
		return *minor < NVIDIA_CTL ? 0 : -ENODEV;
	}
	return r < 0 ? r : -ENODEV;
}

static long node_open(struct nvgpu *g, const struct device *d)
{
	char path[32];
	struct buf b = BUF_Z(path);
	u32 minor;
	long r;

	if (g->node >= 0)
		return 0;
	r = card_find(g, d, &minor);
	if (r)
		return r;
	put_z(&b, "/dev/nvidia");
	put_u64(&b, minor);
	r = open_retry(AT_FDCWD, buf_z(&b), O_RDONLY);
	if (r >= 0)
		g->node = (i32)r;
	return r < 0 ? r : 0;
}

/* Opens the GPU's node and creates the driver's objects that are needed to ask for its values. If
 * no process uses the GPU, opening the node initialises the GPU. Returns 0, the driver's status, or
 * -errno. */
static long gpu_attach(struct nvgpu *g, const struct device *d)
{
	u32 info[8] = { 0 }, device[14] = { 0 }, subdevice = 0;
	long r = client_make();

	if (r == 0)
		r = node_open(g, d);
	if (r || g->device != NONE)
		return r;
	info[0] = g->id;
	r = control(ctl.client, GET_ID_INFO, info, sizeof(info));
	if (r)
		return r;
	/* bit 5: NV0000_CTRL_GPU_ID_INFO_SOC of the driver: the GPU is part of a system on a
	 * chip */
	g->on_chip = info[1] >> 5 & 1;
	device[0] = info[2];
	subdevice = info[3];
	ctl.handle += 2;
	r = object_make((struct nvalloc){ ctl.client, ctl.client, ctl.handle, CLASS_DEVICE,
					  (uintptr_t)device, sizeof(device), 0 });
	if (r)
		return r;
	g->device = ctl.handle;
	return object_make((struct nvalloc){ ctl.client, g->device, g->device + 1, CLASS_SUBDEVICE,
					     (uintptr_t)&subdevice, sizeof(subdevice), 0 });
}

/* Clears the argument of GET_VIRTUALIZATION and returns its size in bytes.
 * NV0080_CTRL_GPU_GET_VIRTUALIZATION_MODE_PARAMS has the mode, and in some releases a flag. */
static u32 virtualization_size(u8 row)
{
	memset(answer.rows, 0, 8);
	return row ? 4 : 8;
}

/* Returns the reason (NV_ON_CHIP to NV_UNKNOWN) why the driver answers a request for the
 * utilisation with NV_UNSUPPORTED. Virtual GPUs are checked before MIG, because the host of a
 * virtual GPU decides about MIG. */
static long unsupported_reason(struct nvgpu *g, const struct device *d)
{
	/* the driver's values NV0080_CTRL_GPU_VIRTUALIZATION_MODE_VGX and GPU_SMC_MODE_ENABLED */
	const u32 is_vgpu = 2, mig_is_on = 1;
	u32 info[2] = { 0x2a /* GPU_SMC_MODE */, 0 }, mode = 0;
	struct nvchoice choice = { 0 };
	char text[1024];

	if (g->on_chip)
		return NV_ON_CHIP;
	ctl.left += REASON_CALLS;
	if (control_rows(&choice, 2, g->device, GET_VIRTUALIZATION, virtualization_size) == 0)
		memcpy(&mode, answer.rows, sizeof(mode));
	if (mode == is_vgpu)
		return NV_VGPU;
	if (read_info(g, GET_GPU_INFO, info, 1) == 0 && info[1] == mig_is_on)
		return NV_MIG;
	return str_is(information_find(d, "GPU Firmware", text, sizeof(text)), "N/A") ?
		       NV_NO_GSP : NV_UNKNOWN;
}

static void gpu_read(struct nvgpu *g, u32 number, bool hold)
{
	const long before = g->failure;
	long r;

	/* the last of the MAX_CALLS ioctl calls is reserved for node_close() */
	ctl.left = MAX_CALLS - 1;
	r = gpu_attach(g, &devices[number]);
	if (r == 0) {
		long memory = read_memory(g), pids = read_pids(g, number);

		for (u32 i = 0; pids == 0 && i < ctl.nprocs && ctl.left > 3;)
			i = read_pid_info(g, number, i);
		r = read_ring(g, number);
		read_optional(g);
		g->has = memory == 0 || r == 0;
		if (r == NV_UNSUPPORTED)
			r = before >= NV_ON_CHIP ? before :
						   unsupported_reason(g, &devices[number]);
	} else {
		g->has = false;
	}
	g->failure = r;
	if (!hold || !g->has)
		node_close(g);
	if (ctl.fd >= 0)
		g->tried = sys_now(CLOCK_MONOTONIC);
}

/* --- storing the values of a GPU -------------------------------------------------------------- */

static void put_work(struct entity *e, u8 engines, const u32 *percent, const u64 *busy, i64 worked)
{
	for (u32 i = NV_GR; i < NV_ENGINES; i++) {
		struct str name = str_z(engine_names[i]);

		if (!(engines >> i & 1))
			continue;
		reg_put(e, D_BUSY_PCT, name, percent[i], e->t);
		reg_put(e, D_BUSY_NS, name, busy[i], worked);
	}
}

static void gpu_put(const struct nvgpu *g, struct entity *e)
{
	const struct str all = { 0 };

	put_work(e, g->engines, g->percent, g->busy, g->worked);
	if (g->engines >> NV_GR & 1)
		reg_put(e, D_GPU_BUSY, all, g->percent[NV_GR], e->t);
	if (g->engines >> NV_MEMORY & 1)
		reg_put(e, D_LOAD, str_z(engine_names[NV_MEMORY]), g->percent[NV_MEMORY], e->t);
	if (g->has_memory) {
		reg_put(e, D_VRAM_TOTAL, all, g->total, e->t);
		reg_put(e, D_VRAM_USED, all, g->used, e->t);
	}
	/* The temperature of the GPU itself ("gpu") is stored first, because a line about the
	 * device shows only the first temperature. */
	for (u32 i = 0; i < 2 * NV_SENSORS; i++) {
		const char *name = g->temp_names[i % NV_SENSORS];

		if (name && (name[0] == 'g') == (i < NV_SENSORS))
			reg_put(e, D_TEMP, str_z(name), (u64)g->temps[i % NV_SENSORS], e->t);
	}
	if (g->pstate != NV_NO_PSTATE)
		reg_put(e, D_PSTATE, all, g->pstate, e->t);
	if (g->has_ecc) {
		reg_put(e, D_ECC_CORRECTED, all, g->corrected, e->t);
		reg_put(e, D_ECC_UNCORRECTED, all, g->uncorrected, e->t);
	}
}

/* Returns a text about a failure r: a status of the driver, -errno, or NV_ON_CHIP to
 * LOADED_LATE. */
static const char *failure_text(long r)
{
	static const struct { i32 status; const char *text; } texts[] = {
		{ NV_LOST, "the GPU is lost: it has fallen off the bus" },
		{ -ENODEV, "the GPU is lost: it has fallen off the bus" },
		{ NV_DENIED, "NVIDIA's driver denies it" },
		{ -EACCES, "/dev/nvidiactl or the GPU's node: permission denied" },
		{ -EPERM, "/dev/nvidiactl or the GPU's node: permission denied" },
		{ NOT_LOADED, "/proc/driver/nvidia is missing" },
		{ LOADED_LATE,
		  "NVIDIA's driver was loaded after gpustat had started: restart gpustat" },
		{ -ENOENT, "/dev/nvidiactl or the GPU's node is missing" },
		{ NV_BAD_SIZE, "an unknown release of NVIDIA's driver: 515 to 595 are known" },
		{ NV_BAD_PARAMS, "an unknown release of NVIDIA's driver: 515 to 595 are known" },
		{ NV_UNKNOWN, "NVIDIA's driver does not measure it on this GPU" },
		{ NV_ON_CHIP, "NVIDIA's driver does not measure the GPU of a Tegra chip; "
			      "tegrastats does" },
		{ NV_VGPU, "a virtual GPU (vGPU) is measured by its host: run gpustat there" },
		{ NV_MIG, "MIG is on: NVIDIA's driver does not measure the whole GPU; "
			  "as root: nvidia-smi -mig 0" },
		{ NV_NO_GSP, "NVIDIA's driver does not use the GPU's firmware (GSP): load it with "
			     "NVreg_EnableGpuFirmware=1" },
	};

	for (size_t i = 0; i < LEN(texts); i++)
		if (texts[i].status == r)
			return texts[i].text;
	return "NVIDIA's driver does not answer";
}

/* Appends the GPU's UUID to the facts of a device (struct device). */
static void uuid_put(struct device *d)
{
	char text[1024], facts[1100];
	struct buf b = BUF(facts);
	struct str uuid = information_find(d, "GPU UUID", text, sizeof(text));

	if (uuid.p == uuid.e)
		return;
	b.n = text_copy(d->facts, facts, sizeof(facts) - 80);
	put_z(&b, "uuid:");
	put_str(&b, uuid);
	put_c(&b, '\n');
	d->facts = text_put(d->facts, (struct str){ facts, facts + b.n });
}

static void gpu_explain(struct device *d, const struct nvgpu *g)
{
	/* the UUID is not read while the GPU sleeps, because that would wake the GPU */
	if (d->awake)
		uuid_put(d);
	d->no_engines = d->no_memory = !d->awake ? "asleep; reading would wake it" :
		ctl.fd < 0 ? failure_text(ctl.error) : failure_text(g->failure);
	/* Power, clocks and fans are not read: no release of the driver documents how to read
	 * them. */
	if (d->awake)
		d->no_sensors = "only NVIDIA's own library reports it";
	if (d->awake && g->has && !g->failure)
		d->no_engines = NULL;
	if (d->awake && g->has_memory)
		d->no_memory = NULL;
}

/* Reads the values of an NVIDIA GPU from the driver, and stores them in the registry. If the access
 * could keep the GPU awake, the driver is not asked, and the values of the last reading are stored
 * again. */
static void gpu_sample(u32 number)
{
	struct device *d = &devices[number];
	struct nvgpu *g = &gpus.rows[number];
	bool hold, had = g->has;

	if (g->serial != d->e.serial)
		gpu_begin(g, d);
	if (g->state_read == d->e.t)
		return; /* gpu_sample() was already called for this sample of the device */
	g->state_read = d->e.t;
	hold = d->awake && may_hold(g, number);
	if (!hold && g->node >= 0)
		node_close(g);
	if (d->awake && (g->node >= 0 || (hold && g->has) || !g->tried ||
			 sys_now(CLOCK_MONOTONIC) - g->tried >= pause_ns))
		gpu_read(g, number, hold);
	if (!d->awake)
		g->has = false;
	if (g->has)
		gpu_put(g, &d->e);
	ctl.changed |= g->has != had;
	if (sensing.listing)
		gpu_explain(d, g);
}

/* Closes the nodes of GPUs that were removed. */
static void removed_close(void)
{
	for (u32 i = 1; i < gpus.t.ready && i <= nrows.devices; i++) {
		const struct device *d = &devices[i];

		if (!gpus.rows[i].serial ||
		    (d->e.used && !d->gone && gpus.rows[i].serial == d->e.serial))
			continue;
		node_close(&gpus.rows[i]);
		procs_forget(i);
		gpus.rows[i].serial = 0;
	}
}

bool nvidia_covers(u32 device)
{
	return !roots.proc_given && !roots.sys_given &&
	       strcmp(devices[device].driver, "nvidia") == 0;
}

i32 nvidia_minor(u32 device)
{
	struct nvgpu g;
	u32 minor;

	ctl_open();
	ctl.left = 1;
	return ctl.fd >= 0 && table_has(&answer.t, NV_ANSWER - 1) &&
		       card_find(&g, &devices[device], &minor) == 0 ?
		       (i32)minor : NVIDIA_CTL;
}

bool nvidia_sample(void)
{
	ctl.changed = false;
	if (roots.proc_given || roots.sys_given)
		return false;
	removed_close();
	for (u32 i = NONE; (i = device_next(i, false)) != NONE;) {
		if (!nvidia_covers(i) || devices[i].left_out)
			continue;
		ctl_open();
		if (table_has(&gpus.t, i) && table_has(&answer.t, NV_ANSWER - 1))
			gpu_sample(i);
	}
	return ctl.changed;
}

bool nvidia_asked(u32 device)
{
	return device < gpus.t.ready && gpus.rows[device].serial && devices[device].awake;
}

const char *nvidia_reason(u32 device, bool *denied)
{
	long r = ctl.error < 0 ? ctl.error : gpus.rows[device].failure;

	*denied = r == -EACCES || r == -EPERM || r == NV_DENIED;
	return r ? failure_text(r) : NULL;
}

void nvidia_rest(void)
{
	for (u32 i = 1; i <= nrows.devices && i < gpus.t.ready; i++)
		if (gpus.rows[i].serial)
			node_close(&gpus.rows[i]);
	if (ctl.fd < 0 || ctl.admitted)
		return;
	sys_close(ctl.fd);
	ctl.fd = -1;
	ctl.client = 0;
}

bool nvidia_scan(void (*found)(u32 pid, u32 device, u32 slot))
{
	for (u32 i = 0; i < ctl.nprocs; i++) {
		const struct nvproc *p = &procs.rows[i];

		if (gpus.rows[p->device].has)
			found(p->pid, p->device, NV_SLOT + p->device);
	}
	return gpus.t.ready != 0;
}

bool nvidia_read(struct client *c, i64 t)
{
	const struct nvproc *p = proc_find(c->device, (u32)c->key);
	const struct str vram = STR("vram");

	if (!p || !gpus.rows[p->device].has)
		return false;
	reg_begin(&c->e, t);
	put_work(&c->e, p->engines, p->percent, p->busy, gpus.rows[p->device].worked);
	if (!p->has_memory)
		return true;
	reg_put(&c->e, D_RESIDENT, vram, p->resident, t);
	reg_put(&c->e, D_SHARED, vram, p->shared, t);
	return true;
}
