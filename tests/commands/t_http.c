/* t_http.c - unit test of commands/shared/http.c: parts of requests, the answer to each request in any
 * pieces, and connections that end early. The socket is simulated. SPDX-License-Identifier: MIT */
#include "sys.h"
#include "unit.h"

static const char *pieces[8]; /* the received bytes; NULL: nothing more is received */
static size_t npieces, piece_n[8];
static long listening, send_results[8];
static size_t nsends, nsent;
static char sent[4096];
static u32 polls, shutdowns;
static bool same_file;

static long fake_recv(char *b, size_t n)
{
	const char *p = npieces < LEN(pieces) ? pieces[npieces] : NULL;
	size_t some = p ? piece_n[npieces] ? piece_n[npieces] : strlen(p) : 0;

	if (!p)
		return -EAGAIN;
	npieces++;
	if (some > n)
		some = n;
	memcpy(b, p, some);
	return (long)some;
}

static long fake_send(const char *p, size_t n)
{
	long r = nsends < LEN(send_results) ? send_results[nsends++] : 0;
	size_t some = r > 0 ? (size_t)r : n;

	if (r < 0)
		return r;
	memcpy(sent + nsent, p, some);
	nsent += some;
	return (long)some;
}

/* Input is ready if there is a next piece; otherwise the time is over. */
static long fake_poll(const struct pollfd *p, size_t n)
{
	polls++;
	return n != 1 ? 0 : p->events == POLLOUT || (npieces < LEN(pieces) && pieces[npieces]);
}
#define sys_recv(fd, b, n) fake_recv(b, n)
#define sys_send(fd, p, n) fake_send(p, n)
#define sys_poll_until(p, n, until, mask) fake_poll(p, n)
#define sys_is_listening(fd) listening
#define sys_shutdown(fd) (shutdowns++, (long)0)
#define sys_now(clock) ((i64)polls * INT64_C(2000000000))
#define sys_fstat(fd, st) (*(st) = (struct stat){ .st_ino = same_file ? 1 : (ino_t)(fd) + 1 }, 0)
#define replay replay_command /* unit.h has a function of this name, too */
#include "../../commands/shared/http.c"
#include "said.h"

struct opts opt;
struct buf out;
int out_fd;
volatile sig_atomic_t stopped;
static char out_text[4096];

bool flush(void)
{
	long r = http_write(out.p, out.n);

	out.n = 0;
	return r >= 0;
}

int finish(void) { return flush() ? EX_OK : EX_FAIL; }

/* --- parts ------------------------------------------------------------------------------------ */

static void t_head_end(void)
{
	static const struct {
		const char *text;
		int end; /* -1: none */
	} rows[] = {
		{ "a\n\nb", 2 }, { "a\r\n\r\n", 3 }, { "a\n\r\n", 2 }, { "a\n", -1 }, { "a\r\n\r", -1 },
		{ "\n\n", 1 }, { "", -1 }, { "a\n b\n", -1 }, { "a\n\rb\n\n", 5 },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		struct str s = edge_str(rows[i].text, strlen(rows[i].text));
		const char *end = head_end(s.p, s.e);

		check((end ? (int)(end - s.p) : -1) == rows[i].end, "end of request head %zu", i);
	}
}

static void t_targets(void)
{
	static const char *const rows[][2] = {
		{ "/metrics", "/metrics" }, { "/metrics?x=/y", "/metrics" }, { "/", "/" }, { "/?x", "/" },
		{ "http://host/metrics", "/metrics" }, { "http://host:9/m?x", "/m" },
		{ "http://host", "/" }, { "http://host?x", "/" }, { "http://", "/" }, { "*", "*" },
		{ "https://host/metrics", "https://host/metrics" },
	};

	for (size_t i = 0; i < LEN(rows); i++)
		check_str(target_path(edge_str(rows[i][0], strlen(rows[i][0]))), rows[i][1],
			  "path of the request target %s", rows[i][0]);
	check(is_host(LIT("Host: x")) && is_host(LIT("hOST:")) && is_host(LIT("HOST:x")),
	      "header Host is recognized in any case");
	check(!is_host(LIT("Hosts: x")) && !is_host(LIT("Host")) && !is_host(LIT(" Host:")) &&
	      !is_host(LIT("HostZ")) && !is_host(LIT("")), "other headers are not taken for Host");
}

/* --- requests --------------------------------------------------------------------------------- */

/* Returns the result of a request that is received in these pieces. */
static int request(const char *a, const char *b, const char *c)
{
	memset(pieces, 0, sizeof(pieces));
	pieces[0] = a;
	pieces[1] = b;
	pieces[2] = c;
	npieces = nsends = nsent = 0;
	polls = 0;
	answer_begun = false;
	out = BUF(out_text);
	opt.quiet = false;
	return http_request();
}

/* Returns whether an answer with this status was sent. */
static bool has_status(const char *status)
{
	char text[64];

	snprintf(text, sizeof(text), "HTTP/1.1 %s\r\n", status);
	if (str_find(str_of(sent, nsent), str_z(text)))
		return true;
	note("sent %s", show(str_of(sent, nsent)));
	return false;
}

static void t_answers(void)
{
	static const struct {
		const char *request, *status; /* NULL: a sample follows */
	} rows[] = {
		{ "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", NULL }, { "GET / HTTP/1.0\r\n\r\n", NULL },
		{ "GET / HTTP/1.0\n\n", NULL }, { "GET /metrics?a=b HTTP/1.1\r\nhost:\r\n\r\n", NULL },
		{ "HEAD / HTTP/1.1\r\nHost: x\r\n\r\n", "200 OK" },
		{ "GET / HTTP/1.1\r\n\r\n", "400 Bad Request" },
		{ "GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", "400 Bad Request" },
		{ "GET / HTTP/2.0\r\nHost: x\r\n\r\n", "400 Bad Request" },
		{ "GET  / HTTP/1.0\r\n\r\n", "400 Bad Request" }, { "GET /\r\n\r\n", "400 Bad Request" },
		{ " / HTTP/1.0\r\n\r\n", "400 Bad Request" }, { "G3T / HTTP/1.0\r\n\r\n", "400 Bad Request" },
		{ "\r\n\r\n", "400 Bad Request" },
		{ "POST / HTTP/1.0\r\n\r\n", "405 Method Not Allowed" },
		{ "get / HTTP/1.0\r\n\r\n", "405 Method Not Allowed" },
		{ "GET /x HTTP/1.0\r\n\r\n", "404 Not Found" },
		{ "GET /metrics/ HTTP/1.0\r\n\r\n", "404 Not Found" },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		int code = request(rows[i].request, NULL, NULL);

		check(code == (rows[i].status ? EX_OK : -1),
		      "request %zu is accepted or answered", i);
		check(rows[i].status ? has_status(rows[i].status) : nsent == 0 && out.n > 0,
		      "the answer has the expected status");
	}
	request("POST / HTTP/1.0\r\n\r\n", NULL, NULL);
	check(str_find(str_of(sent, nsent), LIT("\r\nAllow: GET, HEAD\r\n")),
	      "an answer 405 lists the allowed methods");
}

static void t_pieces(void)
{
	static char large[REQUEST_BYTES + 1];

	check(request("GET / HT", "TP/1.0\r\n\r", "\n") == -1,
	      "a request in three pieces is accepted");
	check_str(str_of(out.p, out.n), "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\n"
		  "Connection: close\r\n\r\n",
	          "the head of an answer is not sent before the sample");
	check(http_write("x", 1) == 0 && http_end(EX_FAIL) == EX_FAIL,
	      "http_end() after a sample returns the exit code of the sample");
	check(request("GET / HT", NULL, NULL) == EX_OK && has_status("408 Request Timeout"),
	      "a request that is not completed in time is answered with 408");
	check(request("", NULL, NULL) == EX_OK && nsent == 0,
	      "a connection that is closed without a request is not answered");
	check(request("GET", "", NULL) == EX_OK && has_status("400 Bad Request"),
	      "a request that ends within its head is answered with 400");
	memset(large, 'a', REQUEST_BYTES);
	check(request(large, NULL, NULL) == EX_OK && has_status("431 Request Header Fields Too Large"),
	      "a request head that is too long is answered with 431");
	stopped = 1;
	check(request("GET / HTTP/1.0\r\n\r\n", NULL, NULL) == EX_OK && nsent == 0,
	      "a signal ends the wait for a request");
	stopped = 0;
}

static void t_nul(void)
{
	piece_n[0] = 19;
	check(request("GET / HTTP/1.0\0\r\n\r\n", NULL, NULL) == EX_OK && has_status("400 Bad Request"),
	      "a NUL byte in the head is answered with 400");
	piece_n[0] = 0;
}

/* --- connections ------------------------------------------------------------------------------ */

static void t_write(void)
{
	nsends = nsent = 0;
	answer_begun = false;
	send_results[0] = 2;
	send_results[1] = -EINTR;
	send_results[2] = -EAGAIN;
	check(http_write("abcdef", 6) == 0,
	      "an answer is sent in pieces, after a signal and a full socket");
	check_str(str_of(sent, nsent), "abcdef", "an answer in pieces is sent once");
	nsends = 0;
	send_results[0] = -EPIPE;
	check(http_write("abc", 3) == -EPIPE, "a closed connection is a write error");
	memset(send_results, 0, sizeof(send_results));
	answer_begun = false;
	nsent = 0;
	out = BUF(out_text);
	check(http_end(EX_NODEVICE) == EX_NODEVICE && has_status("500 Internal Server Error"),
	      "a run without a sample is answered with 500");
}

static void t_sockets(void)
{
	listening = -ENOTSOCK;
	check(http_request() == EX_USAGE && is_said("--http requires a socket"),
	      "without a socket, --http is an error of usage");
	listening = 1;
	check(http_request() == EX_USAGE && is_said("the socket is a listening one"),
	      "with a listening socket, --http is an error of usage");
	listening = 0;
	request("GET / HTTP/1.0\r\n\r\n", NULL, NULL);
	check(!opt.quiet && out_fd == 0,
	      "messages are printed if standard error is not the socket");
	same_file = true;
	request("GET / HTTP/1.0\r\n\r\n", NULL, NULL);
	check(opt.quiet, "no messages are printed if standard error is the socket");
	same_file = false;
	check(http_request() == EX_OK && opt.quiet, "-q is kept with --http");
}

static void t_passed(void)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	setenv("LISTEN_PID", pid, 1);
	setenv("LISTEN_FDS", "1", 1);
	check(passed_socket() == 3, "systemd passes descriptor 3");
	setenv("LISTEN_FDS", "2", 1);
	check(passed_socket() == 0, "two descriptors of systemd are not used");
	setenv("LISTEN_FDS", "1", 1);
	setenv("LISTEN_PID", "1x", 1);
	check(passed_socket() == 0, "a descriptor for another process is not used");
	unsetenv("LISTEN_PID");
	check(passed_socket() == 0,
	      "without LISTEN_PID, the socket is standard input, as from inetd");
	opt.out.fmt = format_find(LIT("openmetrics"));
	check(http_takes_format() && strncmp(content_type(), "application/openmetrics-text;", 29) == 0,
	      "OpenMetrics has a separate content type");
	opt.out.fmt = format_find(LIT("json"));
	check(!http_takes_format(), "JSON is refused as a format of --http");
}

int main(void)
{
	opt.out.fmt = format_find(LIT("prom"));
	t_head_end();
	t_targets();
	t_answers();
	t_pieces();
	t_nul();
	t_write();
	t_sockets();
	t_passed();
	check(shutdowns > 0, "the connection is closed in both directions");
	return unit_end();
}
