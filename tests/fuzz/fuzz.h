/* fuzz.h - the last part of each fuzz target: with -DFUZZ_MAIN a plain program, so that any compiler runs it.
 * FILE... runs these, -n N makes N changed ones of them with fuzz_words[] (or, of what is
 * no text, FUZZ_RECORDS: with fuzz_numbers[]), -o FILE gets the input that crashed.
 * SPDX-License-Identifier: MIT */
#ifndef FUZZ_H
#define FUZZ_H

#include <fcntl.h>
#include <signal.h>

#ifdef FUZZ_MAIN
enum { MAX_SEEDS = 256, INPUT_CAP = 4096 };

static struct seed {
	uint8_t b[INPUT_CAP];
	size_t n;
} seeds[MAX_SEEDS], input;
static size_t nseeds;
static const char *crash_file = "crash";

static void on_crash(int sig)
{
	int fd = open(crash_file, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	if (fd >= 0 && write(fd, input.b, input.n) >= 0)
		close(fd);
	signal(sig, SIG_DFL);
	raise(sig);
}

static void run_input(void)
{
	LLVMFuzzerTestOneInput(input.b, input.n);
}

static void load(const char *name)
{
	FILE *f = fopen(name, "rb");

	if (!f || nseeds == MAX_SEEDS) {
		fprintf(stderr, "%s: cannot be read\n", name);
		exit(1);
	}
	seeds[nseeds].n = fread(seeds[nseeds].b, 1, INPUT_CAP, f);
	fclose(f);
	input = seeds[nseeds++];
	run_input();
}

#ifdef FUZZ_RECORDS
/* A seed with some bytes, or some sizes and counts, made others, or its end cut off; its first bytes more often. */
static void mutate(void)
{
	input = seeds[rnd() % nseeds];
	for (u64 k = 1 + rnd() % 6; k > 0 && input.n; k--) {
		size_t at = input.n > 64 && rnd() % 4 == 0 ? rnd() % 64 : rnd() % input.n, width = 1u << rnd() % 4;

		switch (rnd() % 4) {
		case 0:
			input.b[at] = (uint8_t)rnd();
			break;
		case 1:
			input.b[at] ^= (uint8_t)(1 << rnd() % 8);
			break;
		case 2:
			if (at + width <= input.n)
				memcpy(input.b + at, &fuzz_numbers[rnd() % LEN(fuzz_numbers)], width);
			break;
		default:
			if (rnd() % 8 == 0)
				input.n = at;
		}
	}
}
#else
static void replace(size_t at, size_t gone, const void *p, size_t n)
{
	if (at + gone > input.n || input.n - gone + n > INPUT_CAP)
		return;
	memmove(input.b + at + n, input.b + at + gone, input.n - at - gone);
	memcpy(input.b + at, p, n);
	input.n += n - gone;
}

static void mutate(void)
{
	uint8_t part[256];

	input = seeds[rnd() % nseeds];
	for (u64 k = 1 + rnd() % 6; k > 0; k--) {
		size_t at = input.n ? rnd() % input.n : 0, n = rnd() % 40;
		const struct seed *s = &seeds[rnd() % nseeds];
		const char *w = fuzz_words[rnd() % LEN(fuzz_words)];

		if (n > input.n - at)
			n = input.n - at;
		switch (rnd() % 6) {
		case 0:
			if (input.n)
				input.b[at] = (uint8_t)rnd();
			break;
		case 1:
			replace(at, 0, w, strlen(w));
			break;
		case 2:
			replace(at, n, "", 0);
			break;
		case 3:
			memcpy(part, input.b + at, n);
			replace(input.n ? rnd() % input.n : 0, 0, part, n);
			break;
		case 4:
			if (s->n > n)
				replace(at, 0, s->b + rnd() % (s->n - n), n);
			break;
		default:
			if (input.n)
				input.b[at] ^= (uint8_t)(1 << rnd() % 8);
		}
	}
}
#endif

int main(int argc, char **argv)
{
	unsigned long changed = 0;

	for (int sig = 1; sig < 16; sig++)
		if (sig == SIGSEGV || sig == SIGABRT || sig == SIGBUS || sig == SIGFPE || sig == SIGILL)
			signal(sig, on_crash);
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "-n") == 0 && argv[i + 1])
			changed = strtoul(argv[++i], NULL, 10);
		else if (strcmp(argv[i], "-o") == 0 && argv[i + 1])
			crash_file = argv[++i];
		else
			load(argv[i]);
	}
	for (unsigned long i = 0; i < changed && nseeds; i++) {
		mutate();
		run_input();
	}
	printf("# %zu files, %lu changed ones\n", nseeds, changed);
	return 0;
}
#endif

#endif
