/* timeline.c - formats for trace viewers: perfetto, the protobuf messages of Perfetto, and chrome,
 * the JSON events of Chrome. Numbers of records become counters, and perf samples become instants.
 * It makes no system calls except for memory. It remembers which tracks it has described.
 * SPDX-License-Identifier: MIT */
#include "parse.h"
#include "counters.h"
#include "views/views.h"
#include "sources/os/os.h"

/* --- tracks whose description has been written ------------------------------------------------ */

/* MAX_DESCRIBED: enough for the tracks of 650 devices or clients with 50 counters each. PROBES:
 * maximum number of slots of the hash table that are searched for a hash. */
enum { MAX_DESCRIBED = 1 << 15, PROBES = 8 };

/* Hash table: hashes of the tracks and names that were described; 0: the slot is free. */
static TABLE(u64, described, MAX_DESCRIBED, MAX_DESCRIBED, "tracks of a timeline");

/* True if the track or name with this hash was described before. If not, stores the hash, and the
 * caller must write the description now. If the slots are occupied, another hash is replaced; its
 * track will be described again, which makes the output longer, but not wrong. */
static bool is_described(u64 hash)
{
	if (!table_has(&described.t, MAX_DESCRIBED - 1)) {
		/* The failed allocation is not reported as a loss: without the table of described
		 * tracks, the output is only longer. */
		described.t.dropped = 0;
		return false;
	}
	for (u64 i = 0; i < PROBES; i++) {
		u64 *at = &described.rows[(hash + i) % MAX_DESCRIBED];

		if (*at == hash)
			return true;
		if (*at == 0) {
			*at = hash;
			return false;
		}
	}
	described.rows[hash % MAX_DESCRIBED] = hash;
	return false;
}

static i64 clocks_compared; /* value of o->monotonic at the last call of put_clocks(), ns */

/* Forgets which tracks were described, so that all tracks, and the times of the clocks, are written
 * again. */
static void forget_described(void)
{
	clocks_compared = 0;
	if (described.rows)
		memset(described.rows, 0, MAX_DESCRIBED * sizeof(*described.rows));
}

/* --- position of the current record in the timeline: its time and its track ------------------- */

enum { TITLE_BYTES = 512, NAME_BYTES = 1024 };

/* Position of the current record in the timeline: its time, and the track that its values belong
 * to. comm, event, subject and unit point to texts of the record. */
static struct {
	u32 run;            /* number of the run, a copy of out.run */
	u64 time;           /* time of the record, ns */
	/* sum of the intervals (dt) of all records so far, ns; used as the time of records without
	 * one */
	u64 elapsed;
	/* process: id of the track of the record's process; 0 if the PID is unknown, or if the
	 * record is a sample of a thread other than the main thread; owner: id of the track of the
	 * record's entity */
	u64 process, owner;
	u32 pid, tid;       /* 0: unknown */
	struct str comm, event;
	struct str subject; /* counter, event or symbol that the record is about; may be empty */
	struct str unit;    /* unit of the counter's or event's value */
	struct buf title;   /* title of the entity's track, in text[] */
	char text[TITLE_BYTES];
} place;

static u64 hash_text(u64 h, struct str s)
{
	return hash64_more(hash64_more(h, s), LIT("\0"));
}

static u64 hash_number(u64 h, u64 n)
{
	char bytes[8];

	for (size_t i = 0; i < sizeof(bytes); i++)
		/* the bytes are hashed in little-endian order, so that the hash is the same on all
		 * machines */
		bytes[i] = (char)(u8)(n >> 8 * i);
	return hash64_more(h, str_of(bytes, sizeof(bytes)));
}

/* Adds a value that distinguishes the entity from others, such as card0 or client 217, to the title
 * of its track and to the hash that is the id of the track. A long title is cut; the hash always
 * includes the whole value. */
static void title_add(const char *member, const struct val *v)
{
	put_z(&place.title, place.title.n ? " " : "");
	if (v->type == V_TEXT) {
		put_str(&place.title, v->s);
		place.owner = hash_text(place.owner, v->s);
		return;
	}
	put_z(&place.title, member);
	put_c(&place.title, ' ');
	put_number(&place.title, v);
	place.owner = hash_number(hash_text(place.owner, str_z(member)), v->n);
}

enum part { TIME, CPU_TIME, DT, PID, TID, COMM, EVENT, NAME, IP, SYMBOL, UNIT };

/* Returns which member of `place` is set from the field of a column, as enum part, by the name of
 * the column; a number above UNIT if no member is. The names are compared only once per column. */
static u8 part_of(const struct column *c)
{
	static const char names[] = "time cpu_time dt pid tid comm event name ip symbol unit";
	/* for each column: its enum part, plus 1; 0: the name of the column was not compared yet */
	static u8 parts[256];
	u8 *part = &parts[c - columns];

	if (!*part)
		*part = (u8)(str_among(str_z(c->member), names) + 1);
	return (u8)(*part - 1);
}

/* Sets a member of `place`, the position of the current record in the timeline, from a field
 * without a group, such as time, pid or name. */
static void place_field(u8 kind, const struct field *f)
{
	const struct val *v = &f->v;
	u8 part = part_of(f->col);

	if (part == TIME)
		place.time = v->n * 1000;
	else if (part == CPU_TIME)
		place.time = v->n;
	else if (part == DT)
		place.elapsed += v->n * 1000;
	else if (part == PID)
		place.pid = (u32)v->n;
	else if (part == TID && kind == K_SAMPLE)
		place.tid = (u32)v->n;
	else if (part == COMM)
		place.comm = v->s;
	else if (part == EVENT)
		place.event = v->s;
	else if (part == UNIT)
		place.unit = v->s;
	else if (part == SYMBOL)
		/* the symbol replaces the address as the subject, because the field ip comes before
		 * symbol */
		place.subject = symbol_name(v->s);
	else if (part == IP || (part == NAME && kind == K_COUNTER))
		place.subject = v->s;
	else if (f->col->when & W_LABEL && kind != K_SAMPLE)
		title_add(f->col->member, v);
}

/* Adds the number of the descriptor to the title of a client without drm-client-id, because such a
 * client is identified by one descriptor of its process. */
static void place_descriptor(const struct record *r)
{
	struct val fd = { .type = V_INT };

	if (record_descriptor(r, &fd.n))
		title_add("fd", &fd);
}

/* Sets `place`, the position of a record in the timeline: its time, and the track of its entity,
 * with a title. If the record has a PID, this track is below the track of the process. The track of
 * a perf sample is that of its thread. */
static void place_find(const struct out *o, const struct record *r)
{
	const u64 start = hash_text(HASH64_BEGIN, LIT("gpustat"));
	u64 elapsed = place.elapsed;

	memset(&place, 0, sizeof(place));
	place.run = o->run;
	place.time = place.elapsed = elapsed;
	place.owner = hash_text(start, str_z(kind_names[r->kind]));
	place.title = BUF(place.text);
	for (size_t i = 0; i < r->n; i++)
		if (!r->f[i].col->group && r->f[i].v.type != V_NULL)
			place_field(r->kind, &r->f[i]);
	place_descriptor(r);
	if (r->kind == K_EVENT)
		place.subject = place.event;
	if (!str_len(place.subject) && r->kind == K_SAMPLE)
		place.subject = place.event;
	if (!place.title.n)
		put_z(&place.title, kind_names[r->kind]);
	place.owner = hash_number(hash_number(place.owner, place.pid), place.tid) | 1;
	if (place.pid && (r->kind != K_SAMPLE || place.tid == place.pid))
		place.process = hash_number(hash_text(start, LIT("process")), place.pid) | 1;
}

/* --- fields of a record that become counters -------------------------------------------------- */

static bool is_number(const struct val *v)
{
	return v->type == V_INT || v->type == V_DIGITS;
}

/* True if a field is shown as a counter: it is a number that does not identify the entity, and -f
 * selects it. */
static bool is_counter(const struct out *o, const struct field *f)
{
	return is_number(&f->v) && f->col->shape != S_LIST &&
	       !(f->col->when & (W_LABEL | W_ID | W_META)) &&
	       (o->npatterns ? out_selects(o, f) : !(f->col->when & W_EXPLICIT));
}

/* True if a field is an item of a call chain, and is selected by -f. */
static bool is_caller(const struct out *o, const struct field *f)
{
	return f->v.type == V_TEXT && f->col->shape == S_LIST && out_selects(o, f);
}

static bool is_value(const struct field *f)
{
	return !f->col->group && str_is(str_z(f->col->member), "value");
}

/* Returns the name of a counter in the timeline: the subject of the record (if it is not empty),
 * then the name of the field. The text is valid until the next call. */
static struct str name_of(struct str subject, const struct field *f)
{
	static char text[NAME_BYTES];
	struct buf b = BUF(text);

	put_str(&b, subject);
	if (!str_len(subject) || !is_value(f)) {
		put_z(&b, b.n ? " " : "");
		put_field_name(&b, f->col, f->inst, put_str);
	}
	return str_of(b.p, b.n);
}

static struct str counter_unit(const struct field *f)
{
	return is_value(f) ? place.unit : str_z(units[f->v.unit].name);
}

/* Returns the number of digits after the decimal point with which a value of type V_INT is
 * printed. */
static u8 decimals(const struct val *v)
{
	return (u8)(units[v->unit].point + v->point);
}

static bool is_integer(const struct val *v)
{
	return v->type == V_INT && decimals(v) == 0 && v->n <= INT64_MAX;
}

/* Returns 10^n. The result is exact for the decimals of all units. */
static double power_of_ten(size_t n)
{
	double ten = 1;

	for (; n > 0; n--)
		ten *= 10;
	return ten;
}

static double number(const struct val *v)
{
	double n = (double)v->n / power_of_ten(decimals(v));
	size_t places = 0;
	bool point = false;

	for (const char *p = v->s.p; v->type == V_DIGITS && p < v->s.e; p++) {
		if (*p == '.') {
			point = true;
			continue;
		}
		n = n * 10 + (*p - '0');
		places += point;
	}
	if (point)
		n /= power_of_ten(places);
	return v->neg ? -n : n;
}

static const struct str no_subject;

/* Functions that write the parts of a timeline format to b. They use `place`, the position of the
 * current record in the timeline. process, owner: write the description of the track of the process
 * or of the entity; counter: writes a value; instant: writes a perf sample. */
struct timeline {
	/* writes what must be in the output before the current record, such as the times of the
	 * clocks; NULL if the format needs nothing */
	void (*begin)(struct out *o, struct buf *b);
	void (*process)(struct out *o, struct buf *b);
	void (*owner)(struct out *o, struct buf *b);
	void (*counter)(struct out *o, struct buf *b, const struct field *f);
	void (*instant)(struct out *o, struct buf *b, const struct record *r);
};

static void timeline_record(const struct timeline *t, struct out *o, struct buf *b,
			    const struct record *r)
{
	bool headed = o->headed;

	place_find(o, r);
	if (t->begin)
		t->begin(o, b);
	if (place.process && !is_described(hash_text(place.process, place.comm)))
		t->process(o, b);
	if (!is_described(hash_text(place.owner, place.comm)))
		t->owner(o, b);
	if (r->kind == K_SAMPLE)
		t->instant(o, b, r);
	for (size_t i = 0; i < r->n && r->kind != K_SAMPLE; i++)
		if (is_counter(o, &r->f[i]))
			t->counter(o, b, &r->f[i]);
	/* The record does not fit in b: the caller will discard it, together with the descriptions
	 * of tracks that were written for it. All descriptions are written again with later
	 * records. */
	if (b->full) {
		forget_described();
		o->headed = headed;
	}
}

/* --- perfetto: messages ----------------------------------------------------------------------- */

/* Types of values in protobuf (protobuf.dev, "Encoding"): each field of a message is a key, with
 * the number of the field and the type of its value, and then the value. */
enum { WIRE_VARINT, WIRE_FIXED64, WIRE_BYTES };

static void put_varint(struct buf *b, u64 v)
{
	char bytes[10];
	size_t n = 0;

	for (; v > 127; v >>= 7)
		bytes[n++] = (char)(u8)(v | 128);
	bytes[n++] = (char)v;
	put_n(b, bytes, n);
}

static void put_key(struct buf *b, u32 number, u8 type)
{
	put_varint(b, number << 3 | type);
}

static void put_integer(struct buf *b, u32 number, u64 v)
{
	put_key(b, number, WIRE_VARINT);
	put_varint(b, v);
}

static void put_double(struct buf *b, u32 number, double v)
{
	char bytes[8];
	u64 bits;

	memcpy(&bits, &v, sizeof(bits));
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(u8)(bits >> 8 * i);
	put_key(b, number, WIRE_FIXED64);
	put_n(b, bytes, sizeof(bytes));
}

/* Begins a protobuf field that is a message or string of unknown length. Returns the position in
 * the buffer at which its bytes start, which the caller passes to message_end(). */
static size_t message_begin(struct buf *b, u32 number)
{
	put_key(b, number, WIRE_BYTES);
	put_c(b, '\0'); /* reserve one byte for the length, enough for a length below 128 */
	return b->n;
}

static void message_end(struct buf *b, size_t from)
{
	char bytes[10];
	struct buf length = BUF(bytes);
	size_t n = b->n - from;

	put_varint(&length, n);
	/* move the bytes, because the length needs more than one byte */
	put_n(b, bytes, length.n - 1);
	if (b->full)
		return;
	memmove(b->p + from + length.n - 1, b->p + from, n);
	memcpy(b->p + from - 1, bytes, length.n);
}

/* Writes a protobuf string. It must be UTF-8, so each invalid byte of s becomes U+FFFD. */
static void put_string(struct buf *b, u32 number, struct str s)
{
	size_t from = message_begin(b, number);

	while (s.p < s.e) {
		const char *end = clean_end(s, CLEAN_TEXT);

		if (end <= s.p)
			end = utf8_end(s.p, s.e);
		if (end <= s.p) {
			put_utf8(b, 0xfffd);
			end = s.p + 1;
		} else {
			put_str(b, (struct str){ s.p, end });
		}
		s.p = end;
	}
	message_end(b, from);
}

/* --- perfetto: packets ------------------------------------------------------------------------ */

/* Numbers of protobuf fields, from the folder protos/perfetto/trace of Perfetto 50. */
enum {
	TRACE_PACKET = 1, /* field number from trace.proto */
	/* field numbers from trace_packet.proto, trace_packet_defaults.proto */
	PACKET_CLOCKS = 6, PACKET_TIMESTAMP = 8, PACKET_SEQUENCE = 10, PACKET_EVENT = 11,
	PACKET_FLAGS = 13, PACKET_CLOCK_ID = 58, PACKET_DEFAULTS = 59, PACKET_TRACK = 60,
	/* field numbers from clock_snapshot.proto */
	CLOCKS_CLOCK = 1, CLOCKS_PRIMARY = 2, CLOCK_ID = 1, CLOCK_TIMESTAMP = 2,
	/* field numbers from track_event/track_descriptor.proto, process_descriptor.proto,
	 * thread_descriptor.proto, counter_descriptor.proto */
	TRACK_ID = 1, TRACK_NAME = 2, TRACK_PROCESS = 3, TRACK_THREAD = 4, TRACK_PARENT = 5,
	TRACK_COUNTER = 8, PROCESS_PID = 1, PROCESS_NAME = 6, THREAD_PID = 1, THREAD_TID = 2,
	THREAD_NAME = 5, COUNTER_UNIT = 3, COUNTER_UNIT_NAME = 6,
	/* field numbers from track_event/track_event.proto, debug_annotation.proto */
	EVENT_ANNOTATION = 4, EVENT_TYPE = 9, EVENT_TRACK = 11, EVENT_CATEGORY = 22,
	EVENT_NAME = 23, EVENT_INTEGER = 30, EVENT_DOUBLE = 44, EVENT_STACK = 55, STACK_FRAME = 1,
	FRAME_FUNCTION = 1, ANNOTATION_INTEGER = 4, ANNOTATION_DOUBLE = 5, ANNOTATION_NAME = 10,
};

/* Bits of the field PACKET_FLAGS of a packet. STATE_CLEARED: packets from this one on do not depend
 * on earlier ones; NEEDS_STATE: the packet depends on the defaults in an earlier one. */
enum { STATE_CLEARED = 1, NEEDS_STATE = 2 };
enum { BUILTIN_REALTIME = 1, BUILTIN_MONOTONIC = 3, BUILTIN_BOOTTIME = 6 };
enum { TYPE_INSTANT = 3, TYPE_COUNTER = 4 };

/* Seconds after which the times of all clocks are written again, as in Perfetto itself: the
 * differences between the clocks change when the machine is suspended, which stops CLOCK_MONOTONIC,
 * and when CLOCK_REALTIME is set. */
enum { SNAPSHOT_SECONDS = 10 };

static size_t packet_begin(struct buf *b, u64 flags)
{
	size_t packet = message_begin(b, TRACE_PACKET);

	put_integer(b, PACKET_SEQUENCE, place.run);
	put_integer(b, PACKET_FLAGS, flags);
	return packet;
}

static void put_reading(struct buf *b, u64 id, u64 ns)
{
	size_t clock = message_begin(b, CLOCKS_CLOCK);

	put_integer(b, CLOCK_ID, id);
	put_integer(b, CLOCK_TIMESTAMP, ns);
	message_end(b, clock);
}

/* Writes the current time on three clocks, so that Perfetto can align this run with other traces.
 * For a recorded run, of which the other clocks are unknown, writes only the time of the record as
 * CLOCK_MONOTONIC, and declares this clock as the clock of the whole trace. */
static void put_clocks(const struct out *o, struct buf *b)
{
	size_t packet = packet_begin(b, NEEDS_STATE), clocks = message_begin(b, PACKET_CLOCKS);

	if (o->monotonic) {
		put_reading(b, BUILTIN_REALTIME, (u64)o->now);
		put_reading(b, BUILTIN_MONOTONIC, (u64)o->monotonic);
		put_reading(b, BUILTIN_BOOTTIME, (u64)o->boottime);
	} else {
		put_reading(b, BUILTIN_MONOTONIC, place.time);
		put_integer(b, CLOCKS_PRIMARY, BUILTIN_MONOTONIC);
	}
	message_end(b, clocks);
	message_end(b, packet);
}

/* Writes that all timestamps of this run are those of CLOCK_MONOTONIC. */
static void put_defaults(struct buf *b)
{
	size_t packet = packet_begin(b, STATE_CLEARED), defaults;

	defaults = message_begin(b, PACKET_DEFAULTS);
	put_integer(b, PACKET_CLOCK_ID, BUILTIN_MONOTONIC);
	message_end(b, defaults);
	message_end(b, packet);
}

static void perfetto_begin(struct out *o, struct buf *b)
{
	if (!o->headed)
		put_defaults(b);
	else if (o->monotonic - clocks_compared < (i64)SNAPSHOT_SECONDS * 1000000000)
		return;
	put_clocks(o, b);
	clocks_compared = o->monotonic;
	o->headed = true;
}

static void perfetto_process(struct out *o, struct buf *b)
{
	size_t packet = packet_begin(b, NEEDS_STATE), track = message_begin(b, PACKET_TRACK);
	size_t process;

	(void)o;
	put_integer(b, TRACK_ID, place.process);
	process = message_begin(b, TRACK_PROCESS);
	put_integer(b, PROCESS_PID, place.pid);
	put_string(b, PROCESS_NAME, place.comm);
	message_end(b, process);
	message_end(b, track);
	message_end(b, packet);
}

static void put_thread(struct buf *b)
{
	size_t thread = message_begin(b, TRACK_THREAD);

	put_integer(b, THREAD_PID, place.pid);
	put_integer(b, THREAD_TID, place.tid);
	put_string(b, THREAD_NAME, place.comm);
	message_end(b, thread);
}

/* Writes the description of the track of the current record's entity. It is the track of a thread,
 * or a track with a title, below which are the tracks of the entity's counters. */
static void perfetto_owner(struct out *o, struct buf *b)
{
	size_t packet = packet_begin(b, NEEDS_STATE), track = message_begin(b, PACKET_TRACK);

	(void)o;
	put_integer(b, TRACK_ID, place.owner);
	if (place.tid) {
		put_thread(b);
	} else {
		put_string(b, TRACK_NAME, str_of(place.text, place.title.n));
		if (place.process)
			put_integer(b, TRACK_PARENT, place.process);
	}
	message_end(b, track);
	message_end(b, packet);
}

static void put_unit(struct buf *b, struct str unit)
{
	/* Writes the unit of a counter. CounterDescriptor.Unit has numbers for ns and bytes
	 * (UNIT_TIME_NS, UNIT_SIZE_BYTES); other units are written by name. */
	const u64 known = str_is(unit, "ns") ? 1 : str_is(unit, "bytes") ? 3 : 0;
	size_t counter = message_begin(b, TRACK_COUNTER);

	if (known)
		put_integer(b, COUNTER_UNIT, known);
	else if (str_len(unit))
		put_string(b, COUNTER_UNIT_NAME, unit);
	message_end(b, counter);
}

static void describe_counter(struct buf *b, u64 id, const struct field *f)
{
	size_t packet = packet_begin(b, NEEDS_STATE), track = message_begin(b, PACKET_TRACK);

	put_integer(b, TRACK_ID, id);
	put_integer(b, TRACK_PARENT, place.owner);
	put_string(b, TRACK_NAME, name_of(place.subject, f));
	put_unit(b, counter_unit(f));
	message_end(b, track);
	message_end(b, packet);
}

/* Returns the id of the track of a counter. It is a hash of names, so it is the same in all
 * runs. */
static u64 counter_id(const struct field *f)
{
	u64 h = hash_text(place.owner, place.subject);

	h = hash_text(h, str_z(f->col->group));
	h = hash_text(h, f->inst);
	return hash_text(h, str_z(f->col->member)) | 1;
}

static void put_figure(struct buf *b, const struct val *v, u32 integer_number, u32 double_number)
{
	if (is_integer(v))
		put_integer(b, integer_number, v->neg ? -v->n : v->n);
	else
		put_double(b, double_number, number(v));
}

static void perfetto_counter(struct out *o, struct buf *b, const struct field *f)
{
	u64 id = counter_id(f);
	size_t packet, event;

	(void)o;
	if (!is_described(id))
		describe_counter(b, id, f);
	packet = packet_begin(b, NEEDS_STATE);
	put_integer(b, PACKET_TIMESTAMP, place.time);
	event = message_begin(b, PACKET_EVENT);
	put_integer(b, EVENT_TYPE, TYPE_COUNTER);
	put_integer(b, EVENT_TRACK, id);
	put_figure(b, &f->v, EVENT_INTEGER, EVENT_DOUBLE);
	message_end(b, event);
	message_end(b, packet);
}

static void put_frame(struct buf *b, struct str function)
{
	size_t frame = message_begin(b, STACK_FRAME);

	put_string(b, FRAME_FUNCTION, function);
	message_end(b, frame);
}

/* Perfetto: writes the call stack of a perf sample, from the outermost caller to the sampled
 * function. Writes nothing if the record has no callers. */
static void put_stack(struct buf *b, const struct out *o, const struct record *r)
{
	size_t stack = 0;

	for (size_t i = r->n; i > 0; i--) {
		const struct field *f = &r->f[i - 1];

		if (!is_caller(o, f))
			continue;
		if (!stack)
			stack = message_begin(b, EVENT_STACK);
		put_frame(b, symbol_name(f->v.s));
	}
	if (!stack)
		return;
	put_frame(b, place.subject);
	message_end(b, stack);
}

static void put_annotation(struct buf *b, const struct field *f)
{
	size_t annotation = message_begin(b, EVENT_ANNOTATION);

	put_string(b, ANNOTATION_NAME, name_of(no_subject, f));
	put_figure(b, &f->v, ANNOTATION_INTEGER, ANNOTATION_DOUBLE);
	message_end(b, annotation);
}

static void perfetto_instant(struct out *o, struct buf *b, const struct record *r)
{
	size_t packet = packet_begin(b, NEEDS_STATE), event;

	put_integer(b, PACKET_TIMESTAMP, place.time);
	event = message_begin(b, PACKET_EVENT);
	put_integer(b, EVENT_TYPE, TYPE_INSTANT);
	put_integer(b, EVENT_TRACK, place.owner);
	put_string(b, EVENT_CATEGORY, place.event);
	put_string(b, EVENT_NAME, place.subject);
	for (size_t i = 0; i < r->n; i++)
		if (is_counter(o, &r->f[i]))
			put_annotation(b, &r->f[i]);
	put_stack(b, o, r);
	message_end(b, event);
	message_end(b, packet);
}

void perfetto_record(struct out *o, struct buf *b, const struct record *r)
{
	static const struct timeline format = {
		.begin = perfetto_begin,
		.process = perfetto_process,
		.owner = perfetto_owner,
		.counter = perfetto_counter,
		.instant = perfetto_instant,
	};

	timeline_record(&format, o, b, r);
}

/* --- chrome ----------------------------------------------------------------------------------- */

/* In format chrome, counters belong to processes. An entity without a PID gets a number from this
 * one on as its PID. No process can have such a number: PID_MAX_LIMIT is 2^22
 * (include/linux/threads.h). */
enum { FIRST_NO_PROCESS = 1 << 30 };

static u64 chrome_pid(void)
{
	return place.pid ? place.pid : FIRST_NO_PROCESS | place.owner % FIRST_NO_PROCESS;
}

/* Begins an event of format chrome; each event is a line. The comma between two events is at the
 * start of the second one: if a file is cut between two lines, only its last bracket is missing. */
static void event_begin(struct out *o, struct buf *b, struct str name, char phase)
{
	put_c(b, o->headed || o->no_header ? ',' : '[');
	o->headed = true;
	put_z(b, "{\"name\":");
	put_quoted(b, name);
	put_z(b, ",\"ph\":\"");
	put_c(b, phase);
	put_z(b, "\",\"pid\":");
	put_u64(b, chrome_pid());
	if (place.tid) {
		put_z(b, ",\"tid\":");
		put_u64(b, place.tid);
	}
}

static void put_member(struct buf *b, const char *key, struct str value)
{
	put_z(b, key);
	put_quoted(b, value);
}

static void chrome_time(struct buf *b)
{
	put_z(b, ",\"ts\":");
	put_dec(b, place.time, 3, 1); /* ts is in us, place.time in ns */
}

static void chrome_name(struct out *o, struct buf *b, const char *kind, struct str name)
{
	event_begin(o, b, str_z(kind), 'M');
	put_member(b, ",\"args\":{\"name\":", name);
	put_z(b, "}}\n");
}

static void chrome_process(struct out *o, struct buf *b)
{
	chrome_name(o, b, "process_name", place.comm);
}

static void chrome_owner(struct out *o, struct buf *b)
{
	if (place.tid)
		chrome_name(o, b, "thread_name", place.comm);
	else if (!place.pid)
		chrome_name(o, b, "process_name", str_of(place.text, place.title.n));
}

static void chrome_counter(struct out *o, struct buf *b, const struct field *f)
{
	struct str unit = counter_unit(f);

	event_begin(o, b, name_of(place.subject, f), 'C');
	chrome_time(b);
	/* Chrome shows the member "id" of the event as a part of the counter's name */
	if (place.pid)
		put_member(b, ",\"id\":", str_of(place.text, place.title.n));
	put_member(b, ",\"args\":{", str_len(unit) ? unit : LIT("value"));
	put_c(b, ':');
	put_number(b, &f->v);
	put_z(b, "}}\n");
}

/* Chrome: writes the call stack of a perf sample, from the outermost caller to the sampled
 * function. Writes nothing if the record has no callers. */
static void chrome_stack(struct out *o, struct buf *b, const struct record *r)
{
	bool any = false;

	for (size_t i = r->n; i > 0; i--) {
		if (!is_caller(o, &r->f[i - 1]))
			continue;
		put_member(b, any ? "," : ",\"stack\":[", symbol_name(r->f[i - 1].v.s));
		any = true;
	}
	if (!any)
		return;
	put_member(b, ",", place.subject);
	put_c(b, ']');
}

static void chrome_instant(struct out *o, struct buf *b, const struct record *r)
{
	bool any = false;

	event_begin(o, b, place.subject, 'i');
	put_z(b, ",\"s\":\"t\"");
	chrome_time(b);
	put_member(b, ",\"cat\":", place.event);
	chrome_stack(o, b, r);
	put_z(b, ",\"args\":{");
	for (size_t i = 0; i < r->n; i++) {
		if (!is_counter(o, &r->f[i]))
			continue;
		put_member(b, any ? "," : "", name_of(no_subject, &r->f[i]));
		put_c(b, ':');
		put_number(b, &r->f[i].v);
		any = true;
	}
	put_z(b, "}}\n");
}

void chrome_record(struct out *o, struct buf *b, const struct record *r)
{
	static const struct timeline format = {
		.process = chrome_process,
		.owner = chrome_owner,
		.counter = chrome_counter,
		.instant = chrome_instant,
	};

	timeline_record(&format, o, b, r);
}
