/* t_sink.c - unit test of commands/shared/sink.c: addresses of udp:, how lines become datagrams, which
 * files are replaced, and the order of steps of each destination. t_sink.py sends datagrams.
 * SPDX-License-Identifier: MIT */
#include "folder.h"
#include "sys.h"

static char sent[8192];         /* what was written; a '|' after each write */
static size_t nsent, nwrites;
static long results[4];         /* of the next writes */
static union {
	struct sockaddr any;
	u8 bytes[32];
} address;
static size_t address_n;
static i64 clock_now;

static long fake_write_all(const char *p, size_t n)
{
	long r = nwrites < LEN(results) ? results[nwrites] : 0;

	nwrites++;
	memcpy(sent + nsent, p, n);
	nsent += n;
	sent[nsent++] = '|';
	return r;
}

static long fake_socket(const struct sockaddr *to, size_t n)
{
	memcpy(&address, to, n);
	address_n = n;
	return 77;
}
#define write_all(fd, p, n) fake_write_all(p, n)
#define sys_socket_to(to, n, type) fake_socket(to, n)
#define sys_now(clock) clock_now
#define replay replay_command /* unit.h has a function of this name, too */
#include "../../commands/shared/sink.c"
#undef sys_now
#include "said.h"

static const struct cmd live = { .with = WITH_LIVE };
struct opts opt = { .cmd = &live };
int out_fd = 1;
static u32 http_bytes;
long http_write(const char *p, size_t n) { http_bytes += (u32)n + (p[0] == 0); return 0; }

/* Returns what was written since the last call. */
static struct str written(void)
{
	struct str s = { sent, sent + nsent };

	nsent = nwrites = 0;
	return s;
}

/* --- addresses -------------------------------------------------------------------------------- */

static void t_ipv4(void)
{
	static const struct {
		const char *text;
		bool is;
		u8 to[4];
	} rows[] = {
		{ "127.0.0.1", true, { 127, 0, 0, 1 } }, { "255.255.255.255", true, { 255, 255, 255, 255 } },
		{ "1.2.3", false, { 0 } }, { "1.2.3.4.5", false, { 0 } }, { "1.2.3.256", false, { 0 } },
		{ "1.2.3.", false, { 0 } }, { "1..2.3", false, { 0 } }, { "1.2.3.4.", false, { 0 } },
		{ "1.2.3.-4", false, { 0 } }, { "", false, { 0 } }, { "localhost", false, { 0 } },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		u8 to[4] = { 0 };
		bool is = parse_ipv4(edge_str(rows[i].text, strlen(rows[i].text)), to);

		check(is == rows[i].is && (!is || memcmp(to, rows[i].to, 4) == 0), "IPv4 '%s'",
		      rows[i].text);
	}
}

static void t_ipv6(void)
{
	static const struct {
		const char *text, *hex; /* NULL: invalid */
	} rows[] = {
		{ "::", "00000000000000000000000000000000" },
		{ "::1", "00000000000000000000000000000001" },
		{ "1::", "00010000000000000000000000000000" },
		{ "2001:db8::a:B", "20010db80000000000000000000a000b" },
		{ "1:2:3:4:5:6:7:8", "00010002000300040005000600070008" },
		{ "1:2:3:4:5:6:7::", "00010002000300040005000600070000" },
		{ "::2:3:4:5:6:7:8", "00000002000300040005000600070008" },
		{ "::ffff:1.2.3.4", "00000000000000000000ffff01020304" },
		{ "1:2:3:4:5:6:1.2.3.4", "00010002000300040005000601020304" },
		{ "1:2:3:4:5:6:7:1.2.3.4", NULL }, { "1.2.3.4", NULL }, { "1:2:3:4:5:6:7", NULL },
		{ "1:2:3:4:5:6:7:8:9", NULL }, { "1::2::3", NULL }, { ":::", NULL }, { "", NULL },
		{ ":1", NULL }, { "1:", NULL }, { "12345::", NULL }, { "g::", NULL },
		{ "1:2:3:4::5:6:7:8", NULL }, { "::localhost", NULL }, { "::1%eth0", NULL },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		u8 to[16];
		char hex[33] = "";
		bool is = parse_ipv6(edge_str(rows[i].text, strlen(rows[i].text)), to);

		for (size_t k = 0; k < 16 && is; k++)
			sprintf(hex + 2 * k, "%02x", to[k]);
		check(is == (rows[i].hex != NULL) && (!is || strcmp(hex, rows[i].hex) == 0), "IPv6 '%s'",
		      rows[i].text);
	}
}

static void t_udp(void)
{
	static const struct {
		const char *to;
		size_t n;  /* 0: refused */
		u8 family, port[2], last;
	} rows[] = {
		{ "127.0.0.1:8125", 16, AF_INET, { 31, 189 }, 0 }, { "localhost:1", 16, AF_INET, { 0, 1 }, 0 },
		{ "[::1]:65535", 28, AF_INET6, { 255, 255 }, 1 }, { "127.0.0.1:0", 0, 0, { 0 }, 0 },
		{ "127.0.0.1:65536", 0, 0, { 0 }, 0 }, { "127.0.0.1", 0, 0, { 0 }, 0 },
		{ "127.0.0.1:", 0, 0, { 0 }, 0 }, { "::1:80", 0, 0, { 0 }, 0 }, { "[]:80", 0, 0, { 0 }, 0 },
		{ "[::1]", 0, 0, { 0 }, 0 }, { "host:80", 0, 0, { 0 }, 0 }, { "", 0, 0, { 0 }, 0 },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		int code;

		opt.output = rows[i].to;
		address_n = 0;
		out_fd = 1;
		code = open_udp(edge_str(rows[i].to, strlen(rows[i].to)));
		check(code == (rows[i].n ? -1 : EX_USAGE) && address_n == rows[i].n &&
		      out_fd == (rows[i].n ? 77 : 1), "udp:%s", rows[i].to);
		if (rows[i].n)
			check(address.any.sa_family == rows[i].family && address.bytes[2] == rows[i].port[0] &&
			      address.bytes[3] == rows[i].port[1] &&
			      (rows[i].n == 16 || address.bytes[23] == rows[i].last),
			      "the address of udp: has its family, port and bytes");
	}
	check(is_said("use an IP address: udp:127.0.0.1:8125 or udp:[::1]:8125"),
	      "the message of an invalid address shows valid ones");
}

/* --- lines ------------------------------------------------------------------------------------ */

static void t_datagrams(void)
{
	static char text[4000];
	struct str s;

	memset(text, 'x', sizeof(text));
	for (size_t i = 99; i < sizeof(text); i += 100)
		text[i] = '\n';
	check(send_lines(text, 1432) == 0, "a text of 1432 bytes is sent");
	s = written();
	check(str_len(s) == 1432 + 1,
	      "a text of 1432 bytes is one datagram, though it has no newline at its end");
	check(send_lines(text, 1500) == 0, "a text of 15 lines is sent");
	s = written();
	check(str_len(s) == 1502 && s.p[1400] == '|' && s.e[-1] == '|',
	      "a datagram has as many complete lines as fit: 14 of 15");
	check(send_lines("a\nb\n", 4) == 0, "a text of short lines is sent");
	check_str(written(), "a\nb\n|", "short lines are sent in one datagram");
	opt.verbose = true;
	results[0] = -ECONNREFUSED;
	check(send_datagram("a", 1) == 0 && nwrites == 2,
	      "a datagram that was refused is sent again");
	check(is_said(": no program listens at this address\n"),
	      "with -v, a refused datagram is reported");
	results[1] = -ECONNREFUSED;
	written();
	written();
	check(send_datagram("a", 1) == 0 && is_said(NULL),
	      "a refused datagram is reported once; a second refusal is not an error");
	written();
	results[0] = -EPERM;
	results[1] = 0;
	check(send_lines(text, 1500) == -EPERM && nwrites == 1,
	      "after another error, no datagram is sent");
	written();
	results[0] = 0;
}

static void t_kmsg(void)
{
	opt.output = "/dev/kmsg";
	clock_now = INT64_C(100000000000);
	for (u32 i = 0; i < 10; i++)
		write_lines("a\nb\n", i ? 2 : 4);
	check(sink_is_kmsg() && is_said("drops records of /dev/kmsg beyond 10 in 5 s"),
	      "/dev/kmsg: the eleventh line in 5 s is reported");
	check_str((struct str){ sent, sent + 6 }, "a\n|b\n|",
	          "/dev/kmsg: each line is written separately");
	write_lines("a\n", 2);
	check(is_said(NULL), "/dev/kmsg: too many lines are reported once");
	opt.output = NULL;
	written();
}

/* --- files ------------------------------------------------------------------------------------ */

static void t_replaceable(void)
{
	int fd;

	put(in_folder("file"), "old");
	put_link(in_folder("link"), "file");
	put_link(in_folder("dangling"), "none");
	put_link(in_folder("null"), "/dev/null");
	check(is_replaceable(in_folder("none")), "a missing file is replaced");
	check(is_replaceable(in_folder("file")) && is_replaceable(in_folder("link")),
	      "a file and a link to a file are replaced");
	check(is_replaceable(in_folder("dangling")), "a link to a missing file is replaced");
	check(!is_replaceable("/dev/null") && !is_replaceable(in_folder("null")),
	      "a device is not replaced");
	check(!is_replaceable(tmp_folder), "a folder is not replaced");
	fd = open(in_folder("file"), O_RDONLY);
	check(is_replaceable(in_folder("file")) && is_replaceable(in_folder("link")) == (fd > 9),
	      "a link to a file that this process has open is not replaced");
	close(fd);
}

static void t_open(void)
{
	char b[16];
	struct stat st;

	opt.out.fmt = format_find(LIT("prom"));
	opt.output = in_folder("prom");
	check(sink_open() == -1 && sink_gathers() && sink_folder() >= 0,
	      "prom: the file is replaced as a whole");
	check(stat(opt.output, &st) < 0, "prom: no file exists before the end of a sample");
	check(sink_write("x", 1) == 0 && sink_end() && stat(opt.output, &st) == 0,
	      "prom: the file exists after the end of a sample");
	check(sink_end() && stat(opt.output, &st) == 0,
	      "prom: a sample without output replaces the file, too");
	results[0] = -ENOSPC;
	written();
	check(sink_write("x", 1) == -ENOSPC && system("[ $(ls -A \"$D\" | grep -c prom) = 1 ]") == 0,
	      "prom: after an error no temporary file remains");
	results[0] = 0;
	opt.out.fmt = format_find(LIT("csv"));
	opt.output = in_folder("csv");
	check(sink_open() == -1 && !sink_gathers() && sink_folder() == -1 && !opt.out.no_header,
	      "csv: the file is appended to");
	check(write(out_fd, "a", 1) == 1 && close(out_fd) == 0 && sink_open() == -1 && opt.out.no_header,
	      "csv: a file that has a header gets no second one");
	check(write(out_fd, "b", 1) == 1 && file_slurp(opt.output, b, sizeof(b)) == 2,
	      "csv: a record is appended to the file");
	opt.out_chosen = true;
	check(sink_open() == EX_USAGE && is_said("--log-fd and -O exclude each other"),
	      "two destinations are an error of usage");
	opt.out_chosen = false;
	opt.output = in_folder("none/csv");
	check(sink_open() == EX_FAIL && is_said("/none/csv: "), "a missing folder is an error");
	opt.output = NULL;
	out_fd = 1;
	check(sink_open() == -1 && out_fd == 1, "without -O, the output is standard output");
	opt.command = (char *[]){ NULL };
	check(sink_open() == -1 && out_fd == 2,
	      "without -O, the output of a command's measurement is standard error");
	opt.http = true;
	check(sink_gathers() && sink_write("abc", 3) == 0 && http_bytes == 3,
	      "--http: the output is sent to the connection");
	check(sink_write("", 0) == 0 && http_bytes == 3,
	      "--http: no bytes are sent for an empty output");
}

int main(void)
{
	folder_begin("sink");
	t_ipv4();
	t_ipv6();
	t_udp();
	t_datagrams();
	t_kmsg();
	t_replaceable();
	t_open();
	shell("rm -rf \"$D\"");
	return unit_end();
}
