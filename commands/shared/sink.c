/* sink.c - destinations of the output: a stream, a file that grows, a file that is replaced as a
 * whole, datagrams, the kernel's log. SPDX-License-Identifier: MIT */
#include "commands/shared/shared.h"
#include "built.h"
#include "sources/os/os.h"
#include "sys.h"

#include <limits.h>
#include <netinet/in.h>

/* Functions of optional features: NULL if the feature is left out; they are not called then. */
#pragma weak append_begin
#pragma weak append_line

/* Bytes of a datagram: Ethernet's 1500 minus the headers of IPv6 and UDP and some space for
 * tunnels. statsd recommends the same number. */
enum { DATAGRAM_BYTES = 1432 };
/* The kernel's limit for writes to /dev/kmsg: DEFAULT_RATELIMIT_BURST messages in
 * DEFAULT_RATELIMIT_INTERVAL, kernel/printk/printk.c */
enum { KMSG_BURST = 10, KMSG_PERIOD = 5 /* s */ };

static struct {
	bool replaces; /* each sample replaces the file of -O */
	bool is_udp;
	struct replacement file;
} sink = { .file.fd = -1 };

bool sink_is_kmsg(void)
{
	return opt.output && strcmp(opt.output, "/dev/kmsg") == 0;
}

/* --- udp:HOST:PORT ---------------------------------------------------------------------------- */

/* Parses an IPv4 address, such as 127.0.0.1, into 4 bytes. */
static bool parse_ipv4(struct str s, u8 *to)
{
	struct str part;
	u64 n;

	for (size_t i = 0; i < 4; i++) {
		if (!str_cut(&s, '.', &part) || scan_u64(part, &n) != part.e || n > 255)
			return false;
		to[i] = (u8)n;
	}
	return s.p == s.e && part.e == s.e;
}

/* Parses an IPv6 address (RFC 4291, 2.2): eight groups, where :: stands for groups that are 0; the
 * last two may be written as an IPv4 address. */
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
			u8 c = (u8)*s.p;
			u8 d = (u8)(c - '0') < 10 ? (u8)(c - '0') : (u8)((c | 32) - 'a' + 10);

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

/* Prints a message about the destination of the output if r is an error (-errno). Returns the exit
 * code, or -1 if r is not an error. */
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
		/* localhost is the only host name that is accepted: others would require DNS */
		if (str_is(host, "localhost"))
			host = (struct str)STR("127.0.0.1");
		good &= parse_ipv4(host, (u8 *)&to.v4.sin_addr);
	}
	if (!good)
		return usage("-O ", opt.output,
			     ": use an IP address: udp:127.0.0.1:8125 or udp:[::1]:8125");
	/* The port has the same offset in sockaddr_in and sockaddr_in6. */
	to.v4.sin_port = (in_port_t)(n >> 8 | (n & 255) << 8);
	fd = sys_socket_to(&to.any, to.any.sa_family == AF_INET ? sizeof(to.v4) : sizeof(to.v6),
			   SOCK_DGRAM);
	if (fd >= 0)
		out_fd = (int)fd;
	return say_failed(fd);
}

/* Sends one datagram. ECONNREFUSED means that an earlier datagram was not received, and that this
 * one was not sent: it is sent again. ECONNREFUSED is not reported as an error, because the
 * receiver may be started later. Returns a negative number on other errors. */
static long send_datagram(const char *p, size_t n)
{
	static bool reported;
	long r = write_all(out_fd, p, n);

	if (r == -ECONNREFUSED) {
		if (opt.verbose && !reported)
			say(opt.output, ": no program listens at this address", NULL);
		reported = true;
		r = write_all(out_fd, p, n);
	}
	return r == -ECONNREFUSED ? 0 : r;
}

/* Sends text in datagrams that contain whole lines. The longest line fits into one datagram:
 * a Graphite path has few nodes, and each node has at most 255 bytes. */
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

/* --- the kernel's log ------------------------------------------------------------------------- */

/* Counts a line for /dev/kmsg, and prints a warning once if there are more lines than the kernel
 * accepts. The kernel drops lines beyond its limit, and reports that only when the descriptor is
 * closed. */
static void count_kmsg(void)
{
	static i64 begun;
	static u32 n;
	static bool reported;
	i64 now = sys_now(CLOCK_MONOTONIC) / 1000000000;

	if (n == 0 || now - begun >= KMSG_PERIOD) {
		begun = now;
		n = 0;
	}
	if (++n > KMSG_BURST && !reported) {
		reported = true;
		say_z("the kernel drops records of /dev/kmsg beyond 10 in 5 s; "
		      "boot it with printk.devkmsg=on");
	}
}

/* Writes each line with a write(2) of its own, since the kernel makes one log record of each
 * write. */
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

/* --- functions that replace the file of -O as a whole ----------------------------------------- */

/* True if the file with this name is to be replaced by a new file: if it does not exist, is a
 * regular file, or is a link to one. The link itself is replaced and not followed, since anybody
 * who may write the directory could point it anywhere. Returns false for devices, FIFOs, and links
 * to a descriptor of this process (/dev/stdout), which are opened and written to. */
static bool is_replaceable(const char *name)
{
	struct stat there, link, opened;

	if (sys_fstatat(AT_FDCWD, name, &there) < 0)
		return true;
	if (!S_ISREG(there.st_mode))
		return false;
	if (sys_lstat(name, &link) < 0 || !S_ISLNK(link.st_mode))
		return true;
	for (int fd = 0; fd < 10; fd++)
		if (sys_fstat(fd, &opened) == 0 && opened.st_dev == there.st_dev &&
		    opened.st_ino == there.st_ino)
			return false;
	return true;
}

static bool is_replaced(void)
{
	return HAS(replaced) && sink.replaces;
}

/* --- all destinations ------------------------------------------------------------------------- */

/* Opens the destination of -O; without -O chooses standard output or standard error. Returns the
 * exit code, with a message, on errors; -1 to continue. */
int sink_open(void)
{
	int flags = format_is_perfdata(opt.out.fmt) ? O_RDWR | O_CREAT | O_TRUNC :
		    O_WRONLY | O_CREAT | O_APPEND;
	struct str to = str_z(opt.output);
	long fd;

	writing.whole = (HAS(timeline) && format_is_binary(opt.out.fmt)) ||
			(HAS(capture) && opt.cmd->with & WITH_CAPTURE);
	if (!opt.output) {
		if (opt.command && !opt.out_chosen)
			out_fd = 2;
		if (HAS(timeline) && format_is_binary(opt.out.fmt) && sys_columns(out_fd) >= 0)
			return usage_z("-o perfetto: the output is a terminal: use -O FILE");
		if (append_begin && out_fd != 2)
			append_begin();
		writing.whole |= HAS(sample) && sys_is_regular(out_fd);
		return opt.out_chosen ? say_failed(sys_fcntl(out_fd, F_GETFD, 0)) : -1;
	}
	if (opt.out_chosen)
		return usage("--log-fd and -O", " exclude each other", NULL);
	sink.is_udp = HAS(udp) && str_skip_z(&to, "udp:");
	if (sink.is_udp)
		return open_udp(to);
	sink.replaces = HAS(replaced) && is_replaceable(opt.output) &&
			(format_replaces_file(opt.out.fmt) || opt.cmd->with & WITH_CAPTURE);
	if (sink.replaces) {
		long r = replace_begin(&sink.file, opt.output);

		if (r == 0)
			replace_clean(&sink.file);
		return say_failed(r);
	}
	fd = file_open(opt.output, flags);
	if (fd >= 0) {
		out_fd = (int)fd;
		if (append_begin)
			append_begin();
		writing.whole |= HAS(sample) && sys_is_regular(out_fd);
		opt.out.no_header |= format_has_file_header(opt.out.fmt) &&
				     sys_lseek(out_fd, 0, SEEK_END) > 0;
	}
	return say_failed(fd);
}

/* True if the destination accepts only whole samples: a file that is replaced, datagrams, or the
 * answer to an HTTP request. */
bool sink_gathers(void)
{
	return is_replaced() || (HAS(udp) && sink.is_udp) || (HAS(http) && opt.http);
}

i32 sink_folder(void)
{
	return is_replaced() ? sink.file.dir : -1;
}

static long open_replacement(void)
{
	return is_replaced() && sink.file.fd < 0 ? replace_open(&sink.file, 0644) : 0;
}

/* Ends the new file that is to replace the file of -O. If r is 0, the new file replaces the old
 * one. If r is an error of an earlier call (-errno), the old file is kept. Returns r, or -errno of
 * a call in this function. */
static long end_replacement(long r)
{
	return is_replaced() ? replace_finish(&sink.file, r) : r;
}

/* Writes whole records to the destination of the output. Returns 0, or -errno. */
long sink_write(const char *p, size_t n)
{
	long r;

	if (n == 0)
		return 0;
	if (HAS(http) && opt.http)
		return http_write(p, n);
	if (HAS(udp) && sink.is_udp)
		return send_lines(p, n);
	if (HAS(kmsg) && format_writes_lines(opt.out.fmt))
		return write_lines(p, n);
	r = open_replacement();
	if (append_line)
		append_line();
	if (r >= 0)
		r = write_all(is_replaced() ? sink.file.fd : out_fd, p, n);
	return r < 0 ? end_replacement(r) : 0;
}

/* Ends a sample: a new file with it replaces the file of -O. Returns false, with a message, if the
 * sample could not be stored. */
bool sink_end(void)
{
	return say_failed(end_replacement(open_replacement())) < 0;
}
