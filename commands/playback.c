/* playback.c - top --replay: the samples of a recorded run, forwards and backwards.
 * SPDX-License-Identifier: MIT */
#include "commands/commands.h"
#include "sources/os/os.h"
#include "sys.h"

enum class { C_DEVICE, C_CLIENT, C_PROCESS, CLASSES };

enum {
	TEXT_BYTES = 16 << 20,     /* bytes for the text of the records of 10 000 clients */
	/* To show a sample in the middle of the file of --replay, the SEEK_BYTES bytes before the
	 * sample are read first, to fill its graphs and find its clients; if they do not suffice,
	 * up to SEEK_MOST bytes are read. */
	SEEK_BYTES = 1 << 20,
	SEEK_MOST = 64 << 20,
	/* most seconds to wait between two samples: a longer gap is shortened */
	MAX_WAIT = 7 * 24 * 3600,
};

/* The record of a client or process. id: hash of the texts that identify it, see id_of(). at, n:
 * offset and length of the record's text in kept[].text. */
struct row {
	u64 id;
	u32 at, n;
};

/* Records of clients (kept[0]) and processes (kept[1]), each from the last sample that had such
 * records. */
static struct kept {
	struct row *rows;
	char *text;
	struct table rows_table, text_table;
} kept[CLASSES - C_CLIENT] = {
	{
		.rows_table = TABLE_ROW(kept[0].rows, MAX_CLIENTS, 64, "recorded clients"),
		.text_table = TABLE_ROW(kept[0].text, TEXT_BYTES, 64 << 10,
					"bytes of recorded clients"),
	},
	{
		.rows_table = TABLE_ROW(kept[1].rows, MAX_CLIENTS, 64,
					"recorded processes"),
		.text_table = TABLE_ROW(kept[1].text, TEXT_BYTES, 64 << 10,
					"bytes of recorded processes"),
	},
};

static struct play {
	struct runfile file;
	/* true if the file has at least one record that is not a summary (min, avg or max) */
	bool plain;
	u32 n[CLASSES], used[CLASSES];
	/* the hash (id_of()) that identifies each device in the current sample */
	u64 ids[MAX_DEVICES];
	/* times: time of the records of each class (device, client, process) in the current sample;
	 * dt: interval of the rates; both in us */
	i64 times[CLASSES], dt;
	/* the next record of the file, which is not yet part of the current sample */
	struct {
		char *p, *e;
		u64 at, id;
		i64 time, dt;
		u8 class;
		bool is;
	} next;
	struct record *filled; /* the record in which put_field() stores each value */
	/* true if put_field() must copy the names of instances (engines, regions, sensors), because
	 * the record is used after the next record was read */
	bool keeps_names;
} play;

struct playback playback;

/* --- values of a record ----------------------------------------------------------------------- */

/* Converts a value of JSON to the unit of the column. A number that is too large becomes
 * UINT64_MAX; decimal digits beyond those of the unit are cut. */
static void value_convert(struct val *v, const struct column *c)
{
	u8 point = units[c->unit].point;

	for (; v->point < point; v->point++)
		v->n = v->n < UINT64_MAX / 10 ? v->n * 10 : UINT64_MAX;
	for (; v->point > point; v->point--)
		v->n /= 10;
	v->point = 0;
	v->unit = c->unit;
}

static void put_field(struct runrec *j, const struct column *c, struct str inst,
		      const struct val *v)
{
	struct val x = *v;

	(void)j;
	if (!c || (c->when & W_META) || c->unit == U_SECONDS)
		return;
	if (x.type == V_INT)
		value_convert(&x, c);
	record_put(play.filled, c, play.keeps_names ? inst_keep(inst) : inst, &x);
}

static bool record_fill(struct record *r, const struct entity *e, struct str text, bool keep)
{
	struct runrec j;

	record_clear(r, e);
	if (!runrec_read(&j, text))
		return false;
	play.filled = r;
	play.keeps_names = keep;
	runrec_values(&j, text, true, put_field);
	return true;
}

static u64 id_of(const struct runrec *j)
{
	u64 h = 0;

	for (size_t i = 0; i < ID_COUNT; i++)
		h = hash64_more(h + i, j->id.text[i]);
	return h;
}

/* --- devices ---------------------------------------------------------------------------------- */

static i32 node_number(struct str dev, const char *prefix)
{
	u64 n;

	return str_skip_z(&dev, prefix) && scan_u64(dev, &n) == dev.e && n <= INT32_MAX ? (i32)n :
											   -1;
}

static void copy_label(char *to, size_t cap, const struct record *r, const char *field)
{
	const struct val *v = record_get(r, NULL, field);

	str_copy(to, cap, v && v->type == V_TEXT ? v->s : (struct str){ 0 });
}

/* Returns the index in devices[] of the device with this name, which is added if it is new. The row
 * of a device that is gone is used again. Returns NONE if the table is full. */
static u32 device_named(struct str dev)
{
	u32 n, gone = NONE;
	struct device *d;

	if (dev.p == dev.e || str_len(dev) >= sizeof(d->dev))
		return NONE;
	for (n = 1; n <= nrows.devices; n++) {
		if (str_eq(str_z(devices[n].dev), dev))
			return n;
		gone = devices[n].gone ? n : gone;
	}
	n = device_add();
	if (n == NONE && gone != NONE) {
		devices[gone].e.used = false;
		n = device_add();
	}
	if (n == NONE)
		return NONE;
	d = &devices[n];
	str_copy(d->dev, sizeof(d->dev), dev);
	d->card = node_number(dev, "card");
	d->render = node_number(dev, "renderD");
	d->accel = node_number(dev, "accel");
	return n;
}

/* Updates the row of devices[] for the device `dev`, which the record `text` is about. values: true
 * if it is a record of the device itself, so that its values are stored; false if it is a record of
 * a client or process, from which only the labels of the device are used. */
static void device_take(struct str dev, struct str text, bool values)
{
	u32 n = device_named(dev);
	struct device *d = &devices[n];

	if (n == NONE) {
		registry.dropped++;
		return;
	}
	d->gone = false;
	if (!values && d->driver[0])
		return;
	if (!record_fill(&rec, &d->e, text, true))
		return;
	copy_label(d->driver, sizeof(d->driver), &rec, "driver");
	copy_label(d->pdev, sizeof(d->pdev), &rec, "pdev");
	if (values) {
		copy_label(d->state, sizeof(d->state), &rec, "state");
		copy_label(d->name, sizeof(d->name), &rec, "name");
	} else {
		record_clear(&rec, &d->e);
	}
	top_device(&rec, !values);
}

/* --- samples ---------------------------------------------------------------------------------- */

static void row_take(u8 class, u64 id, struct str text)
{
	struct kept *k = &kept[class - C_CLIENT];
	u32 n = play.n[class], used = play.used[class], len = (u32)str_len(text);

	if (n == MAX_CLIENTS - 1 || !table_has(&k->rows_table, n) ||
	    !table_has(&k->text_table, used + len - 1)) {
		registry.dropped++;
		return;
	}
	memcpy(k->text + used, text.p, len);
	k->rows[n] = (struct row){ id, used, len };
	play.n[class] = n + 1;
	play.used[class] = used + len;
}

/* Finds the next record of a device, client or process. Returns false at the end of the file. */
static bool next_find(void)
{
	char *p, *e;

	/* Reading continues where the file ended at the last call: the file may have grown
	 * since. */
	play.file.ended = false;
	while (!play.next.is && runfile_next(&play.file, &p, &e) > 0) {
		struct runrec j;
		u8 class;

		if (!runrec_read(&j, (struct str){ p, e })) {
			runfile_bad(&play.file, NULL);
			continue;
		}
		class = (u8)str_among(j.id.text[ID_KIND], "device client process");
		if (class == CLASSES || !str_len(j.id.text[ID_DEV]) ||
		    (j.summary.p && (play.plain || !str_is(j.summary, "avg"))))
			continue;
		play.plain |= !j.summary.p;
		play.next.p = p;
		play.next.e = e;
		play.next.at = play.file.row_at;
		play.next.id = id_of(&j);
		play.next.time = j.time;
		play.next.dt = j.dt;
		play.next.class = class;
		play.next.is = true;
	}
	return play.next.is;
}

static bool has_id(u8 class, u64 id)
{
	bool has = false;

	for (u32 i = 0; i < play.n[class]; i++)
		has |= (class == C_DEVICE ? play.ids[i] : kept[class - C_CLIENT].rows[i].id) == id;
	return has;
}

/* Returns whether the next record begins another sample. begun: bits 1 << class of the classes
 * (device, client, process) that the current sample has. In a sample, all records of a class have
 * the same time. Several runs of gpustat may write to the same file, each one kind of record, and
 * their times differ: then a record of a device begins a sample, and all records of clients and
 * processes before the next record of a device belong to it. Without times, a sample ends at the
 * first record about an entity that the sample has already. */
static bool sample_ends(u8 begun)
{
	u8 class = play.next.class;
	i64 time = play.next.time, was = -1, dt = play.dt > play.next.dt ? play.dt : play.next.dt;

	if (begun >> (class + 1)) /* the sample has records of a later class already */
		return true;
	if (begun >> class & 1)
		return time >= 0 && play.times[class] >= 0 ? time != play.times[class] :
							     has_id(class, play.next.id);
	for (u8 i = 0; i < class; i++)
		was = begun >> i & 1 ? play.times[i] : was;
	return begun && time >= 0 && was >= 0 && dt > 0 && (time < was || time - was > dt);
}

static void class_begin(u8 class)
{
	play.n[class] = play.used[class] = 0;
	play.times[class] = play.next.time;
	for (u32 i = 1; i <= nrows.devices && class == C_DEVICE; i++)
		devices[i].gone = true;
}

static void record_take(void)
{
	struct str text = { play.next.p, play.next.e };
	u8 class = play.next.class;
	struct runrec j;
	char dev[sizeof(devices[0].dev) + 1];

	if (!runrec_read(&j, text))
		return;
	/* The name of the device is copied, because device_take() overwrites the memory in which it
	 * is stored. */
	str_copy(dev, sizeof(dev), j.id.text[ID_DEV]);
	device_take(str_z(dev), text, class == C_DEVICE);
	if (class != C_DEVICE)
		row_take(class, play.next.id, text);
	else if (play.n[class] < MAX_DEVICES)
		play.ids[play.n[class]++] = play.next.id;
}

/* Returns the time until the next sample, in ns; -1 if there is none. It is the difference of the
 * samples' times, or the interval of the next sample's rates if that difference is not plausible: a
 * second run may have been appended much later, or the clock was set. */
static i64 wait_find(void)
{
	i64 dt, gap, most;

	if (!next_find())
		return -1;
	dt = play.next.dt;
	gap = playback.time >= 0 && play.next.time >= 0 ? play.next.time - playback.time : -1;
	most = 2 * (dt > play.dt ? dt : play.dt);
	if (gap <= 0 || (most > 0 && gap > most))
		gap = dt;
	if (gap > (i64)MAX_WAIT * 1000000)
		gap = (i64)MAX_WAIT * 1000000;
	return gap > 0 ? gap * 1000 : opt.interval;
}

/* Reads the next sample. Returns false at the end of the file: then the last sample stays on the
 * screen. */
bool playback_next(void)
{
	u8 begun = 0;

	if (!next_find()) {
		playback.wait = -1;
		return false;
	}
	registry.dropped = 0;
	playback.at = play.next.at;
	playback.time = play.next.time;
	play.dt = play.next.dt;
	while (next_find() && !sample_ends(begun)) {
		if (!(begun >> play.next.class & 1))
			class_begin(play.next.class);
		begun |= (u8)(1 << play.next.class);
		record_take();
		play.next.is = false;
	}
	playback.wait = wait_find();
	playback.malformed = play.file.bad;
	return true;
}

/* --- moving in the file ----------------------------------------------------------------------- */

static void go_to(u64 at)
{
	memset(play.n, 0, sizeof(play.n));
	play.next.is = false;
	for (u32 i = 1; i <= nrows.devices; i++)
		devices[i].gone = true;
	top_forget();
	runfile_seek(&play.file, at);
}

void playback_begin(void)
{
	go_to(0);
	playback_next();
}

/* Shows the last sample that begins before the offset `place` in the file of --replay. The samples
 * before that sample are read, too: for the graphs, and because the last records of clients may be
 * in an earlier sample. */
static void show_before(u64 place)
{
	u64 size = SEEK_BYTES, first, from;

	do {
		from = place > size ? place - size : 0;
		first = UINT64_MAX;
		go_to(from);
		while (next_find() && play.next.at < place && playback_next())
			first = first < playback.at ? first : playback.at;
		size *= 4;
		/* Reading began in the middle of the file: the first sample that was found may lack
		 * its first records, which are before the offset `from`. */
	} while (from && size <= SEEK_MOST && (first == UINT64_MAX || first == playback.at) &&
		 !stopped);
	if (first == UINT64_MAX)
		playback_begin();
}

static u64 file_size(void)
{
	struct stat st;

	return sys_fstat(play.file.fd, &st) == 0 ? (u64)st.st_size : 0;
}

void playback_end(void)
{
	show_before(file_size());
}

void playback_back(void)
{
	show_before(playback.at);
}

/* Returns the position of the current sample in the file, in per cent of the file's size. */
u8 playback_percent(void)
{
	u64 size = file_size();

	return playback.wait < 0 || !size ? 100 : (u8)muldiv(playback.at, 100, size);
}

/* --- functions that return the clients or processes of the current sample --------------------- */

static u8 shown_class(void)
{
	return play.n[C_CLIENT] ? C_CLIENT : C_PROCESS;
}

u32 playback_rows(void)
{
	return play.n[shown_class()];
}

u32 playback_id(u32 row)
{
	return (u32)kept[shown_class() - C_CLIENT].rows[row].id | 1;
}

/* Makes the record of a client or process. row: its row in the current sample. */
void playback_record(struct record *r, u32 row)
{
	const struct kept *k = &kept[shown_class() - C_CLIENT];
	const struct row *w = &k->rows[row];

	record_fill(r, &devices[0].e, str_of(k->text + w->at, w->n), false);
}

/* --- functions that open and close the recorded run ------------------------------------------- */

/* Opens the file of --replay, and reads its first sample. Returns an exit code, or -1 to
 * continue. */
int playback_open(const char *name)
{
	/* O_NONBLOCK: without it, opening a FIFO would wait for a writer */
	long fd = file_open(name, O_RDONLY | O_NONBLOCK);
	struct stat st;

	play.file = (struct runfile){ .name = name, .fd = (int)fd, .loose = true, .silent = true };
	if (fd >= 0 && sys_fstat((int)fd, &st) == 0 && !S_ISREG(st.st_mode)) {
		say("cannot replay ", name, ": it is not a regular file");
		return EX_FAIL;
	}
	if (fd < 0) {
		say_error(name, fd);
		return EX_FAIL;
	}
	confine_to_opened();
	if (playback_next())
		return -1;
	say("cannot replay ", name,
	    ": it has no record of a device, client or process written with -o json");
	return EX_FAIL;
}

/* Reports malformed lines. Returns true if there were none. */
bool playback_close(void)
{
	runfile_end(&play.file);
	return play.file.bad == 0;
}
