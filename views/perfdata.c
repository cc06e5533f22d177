/* perfdata.c - the file that `perf report` and `perf script` read: the kernel's records as they came between a
 * header and what describes the machine. tools/perf/Documentation/perf.data-file-format.txt of Linux.
 * Pure: who calls writes. SPDX-License-Identifier: MIT */
#include "gpustat.h"

enum { HEAD_BYTES = 104, SECTION = 16 };

/* The features that we write, by their numbers and in their order. */
enum { OSRELEASE = 4, ARCH = 6, NRCPUS = 7, CMDLINE = 11, EVENT_DESC = 12 };
static const u8 features[] = { OSRELEASE, ARCH, NRCPUS, CMDLINE, EVENT_DESC };

static void flush(struct perfdata *d)
{
	long r = d->error || !d->b.n ? 0 : d->write(d->b.p, d->b.n);

	if (r < 0)
		d->error = r;
	d->written += d->b.n;
	d->b.n = 0;
}

static void put(struct perfdata *d, const void *p, size_t n)
{
	const char *from = p;

	if (n > d->b.cap - d->b.n)
		flush(d);
	put_str(&d->b, (struct str){ from, from + n });
}

static u64 here(const struct perfdata *d)
{
	return d->written + d->b.n;
}

/* Numbers as this machine has them: the reader looks at how the first one lies. */
static void put64(struct perfdata *d, u64 v)
{
	put(d, &v, sizeof(v));
}

static void put32(struct perfdata *d, u32 v)
{
	put(d, &v, sizeof(v));
}

static void put_zeros(struct perfdata *d, size_t n)
{
	static const char zeros[SECTION * LEN(features)];

	put(d, zeros, n);
}

static void put_ids(struct perfdata *d, const struct pdevent *ev)
{
	for (u32 i = 0; i < ev->nids; i++)
		put64(d, ev->ids[i]);
}

static size_t attr_size(const struct perfdata *d)
{
	return d->nevents ? str_len(d->events[0].attr) : 0;
}

static void put_head(struct perfdata *d, u64 data_end)
{
	u64 flags = 0;

	for (size_t i = 0; i < LEN(features); i++)
		flags |= 1ull << features[i];
	put(d, "PERFILE2", 8);
	put64(d, HEAD_BYTES);
	put64(d, attr_size(d) + SECTION);
	put64(d, d->attrs_at);
	put64(d, d->nevents * (attr_size(d) + SECTION));
	put64(d, d->data_at);
	put64(d, data_end - d->data_at);
	put_zeros(d, 2 * sizeof(u64)); /* event types, of old */
	put64(d, flags);
	put_zeros(d, 3 * sizeof(u64));
}

/* What stands before the records. The header comes again when their size is known. */
void perfdata_begin(struct perfdata *d)
{
	u64 ids = HEAD_BYTES;

	d->written = d->b.n = 0;
	put_head(d, 0);
	for (u32 i = 0; i < d->nevents; i++)
		put_ids(d, &d->events[i]);
	d->attrs_at = here(d);
	for (u32 i = 0; i < d->nevents; i++) {
		put(d, d->events[i].attr.p, attr_size(d));
		put64(d, ids);
		put64(d, 8 * (u64)d->events[i].nids);
		ids += 8 * (u64)d->events[i].nids;
	}
	d->data_at = here(d);
}

void perfdata_record(struct perfdata *d, struct str raw)
{
	put(d, raw.p, str_len(raw));
}

/* Says that no record to come is older than those before the last such mark: the reader sorts up to there. */
void perfdata_round(struct perfdata *d)
{
	perfdata_made(d, &(struct prec){ .type = PR_FINISHED_ROUND });
}

static size_t id_bytes(const struct pformat *f)
{
	static const u32 bits[] = { PS_TID, PS_TIME, PS_ID, PS_STREAM_ID, PS_CPU, PS_IDENTIFIER };
	size_t n = 0;

	for (size_t i = 0; f->id_all && i < LEN(bits); i++)
		n += f->sample_type & bits[i] ? 8 : 0;
	return n;
}

static void put_sample_id(struct perfdata *d, const struct prec *r)
{
	u64 t = d->format.id_all ? d->format.sample_type : 0;

	if (t & PS_TID) {
		put32(d, r->pid);
		put32(d, r->tid);
	}
	if (t & PS_TIME)
		put64(d, r->time);
	if (t & PS_ID)
		put64(d, r->id);
	if (t & PS_STREAM_ID)
		put64(d, r->stream);
	if (t & PS_CPU) {
		put32(d, r->cpu);
		put32(d, 0);
	}
	if (t & PS_IDENTIFIER)
		put64(d, r->id);
}

/* A record that the kernel did not send, as it would have: MMAP, MMAP2, COMM, LOST_SAMPLES, or a mark of ours. */
void perfdata_made(struct perfdata *d, const struct prec *r)
{
	static const u8 sizes[] = { [PR_MMAP] = 40, [PR_COMM] = 16, [PR_MMAP2] = 72, [PR_LOST_SAMPLES] = 16 };
	size_t fixed = r->type < LEN(sizes) && sizes[r->type] ? sizes[r->type] : 8;
	size_t name = str_len(r->name) < 4096 ? str_len(r->name) : 4096; /* PATH_MAX */
	size_t padded = fixed == 8 || r->lost ? 0 : (name + 8) & ~(size_t)7, id = fixed == 8 ? 0 : id_bytes(&d->format);
	u16 half[2] = { r->misc, (u16)(fixed + padded + id) };

	put32(d, r->type);
	put(d, half, sizeof(half));
	if (fixed == 8)
		return;
	if (r->type == PR_LOST_SAMPLES) {
		put64(d, r->lost);
		put_sample_id(d, r);
		return;
	}
	put32(d, r->who);
	put32(d, r->who_tid);
	if (r->type != PR_COMM) {
		put64(d, r->at);
		put64(d, r->len);
		put64(d, r->pgoff);
	}
	if (r->type == PR_MMAP2) {
		put32(d, r->major);
		put32(d, r->minor);
		put64(d, r->ino);
		put64(d, r->generation);
		put32(d, r->prot);
		put32(d, r->flags);
	}
	put(d, r->name.p, name);
	put_zeros(d, padded - name);
	if (id)
		put_sample_id(d, r);
}

/* --- features ------------------------------------------------------------------------------------------- */

/* With its NUL, and filled to a multiple of 64 as perf does. */
static void put_string(struct perfdata *d, struct str s)
{
	size_t n = str_len(s) < 4095 ? str_len(s) : 4095, padded = (n + 64) & ~(size_t)63;

	put32(d, (u32)padded);
	put(d, s.p, n);
	put_zeros(d, padded - n);
}

static void put_events(struct perfdata *d)
{
	put32(d, d->nevents);
	put32(d, (u32)attr_size(d));
	for (u32 i = 0; i < d->nevents; i++) {
		put(d, d->events[i].attr.p, attr_size(d));
		put32(d, d->events[i].nids);
		put_string(d, d->events[i].name);
		put_ids(d, &d->events[i]);
	}
}

static void put_feature(struct perfdata *d, u8 which, const struct pdmeta *m)
{
	switch (which) {
	case OSRELEASE:
		put_string(d, m->release);
		break;
	case ARCH:
		put_string(d, m->machine);
		break;
	case NRCPUS:
		put32(d, m->cpus_online);
		put32(d, m->cpus);
		break;
	case CMDLINE:
		put32(d, m->nargs);
		for (u32 i = 0; i < m->nargs; i++)
			put_string(d, m->args[i]);
		break;
	default:
		put_events(d);
		break;
	}
}

/* What is in the buffer goes over what was written at `at`. */
static void patch(struct perfdata *d, u64 at)
{
	long r = d->error ? 0 : d->patch(at, d->b.p, d->b.n);

	if (r < 0)
		d->error = r;
	d->b.n = 0;
}

/* What stands behind the records, and the header with all sizes. 0, or the first -errno. */
long perfdata_end(struct perfdata *d, const struct pdmeta *m)
{
	u64 table = here(d), at[LEN(features) + 1];

	put_zeros(d, SECTION * LEN(features));
	for (size_t i = 0; i < LEN(features); i++) {
		at[i] = here(d);
		put_feature(d, features[i], m);
	}
	at[LEN(features)] = here(d);
	flush(d);
	for (size_t i = 0; i < LEN(features); i++) {
		put64(d, at[i]);
		put64(d, at[i + 1] - at[i]);
	}
	patch(d, table);
	put_head(d, table);
	patch(d, 0);
	return d->error;
}
