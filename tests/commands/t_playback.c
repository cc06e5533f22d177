/* t_playback.c - top --replay: the records of a sample, the time until the next one, moving
 * backwards, values and devices. SPDX-License-Identifier: MIT */
#include "sys.h"
#include "folder.h"
#include "unit.h"

#define replay(...) replay_command(__VA_ARGS__) /* unit.h has a function of this name, too */
#include "../../commands/shared/runfile.c"
#include "../../commands/playback.c"
#undef replay
#include "said.h"

struct opts opt;
struct record rec;
struct buf out;
volatile sig_atomic_t stopped;

static u32 shown, forgotten;

bool top_device(const struct record *r, bool first)
{
	shown += !first && r->n > 0;
	return true;
}

void top_forget(void) { forgotten++; }
void confine_to_opened(void) { }

#define DEV(n, time, dt) \
	"{\"kind\":\"device\",\"time\":" time ",\"dt\":" dt ",\"dev\":\"card" n "\",\"busy\":" n ".5}\n"
#define CLI(pid, time, dt) \
	"{\"kind\":\"client\",\"time\":" time ",\"dt\":" dt ",\"dev\":\"card0\",\"pid\":" pid "}\n"
#define PROC(pid, time, dt) \
	"{\"kind\":\"process\",\"time\":" time ",\"dt\":" dt ",\"dev\":\"card0\",\"pid\":" pid "}\n"

/* Writes a file and opens it. Returns the exit code of an error, or -1. */
static int open_text(const char *text)
{
	static char path[512];

	str_copy(path, sizeof(path), str_z(in_folder("run.json")));
	put(in_folder("run.json"), text);
	if (play.file.fd > 2)
		close(play.file.fd);
	memset(&play, 0, sizeof(play));
	memset(&playback, 0, sizeof(playback));
	devices_clear(MAX_DEVICES - 1);
	nrows.devices = registry.dropped = 0;
	said.n = 0;
	opt.interval = 1000000000;
	return playback_open(path);
}

/* Describes the sample: the devices that are there, and the number of clients. */
static const char *sample(void)
{
	static char text[300];
	struct buf b = BUF_Z(text);

	for (u32 i = 1; i <= nrows.devices; i++)
		if (!devices[i].gone) {
			put_z(&b, devices[i].dev);
			put_c(&b, ' ');
		}
	put_u64(&b, playback_rows());
	put_z(&b, " at ");
	put_u64(&b, playback.time < 0 ? 0 : (u64)playback.time / 1000);
	put_z(&b, playback.wait < 0 ? " end" : " ");
	if (playback.wait >= 0)
		put_u64(&b, (u64)playback.wait / 1000000);
	return buf_z(&b);
}

/* --- samples ---------------------------------------------------------------------------------- */

static void t_samples(void)
{
	static const struct { const char *name, *text, *samples[4]; } rows[] = {
		{ "records of devices with the same time are one sample", DEV("0", "1",
		  "1") DEV("1", "1", "1") DEV("0", "2", "1"),
		  { "card0 card1 0 at 1000 1000", "card0 0 at 2000 end" } },
		{ "clients with other times belong to the sample of their devices", DEV("0", "1",
		  "1") CLI("7", "1.1", "1") CLI("8", "1.1", "1")
		  DEV("0", "2", "1") CLI("7", "2.1", "1"),
		  { "card0 2 at 1000 1000", "card0 1 at 2000 end" } },
		{ "clients that were read less often are kept in later samples", DEV("0", "1",
		  "1") CLI("7", "1.1", "1")
		  DEV("0", "2", "1") DEV("0", "3", "1"),
		  { "card0 1 at 1000 1000", "card0 1 at 2000 1000", "card0 1 at 3000 end" } },
		{ "clients that were read much later are a sample of their own", DEV("0", "1",
		  "1") CLI("7", "900", "1"),
		  { "card0 0 at 1000 1000", "card0 1 at 900000 end" } },
		{ "clients before their devices: each reading of clients is a sample", CLI("7", "1",
		  "1") DEV("0", "1", "1") CLI("7", "2", "1")
		  DEV("0", "2", "1"),
		  { "card0 1 at 1000 1000", "card0 1 at 1000 1000", "card0 1 at 2000 end" } },
		{ "a clock that was set back: the next time is a new sample", DEV("0", "9",
		  "2") DEV("0", "3", "2"),
		  { "card0 0 at 9000 2000", "card0 0 at 3000 end" } },
		{ "an appended recording: its first sample comes after the usual interval", DEV("0",
		  "1", "0.5") DEV("0", "5000", "0.5"),
		  { "card0 0 at 1000 500", "card0 0 at 5000000 end" } },
		{ "two recordings in turn with the same device: each record is a sample", DEV("0",
		  "1", "1") DEV("0", "1.3", "1"),
		  { "card0 0 at 1000 300", "card0 0 at 1300 end" } },
		{ "no times: a repeated device begins a new sample", DEV("0", "null",
		  "null") DEV("1", "null", "null")
		  DEV("0", "null", "null"),
		  { "card0 card1 0 at 0 1000", "card0 0 at 0 end" } },
		{ "no times: a repeated client begins a new sample", CLI("7", "null", "3") CLI("8",
		  "null", "3")
		  CLI("8", "null", "3"), { "card0 2 at 0 3000", "card0 1 at 0 end" } },
		{ "an implausible time is shown as 0", DEV("0", "1", "1e300") DEV("0", "9e300",
		  "1e300"),
		  { "card0 0 at 1000 1000", "card0 0 at 0 end" } },
		{ "processes are shown if there are no clients", PROC("7", "1", "1") PROC("8", "1",
		  "1")
		  CLI("9", "2", "1"), { "card0 2 at 1000 1000", "card0 1 at 2000 end" } },
		{ "summaries at the end are not samples", DEV("0", "1", "1")
		  "{\"kind\":\"device\",\"summary\":\"avg\",\"time\":2,\"dev\":\"card0\"}\n",
		  { "card0 0 at 1000 end" } },
		{ "means of --inner are samples",
		  "{\"kind\":\"device\",\"summary\":\"min\",\"time\":2,\"dev\":\"card0\"}\n"
		  "{\"kind\":\"device\",\"summary\":\"avg\",\"time\":2,\"dev\":\"card0\"}\n",
		  { "card0 0 at 2000 end" } },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		check(open_text(rows[i].text) < 0, "%s: the file is opened", rows[i].name);
		for (size_t k = 0; k < 4 && rows[i].samples[k]; k++) {
			check_str(str_z(sample()), rows[i].samples[k], "%s: sample %zu", rows[i].name,
				  k + 1);
			if (k == 3 || !rows[i].samples[k + 1])
				check(!playback_next(), "%s: no further sample", rows[i].name);
			else
				playback_next();
		}
	}
}

/* --- moving ----------------------------------------------------------------------------------- */

static void t_moves(void)
{
	static char text[3 << 20];
	struct buf b = BUF_Z(text);
	i64 times[3];

	for (u32 i = 0; i < 5; i++) {
		put_z(&b, "{\"kind\":\"device\",\"dev\":\"card0\",\"time\":");
		put_u64(&b, i);
		put_z(&b, "}\n");
	}
	open_text(buf_z(&b));
	playback_end();
	check(playback.time == 4000000 && playback.wait < 0, "playback_end: the last sample");
	playback_back();
	check(playback.time == 3000000 && playback.wait > 0,
	      "playback_back: the sample before the last one");
	check(forgotten >= 2, "playback_back: the graphs are made again");
	playback_begin();
	check(playback.time == 0 && playback.at == 0, "playback_begin: the first sample");
	playback_back();
	check(playback.time == 0, "playback_back: no sample is before the first one");
	for (int i = 0; i < 9; i++)
		playback_next();
	check(playback.time == 4000000, "playback_next: no sample is after the last one");
	/* each sample has more bytes than one read backwards */
	b.n = 0;
	for (u32 i = 0; i < 3; i++)
		for (u32 k = 0; k < 30000 / 3; k++) {
			put_z(&b, "{\"kind\":\"client\",\"dev\":\"card0\",\"pid\":");
			put_u64(&b, k);
			put_z(&b, ",\"time\":");
			put_u64(&b, i);
			put_z(&b, ",\"name\":\"0123456789012345678901234567890123456\"}\n");
		}
	open_text(buf_z(&b));
	playback_end();
	times[0] = playback.time;
	check_u64(playback_rows(), 10000, "large samples: the last one has all its records");
	playback_back();
	times[1] = playback.time;
	check_u64(playback_rows(), 10000,
		  "large samples: the one before the last has all its records");
	playback_back();
	times[2] = playback.time;
	check(times[0] == 2000000 && times[1] == 1000000 && times[2] == 0,
	      "large samples: the times of all three");
	check(playback_percent() == 0, "the first sample is at 0 %%");
}

/* --- values ----------------------------------------------------------------------------------- */

static void t_values(void)
{
	static const struct { const char *member; u64 n; u8 unit; } rows[] = {
		{ "busy\":37.5", 37500, U_PERCENT }, { "busy\":0.00049", 0, U_PERCENT },
		{ "busy\":1e300", UINT64_MAX, U_PERCENT }, { "used\":3221225472", 3221225472, U_BYTES },
		{ "used\":1.5", 1, U_BYTES }, { "busy\":1E1", 10000, U_PERCENT },
	};
	char text[256];

	for (size_t i = 0; i < LEN(rows); i++) {
		size_t n = strcspn(rows[i].member, "\"");
		const struct val *v;
		char name[16];

		snprintf(text, sizeof(text), "{\"kind\":\"client\",\"dev\":\"card0\",\"%s}", rows[i].member);
		str_copy(name, sizeof(name), str_of(rows[i].member, n));
		record_fill(&rec, &devices[0].e, str_z(text), false);
		/* a client has no field `busy`: then it is not a field of the record */
		v = record_get(&rec, NULL, name);
		if (strcmp(name, "busy") == 0)
			snprintf(text, sizeof(text), "{\"kind\":\"device\",\"dev\":\"card0\",\"%s}",
				 rows[i].member);
		record_fill(&rec, &devices[0].e, str_z(text), false);
		v = record_get(&rec, NULL, name);
		check(v && v->n == rows[i].n && v->unit == rows[i].unit && v->point == 0,
		      "value %s: number and unit",
		      rows[i].member);
	}
	record_fill(&rec, &devices[0].e,
		    LIT("{\"kind\":\"device\",\"dev\":\"c\",\"temp\":{\"a\\u0041\":-5.25},\"busy\":null,"
			"\"throttle\":[\"x\\\"\", \"y\",3],\"state\":\"on\",\"nonsense\":1,\"engine\":{}}"), true);
	check(record_get(&rec, "temp", NULL) && record_get(&rec, "temp", NULL)->neg &&
	      record_get(&rec, "temp", NULL)->n == 5250, "a negative value is read");
	check(!record_get(&rec, NULL, "busy") && !record_get(&rec, NULL, "nonsense"),
	      "null and unknown fields are no values");
	check(str_eq(record_get(&rec, NULL, "state")->s, LIT("on")) &&
	      str_eq(record_get(&rec, "throttle", NULL)->s, LIT("x\"")),
	      "a text and the first text of a list");
	check_u64(rec.n, 7, "fields: kind, dev, temp, busy, two of throttle, state");
}

static void t_devices(void)
{
	u32 n, bad = 0;

	open_text(DEV("0", "1", "1"));
	n = device_named(LIT("renderD130"));
	check(devices[n].render == 130 && devices[n].card == -1,
	      "renderD130: the number of the render node");
	n = device_named(LIT("accel2"));
	check(devices[n].accel == 2, "accel2: the number of the accelerator");
	n = device_named(LIT("card99999999999"));
	check(devices[n].card == -1, "card99999999999: the number is too large");
	check(device_named(LIT("renderD130")) == 2 && device_named(LIT("card0")) == 1,
	      "a device is found again by its name");
	check(device_named(LIT("")) == NONE &&
	      device_named(LIT("0123456789012345678901234567890123456789")) == NONE,
	      "an empty name and a long name add no device");
	for (u32 i = 0; i < MAX_DEVICES + 100; i++) {
		char name[16];

		snprintf(name, sizeof(name), "x%u", i);
		bad += device_named(str_z(name)) == NONE;
	}
	check_u64(bad, 105, "names without room in the table of devices are refused");
	devices[3].gone = true;
	check(device_named(LIT("new")) == 3 && !devices[3].gone && devices[3].accel == -1,
	      "a full table: a new device takes the row of a removed one");
	check(device_named(LIT("newer")) == NONE,
	      "a full table: the row of a removed device is taken only once");
}

static bool file_fed(struct str s)
{
	static char text[4096];
	int r;

	str_copy(text, sizeof(text), s);
	r = open_text(text);
	for (u32 i = 0; r < 0 && i < 4; i++) {
		playback_next();
		for (u32 k = 0; k < playback_rows(); k++)
			playback_record(&rec, k);
	}
	if (r < 0)
		playback_back();
	return r < 0 || r == EX_FAIL;
}

static void t_files(void)
{
	check(open_text("") == EX_FAIL && is_said("no record of a device, client or process"),
	      "an empty file is an error");
	check(open_text("time,dev\n1,card0\n") == EX_FAIL &&
	      is_said("no record of a device, client or process"), "a CSV file is an error");
	check(playback_open(tmp_folder) == EX_FAIL && is_said("it is not a regular file"),
	      "a folder is an error");
	check(playback_open("/nonexistent") == EX_FAIL && is_said("/nonexistent: "),
	      "a file that does not exist is an error");
	check(open_text(DEV("0", "1", "1") "{\"kind\":\"dev") < 0 && !playback_next() &&
	      playback.malformed == 1 && !playback_close() && is_said("1 malformed lines of the input file were left out"),
	      "a truncated last line is left out, with a message");
	playback_begin();
	check(!playback_next() && playback.malformed == 1,
	      "a malformed line that is read again is counted once");
	check(replay(LIT(DEV("0", "1", "1") CLI("7", "1", "1") DEV("0", "2", "1") "[{},]\n"), file_fed),
	      "hostile files: each is read or refused");
}

int main(void)
{
	folder_begin("playback");
	t_samples();
	t_moves();
	t_values();
	t_devices();
	t_files();
	shell("rm -r \"$D\"");
	return unit_end();
}
