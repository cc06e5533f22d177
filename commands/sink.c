/* sink.c - where what is printed goes: a stream, a file that grows, one that is replaced whole, datagrams, the kernel's
 * log. SPDX-License-Identifier: MIT */
#include "commands.h"
#include "sys.h"

#include <limits.h>
#include <netinet/in.h>

/* Parts of features: NULL where the feature is left out, and then nothing calls them. */
#pragma weak http_write

enum {
	DATAGRAM_BYTES = 1432, /* Ethernet's 1500 less the headers of IPv6 and UDP, and a rest for tunnels: statsd's own figure */
};
enum { KMSG_BURST = 10, KMSG_PERIOD = 5 /* s */ }; /* kernel/printk/printk.c: DEFAULT_RATELIMIT_BURST, _INTERVAL */

static bool replaces;         /* a sample takes the place of the file */
static bool is_udp;
static struct replacing file = { .fd = -1 };

bool sink_is_kmsg(void)
{
	return opt.output && strcmp(opt.output, "/dev/kmsg") == 0;
}

/* --- udp:HOST:PORT ------------------------------------------------------------------------------------------ */

/* Four numbers, or localhost: no name is looked up. */
static bool parse_ipv4(struct str s, u8 *to)
{
	struct str part;
	u64 n;

	if (str_is(s, "localhost"))
		s = (struct str)STR("127.0.0.1");
	for (size_t i = 0; i < 4; i++) {
		if (!str_cut(&s, '.', &part) || scan_u64(part, &n) != part.e || n > 255)
			return false;
		to[i] = (u8)n;
	}
	return s.p == s.e && part.e == s.e;
}

/* RFC 4291, 2.2: eight groups, of which :: stands for those that are 0; the last two may be written as IPv4. */
static bool parse_ipv6(struct str s, u8 *to)
{
	size_t n = 0, gap = 17;
	struct str group;

	memset(to, 0, 16);
	if (str_skip_z(&s, "::"))
		gap = 0;
	while (s.p < s.e && n < 16) {
		u64 v = 0;

		if (n <= 12 && parse_ipv4(s, to + n)) {
			n += 4;
			s.p = s.e;
			break;
		}
		for (group = s; s.p < s.e && *s.p != ':'; s.p++) {
			u8 c = (u8)*s.p, d = (u8)(c - '0') < 10 ? (u8)(c - '0') : (u8)((c | 32) - 'a' + 10);

			if (d > 15 || s.p - group.p == 4)
				return false;
			v = v << 4 | d;
		}
		if (s.p == group.p)
			return false;
		to[n++] = (u8)(v >> 8);
		to[n++] = (u8)v;
		if (gap > 16 && str_skip_z(&s, "::"))
			gap = n;
		else if (s.p < s.e && (*s.p++ != ':' || s.p == s.e))
			return false;
	}
	if (gap <= 16) {
		memmove(to + 16 - (n - gap), to + gap, n - gap);
		memset(to + gap, 0, 16 - n);
	}
	return s.p == s.e && (gap <= 16 ? n < 16 : n == 16);
}

/* Exit code, or -1. */
static int say_failed(long r)
{
	if (r >= 0)
		return -1;
	say_error(opt.output ? opt.output : "--log-fd", r);
	return EX_FAIL;
}

static int open_udp(struct str at)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} to = { .any.sa_family = AF_INET6 };
	const char *colon = at.e;
	struct str host, port;
	bool good;
	u64 n = 0;
	long fd;

	while (colon > at.p && colon[-1] != ':')
		colon--;
	port = (struct str){ colon, at.e };
	host = (struct str){ at.p, colon > at.p ? colon - 1 : at.p };
	good = scan_u64(port, &n) == port.e && n > 0 && n <= UINT16_MAX;
	if (str_len(host) > 2 && *host.p == '[' && host.e[-1] == ']') {
		good &= parse_ipv6((struct str){ host.p + 1, host.e - 1 }, (u8 *)&to.v6.sin6_addr);
	} else {
		to.any.sa_family = AF_INET;
		good &= parse_ipv4(host, (u8 *)&to.v4.sin_addr);
	}
	if (!good)
		return usage("-O ", opt.output, ": it is udp:127.0.0.1:8125 or udp:[::1]:8125; no name is looked up");
	to.v4.sin_port = (in_port_t)(n >> 8 | (n & 255) << 8); /* where that of IPv6 stands, too */
	fd = sys_socket_to(&to.any, to.any.sa_family == AF_INET ? sizeof(to.v4) : sizeof(to.v6), SOCK_DGRAM);
	if (fd >= 0)
		out_fd = (int)fd;
	return say_failed(fd);
}

/* Nobody listened to a datagram before this one, which has not been sent yet. Who counts may well start later. */
static long send_datagram(const char *p, size_t n)
{
	static bool told;
	long r = write_all(out_fd, p, n);

	if (r == -ECONNREFUSED) {
		if (opt.verbose && !told)
			say(opt.output, ": nobody listens there", NULL);
		told = true;
		r = write_all(out_fd, p, n);
	}
	return r == -ECONNREFUSED ? 0 : r;
}

/* Whole lines, of which the longest (nodes of 255 bytes) fits. */
static long send_lines(const char *p, size_t n)
{
	const char *e = p + n, *from = p;
	long r = 0;

	while (p < e && r == 0) {
		const char *nl = memchr(p, '\n', (size_t)(e - p)), *next = nl ? nl + 1 : e;

		if (next - from > DATAGRAM_BYTES) {
			r = send_datagram(from, (size_t)(p - from));
			from = p;
		}
		p = next;
	}
	return r == 0 ? send_datagram(from, (size_t)(p - from)) : r;
}

/* --- the kernel's log ----------------------------------------------------------------------------------------- */

/* What is written beyond the limit of a descriptor is lost, and the kernel tells so only when it is closed. */
static void count_kmsg(void)
{
	static i64 begun;
	static u32 n;
	static bool told;
	i64 now = sys_now(CLOCK_MONOTONIC) / 1000000000;

	if (n == 0 || now - begun >= KMSG_PERIOD) {
		begun = now;
		n = 0;
	}
	if (++n > KMSG_BURST && !told) {
		told = true;
		say_z("/dev/kmsg takes 10 records in 5 s, and drops the rest unless the kernel runs with printk.devkmsg=on");
	}
}

/* A write for each line, which is a record there. */
static long write_lines(const char *p, size_t n)
{
	const char *e = p + n;
	long r = 0;

	while (p < e && r == 0) {
		const char *nl = memchr(p, '\n', (size_t)(e - p)), *next = nl ? nl + 1 : e;

		if (sink_is_kmsg())
			count_kmsg();
		r = write_all(out_fd, p, (size_t)(next - p));
		p = next;
	}
	return r;
}

/* --- a file that is replaced whole ------------------------------------------------------------------------------ */

/* Whether a file is to take the place of this one: nothing is there yet, a file, or a link to one, which is itself
 * replaced and not followed: who may write the directory could point it anywhere. Devices, FIFOs, and what links to a
 * descriptor of ours (/dev/stdout) are written to. */
static bool is_replaceable(const char *name)
{
	struct stat there, link, ours;

	if (sys_fstatat(AT_FDCWD, name, &there) < 0)
		return true;
	if (!S_ISREG(there.st_mode))
		return false;
	if (sys_lstat(name, &link) < 0 || !S_ISLNK(link.st_mode))
		return true;
	for (int fd = 0; fd < 10; fd++)
		if (sys_fstat(fd, &ours) == 0 && ours.st_dev == there.st_dev && ours.st_ino == there.st_ino)
			return false;
	return true;
}

/* --- all of them ---------------------------------------------------------------------------------------------------- */

/* -O, or the stream that the command prints to. Exit code or -1. */
int sink_open(void)
{
	int flags = format_is_perfdata(opt.out.fmt) ? O_RDWR | O_CREAT | O_TRUNC : O_WRONLY | O_CREAT | O_APPEND;
	struct str to = str_z(opt.output);
	struct stat st;
	long fd;

	if (!opt.output) {
		if (opt.out_chosen)
			return say_failed(sys_fcntl(out_fd, F_GETFD, 0));
		if (opt.command)
			out_fd = 2;
		return -1;
	}
	if (opt.out_chosen)
		return usage_z("--log-fd or -O");
	is_udp = str_skip_z(&to, "udp:");
	if (is_udp)
		return open_udp(to);
	replaces = format_replaces(opt.out.fmt) && is_replaceable(opt.output);
	if (replaces)
		return say_failed(replace_begin(&file, opt.output));
	fd = file_open(opt.output, flags);
	if (fd >= 0) {
		out_fd = (int)fd;
		opt.out.no_header |= format_heads_file(opt.out.fmt) && sys_fstat(out_fd, &st) == 0 && st.st_size > 0;
	}
	return say_failed(fd);
}

/* Whether records wait for the end of the sample: nobody sees them before. */
bool sink_gathers(void)
{
	return replaces || is_udp || opt.http;
}

i32 sink_folder(void)
{
	return replaces ? file.dir : -1;
}

static long open_beside(void)
{
	return replaces && file.fd < 0 ? replace_open(&file, 0644) : 0;
}

/* One flush: whole records. 0, or -errno. */
long sink_write(const char *p, size_t n)
{
	long r;

	if (n == 0)
		return 0;
	if (opt.http)
		return http_write(p, n);
	if (is_udp)
		return send_lines(p, n);
	if (format_is_lone(opt.out.fmt))
		return write_lines(p, n);
	r = open_beside();
	if (r >= 0)
		r = write_all(replaces ? file.fd : out_fd, p, n);
	return r < 0 ? replace_settle(&file, r) : 0;
}

/* A sample is complete. False: it could not be handed over, which has been said. */
bool sink_end(void)
{
	return say_failed(replace_settle(&file, open_beside())) < 0;
}
