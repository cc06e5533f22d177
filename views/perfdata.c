/* perfdata.c - the file that `perf report` and `perf script` read: a header, the kernel's
 * records as they came, and a description of the machine. See
 * tools/perf/Documentation/perf.data-file-format.txt of Linux. Pure: makes no system calls, since
 * functions of the caller write the file. SPDX-License-Identifier: MIT */
#include "perfstream.h"
#include "counters.h"
#include "views/views.h"

enum { HEADER_BYTES = 104, SECTION = 16, BUILD_ID_BYTES = 20 };

static void write_now(struct perfdata *d, const char *p, size_t n)
{
	long r = d->error || !n ? 0 : d->write(p, n);

	if (r < 0)
		d->error = r;
	d->written += n;
}

static void flush(struct perfdata *d)
{
	write_now(d, d->b.p, d->b.n);
	d->b.n = 0;
}

static void put(struct perfdata *d, const void *p, size_t n)
{
	const char *from = p;

	if (n > d->b.cap - d->b.n)
		flush(d);
	put_str(&d->b, (struct str){ from, from + n });
}

static u64 offset_now(const struct perfdata *d)
{
	return d->written + d->b.n;
}

/* Writes a number in host byte order: perf detects the order from the first number of the file. */
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
	static const char zeros[64];

	for (size_t part; n > 0; n -= part) {
		part = n < sizeof(zeros) ? n : sizeof(zeros);
		put(d, zeros, part);
	}
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

static void put_header(struct perfdata *d, u64 data_end)
{
	put(d, "PERFILE2", 8);
	put64(d, HEADER_BYTES);
	put64(d, attr_size(d) + SECTION);
	put64(d, d->attrs_at);
	put64(d, d->nevents * (attr_size(d) + SECTION));
	put64(d, d->data_at);
	put64(d, data_end - d->data_at);
	/* offset and size of the section event_types, which is obsolete: both 0 */
	put_zeros(d, 2 * sizeof(u64));
	put64(d, d->features);
	put_zeros(d, 3 * sizeof(u64));
}

/* Writes the parts of a perf.data file that come before the records: header, event IDs, attributes.
 * perfdata_end() writes the header again, when the size of the records is known. */
void perfdata_begin(struct perfdata *d)
{
	u64 ids = HEADER_BYTES;

	d->written = d->b.n = 0;
	put_header(d, 0);
	for (u32 i = 0; i < d->nevents; i++)
		put_ids(d, &d->events[i]);
	d->attrs_at = offset_now(d);
	for (u32 i = 0; i < d->nevents; i++) {
		put(d, d->events[i].attr.p, attr_size(d));
		put64(d, ids);
		put64(d, 8 * (u64)d->events[i].nids);
		ids += 8 * (u64)d->events[i].nids;
	}
	d->data_at = offset_now(d);
}

/* Returns the offset of a field in a PERF_RECORD_SAMPLE, in bytes. before: PS_* bits of the fields
 * that can be before it: each of them that the sample has needs 8 bytes, and the header of the
 * record needs 8 bytes. */
static size_t sample_offset(const struct prec *r, u64 before)
{
	return 8 + 8 * bit_count(r->have & before);
}

/* Overwrites the addresses in a sample, also those of the call chain, with 0 if their CPU mode is
 * in the mask `hidden` (1 << enum pmode). Does the same with the fields of a tracepoint, if the
 * mode of the sample is in the mask. at: the copy of the sample in the output buffer. */
static void hide_addresses(char *at, const struct prec *r, u32 hidden)
{
	struct str chain = r->chain;
	u8 mode = r->mode;
	u64 ip;

	if (hidden >> mode & 1 && r->have & PS_IP)
		memset(at + sample_offset(r, PS_IDENTIFIER), 0, sizeof(ip));
	if (hidden >> mode & 1 && r->have & PS_ADDR)
		memset(at + sample_offset(r, PS_IDENTIFIER | PS_IP | PS_TID | PS_TIME), 0,
		       sizeof(ip));
	if (hidden >> mode & 1 && r->payload.p)
		memset(at + (r->payload.p - r->raw.p), 0, str_len(r->payload));
	while (chain_next(&chain, &mode, &ip))
		if (hidden >> mode & 1)
			memset(at + (chain.p - r->raw.p) - sizeof(ip), 0, sizeof(ip));
}

/* Writes a perf record as the kernel made it, but with 0 in place of the addresses and tracepoint
 * fields of a sample whose CPU mode is in the mask `hidden` (1 << enum pmode). */
void perfdata_record(struct perfdata *d, const struct prec *r, u32 hidden)
{
	size_t n = str_len(r->raw);

	put(d, r->raw.p, n);
	if (r->type == PR_SAMPLE && hidden && !d->b.full)
		hide_addresses(d->b.p + d->b.n - n, r, hidden);
}

/* Writes the bytes of perf records unchanged. Large blocks are written directly, not through the
 * buffer. */
void perfdata_records(struct perfdata *d, struct str records)
{
	if (str_len(records) < d->b.cap / 8) {
		put(d, records.p, str_len(records));
		return;
	}
	flush(d);
	write_now(d, records.p, str_len(records));
}

/* Writes a PERF_RECORD_FINISHED_ROUND. It promises that no later record is older than the records
 * before the previous mark of this type, so that perf can sort the records up to that mark. */
void perfdata_finish_round(struct perfdata *d)
{
	perfdata_synthesize(d, &(struct prec){ .type = PR_FINISHED_ROUND });
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

/* Writes a build ID in the form of a PERF_RECORD_MMAP2: 1 byte with its length, 3 unused bytes, 20
 * bytes for the ID. */
static void put_build_id(struct perfdata *d, struct str id)
{
	size_t n = str_len(id) < BUILD_ID_BYTES ? str_len(id) : BUILD_ID_BYTES;

	put32(d, 0);
	d->b.p[d->b.n - 4] = (char)n;
	put(d, id.p, n);
	put_zeros(d, BUILD_ID_BYTES - n);
}

/* Writes a perf record that gpustat makes in the kernel's format. Its type is MMAP, MMAP2, COMM or
 * LOST_SAMPLES; or FINISHED_ROUND, which has only a header. */
void perfdata_synthesize(struct perfdata *d, const struct prec *r)
{
	static const u8 sizes[] = { [PR_MMAP] = 40, [PR_COMM] = 16, [PR_MMAP2] = 72,
				    [PR_LOST_SAMPLES] = 16 };
	size_t fixed = r->type < LEN(sizes) && sizes[r->type] ? sizes[r->type] : 8;
	/* maximum length of a file name in bytes: PATH_MAX of Linux */
	size_t name = str_len(r->name) < 4096 ? str_len(r->name) : 4096;
	size_t padded = fixed == 8 || r->lost ? 0 : (name + 8) & ~(size_t)7;
	size_t id = fixed == 8 ? 0 : sample_id_bytes(&d->format);
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
	if (r->type == PR_MMAP2 && r->misc & PM_BUILD_ID) {
		put_build_id(d, r->build_id);
	} else if (r->type == PR_MMAP2) {
		put32(d, r->major);
		put32(d, r->minor);
		put64(d, r->ino);
		put64(d, r->generation);
	}
	if (r->type == PR_MMAP2) {
		put32(d, r->prot);
		put32(d, r->flags);
	}
	put(d, r->name.p, name);
	put_zeros(d, padded - name);
	if (id)
		put_sample_id(d, r);
}

/* --- features --------------------------------------------------------------------------------- */

/* Appends a number to the section of a feature, in host byte order, as all numbers of a perf.data
 * file are. */
void perfdata_u32(struct buf *b, u32 v)
{
	put_n(b, (const char *)&v, sizeof(v));
}

void perfdata_u64(struct buf *b, u64 v)
{
	put_n(b, (const char *)&v, sizeof(v));
}

/* Appends a string to the section of a feature: its length, then the text with a NUL, padded to a
 * multiple of 64 bytes as perf does. */
void perfdata_string(struct buf *b, struct str s)
{
	size_t n = str_len(s) < 4095 ? str_len(s) : 4095, padded = (n + 64) & ~(size_t)63;

	perfdata_u32(b, (u32)padded);
	put_n(b, s.p, n);
	for (; n < padded; n++)
		put_c(b, '\0');
}

/* Appends an entry of the feature PD_BUILD_ID: a header like that of a record, the PID -1 for the
 * host machine, the build ID, its length, and the name of a file, of the kernel or of a module.
 * Returns false if the buffer is full. */
bool perfdata_build_id(struct buf *b, u8 mode, struct str id, struct str name)
{
	enum { FIXED = 8 + 4 + 24, HAS_LENGTH = 1 << 15 };
	size_t n = str_len(name) < 4095 ? str_len(name) : 4095, padded = (n + 64) & ~(size_t)63;
	u16 half[2] = { (u16)(mode | HAS_LENGTH), (u16)(FIXED + padded) };

	if (str_len(id) > BUILD_ID_BYTES || FIXED + padded > b->cap - b->n)
		return false;
	perfdata_u32(b, 0);
	put_n(b, (const char *)half, sizeof(half));
	perfdata_u32(b, UINT32_MAX);
	put_str(b, id);
	for (size_t i = str_len(id); i < BUILD_ID_BYTES; i++)
		put_c(b, '\0');
	perfdata_u32(b, 0);
	b->p[b->n - 4] = (char)str_len(id);
	put_n(b, name.p, n);
	for (; n < padded; n++)
		put_c(b, '\0');
	return true;
}

/* Writes the feature PD_EVENT_DESC: the attributes, names and IDs of all events. */
static void put_events(struct perfdata *d)
{
	put32(d, d->nevents);
	put32(d, (u32)attr_size(d));
	for (u32 i = 0; i < d->nevents; i++) {
		char name[256];
		struct buf b = BUF(name);

		perfdata_string(&b, d->events[i].name);
		put(d, d->events[i].attr.p, attr_size(d));
		put32(d, d->events[i].nids);
		put(d, b.p, b.n);
		put_ids(d, &d->events[i]);
	}
}

/* Overwrites the perf.data file with the contents of the buffer d->b, from offset `at` of the file
 * on. */
static void patch(struct perfdata *d, u64 at)
{
	long r = d->error ? 0 : d->patch(at, d->b.p, d->b.n);

	if (r < 0)
		d->error = r;
	d->b.n = 0;
}

/* Ends a perf.data file: writes the n features f[], which describe the machine and the events and
 * must be in ascending order of their numbers, and writes the header again with all sizes. Returns
 * 0 or the first -errno. */
long perfdata_end(struct perfdata *d, const struct pdfeature *f, size_t n)
{
	u64 table = offset_now(d), at[PD_FEATURES + 1];

	n = n < PD_FEATURES ? n : PD_FEATURES;
	put_zeros(d, SECTION * n);
	for (size_t i = 0; i < n; i++) {
		d->features |= 1ull << f[i].number;
		at[i] = offset_now(d);
		if (f[i].number == PD_EVENT_DESC)
			put_events(d);
		else
			perfdata_records(d, f[i].bytes);
	}
	at[n] = offset_now(d);
	flush(d);
	for (size_t i = 0; i < n; i++) {
		put64(d, at[i]);
		put64(d, at[i + 1] - at[i]);
	}
	patch(d, table);
	put_header(d, table);
	patch(d, 0);
	return d->error;
}
