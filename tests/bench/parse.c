/* parse.c - measures the reading of fdinfo text by gpustat's own parser.
 * SPDX-License-Identifier: MIT
 *
 *	parse TIMES FILE...
 *		parses each file's text TIMES times, as for a client: its head, then every line
 *	parse copy TIMES FILE...
 *		copies it with memcpy instead
 *	parse pread TIMES FILE...
 *		reads it with pread instead, from a file that stays open
 *
 * Prints the bytes of all files, and the ns of the fastest repetition. Files without DRM text are
 * skipped. */
#include "tests/rooms.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { MAX_TEXTS = 1024, TEXT_BYTES = 8192 };

static struct {
	int fd;
	struct str s;
	char b[TEXT_BYTES];
} texts[MAX_TEXTS];
static size_t ntexts;
static volatile u64 sink; /* prevents the compiler from removing unused results */

static void read_text(size_t i)
{
	struct str rest = texts[i].s;
	struct fdhead h;
	struct fdline l;
	u64 sum = 0;

	if (!fdinfo_head(rest, &h))
		return;
	while (fdinfo_next(&rest, h.old, &l))
		sum += l.key + l.n + str_len(l.name);
	sink = sum;
}

static void copy_text(size_t i)
{
	static char to[TEXT_BYTES];

	memcpy(to, texts[i].s.p, str_len(texts[i].s));
	sink = (u8)to[i % TEXT_BYTES];
}

static void pread_text(size_t i)
{
	static char to[TEXT_BYTES];

	sink = (u64)pread(texts[i].fd, to, sizeof(to), 0);
}

static bool load(const char *name)
{
	struct fdhead h;
	int fd = open(name, O_RDONLY);
	ssize_t n = fd < 0 || ntexts == MAX_TEXTS ? -1 : read(fd, texts[ntexts].b, TEXT_BYTES);

	if (n < 0)
		return false;
	texts[ntexts].fd = fd;
	texts[ntexts].s = (struct str){ texts[ntexts].b, texts[ntexts].b + n };
	if (fdinfo_head(texts[ntexts].s, &h))
		ntexts++;
	else
		close(fd);
	return true;
}

static i64 now_ns(void)
{
	struct timespec t = { 0 };

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

int main(int argc, char **argv)
{
	void (*take)(size_t) = read_text;
	i64 best = INT64_MAX;
	size_t bytes = 0;
	int at = 1;
	long times;

	if (argc > 1 && strcmp(argv[1], "copy") == 0)
		take = copy_text;
	if (argc > 1 && strcmp(argv[1], "pread") == 0)
		take = pread_text;
	at += take != read_text;
	times = argc > at ? strtol(argv[at], NULL, 10) : 0;
	while (++at < argc)
		if (!load(argv[at]))
			return 1;
	for (size_t i = 0; i < ntexts; i++)
		bytes += str_len(texts[i].s);
	if (times < 1 || !bytes) {
		fprintf(stderr, "usage: parse [copy|pread] TIMES FILE...\n");
		return 1;
	}
	for (long k = 0; k < times; k++) {
		i64 from = now_ns(), took;

		for (size_t i = 0; i < ntexts; i++)
			take(i);
		took = now_ns() - from;
		best = took < best ? took : best;
	}
	printf("%zu %lld\n", bytes, (long long)best);
	return 0;
}
