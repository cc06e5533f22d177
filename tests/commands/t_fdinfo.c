/* t_fdinfo.c - `fdinfo`: how dumps are read, which of them are measured first, the client of each,
 * messages, exit codes, and when the output replaces a file. Files are simulated.
 * SPDX-License-Identifier: MIT */
#include "sys.h"
#include "unit.h"

static long fake_read(int fd, char *b, size_t n);
static long fake_close(int fd);
static int fake_stat(const char *path, struct stat *st);
#define sys_read(fd, b, n) fake_read(fd, b, n)
#define sys_close(fd) fake_close(fd)
#define sys_fstatat(dir, path, st) fake_stat(path, st)
#define replay(...) replay_command(__VA_ARGS__) /* unit.h has a function of this name, too */
#include "../../commands/fdinfo.c"
#undef replay
#include "said.h"

struct opts opt;
struct record rec;
struct buf out;
volatile sig_atomic_t stopped;
struct fdinfo_scope fdinfo_scope;

enum { DUMPS = 4 };

static char bytes[OUT_BYTES], step_bytes[512], printed_bytes[4096];
static struct buf steps, printed;

/* Dump i has the name "i" and the descriptor 10 + i; "-" is dump 0 with the descriptor 0. */
static struct dump {
	struct str text, left;
	size_t piece;      /* a read returns at most so many bytes */
	long open_error, read_error; /* read_error: at the end of the text */
	bool interrupts;   /* each read fails first */
	bool stops;        /* a signal comes with the first read */
	bool irregular;
} dumps[DUMPS];

static struct {
	bool gathers, interrupted;
	u32 fails_at; /* the n-th write fails; 0: none */
	u32 finished, samples, puts, closed;
	u64 size;     /* bytes of memory in the first dump */
} fake;

void measure_record(const struct entity *e, const struct recopts *ro)
{
	record_make(&rec, e, ro);
	if (out_measures(&opt.out))
		out_measure(&opt.out, &rec);
}

static struct dump *dump_of(const char *name) { return &dumps[*name == '-' ? 0 : *name - '0']; }

long file_open(const char *path, int flags)
{
	struct dump *d = dump_of(path);

	d->left = d->text;
	return flags != O_RDONLY ? -EINVAL : d->open_error ? d->open_error : 10 + (d - dumps);
}

static long fake_read(int fd, char *b, size_t n)
{
	struct dump *d = &dumps[fd ? fd - 10 : 0];
	size_t left = str_len(d->left);

	stopped |= d->stops;
	fake.interrupted = !fake.interrupted;
	if (d->stops || (d->interrupts && fake.interrupted))
		return -EINTR;
	n = n < left ? n : left;
	n = n < d->piece ? n : d->piece;
	if (n == 0)
		return d->read_error;
	memcpy(b, d->left.p, n);
	d->left.p += n;
	return (long)n;
}

static long fake_close(int fd) { fake.closed++; return fd > 0 ? 0 : -EBADF; }

static int fake_stat(const char *path, struct stat *st)
{
	st->st_mode = dump_of(path)->irregular ? S_IFIFO : S_IFREG;
	return 0;
}

void say_as(const char *who, const char *a, const char *b, const char *c)
{
	put_z(&said, who);
	put_z(&said, ": ");
	say(a, b, c);
}

void close_files(void) { put_z(&steps, "close "); }
void confine(i32 child) { put_z(&steps, child ? "child " : "confine "); }
bool sink_gathers(void) { return fake.gathers; }

bool sandbox_file(const char *path, bool write)
{
	put_z(&steps, write ? "write " : "");
	put_z(&steps, path);
	put_c(&steps, ' ');
	return true;
}

/* The client of each dump: its key, and whether it has texts or counters of the dump before. */
void fdinfo_put(struct client *c, struct str text, const struct fdhead *h, i64 t)
{
	fake.puts++;
	put_z(&steps, c->keykind == KEY_ID ? "id " : c->keykind == KEY_PASID ? "pasid " : "? ");
	put_u64(&steps, c->key);
	put_z(&steps, c->name || c->other || c->e.count || t != 1 || h->client != c->key ?
	      " old " : " new ");
	c->name = text_put(c->name, (struct str)STR("name"));
	reg_begin(&c->e, t);
	reg_put(&c->e, D_BUSY_NS, (struct str)STR("render"), str_len(text), t);
	reg_put(&c->e, D_RESIDENT, (struct str)STR("vram"), fake.puts % 2 ? fake.size : 8, t);
}

int finish(void)
{
	put_str(&printed, str_of(out.p, out.n));
	out.n = 0;
	return ++fake.finished == fake.fails_at ? EX_FAIL : EX_OK;
}

int finish_sample(void) { fake.samples++; return finish(); }

#define MSM "drm-driver:\tmsm\ndrm-client-id:\t7\n"
#define OTHER "drm-driver:\txe\ndrm-pdev:\t0000:03:00.0\ndrm-client-id:\t9\n"

static void clear(void)
{
	memset(&opt, 0, sizeof(opt));
	opt.out.fmt = format_find((struct str)STR("json"));
	memset(&fake, 0, sizeof(fake));
	for (size_t i = 0; i < DUMPS; i++)
		dumps[i] = (struct dump){ .piece = SIZE_MAX, .text = LIT(MSM) };
	fdinfo_scope.others = false;
	stopped = 0;
	said.n = 0;
	out = buf_on(bytes, sizeof(bytes));
	steps = BUF(step_bytes);
	printed = BUF(printed_bytes);
}

/* Runs the command with a name for each character of `names`. */
static int run(const char *names)
{
	static char words[8][2], *list[9];

	for (opt.nwords = 0; names[opt.nwords]; opt.nwords++) {
		words[opt.nwords][0] = names[opt.nwords];
		list[opt.nwords] = words[opt.nwords];
	}
	opt.words = list;
	dumps[0].left = dumps[0].text;
	return cmd_fdinfo();
}

static bool has(const char *text)
{
	return str_find(str_of(printed.p, printed.n), str_z(text));
}

static void check_steps(const char *want, const char *name)
{
	check_str(str_of(steps.p, steps.n), want, "%s", name);
}

/* --- reading ---------------------------------------------------------------------------------- */

static void t_read(void)
{
	static char large[DUMP_BYTES + 5000];

	for (size_t piece = 1; piece < 40; piece += 6) {
		clear();
		dumps[1].piece = piece;
		dumps[1].interrupts = piece & 2;
		dumps[1].text = LIT(MSM "drm-engine-gpu: 5 ns\n");
		check(run("1") == EX_OK && has("\"busy_ns\":54"),
		      "a dump is read in pieces of %zu bytes%s", piece,
		      piece & 2 ? ", interrupted" : "");
	}
	memset(large, '\n', sizeof(large));
	memcpy(large, MSM, strlen(MSM));
	clear();
	dumps[1].text = str_of(large, DUMP_BYTES - 1);
	check(run("1") == EX_OK && is_said(NULL) && has("\"busy_ns\":1048575"),
	      "a dump of nearly 1 MiB is read completely");
	clear();
	dumps[1].text = str_of(large, DUMP_BYTES + 5000);
	check(run("1") == EX_OK && is_said("fdinfo: 1: the file is longer than 1 MiB: the rest is not read") &&
	      has("\"busy_ns\":1048576"), "a dump of more than 1 MiB is cut, with a message");
	clear();
	dumps[1].open_error = -EIO;
	check(run("1") == EX_FAIL && is_said("fdinfo: 1: EIO\n") && fake.closed == 0,
	      "a dump that cannot be opened is an error");
	clear();
	dumps[1].read_error = -EIO;
	check(run("1") == EX_FAIL && is_said("fdinfo: 1: EIO\n") && fake.closed == 1,
	      "a dump that cannot be read is an error, and is closed");
	clear();
	dumps[1].text = LIT("");
	check(run("1") == EX_FAIL && is_said("fdinfo: 1: this is not the fdinfo of a DRM file\n"),
	      "an empty dump is not the fdinfo of a DRM file");
	clear();
	dumps[1].text = LIT("pos: 0\nflags: 02\n");
	check(run("1") == EX_FAIL && is_said("fdinfo: 1: this is not the fdinfo of a DRM file\n"),
	      "the fdinfo of another file is not that of a DRM file");
	clear();
	check(run("-") == EX_OK && fake.closed == 0, "standard input is read, and not closed");
}

/* --- clients ---------------------------------------------------------------------------------- */

static void t_clients(void)
{
	clear();
	dumps[2].text = LIT(OTHER);
	check(run("12") == EX_OK && fake.puts == 2 && fdinfo_scope.others,
	      "two dumps have two records");
	check_steps("close 1 2 confine id 7 new id 9 new ",
		    "two dumps: files are opened before confine(), and each dump has a new client");
	check(has("\"file\":\"1\",\"driver\":\"msm\",\"pdev\":null,\"client\":7,") &&
	      has("\"file\":\"2\",\"driver\":\"xe\",\"pdev\":\"0000:03:00.0\",\"client\":9,"),
	      "two dumps: each record has its file, driver, slot and client");
	clear();
	dumps[1].text = LIT(OTHER);
	check(run("12") == EX_OK && has("\"file\":\"2\",\"driver\":\"msm\",\"pdev\":null"),
	      "two dumps: the slot of the first dump is not in the record of the second");
	clear();
	dumps[1].text = LIT("pdev:\t0000:03:00.0\npasid:\t12\nvram mem:\t1 kB\n");
	check(run("1") == EX_OK, "a dump of the old amdgpu has a record");
	check_steps("close 1 confine pasid 0 new ",
	            "a dump of the old amdgpu has a client without an id");
}

static void t_implausible(void)
{
	clear();
	registry.implausible.total = 0;
	fake.size = UINT64_MAX;
	check(run("12") == EX_OK && has("\"implausible\":1,") && has("\"memory\":{\"vram\":{\"resident\":8}}"),
	      "a size that is not plausible is counted in the record of its dump");
	check(has("\"file\":\"2\",\"driver\":\"msm\",\"pdev\":null,\"client\":7,\"name\":\"name\",\"used\":8"),
	      "the record of the next dump has no such count");
	check(registry.implausible.total == 1 && registry.implausible.range == RG_BYTES,
	      "a size that is not plausible is counted for --verbose");
	check_str(str_z(registry.implausible.where), "1 vram", "the message has the name of the file");
	clear();
	opt.out.fmt = format_find((struct str)STR("table"));
	registry.implausible.total = 0;
	fake.size = UINT64_MAX;
	check(run("12") == EX_OK && fake.puts == 4 && registry.implausible.total == 1,
	      "a dump that is measured first is counted once");
}

/* --- exit codes and output -------------------------------------------------------------------- */

static void t_codes(void)
{
	clear();
	check(run("") == EX_USAGE && is_said("fdinfo: FILE is missing; - is standard input") &&
	      steps.n == 0, "no FILE is an error of usage");
	clear();
	dumps[2].text = LIT("x");
	check(run("123") == EX_FAIL && fake.puts == 2 && is_said("fdinfo: 2: this is not the fdinfo of a DRM file\n") &&
	      fake.samples == 1,
	      "a malformed dump among others: exit code 1, and the others have records");
	for (int gathers = 0; gathers < 2; gathers++) {
		clear();
		fake.gathers = gathers;
		dumps[1].text = LIT("x");
		check(run("1") == EX_FAIL && fake.samples == !gathers,
		      "no dump has a record: %s", gathers ?
		      "the output file is not replaced" : "the output is ended");
	}
	clear();
	fake.gathers = true;
	check(run("1") == EX_OK && fake.samples == 1,
	      "a dump with a record replaces the output file");
	clear();
	check(run("12") == EX_OK && fake.finished == 3, "each record is written at once");
	for (u32 i = 1; i <= 3; i++) {
		clear();
		fake.fails_at = i;
		check(run("12") == EX_FAIL, "if write %u fails, the exit code is 1", i);
	}
	clear();
	dumps[1].stops = true;
	check(run("12") == EX_OK && fake.puts == 0 && fake.closed == 1 && is_said(NULL),
	      "a signal ends the run");
}

static void t_measured(void)
{
	clear();
	opt.out.fmt = format_find((struct str)STR("table"));
	dumps[2].irregular = true;
	check(out_measures(&opt.out) && run("12") == EX_OK && fake.puts == 3 && fake.finished == 3,
	      "table: each regular file is read again to measure it, a pipe is not");
	clear();
	opt.out.fmt = format_find((struct str)STR("table"));
	dumps[2].text = LIT("drm-driver: adriverwithalongname\ndrm-client-id: 1\n");
	check(run("12") == EX_OK && has("msm                  "),
	      "table: the first line has room for the longest driver");
	clear();
	opt.out.fmt = format_find((struct str)STR("table"));
	dumps[1].text = LIT("x");
	check(run("1") == EX_FAIL && str_eq(str_of(said.p, said.n),
	      LIT("fdinfo: 1: this is not the fdinfo of a DRM file\n")),
	      "table: a malformed file that is read twice has one message");
	clear();
	check(!out_measures(&opt.out) && run("12") == EX_OK && fake.puts == 2,
	      "JSON: each file is read once");
}

int main(void)
{
	t_read();
	t_clients();
	t_implausible();
	t_codes();
	t_measured();
	return unit_end();
}
