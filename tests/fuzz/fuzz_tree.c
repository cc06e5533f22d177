/* fuzz_tree.c - any bytes as the files of /sys and /proc about GPUs and their users: DRM nodes and
 * their drivers, sensors, gpu_metrics, clocks, links, files of AMD and NVIDIA drivers, descriptors
 * and their fdinfo. Runs two samples of devices and clients, `doctor` and all counters by name;
 * after a line "%%" come the files of the second sample. The results that a simple reader can
 * determine are compared with it. SPDX-License-Identifier: MIT */
#include "files.h"
#include "fuzz.h"

#include <limits.h>

static const struct recopts ro = { .time_us = 1, .dt_us = 1000000 };
static struct record *rec;
static char *bytes;
enum { BYTES = 1 << 19 };

/* Checks that every "busy" value is at most 100 %. */
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

/* --- a simple reader of the same files -------------------------------------------------------- */

enum inst { I_NONE, I_IS, I_DIR /* the last folder of the pattern that has a '*' */, I_CHANNEL };
enum {
	R_ASLEEP = 1, /* also read from a suspended device */
	R_LISTED = 2, /* only used by `list` */
	R_ONLY = 4,   /* no other file has this value */
	R_LINK = 8,   /* "8.0 GT/s", in tenths */
	R_LANES = 16, /* 1 to 32 */
	R_LIMIT = 32, /* in the range 1 to 32 */
	R_GOES = 64,  /* 0 means none */
	R_NODE = 128, /* below the folder of the node instead of the device */
};

/* The values of each file. If two files have the same value, the upper one is used. */
static const struct row {
	const char *driver, *path, *inst;
	u8 desc, how, zeros;
	u32 flags;
} rows[] = {
	{ NULL, "power/runtime_active_time", "", D_ACTIVE_MS, I_NONE, 0, R_ASLEEP | R_LISTED | R_ONLY },
	{ NULL, "power/runtime_suspended_time", "", D_SUSPENDED_MS, I_NONE, 0, R_ASLEEP | R_LISTED | R_ONLY },
	{ NULL, "current_link_speed", "", D_LINK_SPEED, I_NONE, 0, R_LINK | R_ONLY },
	{ NULL, "current_link_width", "", D_LINK_WIDTH, I_NONE, 0, R_LANES | R_ONLY },
	{ NULL, "max_link_speed", "", D_LINK_MAX_SPEED, I_NONE, 0, R_LISTED | R_LINK | R_ONLY },
	{ NULL, "max_link_width", "", D_LINK_MAX_WIDTH, I_NONE, 0, R_LISTED | R_LANES | R_ONLY },
	{ "amdgpu", "mem_info_vram_total", "", D_VRAM_TOTAL, I_NONE, 0, R_ASLEEP },
	{ "amdgpu", "mem_info_vram_used", "", D_VRAM_USED, I_NONE, 0, R_ASLEEP },
	{ "amdgpu", "mem_info_vis_vram_total", "", D_VISIBLE_TOTAL, I_NONE, 0, R_ASLEEP | R_ONLY },
	{ "amdgpu", "mem_info_vis_vram_used", "", D_VISIBLE_USED, I_NONE, 0, R_ASLEEP | R_ONLY },
	{ "amdgpu", "mem_info_gtt_total", "", D_GTT_TOTAL, I_NONE, 0, R_ASLEEP | R_ONLY },
	{ "amdgpu", "mem_info_gtt_used", "", D_GTT_USED, I_NONE, 0, R_ASLEEP | R_ONLY },
	{ "amdgpu", "mem_info_preempt_used", "", D_PREEMPT_USED, I_NONE, 0, R_ASLEEP | R_ONLY },
	{ "amdgpu", "gpu_busy_percent", "", D_GPU_BUSY, I_NONE, 3, 0 },
	{ "amdgpu", "mem_busy_percent", "mem", D_LOAD, I_IS, 3, 0 },
	{ "amdgpu", "vcn_busy_percent", "vcn", D_LOAD, I_IS, 3, 0 },
	{ NULL, "hwmon/hwmon*/temp*_input", "", D_TEMP, I_CHANNEL, 0, 0 },
	{ NULL, "hwmon/hwmon*/temp*_max", "", D_TEMP_MAX, I_CHANNEL, 0, R_LISTED | R_ONLY },
	{ NULL, "hwmon/hwmon*/temp*_crit", "", D_TEMP_CRIT, I_CHANNEL, 0, R_LISTED }, /* or apex */
	{ NULL, "hwmon/hwmon*/temp*_emergency", "", D_TEMP_EMERGENCY, I_CHANNEL, 0, R_LISTED | R_ONLY },
	{ NULL, "hwmon/hwmon*/power*_average", "", D_POWER, I_CHANNEL, 0, R_ONLY },
	{ NULL, "hwmon/hwmon*/power*_input", "", D_POWER, I_CHANNEL, 0, R_ONLY },
	{ NULL, "hwmon/hwmon*/power*_cap", "", D_POWER_CAP, I_CHANNEL, 0, R_LISTED | R_LIMIT | R_ONLY },
	{ NULL, "hwmon/hwmon*/power*_crit", "", D_POWER_CRIT, I_CHANNEL, 0, R_LISTED | R_LIMIT | R_ONLY },
	{ NULL, "hwmon/hwmon*/energy*_input", "", D_ENERGY, I_CHANNEL, 0, R_GOES | R_ONLY },
	{ NULL, "hwmon/hwmon*/fan*_input", "", D_FAN, I_CHANNEL, 0, R_ONLY },
	{ NULL, "hwmon/hwmon*/fan*_max", "", D_FAN_MAX, I_CHANNEL, 0, R_LISTED | R_ONLY },
	{ NULL, "hwmon/hwmon*/pwm?", "", D_PWM, I_CHANNEL, 0, R_ONLY },
	{ NULL, "hwmon/hwmon*/in*_input", "", D_VOLT, I_CHANNEL, 0, R_ONLY },
	{ NULL, "hwmon/hwmon*/curr*_input", "", D_CURRENT, I_CHANNEL, 0, R_ONLY },
	{ NULL, "hwmon/hwmon*/freq*_input", "", D_FREQ_CUR, I_CHANNEL, 0, 0 },
	{ "i915", "gt/gt*/rps_act_freq_mhz", "", D_FREQ_ACT, I_DIR, 6, R_NODE },
	{ "i915", "gt/gt*/rps_cur_freq_mhz", "", D_FREQ_CUR, I_DIR, 6, R_NODE },
	{ "i915", "gt/gt*/punit_req_freq_mhz", "", D_FREQ_TARGET, I_DIR, 6, R_NODE },
	{ "i915", "gt/gt*/rps_min_freq_mhz", "", D_FREQ_MIN, I_DIR, 6, R_NODE },
	{ "i915", "gt/gt*/rps_max_freq_mhz", "", D_FREQ_MAX, I_DIR, 6, R_NODE },
	{ "i915", "gt_act_freq_mhz", "gt0", D_FREQ_ACT, I_IS, 6, R_NODE },
	{ "i915", "gt_cur_freq_mhz", "gt0", D_FREQ_CUR, I_IS, 6, R_NODE },
	{ "i915", "gt_min_freq_mhz", "gt0", D_FREQ_MIN, I_IS, 6, R_NODE },
	{ "i915", "gt_max_freq_mhz", "gt0", D_FREQ_MAX, I_IS, 6, R_NODE },
	{ "xe", "tile*/gt*/freq0/act_freq", "", D_FREQ_ACT, I_DIR, 6, 0 },
	{ "xe", "tile*/gt*/freq0/cur_freq", "", D_FREQ_CUR, I_DIR, 6, 0 },
	{ "xe", "tile*/gt*/freq0/min_freq", "", D_FREQ_MIN, I_DIR, 6, 0 },
	{ "xe", "tile*/gt*/freq0/max_freq", "", D_FREQ_MAX, I_DIR, 6, 0 },
	{ "xe", "tile*/gt*/gtidle/idle_residency_ms", "", D_IDLE_MS, I_DIR, 0, R_GOES },
	{ "v3d", "devfreq/*/target_freq", "", D_FREQ_TARGET, I_DIR, 0, 0 },
	{ "pan*", "devfreq/*/cur_freq", "", D_FREQ_CUR, I_DIR, 0, 0 },
	{ "pan*", "devfreq/*/target_freq", "", D_FREQ_TARGET, I_DIR, 0, 0 },
	{ "pan*", "devfreq/*/min_freq", "", D_FREQ_MIN, I_DIR, 0, 0 },
	{ "pan*", "devfreq/*/max_freq", "", D_FREQ_MAX, I_DIR, 0, 0 },
	{ "intel_vpu", "npu_memory_utilization", "memory", D_RESIDENT, I_IS, 0, 0 },
};

/* The channels that the drivers' documentation names, without a label of their own. */
static const char *const unlabelled[][3] = {
	{ "i915", "energy1", "card" }, { "i915", "power1", "card" }, { "xe", "energy1", "card" }, { "xe", "power1", "card" },
	{ "xe", "energy2", "pkg" }, { "xe", "power2", "pkg" }, { "xe", "temp2", "pkg" }, { "xe", "temp3", "vram" },
	{ "xe", "in1", "pkg" },
};

/* A file that belongs to a row. */
struct told {
	const struct row *row;
	char inst[40];
	bool sure; /* the value is v */
	u64 v;
	size_t file;
};

/* The files of a device. */
static struct {
	struct told of[256];
	size_t n;
	bool unsure[D_COUNT]; /* files of these kinds may exist in addition */
	bool full;
} told;
static bool told_matters; /* true: the value is compared, not only the reads of the file */

/* The values compared at the first reading. */
static struct {
	struct was {
		u32 serial;
		u16 inst;
		u8 desc;
		u64 v;
	} of[2048];
	size_t n;
} before;

static bool again;  /* whether this is the second reading */
static bool steady; /* whether it has the files of the first, and all names are unchanged */
static bool odd;    /* whether folders are linked in a way that the kernel does not use */
static u64 frozen;  /* hash of the files that may not change */

/* "123", up to 12 digits. */
static bool plain_digits(struct str s, u64 *v)
{
	*v = 0;
	for (const char *p = s.p; p < s.e; p++) {
		if (*p < '0' || *p > '9' || s.e - s.p > 15)
			return false;
		*v = 10 * *v + (u64)(*p - '0');
	}
	return s.p < s.e;
}

/* Returns the only line of a file. */
static bool plain_line(const char *path, char *full, struct str *line)
{
	struct str text;

	return files_behind(path, full, &text) == '=' && str_len(text) < 512 && line_next(&text, line) && text.p == text.e;
}

/* Letters, digits and other characters of names without a special meaning. */
static bool plain_name(struct str s, size_t max)
{
	for (const char *p = s.p; p < s.e; p++)
		if (!((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9') || (strchr("_+-:.", *p) && *p)))
			return false;
	return s.p < s.e && str_len(s) <= max;
}

/* Matches a name with a pattern of rows: '*' or '?' at its end or inside. */
static bool fits(struct str pattern, struct str name)
{
	const char *star = memchr(pattern.p, '*', str_len(pattern));
	size_t lead = star ? (size_t)(star - pattern.p) : 0, tail = star ? (size_t)(pattern.e - star - 1) : 0;

	if (!star && pattern.e[-1] == '?')
		return str_len(name) == str_len(pattern) && memcmp(name.p, pattern.p, str_len(name) - 1) == 0;
	if (!star)
		return str_eq(pattern, name);
	return str_len(name) >= lead + tail && memcmp(name.p, pattern.p, lead) == 0 && memcmp(name.e - tail, star + 1, tail) == 0;
}

/* Matches a path below the device's folder: with a row's whole pattern, or with its beginning. */
static bool path_fits(const char *pattern, struct str path, bool begins, struct str *star)
{
	struct str p = str_z(pattern), a, b;

	while (str_cut(&path, '/', &b)) {
		if (!str_cut(&p, '/', &a) || !fits(a, b))
			return false;
		if (memchr(a.p, '*', str_len(a)) && p.p < p.e)
			*star = b;
	}
	return begins || p.p == p.e;
}

/* Returns the name of the file's channel. False: unknown to the simple reader. */
static bool plain_channel(char inst[40], const char *full)
{
	struct str leaf = str_base(str_z(full)), line, chip = S(""), dir = { full, leaf.p };
	const char *cut = memchr(leaf.p, '_', str_len(leaf));
	struct str channel = { leaf.p, cut ? cut : leaf.e }, digits = channel;
	char path[PATH_MAX + 16], to[PATH_MAX];
	struct str text;
	u64 v;

	while (digits.p < digits.e && *digits.p >= 'a' && *digits.p <= 'z')
		digits.p++;
	if (!plain_digits(digits, &v) || str_len(digits) > 2 || digits.p == channel.p)
		return false;
	snprintf(path, sizeof(path), "%.*sname", (int)str_len(dir), dir.p);
	if (!plain_line(path, to, &chip) || !plain_name(chip, 30))
		return false;
	chip = str_z(strncpy((char[32]){ 0 }, chip.p, str_len(chip)));
	snprintf(path, sizeof(path), "%.*s%.*s_label", (int)str_len(dir), dir.p, (int)str_len(channel), channel.p);
	switch (files_behind(path, to, &text)) {
	case '=':
		if (!plain_line(path, to, &line) || !plain_name(line, 30))
			return false;
		break;
	case '\0':
		line = channel;
		for (size_t i = 0; i < LEN(unlabelled); i++)
			if (str_is(chip, unlabelled[i][0]) && str_is(channel, unlabelled[i][1]))
				line = str_z(unlabelled[i][2]);
		break;
	default:
		return false;
	}
	snprintf(inst, 40, "%.*s", (int)str_len(line), line.p);
	return true;
}

/* Reads the value of the file. */
static bool plain_value(const struct row *r, const char *full, u64 *v)
{
	char to[PATH_MAX];
	struct str line, whole;
	u64 tenth;
	bool below;

	if (!plain_line(full, to, &line))
		return false;
	if (r->flags & R_LINK) {
		if (!str_cut(&line, '.', &whole) || !plain_digits(whole, v) || str_len(whole) > 3 || line.e - line.p < 6 ||
		    !plain_digits((struct str){ line.p, line.p + 1 }, &tenth) || memcmp(line.p + 1, " GT/s", 5) != 0)
			return false;
		*v = 10 * *v + tenth;
		return true;
	}
	below = is_signed(r->desc) && str_skip(&line, S("-"));
	if (!plain_digits(line, v))
		return false;
	for (u8 i = 0; i < r->zeros; i++) {
		if (*v > UINT64_MAX / 10)
			return false;
		*v *= 10;
	}
	*v = below ? 0 - *v : *v;
	return true;
}

/* Adds a file below the device's folder or its node's. */
static void report_file(const struct row *r, size_t file, const char *full, struct str star)
{
	struct told *t = &told.of[told.n];
	char to[PATH_MAX];
	struct str text;

	*t = (struct told){ .row = r, .file = file };
	for (const char *p = strchr(full, '/'); p; p = strchr(p + 1, '/')) {
		char parent[PATH_MAX] = "";

		memcpy(parent, full, (size_t)(p - full));
		if (files_behind(parent, to, &text) != '/' || strcmp(parent, to) != 0) {
			told.unsure[r->desc] = true;
			return;
		}
	}
	if (r->how == I_CHANNEL ? !plain_channel(t->inst, full) : r->how == I_DIR && !plain_name(star, 30)) {
		told.unsure[r->desc] = true;
		return;
	}
	if (r->how == I_DIR)
		snprintf(t->inst, sizeof(t->inst), "%.*s", (int)str_len(star), star.p);
	else if (r->how == I_IS)
		strcpy(t->inst, r->inst);
	t->sure = plain_value(r, full, &t->v);
	if (told.n + 1 < LEN(told.of))
		told.n++;
	else
		told.full = true;
}

/* Adds all files of the rows below a folder. */
static void report_folder(const struct device *d, const char *folder, bool node)
{
	size_t n = strlen(folder);
	struct str path, text, star = { 0 };
	char kind;

	for (size_t i = 0; files_nth(i, &kind, &path, &text); i++) {
		char full[PATH_MAX], to[PATH_MAX];
		struct str below = { path.p + n + 1, path.e }, now = { 0 };

		if (str_len(path) < n + 2 || str_len(path) > n + 200 || memcmp(path.p, folder, n) != 0 || path.p[n] != '/')
			continue;
		for (const struct row *r = rows; r < rows + LEN(rows); r++) {
			if ((r->driver && !glob_match(str_z(r->driver), str_z(d->driver), NULL)) || !!(r->flags & R_NODE) != node)
				continue;
			if (kind == '@' ? !path_fits(r->path, below, true, &star) : !path_fits(r->path, below, false, &star))
				continue;
			snprintf(full, sizeof(full), "%.*s", (int)str_len(path), path.p);
			if (kind != '=' || files_behind(full, to, &now) != '=' || now.p != text.p || strcmp(full, to) != 0)
				told.unsure[r->desc] = true;
			else
				report_file(r, i, full, star);
		}
	}
}

static struct counter *counter_named(const struct entity *e, u8 desc, struct str inst, struct counter *to)
{
	for (struct counter *k = reg_first(e); k; k = reg_next(k))
		if (k->desc == desc && k->flags & CF_SEEN && str_eq(inst_name(k->inst), inst)) {
			*to = *k;
			return to;
		}
	return NULL;
}

/* Checks the difference between the readings. */
static void check_course(const struct entity *e, const struct counter *k, u64 v)
{
	u64 d, dt;

	if (!again) {
		if (before.n < LEN(before.of))
			before.of[before.n++] = (struct was){ e->serial, k->inst, k->desc, v };
		return;
	}
	for (size_t i = 0; i < before.n; i++)
		if (before.of[i].serial == e->serial && before.of[i].inst == k->inst && before.of[i].desc == k->desc &&
		    v >= before.of[i].v && !e->went_backwards && steady)
			must(reg_rate(e, k->desc, k->inst, &d, &dt) && d == v - before.of[i].v && dt > 0, "the difference between readings is correct");
}

static void check_told(const struct device *d, const struct told *t, bool awake)
{
	const struct row *r = t->row;
	struct counter c, *k = counter_named(&d->e, r->desc, str_z(t->inst), &c);
	bool shown = (awake || r->flags & R_ASLEEP) && (sensing.listing || !(r->flags & R_LISTED));

	must(awake || r->flags & R_ASLEEP || files_reads(t->file) == 0, "no file is read that could wake a suspended device");
	if (!told_matters)
		return;
	for (size_t i = 0; i < told.n; i++)
		if (&told.of[i] != t && told.of[i].row->desc == r->desc && strcmp(told.of[i].inst, t->inst) == 0 && told.of[i].row <= r)
			return; /* another file has the value */
	if (!t->sure || told.unsure[r->desc])
		return;
	if ((r->flags & R_LANES && (t->v == 0 || t->v > 32)) || (r->flags & R_LIMIT && t->v == 0))
		shown = false;
	must(shown || !k, "a file that must not be read has no counter");
	must(!shown || k, "an existing file of a device has a counter");
	must(!shown || reg_now(k) == t->v, "a counter of a device has the value of its file");
	if (shown && r->flags & R_GOES)
		check_course(&d->e, k, t->v);
}

/* Checks that each counter whose kind only these files have is in one of them. */
static void check_source(const struct counter *k)
{
	bool own = false;

	if (told.unsure[k->desc] || !(k->flags & CF_SEEN))
		return;
	for (size_t i = 0; i < LEN(rows); i++)
		own |= rows[i].desc == k->desc && rows[i].flags & R_ONLY;
	for (size_t i = 0; i < told.n; i++)
		own &= told.of[i].row->desc != k->desc || !str_is(inst_name(k->inst), told.of[i].inst);
	must(!own, "a counter of a device is in some file");
}

/* Compares "KEY=WORD" of a device's uevent. False: unknown to the simple reader. */
static bool check_uevent(const char *folder, const char *key, const char *is)
{
	char path[PATH_MAX + 16], to[PATH_MAX];
	struct str text, line, word = { 0 };
	size_t n = 0;

	snprintf(path, sizeof(path), "%s/uevent", folder);
	if (files_behind(path, to, &text) != '=' || str_len(text) > 2000)
		return false;
	while (line_next(&text, &line))
		if (str_skip(&line, str_z(key))) {
			word = line;
			n++;
		}
	if (n != 1 || !str_skip(&word, S("=")) || !plain_name(word, 30))
		return false;
	must(str_is(word, is) || strcmp(is, "nvidia") == 0 /* found by /proc/driver */, "the name of a device matches its uevent");
	return true;
}

/* values: compares those of the last reading; otherwise only checks that a suspended device was not
 * read. */
static void check_device(const struct device *d, bool values)
{
	static const char *const states[] = { "active", "suspended" };
	char path[PATH_MAX + 32], node[PATH_MAX], folder[PATH_MAX], to[PATH_MAX];
	struct str text = { 0 }, line;
	char kind;
	bool awake = true;

	told_matters = values;
	if (!d->e.fresh || d->gone || d->e.dropped)
		return;
	snprintf(path, sizeof(path), d->card >= 0 ? "sys/class/drm/card%d" : d->render >= 0 ? "sys/class/drm/renderD%d" :
		 "sys/class/accel/accel%d", d->card >= 0 ? d->card : d->render >= 0 ? d->render : d->accel);
	if (files_behind(path, node, &text) != '/' || files_behind(strcat(path, "/device"), folder, &text) != '/')
		return;
	/* clients may have set it, too late for this check */
	if (!check_uevent(folder, "DRIVER", d->driver))
		return;
	check_uevent(folder, "PCI_SLOT_NAME", d->pdev);
	snprintf(path, sizeof(path), "%s/gpu_metrics", folder);
	if (strlen(folder) > 300 || strlen(node) > 300)
		return;
	memset(&told, 0, sizeof(told));
	kind = files_behind(path, to, &text); /* other files with sensors */
	for (u8 i = 0; kind && i < D_COUNT; i++)
		told.unsure[i] = i != D_VRAM_TOTAL && i != D_VRAM_USED && i != D_VISIBLE_TOTAL && i != D_VISIBLE_USED &&
			i != D_GTT_TOTAL && i != D_GTT_USED && i != D_POWER && i != D_FAN && i != D_LINK_SPEED && i != D_LINK_WIDTH;
	snprintf(path, sizeof(path), "%s/power/runtime_status", folder);
	kind = files_behind(path, to, &text);
	if (kind) {
		if (!plain_line(path, to, &line) || (!str_is(line, states[0]) && !str_is(line, states[1])))
			return;
		awake = str_is(line, states[0]);
	}
	report_folder(d, folder, false);
	report_folder(d, node, true);
	if (told.full)
		return;
	for (size_t i = 0; i < told.n; i++)
		check_told(d, &told.of[i], awake);
	for (struct counter *k = values ? reg_first(&d->e) : NULL; k; k = reg_next(k))
		check_source(k);
}

/* --- clients */

static const struct fdkind {
	const char *lead;
	u8 desc;
} fdkinds[] = {
	/* of two with the same beginning the longer one comes first */
	{ "drm-engine-capacity-", D_CAPACITY }, { "drm-engine-", D_BUSY_NS }, { "drm-cycles-", D_CYCLES },
	{ "drm-total-cycles-", D_TOTAL_CYCLES }, { "drm-maxfreq-", D_MAXFREQ }, { "drm-curfreq-", D_CURFREQ },
	{ "drm-total-", D_TOTAL }, { "drm-shared-", D_SHARED }, { "drm-resident-", D_RESIDENT }, { "drm-memory-", D_RESIDENT },
	{ "drm-purgeable-", D_PURGEABLE }, { "drm-active-", D_ACTIVE },
};

static const struct {
	const char *word;
	u64 times;
} amounts[] = {
	{ "", 1 }, { "ns", 1 }, { "KiB", 1 << 10 }, { "MiB", 1 << 20 }, { "GiB", 1 << 30 }, { "Hz", 1 }, { "MHz", 1000000 },
};

/* "drm-total-vram:\t12 KiB" */
static const struct fdkind *plain_key(struct str line, struct str *name, struct str *value)
{
	const struct fdkind *found = NULL;
	struct str key;

	if (!str_cut(&line, ':', &key))
		return NULL;
	for (size_t i = 0; i < LEN(fdkinds) && !found; i++) {
		*name = key;
		if (str_skip(name, str_z(fdkinds[i].lead)))
			found = &fdkinds[i];
	}
	*value = line;
	return found;
}

static bool plain_amount(struct str value, u8 desc, u64 *v)
{
	struct str number;
	bool memory = desc >= D_TOTAL && desc <= D_ACTIVE, hertz = desc == D_MAXFREQ || desc == D_CURFREQ;

	if (!str_skip(&value, S("\t")))
		return false;
	str_skip(&value, S(" ")); /* "drm-memory-gtt: " is amdgpu's */
	str_cut(&value, ' ', &number);
	if (!plain_digits(number, v))
		return false;
	for (size_t i = 0; i < LEN(amounts); i++)
		if (str_is(value, amounts[i].word) &&
		    (i == 0 || (i == 1 && desc == D_BUSY_NS) || (i > 1 && i < 5 && memory) || (i > 4 && hertz))) {
			*v *= amounts[i].times;
			/* a larger number is not plausible, and has no value */
			return *v < (desc == D_CAPACITY ? 256 : hertz ? 100000000001 : UINT64_C(1) << 62);
		}
	return false;
}

/* Finds the first line of a file with that kind and name, and compares it with the given line. */
static bool tells_first(struct str text, struct str line, u8 desc, struct str name)
{
	struct str l, n, v;

	while (line_next(&text, &l)) {
		const struct fdkind *k = plain_key(l, &n, &v);

		if (l.p == line.p)
			return true;
		if (k && k->desc == desc && str_eq(n, name))
			return false;
	}
	return false;
}

/* The only value of a key in an fdinfo file; empty if missing. */
static struct str only_value(struct str text, const char *key)
{
	struct str line, found = { 0 };
	size_t n = 0;

	while (line_next(&text, &line))
		if (str_skip(&line, str_z(key))) {
			n++;
			found = str_skip(&line, S(":\t")) ? line : (struct str){ 0 };
		}
	return n == 1 ? found : (struct str){ 0 };
}

/* The number of files that belong, or may belong, to that client. */
static size_t files_of(u64 id)
{
	struct str path, text, line;
	size_t n = 0;
	char kind;

	for (size_t i = 0; files_nth(i, &kind, &path, &text); i++)
		while (line_next(&text, &line)) {
			u64 v;

			if (str_find(line, S("drm-client-id")) && (!str_skip(&line, S("drm-client-id:\t")) || !plain_digits(line, &v) || v == id))
				n++;
		}
	return n;
}

static void check_name(const struct holder *h)
{
	const struct task *t = &tasks[h->task];
	char path[64], to[PATH_MAX];
	struct str line;

	snprintf(path, sizeof(path), "proc/%u/comm", h->pid);
	if (!again && plain_line(path, to, &line) && plain_name(line, 15))
		must(t->has_comm && t->comm_len == str_len(line) && memcmp(t->comm, line.p, t->comm_len) == 0, "a process has the name in its file");
}

static void check_client(const struct client *c)
{
	const struct holder *h = &holders[c->holders];
	char path[64], to[PATH_MAX];
	struct str text, rest, line, name, value;
	bool sure = true;
	u64 v;

	if (!c->e.fresh || c->e.dropped || !c->holders || h->next_client || c->keykind != KEY_ID || files_of(c->key) != 1)
		return;
	snprintf(path, sizeof(path), "proc/%u/fdinfo/%u", h->pid, h->fd);
	if (files_behind(path, to, &text) != '=' || strcmp(path, to) != 0 || str_len(text) > 4096 || memchr(text.p, '\0', str_len(text)) ||
	    !plain_name(only_value(text, "drm-driver"), 30) || !plain_digits(only_value(text, "drm-client-id"), &v))
		return;
	must(v == c->key, "a client has the id in its file");
	check_name(h);
	for (rest = text; line_next(&rest, &line); ) {
		const struct fdkind *k = plain_key(line, &name, &value);
		struct counter at, *found;

		if (!k || !plain_name(name, 30) || !plain_amount(value, k->desc, &v)) {
			sure &= !str_find(line, S("drm-")) || str_find(line, S("drm-driver")) || str_find(line, S("drm-client-")) ||
				str_find(line, S("drm-pdev"));
			continue;
		}
		/* the value of the first reading is kept */
		if (!tells_first(text, line, k->desc, name) || (again && k->desc == D_CAPACITY))
			continue;
		v += k->desc == D_CAPACITY && v == 0;
		found = counter_named(&c->e, k->desc, name, &at);
		must(found && reg_now(found) == v, "a counter of a client has the value of its file");
		if (k->desc == D_BUSY_NS || k->desc == D_CYCLES)
			check_course(&c->e, found, v);
	}
	for (struct counter *k = sure ? reg_first(&c->e) : NULL; k; k = reg_next(k)) {
		bool there = k->desc > D_ACTIVE || !(k->flags & CF_SEEN) || k->desc == D_CAPACITY || reg_now(k) == 0;

		for (rest = text; !there && line_next(&rest, &line); ) {
			const struct fdkind *l = plain_key(line, &name, &value);

			there = l && l->desc == k->desc && str_eq(name, inst_name(k->inst));
		}
		must(there, "a counter of a client is in its file");
	}
}

/* --- chips that are not part of a GPU */

/* Finds a file of the only chip with that name in class/hwmon. False: unknown to the simple
 * reader. */
static bool chip_file(struct str chip, struct str channel, char *full)
{
	struct str path, text, s, dir, line, found = { 0 };
	char to[PATH_MAX], at[PATH_MAX];
	size_t chips = 0;
	char kind;

	for (size_t i = 0; files_nth(i, &kind, &path, &text); i++) {
		s = path;
		if (!str_skip(&s, S("sys/class/hwmon/")) || !str_cut(&s, '/', &dir) || !plain_name(dir, 20))
			continue;
		if (found.p && str_eq(found, dir))
			continue;
		snprintf(at, sizeof(at), "sys/class/hwmon/%.*s/name", (int)str_len(dir), dir.p);
		if (!plain_line(at, to, &line))
			return false;
		if (str_eq(line, chip)) {
			chips++;
			found = dir;
		}
	}
	if (chips != 1)
		return false;
	snprintf(at, sizeof(at), "sys/class/hwmon/%.*s/device/power/runtime_status", (int)str_len(found), found.p);
	if (files_behind(at, to, &text))
		return false;
	snprintf(at, sizeof(at), "sys/class/hwmon/%.*s/%.*s_input", (int)str_len(found), found.p, (int)str_len(channel), channel.p);
	return files_behind(at, full, &text) == '=';
}

/* Checks "hwmon/CHIP/CHANNEL/WHAT" of the catalogue. */
static void check_chip(const struct named *c)
{
	struct str s = str_z(c->name), chip, channel, what, line;
	char full[PATH_MAX], to[PATH_MAX];
	bool below;
	u64 v;

	if (c->provider != PROVIDER_HWMON || c->rule != R_LEVEL || !str_skip(&s, S("hwmon/")) || !str_cut(&s, '/', &chip) ||
	    !str_cut(&s, '/', &channel) || !str_cut(&s, '/', &what) || s.p < s.e || !plain_name(chip, 30) ||
	    !plain_name(channel, 10) || !plain_name(what, 20) || !chip_file(chip, channel, full) || !plain_line(full, to, &line))
		return;
	below = str_skip(&line, S("-"));
	if (plain_digits(line, &v) && (!below || c->min < 0))
		must(c->known && c->value == (below ? -(i64)v : (i64)v), "a channel of a chip has the value of its file");
}

/* --- complete inputs */

/* Files whose text may differ at the second reading. */
static bool may_vary(struct str path)
{
	static const char *const leaves[] = { "_input", "_average", "_used", "_percent", "/act_freq", "/cur_freq", "_residency_ms",
					      "/current_link_speed", "/current_link_width", "freq_mhz", "/target_freq", "/runtime_status" };
	struct str s = path;

	if (str_skip(&s, S("proc/")) && str_find(s, S("/fdinfo/")))
		return true;
	for (size_t i = 0; i < LEN(leaves); i++)
		if (str_len(path) > strlen(leaves[i]) && str_is((struct str){ path.e - strlen(leaves[i]), path.e }, leaves[i]))
			return true;
	return false;
}

static u64 hash_frozen(void)
{
	u64 h = HASH64_BEGIN;
	struct str path, text;
	char kind;

	for (size_t i = 0; files_nth(i, &kind, &path, &text); i++) {
		h = hash64_more(h, path);
		h = hash64_more(h, (struct str){ &kind, &kind + 1 });
		h = may_vary(path) ? h : hash64_more(h, text);
	}
	return h;
}

/* Returns whether nodes are anything but links to folders, or folders, with numbers as names. */
static bool is_odd(void)
{
	static const char *const classes[] = { "sys/class/drm/", "sys/class/accel/" };
	struct str path, text;
	char kind;

	for (size_t i = 0; files_nth(i, &kind, &path, &text); i++) {
		char node[PATH_MAX], to[PATH_MAX];
		struct str s = path, name;

		if (kind == '@' && str_len(path) < sizeof("sys/class/hwmon") && str_len(path) > 2 && memcmp(path.p, "sys", 3) == 0)
			return true;
		for (size_t k = 0; k < LEN(classes); k++)
			if (str_skip(&s, str_z(classes[k])) && str_cut(&s, '/', &name) && str_len(name) < 200) {
				snprintf(node, sizeof(node), "%s%.*s/device", classes[k], (int)str_len(name), name.p);
				if (files_behind(node, to, &(struct str){ 0 }) == '?')
					return true;
			}
	}
	return false;
}

static void check_devices(bool values)
{
	for (u32 i = 1; i <= nrows.devices && steady && !odd && !registry.dropped; i++)
		if (devices[i].e.used)
			check_device(&devices[i], values);
}

static void check_plain(void)
{
	if (!again)
		frozen = hash_frozen();
	steady = !again || hash_frozen() == frozen;
	odd = is_odd();
	check_devices(true);
	for (u32 i = 1; i <= nrows.clients && !odd && !registry.dropped; i++)
		if (clients[i].e.used)
			check_client(&clients[i]);
}

/* --- output ----------------------------------------------------------------------------------- */

static void show_entity(const struct entity *e)
{
	static const char *const formats[] = { "json", "csv" };

	record_make(rec, e, &ro);
	for (size_t i = 0; i < LEN(formats); i++) {
		struct out o = { .fmt = format_find(str_z(formats[i])), .kind = rec->kind, .width = 80 };
		struct buf b = { .p = bytes, .cap = BYTES };

		out_record(&o, &b, rec);
		must(!b.full && b.n && is_clean((struct str){ b.p, b.p + b.n }, true), "a record is clean text");
		must(i > 0 || json_ok((struct str){ b.p, b.p + b.n }, NULL), "well-formed JSON");
		must(i > 0 || shares_ok((struct str){ b.p, b.p + b.n }), "a share is at most 100 %");
	}
}

static bool all_shown(u8 desc)
{
	(void)desc;
	return true;
}

static void show_all(void)
{
	u64 v;

	check_plain();
	reg_sum_clients(false, true);
	for (u32 i = 1; i <= nrows.devices; i++)
		if (devices[i].e.used) {
			show_entity(&devices[i].e);
			must(!device_busy(&devices[i], &v) || v <= 100000, "busy is at most 100 %");
		}
	for (u32 i = 1; i <= nrows.clients; i++)
		if (clients[i].e.used)
			show_entity(&clients[i].e);
	reg_sum_clients(true, true);
	cgroups_read(true, all_shown);
	for (u32 i = 1; i <= nrows.groups; i++)
		if (groups[i].e.used)
			show_entity(&groups[i].e);
}

static void probed(const struct probed *p)
{
	must(memchr(p->source, 0, sizeof(p->source)) && memchr(p->detail, 0, sizeof(p->detail)) &&
	     memchr(p->remedy, 0, sizeof(p->remedy)), "texts of doctor are terminated");
	show_entity(&p->e);
}

/* Lists some or all counters of the machine and all others, and reads them from the first files and
 * from the second. */
static void name_all(struct str then)
{
	u32 is[1024], n = 0;
	bool alike;

	catalog_refresh(ALL_PROVIDERS & ~(1u << PROVIDER_EVENT));
	for (u32 i = 0; i < nnamed && n < LEN(is); i++) {
		const struct named *c = catalog_at(i);

		must(is_clean(str_z(c->name), false) && is_clean(str_z(c->what), false) && c->min <= c->max, "a counter is described");
		if (c->provider != PROVIDER_HOST || i < 256)
			is[n++] = i;
	}
	if (catalog_activate(is, n))
		return;
	catalog_start();
	/* those of the first reading keep their names */
	alike = !odd && hash_frozen() == frozen && registry.dropped == 0;
	files_change(then);
	catalog_sample();
	for (u32 i = 0; i < n; i++) {
		const struct named *c = catalog_at(is[i]);

		/* The limits of a GPU are in separate files, and clocks and power may exceed
		 * them. */
		must(!c->known || (c->min <= c->value && (c->value <= c->max || (c->provider == PROVIDER_GPU && c->rule == R_LEVEL))),
		     "a value is within its limits");
		if (alike)
			check_chip(c);
	}
	catalog_stop();
	for (u32 i = 0; i < n; i += 1 + n / 32) /* each look-up searches all open files */
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
	before.n = 0;
	again = false;
	files_set(s);
	sensing.listing = s.p < s.e && s.e[-1] == ' ';
	registry.repeats = fdinfo_scope.tasks = fdinfo_scope.others = true;
	src_sysfs.start();
	src_fdinfo.start();
	src_sysfs.sample();
	src_fdinfo.sample();
	show_all();
	if (rest.p)
		files_change(rest);
	again = true;
	src_sysfs.scan();
	src_sysfs.sample();
	src_fdinfo.scan();
	src_fdinfo.sample();
	show_all();
	for (size_t i = 0, n = probe_all("gpustat"); i < n; i++)
		probed(probed_row(i));
	check_devices(false);
	name_all(s);
	check_devices(false);
	return 0;
}
