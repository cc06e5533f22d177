/*
 * captured: the first program of a machine without a GPU, of any architecture. The machines of
 * tests/trees must give the golden files; each command runs and prints a real result. On a
 * big-endian machine the binary files of the kernel, which are gpu_metrics, perf events and inotify,
 * have that byte order too, and the gpu_metrics of tests/trees were converted.
 */
#include "commands.h"

/* Reads a whole file; the result is never freed. */
static char *whole(const char *folder, const char *name, const char *end)
{
	char path[512], *b = NULL;
	size_t n;
	FILE *f, *to = open_memstream(&b, &n);
	int c;

	snprintf(path, sizeof path, "%s/%s%s", folder, name, end);
	f = fopen(path, "re");
	if (!f || !to)
		die(path);
	while ((c = getc(f)) != EOF)
		putc(c, to);
	fclose(f);
	fclose(to);
	return b;
}

/* Replaces each measured interval by the mark that the golden files have. */
static char *masked(const char *from)
{
	char *b = NULL;
	size_t n;
	FILE *to = open_memstream(&b, &n);

	while (to && *from) {
		if (!strncmp(from, "\"dt\":", 5) && isdigit((unsigned char)from[5])) {
			fputs("\"dt\":DT", to);
			from += 5;
			from += strspn(from, "0123456789.");
		} else {
			putc(*from++, to);
		}
	}
	if (!to || fclose(to))
		die("masked");
	return b;
}

/* Compares the output of the commands in a file of /golden with the golden file. */
static void t_golden(const char *file)
{
	char name[256], *save, *all = NULL, *got, *want_text;
	char *line = strtok_r(whole("/golden", file, ".cmd"), "\n", &save);
	size_t n, same = 0;
	FILE *to = open_memstream(&all, &n);

	snprintf(name, sizeof name, "golden file %s", file);
	begin(name);
	for (; to && line; line = strtok_r(NULL, "\n", &save)) {
		struct run *r = run(line + 2 /* "g " */, NULL);

		want(!r->status, "gpustat %s: exit %d: %.200s", r->args, r->status, r->text[1]);
		fputs(r->text[0], to);
		drop(r);
	}
	if (!to || fclose(to))
		die("golden");
	got = masked(all);
	want_text = whole("/golden", file, ".want");
	while (got[same] && got[same] == want_text[same])
		same++;
	want(got[same] == want_text[same], "differs at byte %zu: %.60s, not %.60s", same, got + same,
	     want_text + same);
	free(all);
	free(got);
	free(want_text);
	end();
}

static void t_all_golden(void)
{
	struct dirent **list;
	int n = scandir("/golden", &list, NULL, alphasort);

	for (int i = 0; i < n; i++) {
		char *end = strstr(list[i]->d_name, ".cmd");

		if (end) {
			*end = 0;
			t_golden(list[i]->d_name);
		}
	}
}

static bool is_big_endian(void)
{
	const union { unsigned n; char b[4]; } u = { 1 };

	return !u.b[0];
}

static void t_order(void)
{
	struct run *r;

	begin(is_big_endian() ? "big-endian gpu_metrics are read" : "little-endian gpu_metrics are read");
	r = run("-r -o json " ROOTS, NULL);
	ended(r, 0);
	want(num(record(r, 0), "temp/junction") == 67 && num(record(r, 0), "load/mm") == 4,
	     "temperature and load of gpu_metrics");
	close_run(r);
	end();
}

static void t_no_device(void)
{
	struct run *r;

	begin("without a GPU, the default command reports that");
	r = run("-w 0.1", NULL);
	want(r->status == 3 && strstr(r->text[1], "no GPU was found"), "exit %d", r->status);
	close_run(r);
	end();
}

static void t_check(void)
{
	struct run *r;

	begin("check raises an alarm for a temperature of gpu_metrics above the limit, and none below");
	r = run("check -m temp.junction -w 60 -c 66 " ROOTS, NULL);
	want(r->status == 2 && strstr(r->text[0], "CRITICAL"), "exit %d", r->status);
	close_run(r);
	r = run("check -m temp.junction -w 68 -c 90 " ROOTS, NULL);
	want(r->status == 0 && strstr(r->text[0], "GPU OK"), "exit %d", r->status);
	close_run(r);
	end();
}

/* Counts of software events whose number is known: each page that is touched is one fault. */
static void t_events(void)
{
	struct run *r;
	double faults = 0, clock = 0;

	begin("stat counts software events");
	r = run("stat -e page-faults,task-clock,context-switches -o json -- /gpustat -V", NULL);
	if (left_out(r)) {
		close_run(r);
		end();
		return;
	}
	want(r->status == 0, "exit %d", r->status);
	for (const char *p = r->text[1]; *p; p = strchr(p, '\n') + 1) {
		struct view v = { p, strchr(p, '\n') };

		if (!v.e)
			break;
		if (is(v, "event", "page-faults"))
			faults = num(v, "value");
		if (is(v, "event", "task-clock"))
			clock = num(v, "value");
	}
	want(faults >= 5 && faults < 10000, "%g page faults", faults);
	want(clock > 0 && clock < 1e11, "a task clock of %g", clock);
	close_run(r);
	end();
}

static void t_recording(void)
{
	struct run *r;

	begin("oa --replay refuses a recording of a little-endian machine");
	r = run("oa --replay /skl.rec -o json", NULL);
	want(r->status == 1 && !r->n[0] && r->n[1], "exit %d: %s", r->status, r->text[1]);
	close_run(r);
	end();
}

static int scenarios(void)
{
	mkdir("/dev/pts", 0755);
	mount("devpts", "/dev/pts", "devpts", 0, NULL);
	if (chdir("/trees"))
		die("/trees");
	load_rows();
	t_order();
	t_no_device();
	t_check();
	t_events();
	if (is_big_endian())
		t_recording();
	t_all_golden();
	make_inputs();
	for (int i = 0; i < nrows; i++) {
		char name[256];

		snprintf(name, sizeof name, "gpustat %s", rows[i].args);
		begin(name);
		try_row(&rows[i], 1, NULL);
		end();
	}
	printf("1..%d\n", tests);
	fflush(stdout);
	return failed != 0;
}
