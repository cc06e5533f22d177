/* placeholders.c - replaces the names in the files of a machine: the same name gets the same
 * placeholder in all files of a run. SPDX-License-Identifier: MIT */
#include "commands/commands.h"
#include "parse.h"
#include "sources/os/os.h"

enum { MAX_NAMES = 65536, MADE_BYTES = 64 << 10, COMM_MOST = 15 /* TASK_COMM_LEN - 1 */ };
/* least number of hex digits of an id: a UUID has 32, a container's id 64 */
enum { SHORT_ID = 32 };

struct name {
	/* hash of the kind and the name; two names with the same hash get the same placeholder */
	u64 hash;
	u32 number; /* number in the placeholder: the names of each kind are numbered from 1 */
};
static u32 nnames;
static TABLE(struct name, names, MAX_NAMES, 256, "replaced names");
/* the text of a file after its names were replaced */
static TABLE(char, made, MADE_BYTES, 4096, "bytes of a text with placeholders");

u32 placeholders[PLACEHOLDER_KINDS];

/* Returns the number in a name's placeholder; 0 if the table of names is full. */
static u32 name_number(enum placeholder kind, struct str name)
{
	u64 hash = hash_quick(name) * 31 + kind;

	for (u32 i = 0; i < nnames; i++)
		if (names.rows[i].hash == hash)
			return names.rows[i].number;
	if (!table_has(&names.t, nnames))
		return 0;
	names.rows[nnames] = (struct name){ hash, ++placeholders[kind] };
	return names.rows[nnames++].number;
}

static void put_placeholder(struct buf *b, enum placeholder kind, struct str name)
{
	static const char *const words[] = {
		[HIDDEN_COMMAND] = "command", [HIDDEN_GROUP] = "group",
		[HIDDEN_PATH] = "/path", [HIDDEN_CLIENT] = "client",
	};

	put_z(b, words[kind]);
	put_u64(b, name_number(kind, name));
}

static bool is_alnum(char c)
{
	return (u8)(c - '0') < 10 || (u8)((c | 32) - 'a') < 26;
}

/* Appends the placeholder of a serial number: a number with leading zeros, with the length and the
 * separators of the serial number, because programs that read the capture check these. */
static void put_serial(struct buf *b, struct str serial)
{
	u64 n = name_number(HIDDEN_SERIAL, serial);
	size_t from = b->n;

	put_str(b, serial);
	for (size_t i = b->n; i > from; i--) {
		if (!is_alnum(b->p[i - 1]))
			continue;
		b->p[i - 1] = (char)('0' + n % 10);
		n /= 10;
	}
}

/* --- files of processes ----------------------------------------------------------------------- */

/* Appends the placeholder of a process name. Three names are kept: counters.c treats these
 * processes in their own way, because they hold devices for other processes. */
static void put_comm(struct buf *b, struct str comm)
{
	static const char known[] = "systemd-logind elogind-daemon seatd";

	if (str_among(comm, known) < str_among(LIT(""), known))
		put_str(b, comm);
	else if (str_len(comm))
		put_placeholder(b, HIDDEN_COMMAND, comm);
}

/* Replaces the name in a file /proc/PID/comm. The newline at the end is not part of the name; other
 * newlines are. */
static void replace_comm(struct buf *b, struct str text)
{
	bool newline = text.p < text.e && text.e[-1] == '\n';

	put_comm(b, (struct str){ text.p, text.e - newline });
	put_z(b, newline ? "\n" : "");
}

/* The fields of /proc/PID/stat, counted from 1 as in proc_pid_stat(5), that are addresses of the
 * process: start_code to kstkeip, wchan, start_data to env_end. */
static const u64 address_fields = UINT64_C(0x1f) << 26 | UINT64_C(1) << 35 | UINT64_C(0x7f) << 45;

/* Appends the text of /proc/PID/stat, "12 (NAME) S 1 ...", with a placeholder for NAME and with 0
 * for each address. NAME may have parentheses itself. */
static void replace_stat(struct buf *b, struct str text)
{
	const char *open = text.p, *end = text.e;
	struct str rest = text, word;

	while (open < end && *open != '(')
		open++;
	while (end > text.p && end[-1] != ')')
		end--;
	/* the text is /proc/stat of the machine, or the name has no closing parenthesis */
	if (end <= open) {
		put_str(b, end > text.p ? text : (struct str){ text.p, open });
		return;
	}
	put_str(b, (struct str){ text.p, open + 1 });
	put_comm(b, (struct str){ open + 1, end - 1 });
	rest.p = --end;
	for (u32 field = 2; str_word(&rest, &word); field++, end = word.e) {
		put_str(b, (struct str){ end, word.p });
		if (field < 64 && address_fields >> field & 1)
			put_c(b, '0');
		else
			put_str(b, word);
	}
	put_str(b, (struct str){ end, text.e });
}

/* Appends the lines "KEY: VALUE" of `text` to b. separator: the character after KEY, for example
 * ':'. If KEY matches the pattern, put() appends a text in place of VALUE; else the line is
 * copied. */
static void replace_values(struct buf *b, struct str text, char separator, const char *pattern,
			   void (*put)(struct buf *b, struct str value))
{
	struct str rest = text, line, value, word;

	while (str_cut(&rest, '\n', &line)) {
		value = line;
		str_cut(&value, separator, &word);
		if (glob_match(str_z(pattern), word, NULL)) {
			value = str_trim(value);
			put_str(b, (struct str){ line.p, value.p });
			put(b, value);
		} else {
			put_str(b, line);
		}
		if (line.e < text.e)
			put_c(b, '\n');
	}
}

static void replace_status(struct buf *b, struct str text)
{
	replace_values(b, text, ':', "Name", put_comm);
}

/* Replaces the text of a file /proc/PID/cmdline by the placeholder of the command's name as in
 * /proc/PID/comm, without the folder and the arguments. */
static void replace_cmdline(struct buf *b, struct str text)
{
	struct str name;

	if (!str_cut(&text, '\0', &name))
		return;
	name = str_base(name);
	put_comm(b, str_of(name.p, str_len(name) < COMM_MOST ? str_len(name) : COMM_MOST));
	put_c(b, '\0');
}

static void put_client(struct buf *b, struct str name)
{
	if (str_len(name))
		put_placeholder(b, HIDDEN_CLIENT, name);
}

static void replace_fdinfo(struct buf *b, struct str text)
{
	replace_values(b, text, ':', "drm-client-name", put_client);
}

/* --- cgroups ---------------------------------------------------------------------------------- */

/* Returns the end of an id at the beginning of s: hex digits, which '-' and '_' may separate.
 * Returns s.p if there is no id, or if it has less than 32 digits. */
static const char *id_end(struct str s)
{
	size_t digits = 0;
	const char *p = s.p;

	for (; p < s.e; p++) {
		bool hex = (u8)(*p - '0') < 10 || (u8)(*p - 'a') < 6;

		if (!hex && *p != '-' && *p != '_')
			break;
		digits += hex;
	}
	while (p > s.p && !is_alnum(p[-1]))
		p--;
	return digits >= SHORT_ID ? p : s.p;
}

/* Words in the names of cgroups that systemd, container engines and kubelet make: they are kept. */
static const char generic[] =
	"system user session app background init slice scope service socket mount docker libpod "
	"kubepods besteffort burstable guaranteed pod cri containerd crio conmon podman lxc "
	"payload monitor machine qemu buildkit snap flatpak run ecs garden machines vte spawn dbus "
	"systemd nspawn kubelet nerdctl ecstasks";

/* Appends the placeholder of a word in a cgroup's name. A generic word or a number is kept: it is
 * not the name of a person or program. */
static void put_word(struct buf *b, struct str word)
{
	u64 n;

	if (scan_u64(word, &n) == word.e || str_among(word, generic) < str_among(LIT(""), generic))
		put_str(b, word);
	else
		put_placeholder(b, HIDDEN_GROUP, word);
}

static void put_cgroup(struct buf *b, struct str path)
{
	while (path.p < path.e) {
		struct str word = { path.p, path.p }, id = path;

		str_skip_z(&id, "pod");
		id.e = id_end(id);
		if (id.p < id.e) {
			put_str(b, (struct str){ path.p, id.p });
			put_serial(b, id);
			path.p = id.e;
			continue;
		}
		if (str_skip_z(&path, "\\x2d")) { /* systemd's spelling of '-' */
			put_z(b, "\\x2d");
			continue;
		}
		while (word.e < path.e && (is_alnum(*word.e) || (u8)*word.e > 127))
			word.e++;
		if (word.p == word.e)
			put_c(b, *word.e++);
		else
			put_word(b, word);
		path.p = word.e;
	}
}

/* Replaces the names in a file /proc/PID/cgroup: lines "0::/PATH" and "4:memory,cpu:/PATH". */
static void replace_cgroup(struct buf *b, struct str text)
{
	struct str rest = text, line, path, part;

	while (str_cut(&rest, '\n', &line)) {
		path = line;
		str_cut(&path, ':', &part);
		str_cut(&path, ':', &part);
		put_str(b, (struct str){ line.p, path.p });
		put_cgroup(b, path);
		if (line.e < text.e)
			put_c(b, '\n');
	}
}

/* --- serial numbers --------------------------------------------------------------------------- */

static void replace_serial(struct buf *b, struct str text)
{
	put_serial(b, text);
}

/* Appends the placeholder of a UUID in a file of NVIDIA's driver: "GPU UUID: GPU-0b5c1d2e-...". */
static void put_uuid(struct buf *b, struct str uuid)
{
	if (str_skip_z(&uuid, "GPU-"))
		put_z(b, "GPU-");
	put_serial(b, uuid);
}

static void replace_uuids(struct buf *b, struct str text)
{
	replace_values(b, text, ':', "*UUID*", put_uuid);
}

/* Replaces the serial number in a file of AMD's compute driver in sysfs: node_show() of
 * kfd_topology.c prints "unique_id 1234". */
static void replace_properties(struct buf *b, struct str text)
{
	replace_values(b, text, ' ', "unique_id", put_serial);
}

/* --- table of the files in which names are replaced ------------------------------------------- */

/* The files in which `gpustat capture` replaces names of processes, users and machines by
 * placeholders. path: pattern of the whole path; leaf: pattern of its last component. */
static const struct namerule {
	const char *path, *leaf;
	void (*replace)(struct buf *b, struct str text);
} rules[] = {
	{ "proc/*", "comm", replace_comm },
	{ "proc/*", "stat", replace_stat },
	{ "proc/*", "status", replace_status },
	{ "proc/*", "cmdline", replace_cmdline },
	{ "proc/*", "cgroup", replace_cgroup },
	{ "proc/*/fdinfo/*", "*", replace_fdinfo },
	{ "proc/*", "information", replace_uuids },
	{ "sys/*", "properties", replace_properties },
	{ "*", "unique_id", replace_serial }, /* amdgpu's serial number of a GPU */
	{ "*", "*serial*", replace_serial },
	{ "*", "*uuid*", replace_serial },
};

static const struct namerule *rule_find(struct str path)
{
	for (size_t i = 0; i < LEN(rules); i++)
		if (glob_match(str_z(rules[i].leaf), str_base(path), NULL) &&
		    glob_match(str_z(rules[i].path), path, NULL))
			return &rules[i];
	return NULL;
}

bool placeholders_apply(struct str path)
{
	return rule_find(path);
}

size_t placeholders_put(struct str path, char *b, size_t n, size_t cap)
{
	const struct namerule *r = rule_find(path);
	struct buf text = table_buf(&made.t);

	if (!r)
		return n;
	r->replace(&text, str_of(b, n));
	n = text.n < cap ? text.n : cap;
	memcpy(b, text.p, n);
	return n;
}

/* Replaces the text of a link /proc/PID/fd/N. Links to device nodes and to objects without a path
 * are kept. Deeper folders of /dev have files with names that users chose: /dev/shm, /dev/mqueue,
 * /dev/hugepages. */
size_t placeholders_put_link(struct str path, char *b, size_t n, size_t cap)
{
	static const char *const kept[] = { "/dev/dri/", "/dev/accel/", "anon_inode:", "pipe:[",
					    "socket:[" };
	struct str text = str_of(b, n), rest = text;
	char name[32];
	struct buf to = BUF(name);

	if (!glob_match(LIT("proc/*/fd/*"), path, NULL) ||
	    (str_skip_z(&rest, "/dev/") && !memchr(rest.p, '/', str_len(rest))))
		return n;
	rest = text;
	for (size_t i = 0; i < LEN(kept); i++)
		if (str_skip_z(&rest, kept[i]))
			return n;
	put_placeholder(&to, HIDDEN_PATH, text);
	n = to.n < cap ? to.n : cap;
	memcpy(b, name, n);
	return n;
}
