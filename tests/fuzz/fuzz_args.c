/* fuzz_args.c - any words as the command line, one per line of the input: it is parsed, not run. A
 * rejected line has a message, accepted values lie in the words, "--name=value" means the same
 * as "--name value". SPDX-License-Identifier: MIT */
#include "../../gpustat.c"

#include "files.h"
#include "fuzz.h"

enum { ARGS = 48, ARGS_BYTES = 1 << 14 };

static char words[ARGS_BYTES];

/* The expected value of --top=N if no other word can change it; UINT64_MAX: unknown. */
static u64 told_top(struct str in)
{
	struct str line, words = in;
	u64 n = UINT64_MAX, times = 0;

	while (str_cut(&words, '\n', &line)) {
		if (line.p < line.e && *line.p == '-' && !(line.e - line.p > 1 && line.p[1] == '-' && memchr(line.p, '=', str_len(line))))
			return UINT64_MAX; /* short options, or a value in the next word */
		if (str_skip(&line, S("--top=")) && times++ == 0 && scan_u64(line, &n) != line.e)
			return UINT64_MAX;
	}
	return times == 1 ? n : UINT64_MAX;
}

static int parse(struct str in, bool split_values, struct opts *got)
{
	char *argv[2 * ARGS + 2] = { (char *)"gpustat" };
	struct str line;
	size_t n = 1, nlines = 0, used = 0;
	bool may_be_value = false; /* the value of the option before */
	bool ended = false; /* after "--", where "--name=value" is an ordinary word */
	int code;

	program_reset();
	files_set((struct str){ 0 });
	output_begin(); /* as in main() */
	while (nlines++ < ARGS && in.p < in.e) {
		bool options = !ended;

		if (!str_cut(&in, '\n', &line))
			line = in, in.p = in.e;
		if (used + str_len(line) + 2 > sizeof(words))
			break;
		argv[n++] = words + used;
		for (const char *p = line.p; p < line.e; p++) {
			words[used++] = *p ? *p : ' ';
			if (split_values && !may_be_value && options && *p == '=' && p > line.p + 2 && line.p[0] == '-' && line.p[1] == '-') {
				words[used - 1] = '\0';
				argv[n++] = words + used;
				options = false;
			}
		}
		words[used++] = '\0';
		ended |= str_is(line, "--");
		may_be_value = line.p < line.e && *line.p == '-' && !memchr(line.p, '=', str_len(line));
	}
	argv[n] = NULL;
	code = parse_args(cmds, LEN(cmds), argv);
	must(code >= -1 && code <= 3, "the result is an exit code, or none");
	must(code != EX_USAGE || files_warned > 0 || last_message[0], "a rejected command line has a message");
	must(is_clean(str_z(last_message), false), "the message is clean text");
	if (code < 0) {
		must(opt.cmd && opt.out.fmt && opt.out.npatterns <= MAX_PATTERNS && opt.npids <= MAX_PIDS && opt.ndevices <= MAX_SELECTORS &&
		     opt.nevents <= MAX_LISTS && opt.nsets < MAX_SETS && opt.nwords < n, "lists stay within their bounds");
		must(opt.window > 0 && opt.interval >= 0 && opt.inner >= 0, "times are positive");
	}
	*got = opt;
	return code;
}

/* Compares the members that are not pointers. */
static bool same(const struct opts *a, const struct opts *b)
{
	return a->cmd == b->cmd && a->interval == b->interval && a->window == b->window && a->count == b->count && a->top == b->top &&
	       a->npids == b->npids && a->ndevices == b->ndevices && a->nevents == b->nevents && a->nsets == b->nsets &&
	       a->raw == b->raw && a->quiet == b->quiet && a->verbose == b->verbose && a->summary == b->summary && a->inner == b->inner &&
	       a->repeat == b->repeat && a->delay == b->delay && a->timeout == b->timeout && a->detail == b->detail && a->pages == b->pages &&
	       a->profile == b->profile && a->seed == b->seed && a->out.fmt == b->out.fmt && a->out.time == b->out.time &&
	       a->out.npatterns == b->out.npatterns && a->out.separator == b->out.separator && a->nwords == b->nwords &&
	       a->oa.nmetrics == b->oa.nmetrics && a->oa.platform == b->oa.platform && a->target.period == b->target.period &&
	       a->target.freq == b->target.freq && memcmp(a->pids, b->pids, sizeof(a->pids)) == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct opts *a, *b;
	struct str in = { (const char *)data, (const char *)data + n };
	int code;

	if (n > ARGS_BYTES / 2)
		return 0;
	a = malloc(sizeof(*a));
	b = malloc(sizeof(*b));
	code = a && b ? parse(in, false, a) : 0;
	if (code < 0) {
		must(told_top(in) == UINT64_MAX || a->command || a->top == told_top(in), "an option has the value that was given");
		code = parse(in, true, b);
		must(code < 0 || a->command || a->profile, "--name=value is accepted like --name value");
		must(code >= 0 || a->command || a->profile || same(a, b), "--name=value has the same effect as --name value");
	}
	free(a);
	free(b);
	return 0;
}
