/* format.c - measures formatting: from counters to text in memory, by gpustat's own formatters.
 * SPDX-License-Identifier: MIT
 *
 *	format TIMES KIND FORMAT DEVICES CLIENTS FDINFO
 *		prints device, client or cgroup records for that many devices and clients, each
 *		client with the text of the file FDINFO, as TIMES samples
 *
 * Prints the bytes of one sample and the time of the fastest one in ns. */
#include "tests/rooms.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { TEXT_BYTES = 8192, OUT_BYTES = 1 << 20 };

static char text[TEXT_BYTES], later[TEXT_BYTES], bytes[OUT_BYTES];
static struct record rec;
static struct out o;
static size_t written;

__attribute__((noreturn)) static void die(const char *what)
{
	fprintf(stderr, "format: %s\n", what);
	exit(1);
}

static struct str load(const char *name)
{
	int fd = open(name, O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));

	if (n <= 0)
		die(name);
	close(fd);
	return (struct str){ text, text + n };
}

/* Returns the same text one sample later: the third digit from the end changes in every number of
 * engines and memory. */
static struct str work(struct str s)
{
	memcpy(later, s.p, str_len(s));
	for (char *p = later + 3, *e = later + str_len(s); p < e; p++)
		if ((p[0] == '\n' || p[0] == ' ') && p[-1] >= '0' && p[-1] <= '9' && p[-3] >= '0' && p[-3] < '9')
			p[-3]++;
	return (struct str){ later, later + str_len(s) };
}

static void make_device(u32 i)
{
	char name[32];
	u32 n = device_add();

	if (n == NONE)
		die("too many devices");
	devices[n].card = (i32)i;
	snprintf(name, sizeof(name), "card%u", i);
	str_copy(devices[n].dev, sizeof(devices[n].dev), str_z(name));
	snprintf(name, sizeof(name), "0000:%02x:00.0", i);
	str_copy(devices[n].pdev, sizeof(devices[n].pdev), str_z(name));
	str_copy(devices[n].driver, sizeof(devices[n].driver), (struct str)STR("amdgpu"));
	str_copy(devices[n].state, sizeof(devices[n].state), (struct str)STR("active"));
}

static void make_client(u32 i, struct str s)
{
	u32 n = client_add(i % nrows.devices + 1, KEY_ID, i + 1), t = task_find(1000 + i);
	struct fdhead h;
	struct str then = work(s);
	char path[64];

	if (t == NONE)
		t = task_add(1000 + i);
	if (n == NONE || t == NONE || holder_add(1000 + i, 21, t, n) == NONE)
		die("too many clients");
	memcpy(tasks[t].comm, "application", 11);
	tasks[t].comm_len = 11;
	tasks[t].has_comm = true;
	snprintf(path, sizeof(path), "/user.slice/app-%u.scope", i % 16);
	tasks[t].cgroup = cgroup_add(str_z(path));
	if (!fdinfo_head(s, &h))
		die("not a DRM fdinfo text");
	fdinfo_put(&clients[n], s, &h, INT64_C(1000000000));
	fdinfo_head(then, &h);
	fdinfo_put(&clients[n], then, &h, INT64_C(2000000000));
	clients[n].e.fresh = true;
}

static struct entity *entity(u8 kind, u32 n)
{
	return kind == K_DEVICE ? &devices[n].e : kind == K_CLIENT ? &clients[n].e : &groups[n].e;
}

static void flush(struct buf *b, bool all)
{
	if (b->full)
		die("a record is longer than the buffer");
	if (!all && b->n < OUT_BYTES / 2)
		return;
	written += b->n;
	b->n = 0;
}

/* Like the samples of the command itself. */
static void sample(u8 kind, u32 n)
{
	struct recopts ro = { .both = format_has_totals(o.fmt), .time_us = INT64_C(1763611200123456), .dt_us = 1000000 };
	struct buf b = { .p = bytes, .cap = sizeof(bytes) };

	for (u32 i = 1; i <= n && out_measures(&o); i++) {
		record_make(&rec, entity(kind, i), &ro);
		out_measure(&o, &rec);
	}
	for (u32 i = 1; i <= n; i++) {
		record_make(&rec, entity(kind, i), &ro);
		out_record(&o, &b, &rec);
		flush(&b, false);
	}
	while (out_end(&o, &b))
		flush(&b, true);
	flush(&b, true);
}

static i64 now_ns(void)
{
	struct timespec t = { 0 };

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

int main(int argc, char **argv)
{
	struct str s, words[MAX_WORDS];
	i64 best = INT64_MAX;
	u32 when;
	long times;
	u8 kind = 0;
	u32 n;

	if (argc != 7)
		die("usage: format TIMES KIND FORMAT DEVICES CLIENTS FDINFO");
	while (kind < K_COUNT && strcmp(argv[2], kind_names[kind]) != 0)
		kind++;
	o.fmt = format_find(str_z(argv[3]));
	if (kind > K_CGROUP || !o.fmt)
		die("no such kind or format");
	o.kind = kind;
	o.host = "host";
	o.interval = 1000000000;
	o.now = INT64_C(1763611200123456789);
	times = strtol(argv[1], NULL, 10);
	s = load(argv[6]);
	for (u32 i = 0; i < (u32)strtoul(argv[4], NULL, 10); i++)
		make_device(i);
	for (u32 i = 0; i < (u32)strtoul(argv[5], NULL, 10) && nrows.devices; i++)
		make_client(i, s);
	reg_sum_clients(kind == K_CGROUP, true);
	n = (u32)out_default_fields(&o, words, &when);
	record_select(kind, words, n, when);
	n = kind == K_DEVICE ? nrows.devices : kind == K_CLIENT ? nrows.clients : nrows.groups;
	for (long k = 0; k < times; k++) {
		i64 from = now_ns(), took;

		written = 0;
		sample(kind, n);
		took = now_ns() - from;
		best = took < best ? took : best;
	}
	if (!written)
		die("nothing was printed");
	printf("%zu %lld\n", written, (long long)best);
	return 0;
}
