/* http.c - answers one HTTP request on the socket that inetd or systemd passed. It implements the
 * part of HTTP/1.1 (RFC 9112) that Prometheus needs to scrape it. SPDX-License-Identifier: MIT */
#include "commands/shared/shared.h"
#include "sys.h"

#include <stdlib.h>

enum { REQUEST_BYTES = 8 << 10 };
/* most time to receive the request, and most time to send the answer, in ns */
static const i64 REQUEST_TIMEOUT = 5000000000;
/* most time to wait until the client closes the connection, in ns */
static const i64 CLOSE_TIMEOUT = 1000000000;

static bool answer_begun; /* at least a part of the answer was sent */
static i64 wait_until;    /* time at which the current wait ends, in ns on CLOCK_MONOTONIC */

static const char *content_type(void)
{
	return opt.out.fmt == format_find((struct str)STR("openmetrics")) ?
	       "application/openmetrics-text; version=1.0.0; charset=utf-8" :
	       opt.out.fmt == format_find((struct str)STR("prom")) ?
	       "text/plain; version=0.0.4" : NULL;
}

bool http_takes_format(void)
{
	return content_type();
}

static void put_head(const char *status, const char *type, const char *more)
{
	put_z(&out, "HTTP/1.1 ");
	put_z(&out, status);
	put_z(&out, "\r\nContent-Type: ");
	put_z(&out, type);
	put_z(&out, "\r\nConnection: close\r\n");
	put_z(&out, more);
	put_z(&out, "\r\n");
}

/* Sends all of p within the time limit of the answer. Returns 0 or -errno. */
long http_write(const char *p, size_t n)
{
	if (!answer_begun)
		wait_until = sys_now(CLOCK_MONOTONIC) + REQUEST_TIMEOUT;
	answer_begun = true;
	while (n > 0) {
		struct pollfd fd = { .fd = out_fd, .events = POLLOUT };
		long r = sys_send(out_fd, p, n);

		if (r == -EAGAIN)
			r = sys_poll_until(&fd, 1, wait_until, NULL) == 0 ? -ETIMEDOUT : 0;
		if (r < 0 && r != -EINTR)
			return r;
		p += r > 0 ? r : 0;
		n -= r > 0 ? (size_t)r : 0;
	}
	return 0;
}

/* Reads and discards input until the client closes the connection: closing a socket with unread
 * bytes resets the connection, and the answer is lost (RFC 9112, 9.6). */
static void wait_for_close(void)
{
	static char rest[REQUEST_BYTES];
	struct pollfd fd = { .fd = out_fd, .events = POLLIN };
	long r = sys_shutdown(out_fd);

	wait_until = sys_now(CLOCK_MONOTONIC) + CLOSE_TIMEOUT;
	while (r >= 0 && !stopped && sys_now(CLOCK_MONOTONIC) < wait_until) {
		r = sys_recv(out_fd, rest, sizeof(rest));
		if (r == 0)
			return;
		if (r == -EAGAIN)
			r = sys_poll_until(&fd, 1, wait_until, NULL);
	}
}

/* Answers the request with an error status, such as "404 Not Found". Returns the exit code. */
static int send_error(const char *status, const char *more)
{
	out.n = 0;
	put_head(status, "text/plain; charset=utf-8", more);
	put_z(&out, status);
	put_c(&out, '\n');
	if (!flush())
		return EX_FAIL;
	wait_for_close();
	return EX_OK;
}

/* Ends the connection after a sample was sent as the answer, or answers with an error if no sample
 * was sent. Returns the exit code. */
int http_end(int code)
{
	if (!answer_begun)
		return send_error("500 Internal Server Error", "") == EX_OK ? code : EX_FAIL;
	wait_for_close();
	return code;
}

/* True if a header line of the request is "Host:", in upper or lower case. */
static bool is_host(struct str line)
{
	static const char host[] = "host:";
	size_t i = 0;

	while (i < 5 && line.p + i < line.e && (line.p[i] | (host[i] == ':' ? 0 : 32)) == host[i])
		i++;
	return i == 5;
}

/* Returns the path of a request target: "/metrics?x=y", or "http://host/metrics", which servers
 * must accept, too. The path of "http://host" is "/". */
static struct str target_path(struct str target)
{
	bool absolute = str_skip_z(&target, "http://");
	struct str path;

	while (absolute && target.p < target.e && *target.p != '/' && *target.p != '?')
		target.p++;
	str_cut(&target, '?', &path);
	return absolute && path.p == path.e ? (struct str)STR("/") : path;
}

/* Parses the head of a request. Answers HEAD requests and errors, and returns the exit code. For a
 * valid GET request it appends the head of the answer to out and returns -1; the caller adds a
 * sample. */
static int answer(struct str head)
{
	struct str line = { 0 }, method = { 0 }, target = { 0 };
	u32 hosts = 0;
	size_t which;
	bool good, is_new;

	good = !memchr(head.p, '\0', str_len(head)) && line_next(&head, &line) && str_len(line) > 0;
	if (good && line.e[-1] == '\r')
		line.e--;
	good = good && str_cut(&line, ' ', &method) && str_cut(&line, ' ', &target) &&
	       target.p < target.e;
	is_new = good && str_is(line, "HTTP/1.1");
	good &= is_new || str_is(line, "HTTP/1.0");
	for (const char *p = method.p; p < method.e; p++)
		good &= (u8)((*p | 32) - 'a') < 26;
	while (line_next(&head, &line))
		hosts += is_host(line);
	if (!good || method.p == method.e || hosts > 1 || (is_new && !hosts))
		return send_error("400 Bad Request", "");
	which = str_among(method, "GET HEAD");
	if (which > 1)
		return send_error("405 Method Not Allowed", "Allow: GET, HEAD\r\n");
	if (str_among(target_path(target), "/ /metrics") > 1)
		return send_error("404 Not Found", "");
	put_head("200 OK", content_type(), "");
	return which == 0 ? -1 : http_end(finish());
}

/* Returns the end of the request's head, which is after an empty line; NULL if the head is not
 * complete. */
static const char *head_end(const char *p, const char *e)
{
	for (; p < e; p++)
		if (*p == '\n' && ((e - p > 1 && p[1] == '\n') ||
				   (e - p > 2 && p[1] == '\r' && p[2] == '\n')))
			return p + 1;
	return NULL;
}

/* Returns the descriptor of the socket: 3 if systemd passed it to this process (sd_listen_fds(3)),
 * else 0, standard input. */
static int passed_socket(void)
{
	const char *pid = getenv("LISTEN_PID"), *n = getenv("LISTEN_FDS");
	u64 is;

	return pid && n && scan_u64(str_z(pid), &is) && is == sys_pid() && strcmp(n, "1") == 0 ?
	       3 : 0;
}

/* True if two descriptors refer to the same file. inetd passes the socket as standard error, too:
 * messages must be suppressed then, because they would go to the client. */
static bool is_same_file(int a, int b)
{
	struct stat x, y;

	return sys_fstat(a, &x) == 0 && sys_fstat(b, &y) == 0 &&
	       x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Reads a request from the passed socket. Returns the exit code if the request was answered or
 * failed; -1 if the head of the answer is in out and the caller adds a sample. */
int http_request(void)
{
	static char b[REQUEST_BYTES];
	size_t n = 0;
	const char *end = NULL;
	long r;

	out_fd = passed_socket();
	r = sys_is_listening(out_fd);
	if (r < 0)
		return usage_z("--http requires a socket of inetd, "
			       "or systemd with Accept=yes");
	if (r > 0)
		return usage_z("--http: the socket is a listening one: "
			       "set Accept=yes in the .socket unit, or nowait in inetd");
	opt.quiet |= is_same_file(out_fd, 2);
	wait_until = sys_now(CLOCK_MONOTONIC) + REQUEST_TIMEOUT;
	while (!end && n < sizeof(b) && !stopped) {
		struct pollfd fd = { .fd = out_fd, .events = POLLIN };

		r = sys_poll_until(&fd, 1, wait_until, NULL);
		if (r == 0)
			return send_error("408 Request Timeout", "");
		if (r > 0)
			r = sys_recv(out_fd, b + n, sizeof(b) - n);
		if (r == -EINTR || r == -EAGAIN)
			continue;
		if (r < 0 || (r == 0 && n == 0)) /* the client closed without a request */
			return EX_OK;
		if (r == 0)
			return send_error("400 Bad Request", "");
		n += (size_t)r;
		end = head_end(b, b + n);
	}
	if (stopped)
		return EX_OK;
	return end ? answer((struct str){ b, end }) :
	       send_error("431 Request Header Fields Too Large", "");
}
