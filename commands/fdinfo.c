/* fdinfo.c - decodes dumps of /proc/PID/fdinfo/FD.
 * SPDX-License-Identifier: MIT */
#include "commands/commands.h"
#include "sources/drm/drm.h"
#include "sys.h"

enum { DUMP_BYTES = 1 << 20 };

static TABLE(char, dump, DUMP_BYTES, 4096, "bytes of a dump");

static long read_dump(const char *name)
{
	bool is_stdin = strcmp(name, "-") == 0;
	long fd = is_stdin ? 0 : file_open(name, O_RDONLY), r;
	size_t n = 0;

	if (fd < 0)
		return fd;
	do {
		r = -ENOMEM;
		if (table_has(&dump.t, n))
			r = sys_read((int)fd, dump.rows + n, dump.t.ready - n);
		if (r > 0)
			n += (size_t)r;
	} while (n < DUMP_BYTES && (r > 0 || (r == -EINTR && !stopped)));
	if (!is_stdin)
		sys_close((int)fd);
	return r < 0 && r != -EINTR ? r : (long)n;
}

static void say_dump(const char *name, const char *what)
{
	say_as("fdinfo", name, ": ", what);
}

/* Decodes the fdinfo text in the file `name` and prints its record. If show is false, prints
 * nothing, but only measures the column widths that the record needs. Returns the exit code. */
static int decode(const char *name, bool show)
{
	static struct client client = { .e = { .used = true, .kind = K_FDINFO } };
	struct recopts ro = { .raw = true, .dt_us = -1, .time_us = -1, .file = name };
	/* The row NONE of devices[] is no real device. It gets the driver and the address that the
	 * fdinfo text contains, and the name of the file, for --verbose. */
	struct device *d = &devices[NONE];
	struct fdhead h;
	struct str text;
	long n = read_dump(name);

	text = n > 0 ? str_of(dump.rows, (size_t)n) : LIT("");
	if (stopped)
		return EX_OK;
	if (!fdinfo_head(text, &h)) {
		if (show)
			say_dump(name, n < 0 ? error_text(n) :
				 "this is not the fdinfo of a DRM file");
		return EX_FAIL;
	}
	if (n == DUMP_BYTES && show)
		say_dump(name, "the file is longer than 1 MiB: the rest is not read");
	reg_clear(&client.e);
	text_free(client.name);
	text_free(client.other);
	client.name = client.other = NONE;
	client.key = h.client;
	client.keykind = h.has_client ? KEY_ID : KEY_PASID;
	str_copy(d->driver, sizeof(d->driver), h.driver);
	str_copy(d->pdev, sizeof(d->pdev), h.pdev);
	str_copy(d->dev, sizeof(d->dev), str_base(str_z(name)));
	d->implausible = 0;
	fdinfo_put(&client, text, &h, 1);
	measure_record(&client.e, &ro);
	if (!show)
		return EX_OK;
	out_record(&opt.out, &out, &rec);
	return finish();
}

static bool is_regular(const char *name)
{
	struct stat st;

	return sys_fstatat(AT_FDCWD, name, &st) == 0 && S_ISREG(st.st_mode);
}

int cmd_fdinfo(void)
{
	int code = EX_OK;
	bool shown = false;

	if (opt.nwords == 0)
		return usage_z("fdinfo: FILE is missing; - is standard input");
	close_files();
	for (size_t i = 0; i < opt.nwords; i++)
		sandbox_file(opt.words[i], false);
	confine(0);
	fdinfo_scope.others = true;
	for (size_t i = 0; i < opt.nwords && out_measures(&opt.out); i++)
		/* Before a table is printed, each file is read once more to measure the widths of
		 * the columns, but only if it is a regular file: others, such as pipes, may be
		 * readable only once. */
		if (is_regular(opt.words[i]))
			decode(opt.words[i], false);
	registry.implausible.total = 0; /* decode() counts the same readings again */
	for (size_t i = 0; i < opt.nwords && !stopped; i++) {
		int r = decode(opt.words[i], true);

		code = r != EX_OK ? r : code;
		shown |= r == EX_OK;
	}
	/* If no record was made, the old file of -O is not replaced. */
	return (!shown && sink_gathers()) || finish_sample() == EX_OK ? code : EX_FAIL;
}
