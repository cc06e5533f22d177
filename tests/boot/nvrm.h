/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * nvrm.h: a stand-in for NVIDIA's driver below its ioctls, for nvfake.c in the kernel and for unit
 * tests. Numbers, sizes and offsets are those of the open kernel modules at their releases, from a
 * list that was made by compiling their headers; none is from gpustat's tables.
 *
 * The includer defines nvrm_in(to, from, n) and nvrm_out(to, from, n), which copy from and to the
 * caller's memory and return 0, or another number on a fault; and nvrm_now(), in ns.
 */
#ifndef NVRM_H
#define NVRM_H

enum { NVRM_GPUS = 2, NVRM_PROCS = 256, NVRM_OBJECTS = 16, NVRM_FAILS = 8 };

/* The engines in the order of struct nvrm_gpu. */
enum { NVRM_FB, NVRM_GR, NVRM_NVENC, NVRM_NVDEC, NVRM_NVJPG, NVRM_NVOFA, NVRM_ENGINES };

/* A release: sizeof the engine's sample, its offsets, number of samples, units with ECC, whether
 * the alloc struct has paramsSize, whether the P-state and the temperatures are there. */
struct nvrm_release {
	unsigned number, engine, engines, samples, ecc;
	unsigned char alloc_size, pstate, thermal;
};

static const struct nvrm_release nvrm_releases[] = {
	{ 515, 116, 4, 100, 0x16, 0, 0, 0 },
	{ 525, 116, 4, 72, 0x18, 0, 0, 0 },
	{ 535, 116, 4, 72, 0x18, 1, 0, 0 },
	{ 550, 116, 6, 72, 0x19, 1, 1, 0 },
	{ 570, 128, 6, 72, 0x24, 1, 1, 0 },
	{ 595, 128, 6, 72, 0x29, 1, 1, 1 },
	{ 999, 132, 6, 72, 0x2b, 1, 1, 1 }, /* a later release: no known size */
};

/* The work of the engines in a phase of ten samples: percent x 100 in the first `on` of them by the
 * process `pid`. */
struct nvrm_work {
	unsigned util, on, pid;
	unsigned foreign; /* its process is not in the caller's pid namespace */
};

struct nvrm_proc {
	unsigned pid;
	unsigned long long own, owned, duped;
};

/* The result of a control: a status, or -errno. */
struct nvrm_fail {
	unsigned command;
	int result;
};

struct nvrm_gpu {
	unsigned id, minor, domain, bus, slot, instance, release; /* release: an index */
	unsigned long long first;  /* the driver's time of the first sample, ns */
	unsigned long long began;  /* nvrm_now() at that time */
	unsigned period;           /* ns */
	unsigned restart;          /* the clock of the driver begins again with this sample; 0: never */
	struct nvrm_work work[NVRM_ENGINES];
	unsigned total, unused;    /* KiB */
	unsigned pstate;           /* a mask */
	int degrees[2];            /* of the GPU, of its memory */
	unsigned long long sbe, dbe;
	unsigned nprocs;
	struct nvrm_proc procs[NVRM_PROCS];
	unsigned opens, open_now;  /* of its node; it is initialised while it is open */
	unsigned mig, on_chip, vgpu, no_gsp; /* it does not measure the utilisation, because of this */
	unsigned lost;
	unsigned inner;            /* the caller is in an inner pid namespace */
	struct nvrm_fail fails[NVRM_FAILS];
};

struct nvrm {
	unsigned ngpus;
	struct nvrm_gpu gpus[NVRM_GPUS];
	unsigned client;          /* handle; 0: there is none */
	struct { unsigned handle, parent, class; struct nvrm_gpu *gpu; } objects[NVRM_OBJECTS];
	unsigned calls, wrong;    /* ioctls; those that a reader of values must not make */
	unsigned char ring[64 << 10];
};

static void nvrm_put32(unsigned char *p, unsigned v)
{
	memcpy(p, &v, 4);
}

static void nvrm_put64(unsigned char *p, unsigned long long v)
{
	memcpy(p, &v, 8);
}

static unsigned nvrm_get32(const unsigned char *p)
{
	unsigned v;

	memcpy(&v, p, 4);
	return v;
}

/* The number of samples that the driver has taken. */
static unsigned nvrm_taken(const struct nvrm_gpu *g)
{
	unsigned long long age = nvrm_now() - g->began;
	unsigned n = 0;

	/* without a division of 64 bits */
	while (age >= g->period && n < 100000) {
		age -= g->period;
		n++;
	}
	return n;
}

static unsigned long long nvrm_time(const struct nvrm_gpu *g, unsigned k)
{
	return g->restart && k >= g->restart ? 1000000000ull + (unsigned long long)(k - g->restart) * g->period :
					       g->first + (unsigned long long)k * g->period;
}

static void nvrm_sample(const struct nvrm_gpu *g, const struct nvrm_release *r, unsigned k, unsigned char *p)
{
	unsigned e;

	nvrm_put64(p, nvrm_time(g, k));
	for (e = 0; e < r->engines; e++) {
		const struct nvrm_work *w = &g->work[e];
		unsigned char *at = p + 8 + e * r->engine;
		int on = k % 10 < w->on;

		nvrm_put32(at, on ? w->util : 0);
		nvrm_put32(at + 8, on && w->pid ? w->pid : ~0u);
		/* pOsPidInfo: an address of the kernel, cleared where the pid was translated */
		if (r->engine >= 128)
			nvrm_put64(at + 120, g->inner && !w->foreign ? 0 : 0xffff888012345678ull);
	}
}

/* PERF_GET_GPUMON_PERFMON_UTIL_SAMPLES_V2 */
static unsigned nvrm_utilisation(struct nvrm *rm, const struct nvrm_gpu *g, unsigned char *p, unsigned n)
{
	const struct nvrm_release *r = &nvrm_releases[g->release];
	/* engine samples are 4-aligned, those with a pointer 8-aligned */
	unsigned sample = 8 + r->engines * r->engine, taken = nvrm_taken(g), k;

	(void)rm;
	if (n != 16 + r->samples * sample)
		return 0x1f;
	if (p[0] != 2 || nvrm_get32(p + 4) != r->samples * sample)
		return 0x1f;
	if (g->mig || g->on_chip || g->vgpu || g->no_gsp)
		return 0x56;
	memset(p + 16, 0, r->samples * sample);
	nvrm_put32(p + 8, r->samples);
	nvrm_put32(p + 12, taken % r->samples);
	for (k = taken > r->samples ? taken - r->samples : 0; k < taken; k++)
		nvrm_sample(g, r, k, p + 16 + k % r->samples * sample);
	return 0;
}

static unsigned nvrm_ecc(const struct nvrm_gpu *g, unsigned char *p, unsigned n)
{
	unsigned nunits = nvrm_releases[g->release].ecc;

	if (n != 40 * nunits + 24)
		return 0x1f;
	memset(p, 0, n);
	if (g->sbe == 0 && g->dbe == 0)
		return 0;
	/* one unit has all; another has errors, but is not enabled */
	p[40 * (nunits - 1)] = p[40 * (nunits - 1) + 2] = 1;
	nvrm_put64(p + 40 * (nunits - 1) + 8, g->dbe);
	nvrm_put64(p + 40 * (nunits - 1) + 24, g->sbe);
	nvrm_put64(p + 8, 77);
	nvrm_put64(p + 24, 99);
	return 0;
}

static unsigned nvrm_pids(const struct nvrm_gpu *g, unsigned char *p, unsigned n)
{
	unsigned i;

	if (n != 3812)
		return 0x1f;
	if (nvrm_get32(p) != 0 || nvrm_get32(p + 4) != 0x2080)
		return 0x1f;
	nvrm_put32(p + 8, g->nprocs);
	for (i = 0; i < g->nprocs; i++)
		nvrm_put32(p + 12 + 4 * i, g->procs[i].pid);
	return 0;
}

static unsigned nvrm_pid_info(const struct nvrm_gpu *g, unsigned char *p, unsigned n)
{
	unsigned i, k, count = nvrm_get32(p);

	if (n != 14408)
		return 0x1f;
	if (count < 1 || count > 200)
		return 0x1f;
	for (i = 0; i < count; i++) {
		unsigned char *at = p + 8 + 72 * i;

		nvrm_put32(at + 8, 0x57); /* object not found */
		for (k = 0; k < g->nprocs; k++)
			if (g->procs[k].pid == nvrm_get32(at) && nvrm_get32(at + 4) == 0) {
				nvrm_put32(at + 8, 0);
				nvrm_put64(at + 16, g->procs[k].own);
				nvrm_put64(at + 24, g->procs[k].owned);
				nvrm_put64(at + 32, g->procs[k].duped);
			}
	}
	return 0;
}

/* Sensor 0 has target 2, the memory; sensor 1 has target 0, the GPU; others do not exist. */
static void nvrm_instruction(const struct nvrm_gpu *g, unsigned char *p)
{
	unsigned opcode = nvrm_get32(p + 8), x = nvrm_get32(p + 12), result = 0x1f, v = 0;

	if (opcode == 0x520 && x < 2) {
		v = x ? 0 : 2;
		result = 0;
	} else if (opcode == 0x101 && x < 3 && x != 1) {
		v = x ? 2 : 1;
		result = 0;
	} else if (opcode == 0x1500 && x < 2) {
		v = (unsigned)g->degrees[!x];
		result = 0;
	}
	nvrm_put32(p, result);
	nvrm_put32(p + 4, 1);
	nvrm_put32(p + 16, v);
}

static unsigned nvrm_temperatures(const struct nvrm_gpu *g, unsigned char *p, unsigned n)
{
	unsigned i, count;

	if (!nvrm_releases[g->release].thermal)
		return 0x56;
	if (n != 1432)
		return 0x1f;
	count = nvrm_get32(p + 20);
	if (nvrm_get32(p) != 1 || nvrm_get32(p + 4) != 0 || nvrm_get32(p + 8) != 44 || count > 32)
		return 0x3a;
	for (i = 0; i < count; i++)
		nvrm_instruction(g, p + 24 + 44 * i);
	nvrm_put32(p + 16, count);
	return 0;
}

/* FB_GET_INFO: a list in the caller's memory. */
static unsigned nvrm_fb(const struct nvrm_gpu *g, unsigned char *p, unsigned n, int *fault)
{
	unsigned char list[64 * 8];
	unsigned count = nvrm_get32(p), i;
	unsigned long long at;

	memcpy(&at, p + 8, 8);
	if (n != 16 || count > 54)
		return 0x1f;
	if (nvrm_in(list, at, count * 8)) {
		*fault = 1;
		return 0;
	}
	for (i = 0; i < count; i++) {
		unsigned index = nvrm_get32(list + 8 * i);

		nvrm_put32(list + 8 * i + 4, index == 8 ? g->total : index == 0x16 ? g->unused : 0);
	}
	if (nvrm_out(at, list, count * 8))
		*fault = 1;
	return 0;
}

/* GPU_GET_INFO: a list in the caller's memory. The mode of MIG is on or off. */
static unsigned nvrm_gpu_info(const struct nvrm_gpu *g, const unsigned char *p, unsigned n, int *fault)
{
	unsigned char pair[8];
	unsigned long long at;

	memcpy(&at, p + 8, 8);
	if (n != 16 || nvrm_get32(p) != 1)
		return 0x1f;
	*fault = nvrm_in(pair, at, 8) != 0;
	if (*fault || nvrm_get32(pair) != 0x2a)
		return 0x1f;
	nvrm_put32(pair + 4, g->mig ? 1 : 2);
	*fault = nvrm_out(at, pair, 8) != 0;
	return 0;
}

/* GPU_GET_VIRTUALIZATION_MODE, a control of the device: a virtual GPU, or none. Later releases have
 * a flag after it; which was the first is not known, 570 stands for it. */
static unsigned nvrm_virtualization(const struct nvrm_gpu *g, unsigned char *p, unsigned n)
{
	if (n != (nvrm_releases[g->release].number >= 570 ? 8u : 4u))
		return 0x1f;
	nvrm_put32(p, g->vgpu ? 2 : 0);
	return 0;
}

/* A control of a subdevice. */
static unsigned nvrm_subdevice(struct nvrm *rm, struct nvrm_gpu *g, unsigned command, unsigned char *p, unsigned n, int *fault)
{
	const struct nvrm_release *r = &nvrm_releases[g->release];

	if (g->lost)
		return 0x0f;
	switch (command) {
	case 0x20802096:
		return nvrm_utilisation(rm, g, p, n);
	case 0x20800101:
		return nvrm_gpu_info(g, p, n, fault);
	case 0x20801301:
		return nvrm_fb(g, p, n, fault);
	case 0x2080018d:
		return nvrm_pids(g, p, n);
	case 0x2080018e:
		return nvrm_pid_info(g, p, n);
	case 0x2080012f:
		return nvrm_ecc(g, p, n);
	case 0x20800513:
		return nvrm_temperatures(g, p, n);
	case 0x20802068:
		if (!r->pstate)
			return 0x56;
		if (n != 4)
			return 0x1f;
		nvrm_put32(p, g->pstate);
		return 0;
	}
	rm->wrong++;
	return 0x56;
}

static struct nvrm_gpu *nvrm_object(const struct nvrm *rm, unsigned handle, unsigned class)
{
	unsigned i;

	for (i = 0; i < NVRM_OBJECTS; i++)
		if (rm->objects[i].handle == handle && rm->objects[i].class == class && handle)
			return rm->objects[i].gpu;
	return 0;
}

static unsigned nvrm_id_info(const struct nvrm *rm, unsigned char *p, unsigned n)
{
	unsigned i;

	if (n != 32)
		return 0x1f;
	for (i = 0; i < rm->ngpus; i++)
		if (rm->gpus[i].id == nvrm_get32(p)) {
			nvrm_put32(p + 4, rm->gpus[i].on_chip << 5);
			nvrm_put32(p + 8, rm->gpus[i].instance);
			nvrm_put32(p + 12, 0);
			return 0;
		}
	return 0x1f;
}

static long nvrm_control(struct nvrm *rm, unsigned char *a)
{
	unsigned client = nvrm_get32(a), object = nvrm_get32(a + 4), command = nvrm_get32(a + 8);
	unsigned n = nvrm_get32(a + 24), status, i;
	struct nvrm_gpu *g = nvrm_object(rm, object, 0x2080);
	unsigned long long at;
	int fault = 0;

	memcpy(&at, a + 16, 8);
	if (n > sizeof(rm->ring) || nvrm_in(rm->ring, at, n))
		return -14; /* EFAULT */
	for (i = 0; g && i < NVRM_FAILS; i++)
		if (g->fails[i].command == command && g->fails[i].command) {
			if (g->fails[i].result < 0)
				return g->fails[i].result;
			nvrm_put32(a + 28, (unsigned)g->fails[i].result);
			return 0;
		}
	if (client != rm->client || !client)
		status = 0x23; /* invalid client */
	else if (object == client && command == 0x205)
		status = nvrm_id_info(rm, rm->ring, n);
	else if (g)
		status = nvrm_subdevice(rm, g, command, rm->ring, n, &fault);
	else if (nvrm_object(rm, object, 0x80) && command == 0x800289)
		status = nvrm_virtualization(nvrm_object(rm, object, 0x80), rm->ring, n);
	else
		status = 0x57;
	if (fault || (!status && nvrm_out(at, rm->ring, n)))
		return -14;
	nvrm_put32(a + 28, status);
	return 0;
}

static unsigned nvrm_add(struct nvrm *rm, unsigned handle, unsigned parent, unsigned class, struct nvrm_gpu *g)
{
	unsigned i;

	for (i = 0; i < NVRM_OBJECTS; i++)
		if (rm->objects[i].handle == handle)
			return 0x19; /* insert duplicate name */
	for (i = 0; i < NVRM_OBJECTS; i++)
		if (!rm->objects[i].handle) {
			rm->objects[i].handle = handle;
			rm->objects[i].parent = parent;
			rm->objects[i].class = class;
			rm->objects[i].gpu = g;
			return 0;
		}
	return 0x1a; /* insufficient resources */
}

static unsigned nvrm_make(struct nvrm *rm, unsigned char *a)
{
	unsigned root = nvrm_get32(a), parent = nvrm_get32(a + 4), handle = nvrm_get32(a + 8), class = nvrm_get32(a + 12);
	unsigned i, instance;
	unsigned long long at;

	memcpy(&at, a + 16, 8);
	if (class == 0x41 || class == 0) {
		if (root || parent || handle)
			return 0x1f;
		rm->client = 0xc1d00001;
		nvrm_put32(a + 8, rm->client);
		return 0;
	}
	if (root != rm->client || !root || !handle || nvrm_in(&instance, at, 4))
		return 0x23;
	if (class == 0x2080) {
		struct nvrm_gpu *g = nvrm_object(rm, parent, 0x80);

		return g && instance == 0 ? nvrm_add(rm, handle, parent, class, g) : 0x57;
	}
	if (class != 0x80 || parent != root) {
		rm->wrong++;
		return 0x22; /* invalid class */
	}
	for (i = 0; i < rm->ngpus; i++)
		if (rm->gpus[i].instance == instance)
			return rm->gpus[i].lost ? 0x0f : !rm->gpus[i].open_now ? 0x40 /* invalid state */ :
			       nvrm_add(rm, handle, parent, class, &rm->gpus[i]);
	return 0x1f;
}

/* The alloc struct of the first GPU's release: before 535 its status was at 24. */
static long nvrm_alloc(struct nvrm *rm, unsigned char *a)
{
	unsigned status = nvrm_make(rm, a);

	nvrm_put32(a + (nvrm_releases[rm->gpus[0].release].alloc_size ? 28 : 24), status);
	return 0;
}

static long nvrm_free(struct nvrm *rm, unsigned char *a)
{
	unsigned handle = nvrm_get32(a + 8), i, found = 0;

	for (i = 0; i < NVRM_OBJECTS; i++)
		if (rm->objects[i].handle && (rm->objects[i].handle == handle || rm->objects[i].parent == handle)) {
			rm->objects[i].handle = 0;
			found = 1;
		}
	nvrm_put32(a + 12, found ? 0 : 0x57);
	return 0;
}

static long nvrm_cards(const struct nvrm *rm, unsigned char *a)
{
	unsigned i;

	memset(a, 0, 2304);
	for (i = 0; i < rm->ngpus; i++) {
		unsigned char *p = a + 72 * (i + 1); /* the first one is not valid */

		p[0] = 1;
		nvrm_put32(p + 4, rm->gpus[i].domain);
		p[8] = (unsigned char)rm->gpus[i].bus;
		p[9] = (unsigned char)rm->gpus[i].slot;
		nvrm_put32(p + 12, 0x248410de);
		nvrm_put32(p + 16, rm->gpus[i].id);
		nvrm_put64(p + 48, 256 << 20);
		nvrm_put32(p + 56, rm->gpus[i].minor);
	}
	return 0;
}

/* An ioctl of the control node: `a` is a copy of the argument, of `size` bytes. */
static inline long nvrm_ioctl(struct nvrm *rm, unsigned request, unsigned char *a)
{
	rm->calls++;
	switch (request) {
	case 0xc90046c8:
		return nvrm_cards(rm, a);
	case 0xc020462a:
		return nvrm_control(rm, a);
	case 0xc020462b:
		return nvrm_alloc(rm, a);
	case 0xc0104629:
		return nvrm_free(rm, a);
	}
	rm->wrong++;
	return -22; /* EINVAL */
}

/* The control node was closed: all objects of its client are freed. */
static inline void nvrm_close(struct nvrm *rm)
{
	rm->client = 0;
	memset(rm->objects, 0, sizeof(rm->objects));
}

#endif
