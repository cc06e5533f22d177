/* fuzz_tree.c - any bytes as the files of /sys and /proc that tell of GPUs and of who uses them: DRM nodes and their drivers,
 * sensors, gpu_metrics, clocks, links, AMD's and NVIDIA's own files, descriptors and their fdinfo. Two samples of devices and
 * clients, `doctor` and all counters by name; behind a line "%%" the files of the second. SPDX-License-Identifier: MIT */
#include "files.h"
#include "fuzz.h"

static const struct recopts ro = { .time_us = 1, .dt_us = 1000000 };
static struct record *rec;
static char *bytes;
enum { BYTES = 1 << 19 };

/* Every "busy" that it tells is a share. */
static bool shares_ok(struct str json)
{
	static const char key[] = "\"busy\":";

	for (const char *p = json.p; (p = memmem(p, (size_t)(json.e - p), key, strlen(key))); ) {
		char b[32] = "", *end;
		double v;

		p += strlen(key);
		memcpy(b, p, (size_t)(json.e - p) < sizeof(b) ? (size_t)(json.e - p) : sizeof(b) - 1);
		v = strtod(b, &end);
		if (end > b && !(v >= 0 && v <= 100))
			return false;
	}
	return true;
}

static void show_entity(const struct entity *e)
{
	static const char *const formats[] = { "json", "csv" };

	record_make(rec, e, &ro);
	for (size_t i = 0; i < LEN(formats); i++) {
		struct out o = { .fmt = format_find(str_z(formats[i])), .kind = rec->kind, .width = 80 };
		struct buf b = { .p = bytes, .cap = BYTES };

		out_record(&o, &b, rec);
		must(!b.full && b.n && is_clean((struct str){ b.p, b.p + b.n }, true), "a record is clean");
		must(i > 0 || json_ok((struct str){ b.p, b.p + b.n }, NULL), "well-formed JSON");
		must(i > 0 || shares_ok((struct str){ b.p, b.p + b.n }), "a share is no more than the whole");
	}
}

static void show_all(void)
{
	u64 v;

	reg_roll(false, true);
	for (u32 i = 1; i <= ndevices; i++)
		if (devices[i].e.used) {
			show_entity(&devices[i].e);
			must(!device_busy(&devices[i], &v) || v <= 100000, "busy is a share");
		}
	for (u32 i = 1; i <= nclients; i++)
		if (clients[i].e.used)
			show_entity(&clients[i].e);
}

static void probed(const struct probed *p)
{
	must(memchr(p->source, 0, sizeof(p->source)) && memchr(p->detail, 0, sizeof(p->detail)) &&
	     memchr(p->remedy, 0, sizeof(p->remedy)), "what doctor says ends");
	show_entity(&p->e);
}

/* Some of the machine's and all others: listed, and read of the one files and of the others. */
static void name_all(struct str then)
{
	u32 is[1024], n = 0;

	catalog_refresh(ALL_SUPPLIERS & ~(1u << SUP_EVENT));
	for (u32 i = 0; i < nnamed && n < LEN(is); i++) {
		const struct named *c = catalog_at(i);

		must(is_clean(str_z(c->name), false) && is_clean(str_z(c->what), false) && c->min <= c->max, "a counter is described");
		if (c->supplier != SUP_HOST || i < 256)
			is[n++] = i;
	}
	if (catalog_activate(is, n))
		return;
	catalog_start();
	files_change(then);
	catalog_sample();
	for (u32 i = 0; i < n; i++) {
		const struct named *c = catalog_at(is[i]);

		must(!c->known || (c->min <= c->value && c->value <= c->max), "a value is one that it may have");
	}
	catalog_stop();
	for (u32 i = 0; i < n; i += 1 + n / 32) /* each looks through all that is open */
		catalog_deactivate(is[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct str rest = { (const char *)data, (const char *)data + n }, s = take_first(&rest);

	if (n > 1 << 16)
		return 0;
	if (!rec && (!(rec = calloc(1, sizeof(*rec))) || !(bytes = malloc(BYTES))))
		abort();
	setenv("GPUSTAT_COUNTERS", "counters", 1);
	program_reset();
	files_set(s);
	sysfs_listing = s.p < s.e && s.e[-1] == ' ';
	fdinfo_repeats = fdinfo_tasks = fdinfo_others = true;
	src_sysfs.start();
	src_fdinfo.start();
	src_sysfs.sample();
	src_fdinfo.sample();
	show_all();
	if (rest.p)
		files_change(rest);
	src_sysfs.scan();
	src_sysfs.sample();
	src_fdinfo.scan();
	src_fdinfo.sample();
	show_all();
	probe_all("gpustat", probed);
	name_all(s);
	return 0;
}
