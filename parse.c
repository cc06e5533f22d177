/* parse.c - text that the kernel prints, and that users type, to values. Pure: bytes in, values out;
 * no system call, no state. SPDX-License-Identifier: MIT */
#include "gpustat.h"

bool str_eq(struct str a, struct str b)
{
	size_t n = str_len(a);

	return n == str_len(b) && (n == 0 || memcmp(a.p, b.p, n) == 0);
}

/* Moves s past lead if it begins with it. */
bool str_skip(struct str *s, struct str lead)
{
	if (str_len(*s) < str_len(lead) || memcmp(s->p, lead.p, str_len(lead)) != 0)
		return false;
	s->p += str_len(lead);
	return true;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

static bool is_digit(char c)
{
	return (u8)(c - '0') < 10;
}

struct str str_trim(struct str s)
{
	while (s.p < s.e && is_blank(*s.p))
		s.p++;
	while (s.p < s.e && is_blank(s.e[-1]))
		s.e--;
	return s;
}

/* The next piece up to sep, which is eaten; s moves past it. False at the end. */
bool str_cut(struct str *s, char sep, struct str *piece)
{
	const char *q;

	if (s->p >= s->e)
		return false;
	q = memchr(s->p, sep, str_len(*s));
	*piece = (struct str){ s->p, q ? q : s->e };
	s->p = q ? q + 1 : s->e;
	return true;
}

/* The next blank-separated word. */
bool str_word(struct str *s, struct str *word)
{
	while (s->p < s->e && (is_blank(*s->p) || *s->p == '\n'))
		s->p++;
	word->p = s->p;
	while (s->p < s->e && !is_blank(*s->p) && *s->p != '\n')
		s->p++;
	word->e = s->p;
	return word->p < word->e;
}

/* What follows the last '/'. */
struct str str_base(struct str s)
{
	const char *p = s.e;

	while (p > s.p && p[-1] != '/')
		p--;
	return (struct str){ p, s.e };
}

bool str_find(struct str s, struct str what)
{
	for (; str_len(s) >= str_len(what); s.p++)
		if (memcmp(s.p, what.p, str_len(what)) == 0)
			return true;
	return false;
}

/* The next whole line, without its newline. A last line that lacks one was cut: it is not given. */
bool line_next(struct str *text, struct str *line)
{
	const char *q = text->p < text->e ? memchr(text->p, '\n', str_len(*text)) : NULL;

	if (!q)
		return false;
	*line = (struct str){ text->p, q };
	text->p = q + 1;
	return true;
}

/* '*' any run, '?' any byte; what stands before and after the last '*' tells where it matched:
 * *star (may be NULL) gets that text. */
bool glob_match(struct str pat, struct str s, struct str *star)
{
	struct str seen = { s.p, s.p };
	const char *backp = NULL, *backs = NULL;

	while (s.p < s.e) {
		if (pat.p < pat.e && *pat.p == '*') {
			backp = ++pat.p;
			backs = s.p;
			seen = (struct str){ s.p, s.p };
		} else if (pat.p < pat.e && (*pat.p == '?' || *pat.p == *s.p)) {
			pat.p++;
			s.p++;
		} else if (backp) {
			pat.p = backp;
			s.p = ++backs;
			seen.e = backs;
		} else {
			return false;
		}
	}
	while (pat.p < pat.e && *pat.p == '*') {
		seen = s;
		pat.p++;
	}
	if (star)
		*star = seen;
	return pat.p == pat.e;
}

/* Where the digits end; NULL, and *v untouched, if there is none or no room. */
const char *scan_u64(struct str s, u64 *v)
{
	const char *p = s.p;
	u64 x = 0;

	for (; p < s.e && is_digit(*p); p++) {
		u8 d = (u8)(*p - '0');

		if (x > (UINT64_MAX - d) / 10)
			return NULL;
		x = 10 * x + d;
	}
	if (p == s.p)
		return NULL;
	*v = x;
	return p;
}

/* The same with a sign; the magnitude up to INT64_MAX. */
const char *scan_i64(struct str s, i64 *v)
{
	bool neg = s.p < s.e && *s.p == '-';
	u64 x;
	const char *p;

	if (neg)
		s.p++;
	p = scan_u64(s, &x);
	if (!p || x > INT64_MAX)
		return NULL;
	*v = neg ? -(i64)x : (i64)x;
	return p;
}

/* A decimal as an integer of 10^-point: "8.0" with point 1 is 80, as is "8"; ".5" is 5. Further digits are
 * dropped. */
const char *scan_dec(struct str s, unsigned point, u64 *v)
{
	u64 x = 0;
	bool frac = str_len(s) > 1 && *s.p == '.' && is_digit(s.p[1]);
	const char *p = frac ? s.p : scan_u64(s, &x);

	if (!p)
		return NULL;
	frac = p < s.e && *p == '.';
	if (frac)
		p++;
	for (; point > 0; point--) {
		u8 d = frac && p < s.e && is_digit(*p) ? (u8)(*p++ - '0') : 0;

		if (x > (UINT64_MAX - d) / 10)
			return NULL;
		x = 10 * x + d;
	}
	while (frac && p < s.e && is_digit(*p))
		p++;
	*v = x;
	return p;
}

/* A decimal number with one of units[] behind it and nothing else, times the unit. */
static bool scan_unit(struct str s, const struct unitword *words, size_t n, u64 *v)
{
	u64 x;
	const char *p = scan_u64(s, &x);
	struct str unit;

	if (!p)
		return false;
	unit = str_trim((struct str){ p, s.e });
	for (size_t i = 0; i < n; i++) {
		if (!str_eq(unit, words[i].word))
			continue;
		if (words[i].times && x > UINT64_MAX / words[i].times)
			return false;
		*v = x * words[i].times;
		return words[i].times != 0;
	}
	return false;
}

/* Intervals as users type them: 100ms 1 1.5s 2m 1h; seconds without a unit. In ns, more than 0. */
bool parse_interval(struct str s, i64 *ns)
{
	static const struct unitword words[] = {
		{ STR(""), 1000000000 },   { STR("s"), 1000000000 },     { STR("ms"), 1000000 },
		{ STR("us"), 1000 },       { STR("ns"), 1 },             { STR("m"), 60000000000 },
		{ STR("min"), 60000000000 }, { STR("h"), 3600000000000 },
	};
	u64 x; /* billionths of the unit */
	struct str unit;
	const char *p = scan_dec(s, 9, &x);

	if (!p)
		return false;
	unit = (struct str){ p, s.e };
	for (size_t i = 0; i < LEN(words); i++) {
		u64 v;

		if (!str_eq(unit, words[i].word))
			continue;
		v = muldiv(x, words[i].times, 1000000000);
		*ns = (i64)v;
		return v > 0 && v < (u64)INT64_MAX / 4;
	}
	return false;
}

/* --- fdinfo ------------------------------------------------------------------------------------ */

enum fdclass { C_TEXT, C_COUNT, C_TIME, C_SIZE, C_FREQ };

static const struct fdkey {
	struct str key;
	u8 field, class;
} fdkeys[] = {
	/* Those that end in '-' name an engine or a region behind it; the longer of two stands first. */
	{ STR("drm-engine-capacity-"), FD_CAPACITY, C_COUNT },
	{ STR("drm-engine-"), FD_BUSY_NS, C_TIME },
	{ STR("drm-total-cycles-"), FD_TOTAL_CYCLES, C_COUNT },
	{ STR("drm-cycles-"), FD_CYCLES, C_COUNT },
	{ STR("drm-maxfreq-"), FD_MAXFREQ, C_FREQ },
	{ STR("drm-curfreq-"), FD_CURFREQ, C_FREQ }, /* panfrost, panthor: their own pages only */
	{ STR("drm-total-"), FD_TOTAL, C_SIZE },
	{ STR("drm-shared-"), FD_SHARED, C_SIZE },
	{ STR("drm-resident-"), FD_RESIDENT, C_SIZE },
	{ STR("drm-memory-"), FD_MEMORY, C_SIZE },
	{ STR("drm-purgeable-"), FD_PURGEABLE, C_SIZE },
	{ STR("drm-active-"), FD_ACTIVE, C_SIZE },
	{ STR("drm-driver"), FD_DRIVER, C_TEXT },
	{ STR("drm-pdev"), FD_PDEV, C_TEXT },
	{ STR("drm-client-id"), FD_CLIENT, C_COUNT },
	{ STR("drm-client-name"), FD_NAME, C_TEXT },
	{ STR("pasid"), FD_PASID, C_TEXT },
	/* seq_show() of fs/proc/fd.c prints these for every descriptor. */
	{ STR("pos"), FD_NONE, C_TEXT },
	{ STR("flags"), FD_NONE, C_TEXT },
	{ STR("mnt_id"), FD_NONE, C_TEXT },
	{ STR("ino"), FD_NONE, C_TEXT },
	{ STR("lock"), FD_NONE, C_TEXT },
};

/* amdgpu 5.14 to 5.18 */
static const struct fdkey oldkeys[] = {
	{ STR("pdev"), FD_PDEV, C_TEXT },
	{ STR("vram mem"), FD_RESIDENT, C_SIZE },
	{ STR("gtt mem"), FD_RESIDENT, C_SIZE },
	{ STR("cpu mem"), FD_RESIDENT, C_SIZE },
};

/* Sizes: the standard's units, GiB, and the kB that always meant 1024. */
static const struct unitword size_units[] = {
	{ STR(""), 1 },          { STR("KiB"), 1 << 10 }, { STR("MiB"), 1 << 20 },
	{ STR("GiB"), 1 << 30 }, { STR("kB"), 1 << 10 },  { STR("B"), 1 },
};
static const struct unitword freq_units[] = {
	{ STR(""), 1 }, { STR("Hz"), 1 }, { STR("KHz"), 1000 }, { STR("MHz"), 1000000 },
};
static const struct unitword time_units[] = { { STR("ns"), 1 }, { STR(""), 1 } };
static const struct unitword other_times[] = { { STR("us"), 1 }, { STR("ms"), 1 }, { STR("s"), 1 } };
static const struct unitword no_units[] = { { STR(""), 1 } };

static u8 fd_value(const struct fdkey *k, struct str text, u64 *n)
{
	bool ok;

	switch (k->class) {
	case C_TIME:
		ok = scan_unit(text, time_units, LEN(time_units), n);
		/* Well formed, but a dialect that nobody speaks yet: passed over, not malformed. */
		if (!ok && scan_unit(text, other_times, LEN(other_times), n))
			return FD_NONE;
		break;
	case C_SIZE:
		ok = scan_unit(text, size_units, LEN(size_units), n);
		break;
	case C_FREQ:
		ok = scan_unit(text, freq_units, LEN(freq_units), n);
		break;
	case C_COUNT:
		ok = scan_unit(text, no_units, LEN(no_units), n);
		break;
	default:
		ok = k->field == FD_NONE || text.p < text.e;
		break;
	}
	return ok ? k->field : FD_BAD;
}

/* "gfx0: 23.5%": amdgpu printed whole and hundredths with "%d.%d", so 23.5 is 23.05. In 1/1000 %. */
static bool old_percent(struct str s, u64 *v)
{
	u64 whole, hundredths;
	const char *p = scan_u64(s, &whole), *q;

	if (!p || p >= s.e || *p != '.')
		return false;
	q = scan_u64((struct str){ p + 1, s.e }, &hundredths);
	if (!q || s.e - q != 1 || *q != '%' || hundredths > 99 || whole > UINT64_MAX / 2000)
		return false;
	*v = whole * 1000 + hundredths * 10;
	return true;
}

static void fd_oldline(struct str key, struct fdline *l)
{
	for (size_t i = 0; i < LEN(oldkeys); i++)
		if (str_eq(key, oldkeys[i].key)) {
			l->key = fd_value(&oldkeys[i], l->text, &l->n);
			str_word(&key, &l->name);
			return;
		}
	if (old_percent(l->text, &l->n))
		l->key = FD_BUSY_PCT;
}

/* Keys are printable ASCII without blanks. */
static bool is_key(struct str s)
{
	for (; s.p < s.e; s.p++)
		if ((u8)*s.p <= ' ' || (u8)*s.p >= 0x7f)
			return false;
	return true;
}

static void fd_line(struct str line, bool old, struct fdline *l)
{
	struct str key;

	*l = (struct fdline){ .key = FD_NONE };
	if (str_len(str_trim(line)) == 0)
		return;
	l->key = FD_BAD;
	if (!memchr(line.p, ':', str_len(line)))
		return;
	str_cut(&line, ':', &key);
	l->text = str_trim(line);
	l->name = key;
	if (str_len(key) == 0) {
		l->key = FD_NONE;
		return;
	}
	l->key = is_key(key) ? FD_OTHER : FD_BAD;
	if (old)
		fd_oldline(key, l);
	for (size_t i = 0; i < LEN(fdkeys) && l->key == FD_OTHER; i++) {
		struct str rest = key, k = fdkeys[i].key;

		if (!str_skip(&rest, k))
			continue;
		if (k.e[-1] == '-') {
			l->name = rest;
			l->key = str_len(rest) ? fd_value(&fdkeys[i], l->text, &l->n) : FD_BAD;
		} else if (str_len(rest) == 0) {
			l->key = fd_value(&fdkeys[i], l->text, &l->n);
		}
	}
	if (l->key == FD_CAPACITY && l->n == 0)
		l->n = 1; /* "Zero capacity is not allowed" */
}

/* The next line of an fdinfo file; what it cannot use comes as FD_NONE, what is malformed as FD_BAD. */
bool fdinfo_next(struct str *text, bool old, struct fdline *l)
{
	struct str line;

	if (!line_next(text, &line))
		return false;
	fd_line(line, old, l);
	return true;
}

/* Whose it is. False: not a DRM file. The last of two equal keys counts (pvrsrvkm prints two ids). */
bool fdinfo_head(struct str text, struct fdhead *h)
{
	struct fdline l;
	struct str old_pdev = { 0 };
	bool old_memory = false;

	*h = (struct fdhead){ 0 };
	while (fdinfo_next(&text, false, &l)) {
		u64 pasid;

		switch (l.key) {
		case FD_DRIVER: h->driver = l.text; break;
		case FD_PDEV:   h->pdev = l.text; break;
		case FD_NAME:   h->name = l.text; break;
		case FD_CLIENT:
			h->client = l.n;
			h->has_client = true;
			break;
		case FD_PASID:
			h->has_pasid = scan_u64(l.text, &pasid) == l.text.e;
			h->pasid = h->has_pasid ? pasid : 0;
			break;
		case FD_OTHER:
			if (str_eq(l.name, (struct str)STR("pdev")))
				old_pdev = l.text;
			break;
		case FD_BAD:
			old_memory |= str_eq(l.name, (struct str)STR("vram mem"));
			break;
		}
	}
	if (h->driver.p)
		return true;
	if (!old_pdev.p || !h->has_pasid || !old_memory)
		return false;
	h->old = true;
	h->pdev = old_pdev;
	h->driver = (struct str)STR("amdgpu");
	return true;
}

/* --- /proc/PID --------------------------------------------------------------------------------- */

/* Start time in clock ticks since boot: field 22 of stat, counted behind the comm's last ')', since a
 * comm may hold any byte. */
bool parse_stat_start(struct str s, u64 *start)
{
	const char *p = s.e;
	struct str word;

	while (p > s.p && p[-1] != ')')
		p--;
	if (p == s.p)
		return false;
	s.p = p;
	for (int field = 3; str_word(&s, &word); field++)
		if (field == 22)
			return scan_u64(word, start) == word.e;
	return false;
}

static bool is_hex(char c)
{
	return is_digit(c) || (u8)(c - 'a') < 6;
}

static struct str hex_id(struct str part)
{
	for (const char *p = part.p; p < part.e; p++) {
		const char *q = p;

		while (q < part.e && is_hex(*q))
			q++;
		if (q - p == 64)
			return (struct str){ p, q };
		p = q < part.e ? q : q - 1;
	}
	return (struct str){ 0 };
}

/* The container that a cgroup path names, the innermost: the 64 hex digits of docker, containerd, cri-o
 * and podman, the name behind lxc.payload. or below /lxc/. Empty where there is none. */
struct str parse_container(struct str path)
{
	struct str part, id = { 0 }, prev = { 0 };

	while (path.p < path.e) {
		struct str rest, hex;

		if (!str_cut(&path, '/', &part))
			break;
		rest = part;
		hex = hex_id(part);
		if (hex.p && !str_find(part, (struct str)STR("-conmon-"))) /* the monitor stands outside */
			id = hex;
		else if (str_skip(&rest, (struct str)STR("lxc.payload.")) && rest.p < rest.e)
			id = rest;
		else if (str_eq(prev, (struct str)STR("lxc")) && part.p < part.e)
			id = part;
		prev = part;
	}
	return id;
}

/* The cgroup of a process: of all hierarchies the path that names a container, else one that is not the
 * root; v2's first, then v1's of systemd, of memory, and the others. */
bool parse_cgroup(struct str text, struct str *path)
{
	static const struct str order[] = { STR(""), STR("name=systemd"), STR("memory") };
	enum { OTHER = LEN(order), PLAIN = OTHER + 1, ROOT = 2 * PLAIN, NOTHING };
	size_t best = NOTHING;
	struct str line, id, names;

	while (line_next(&text, &line)) {
		size_t rank = OTHER;

		if (!str_cut(&line, ':', &id) || !str_cut(&line, ':', &names) || line.p == line.e)
			continue;
		for (size_t i = 0; i < LEN(order); i++)
			if (str_eq(names, order[i]))
				rank = i;
		rank = str_len(line) == 1 ? ROOT : parse_container(line).p ? rank : PLAIN + rank;
		if (rank < best) {
			best = rank;
			*path = line;
		}
	}
	return best < NOTHING;
}

/* --- sysfs ------------------------------------------------------------------------------------- */

/* KEY=value of a uevent file. */
bool parse_uevent(struct str text, struct str key, struct str *value)
{
	struct str line;

	while (line_next(&text, &line))
		if (str_skip(&line, key) && line.p < line.e && *line.p == '=') {
			*value = (struct str){ line.p + 1, line.e };
			return true;
		}
	return false;
}

/* "MAJOR:MINOR" */
bool parse_devno(struct str s, unsigned *maj, unsigned *min)
{
	u64 a, b;
	const char *p = scan_u64(s, &a), *q;

	if (!p || p >= s.e || *p != ':')
		return false;
	q = scan_u64((struct str){ p + 1, s.e }, &b);
	if (!q || (q < s.e && *q != '\n') || a > UINT32_MAX || b > UINT32_MAX)
		return false;
	*maj = (unsigned)a;
	*min = (unsigned)b;
	return true;
}

/* amdgpu's pp_dpm_*: "1: 2100Mhz *"; the starred line is the present clock, the highest the maximum. Hz. */
bool parse_dpm(struct str text, u64 *cur, u64 *max)
{
	struct str line, label;
	bool found = false;

	*max = 0;
	while (line_next(&text, &line)) {
		u64 mhz;
		const char *p;

		if (!str_cut(&line, ':', &label))
			continue;
		line = str_trim(line);
		p = scan_u64(line, &mhz);
		if (!p || line.e - p < 3 || memcmp(p, "Mhz", 3) != 0 || mhz > UINT64_MAX / 1000000)
			continue; /* pp_dpm_pcie: "16.0GT/s, x16 619Mhz *" */
		mhz *= 1000000;
		if (mhz > *max)
			*max = mhz;
		if (line.e[-1] == '*') {
			*cur = mhz;
			found = true;
		}
	}
	return found;
}

/* v3d's gpu_stats, a row a queue: "queue timestamp jobs runtime". */
bool parse_v3d(struct str *text, struct str *queue, u64 *stamp, u64 *runtime)
{
	struct str line, w[4];

	while (line_next(text, &line)) {
		size_t n = 0;

		while (n < LEN(w) && str_word(&line, &w[n]))
			n++;
		if (n == LEN(w) && scan_u64(w[1], stamp) == w[1].e && scan_u64(w[3], runtime) == w[3].e) {
			*queue = w[0];
			return true;
		}
	}
	return false;
}

/* devfreq's trans_stat: a row a state, its frequency first and the ms spent there last. The sums of
 * kHz x ms and of ms give the mean clock of any interval. */
bool parse_trans(struct str text, u64 *khz_ms, u64 *ms)
{
	struct str line;

	*khz_ms = *ms = 0;
	while (line_next(&text, &line)) {
		struct str word, last = { 0 };
		u64 hz, t;
		const char *p;

		line = str_trim(line);
		if (line.p < line.e && *line.p == '*')
			line.p++;
		line = str_trim(line);
		p = scan_u64(line, &hz);
		if (!p || p >= line.e || *p != ':')
			continue;
		while (str_word(&line, &word))
			last = word;
		if (scan_u64(last, &t) != last.e || (hz / 1000 && t > UINT64_MAX / (hz / 1000)))
			continue;
		if (*khz_ms > UINT64_MAX - hz / 1000 * t || *ms > UINT64_MAX - t)
			return false;
		*khz_ms += hz / 1000 * t;
		*ms += t;
	}
	return *ms > 0;
}

/* Rockchip's NPU: "NPU load:  Core0: 12%, Core1:  0%,": the next NAME: N%. In 1/1000 %. */
bool parse_rknpu(struct str *text, struct str *core, u64 *load)
{
	struct str piece;

	while (str_cut(text, ':', &piece)) {
		struct str rest = str_trim(*text), word;
		const char *p = scan_u64(rest, load);

		*core = (struct str){ 0 };
		while (str_word(&piece, &word))
			*core = word;
		if (p && p < rest.e && *p == '%' && core->p && *load <= 1000) {
			*load *= 1000;
			return true;
		}
	}
	return false;
}

/* --- time zones ---------------------------------------------------------------------------------- */

/* A zone's name: letters, or anything in <>. */
static bool tz_name(struct str *s)
{
	const char *p = s->p;
	bool quoted = p < s->e && *p == '<';

	while (p < s->e && (quoted ? *p != '>' : (u8)((*p | 32) - 'a') < 26))
		p++;
	if (quoted && p < s->e)
		p++;
	quoted = p > s->p;
	s->p = p;
	return quoted;
}

/* [+-]HH[:MM[:SS]] in seconds. */
static bool tz_seconds(struct str *s, i64 *v)
{
	bool neg = s->p < s->e && *s->p == '-';
	i64 unit = 3600;
	u64 n;

	if (s->p < s->e && (neg || *s->p == '+'))
		s->p++;
	for (*v = 0; unit > 0; unit /= 60) {
		const char *p = scan_u64(*s, &n);

		if (!p || n > 999)
			return false;
		*v += (i64)n * unit;
		s->p = p;
		if (p >= s->e || *p != ':')
			break;
		s->p++;
	}
	*v = neg ? -*v : *v;
	return true;
}

/* Days from 1970 to the first of a month; Howard Hinnant, chrono-compatible low-level date algorithms. */
static i64 month_days(i64 year, i64 month)
{
	i64 y = month <= 2 ? year - 1 : year, era = y / 400, yoe = y - era * 400;
	i64 doy = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5;

	return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

static bool is_leap(i64 year)
{
	return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

/* "m.w.d": the w-th day d of month m, w = 5 the last. In days from 1970. */
static bool tz_month_day(struct str *s, i64 year, i64 *day)
{
	u64 n[3];
	i64 first;

	for (size_t i = 0; i < LEN(n); i++) {
		const char *p = scan_u64(*s, &n[i]);

		if (!p || (i < 2 && (p >= s->e || *p != '.')))
			return false;
		s->p = i < 2 ? p + 1 : p;
	}
	if (n[0] < 1 || n[0] > 12 || n[1] < 1 || n[1] > 5 || n[2] > 6)
		return false;
	first = month_days(year, (i64)n[0]);
	*day = first + ((i64)n[2] - (first + 4) % 7 + 7) % 7 + 7 * ((i64)n[1] - 1); /* 1970 began on a Thursday */
	if (*day >= month_days(n[0] == 12 ? year + 1 : year, n[0] == 12 ? 1 : (i64)n[0] + 1))
		*day -= 7;
	return true;
}

/* ",Mm.w.d[/time]", ",Jn[/time]" (1 to 365, no leap day) or ",n[/time]" (0 to 365): when that is in a year,
 * in seconds of a clock without offset. */
static bool tz_rule(struct str *s, i64 year, i64 *at)
{
	i64 day, time = 7200;

	if (str_skip(s, (struct str)STR(",M"))) {
		if (!tz_month_day(s, year, &day))
			return false;
	} else {
		bool julian = str_skip(s, (struct str)STR(",J"));
		const char *p;
		u64 n;

		if (!julian && !str_skip(s, (struct str)STR(",")))
			return false;
		p = scan_u64(*s, &n);
		if (!p || n > 365 || (julian && n == 0))
			return false;
		s->p = p;
		day = month_days(year, 1) + (i64)n - julian + (julian && n > 59 && is_leap(year));
	}
	if (s->p < s->e && *s->p == '/') {
		s->p++;
		if (!tz_seconds(s, &time))
			return false;
	}
	*at = day * 86400 + time;
	return true;
}

/* POSIX's TZ, as the last line of a zone file has it: "CET-1CEST,M3.5.0,M10.5.0/3". Seconds east. */
i32 parse_tz(struct str s, i64 now)
{
	i64 std, dst, start, end, year;

	if (!tz_name(&s) || !tz_seconds(&s, &std))
		return 0;
	dst = std - 3600;
	if (!tz_name(&s))
		return (i32)-std;
	if (s.p < s.e && *s.p != ',' && !tz_seconds(&s, &dst))
		return (i32)-std;
	year = 1970 + (now - std) / 31556952; /* a Gregorian year's mean length; off by a day at most */
	if (now - std < month_days(year, 1) * 86400)
		year--;
	else if (now - std >= month_days(year + 1, 1) * 86400)
		year++;
	if (!tz_rule(&s, year, &start) || !tz_rule(&s, year, &end))
		return (i32)-std;
	start += std;
	end += dst;
	return (i32)-((start < end ? now >= start && now < end : now >= start || now < end) ? dst : std);
}

static u64 big_endian(const char *p, size_t n)
{
	u64 v = 0;

	while (n-- > 0)
		v = v << 8 | (u8)*p++;
	return v;
}

/* A TZif file (RFC 9636): seconds east of Greenwich at now; false where the file is none. Of its two
 * blocks the second has 64-bit times; behind the last transition its last line rules. */
bool parse_tzif(struct str f, i64 now, i32 *east)
{
	u64 times, types, size, at = 0;
	struct str rest, rule;

	for (unsigned width = 4;; width = 8) {
		if (str_len(f) < 44 || memcmp(f.p, "TZif", 4) != 0)
			return false;
		times = big_endian(f.p + 32, 4);
		types = big_endian(f.p + 36, 4);
		size = 44 + times * (width + 1) + types * 6 + big_endian(f.p + 40, 4) +
		       big_endian(f.p + 28, 4) * (width + 4) + big_endian(f.p + 24, 4) + big_endian(f.p + 20, 4);
		if (size > str_len(f) || types == 0)
			return false;
		if (width == 8 || f.p[4] < '2')
			break;
		f.p += size;
	}
	rest = (struct str){ f.p + size, f.e };
	str_skip(&rest, (struct str)STR("\n"));
	if (f.p[4] < '2') { /* 32-bit times are all there is */
		for (u64 i = 0; i < times && (i64)(i32)(u32)big_endian(f.p + 44 + i * 4, 4) <= now; i++)
			at = (u8)f.p[44 + times * 4 + i];
		size = 4;
	} else {
		u64 i = 0;

		for (; i < times && (i64)big_endian(f.p + 44 + i * 8, 8) <= now; i++)
			at = (u8)f.p[44 + times * 8 + i];
		if (i == times && line_next(&rest, &rule) && rule.p < rule.e) {
			*east = parse_tz(rule, now);
			return true;
		}
		size = 8;
	}
	if (at >= types)
		return false;
	*east = (i32)(u32)big_endian(f.p + 44 + times * (size + 1) + at * 6, 4);
	return true;
}
