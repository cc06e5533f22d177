/* fuzz_main.c - runs a fuzz target as a plain program, with any compiler. FILE... runs these
 * inputs; -t S runs changed ones for S seconds, with the words of -w FILE (a dictionary in the
 * format of fuzzers) and numbers that are likely to cause errors; -o FILE receives the input that
 * crashed. SPDX-License-Identifier: MIT */
#include "fuzz.h"

#include <fcntl.h>
#include <signal.h>
#include <time.h>

enum { MAX_SEEDS = 2048, MAX_WORDLIST = 512, INPUT_CAP = 1 << 16 };

static struct input {
	uint8_t b[INPUT_CAP];
	size_t n;
} input;
static struct {
	uint8_t *p;
	size_t n;
} seeds[MAX_SEEDS], words[MAX_WORDLIST];
static size_t nseeds, nwords;
static const char *crash_file = "crash";
static const u64 numbers[] = { 0, 1, 2, 3, 7, 8, 9, 16, 255, 264, 4096, 65535, 65536, INT32_MAX, UINT32_MAX, INT64_MAX, UINT64_MAX };

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

static FILE *open_file(const char *name)
{
	FILE *f = fopen(name, "rb");

	if (!f) {
		fprintf(stderr, "%s: cannot read the file\n", name);
		exit(1);
	}
	return f;
}

static void load(const char *name)
{
	FILE *f = open_file(name);

	input.n = fread(input.b, 1, INPUT_CAP, f);
	fclose(f);
	run_input();
	if (nseeds == MAX_SEEDS)
		return;
	seeds[nseeds].p = malloc(input.n + 1);
	seeds[nseeds].n = input.n;
	memcpy(seeds[nseeds++].p, input.b, input.n);
}

/* One "WORD" per line, with \xNN. */
static void load_words(const char *name)
{
	FILE *f = open_file(name);
	char line[256];

	while (fgets(line, sizeof(line), f) && nwords < MAX_WORDLIST) {
		uint8_t *to = malloc(sizeof(line));
		size_t n = 0;

		if (line[0] != '"')
			continue;
		for (const char *p = line + 1; *p && *p != '"'; p++) {
			unsigned byte = (uint8_t)*p;

			if (p[0] == '\\' && p[1] == 'x' && sscanf(p + 2, "%2x", &byte) == 1)
				p += 3;
			else if (p[0] == '\\')
				byte = (uint8_t)*++p;
			to[n++] = (uint8_t)byte;
		}
		words[nwords].p = to;
		words[nwords++].n = n;
	}
	fclose(f);
}

static void replace(size_t at, size_t gone, const void *p, size_t n)
{
	if (at + gone > input.n || input.n - gone + n > INPUT_CAP)
		return;
	memmove(input.b + at + n, input.b + at + gone, input.n - at - gone);
	memcpy(input.b + at, p, n);
	input.n += n - gone;
}

static void set_number(size_t at)
{
	size_t width = 1u << rnd() % 4;

	if (at + width <= input.n)
		memcpy(input.b + at, &numbers[rnd() % LEN(numbers)], width);
}

/* Makes a seed with some bytes, words, numbers or pieces of another seed inserted or removed; its
 * first bytes change more often. */
static void mutate(void)
{
	uint8_t part[64];
	size_t s = rnd() % nseeds;

	memcpy(input.b, seeds[s].p, seeds[s].n);
	input.n = seeds[s].n;
	for (u64 k = 1 + rnd() % 6; k > 0; k--) {
		size_t at = input.n > 64 && rnd() % 4 == 0 ? rnd() % 64 : input.n ? rnd() % input.n : 0, n = rnd() % 40, w = rnd();

		s = rnd() % nseeds;
		if (n > input.n - at)
			n = input.n - at;
		switch (rnd() % 8) {
		case 0:
			if (input.n)
				input.b[at] = (uint8_t)rnd();
			break;
		case 1:
			if (nwords)
				replace(at, 0, words[w % nwords].p, words[w % nwords].n);
			break;
		case 2:
			replace(at, n, "", 0);
			break;
		case 3:
			memcpy(part, input.b + at, n);
			replace(input.n ? rnd() % input.n : 0, 0, part, n);
			break;
		case 4:
			if (seeds[s].n > n)
				replace(at, 0, seeds[s].p + rnd() % (seeds[s].n - n), n);
			break;
		case 5:
			set_number(at);
			break;
		case 6:
			if (rnd() % 8 == 0)
				input.n = at;
			break;
		default:
			if (input.n)
				input.b[at] ^= (uint8_t)(1 << rnd() % 8);
		}
	}
}

int main(int argc, char **argv)
{
	static char beside[1 << 16]; /* a separate signal stack, for a stack overflow */
	static const int crashes[] = { SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL };
	unsigned long changed = 0, seconds = 0;
	time_t begun;

	sigaltstack(&(stack_t){ .ss_sp = beside, .ss_size = sizeof(beside) }, NULL);
	for (size_t i = 0; i < LEN(crashes); i++)
		sigaction(crashes[i], &(struct sigaction){ .sa_handler = on_crash, .sa_flags = SA_ONSTACK }, NULL);
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "-t") == 0 && argv[i + 1])
			seconds = strtoul(argv[++i], NULL, 10);
		else if (strcmp(argv[i], "-o") == 0 && argv[i + 1])
			crash_file = argv[++i];
		else if (strcmp(argv[i], "-w") == 0 && argv[i + 1])
			load_words(argv[++i]);
		else
			load(argv[i]);
	}
	for (begun = time(NULL); nseeds && (unsigned long)(time(NULL) - begun) < seconds; changed++) {
		mutate();
		run_input();
	}
	printf("# inputs: %lu\n", (unsigned long)nseeds + changed);
	return 0;
}
