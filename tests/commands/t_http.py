#!/usr/bin/env python3
# t_http.py PROG - --http: a socket is passed as inetd and systemd pass it; valid, slow, huge,
# malformed, pipelined and half-closed requests. Prints TAP.
# SPDX-License-Identifier: MIT
import http.client
import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True  # creates no __pycache__ in the source folder
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import machine  # noqa: E402
import tap  # noqa: E402

PROG = os.path.realpath(sys.argv[1])
tap.needs(PROG, "http")
HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOTS = ["--proc", f"{HERE}/trees/amdgpu/proc", "--sys", f"{HERE}/trees/amdgpu/sys"]
GET = b"GET /metrics HTTP/1.1\r\nHost: x\r\nAccept: */*\r\n\r\n"
TYPES = {"prom": "text/plain; version=0.0.4", "openmetrics": "application/openmetrics-text; version=1.0.0; charset=utf-8"}


def start(end, *args, fmt="prom", fd3=False, **kw):
    args = [PROG, *(args or ROOTS), "-r", "--http", "-o", fmt]
    if fd3:  # systemd passes descriptor 3 to the process that LISTEN_PID names
        args = ["/bin/sh", "-c", f'exec 3<&{end.fileno()} </dev/null; LISTEN_FDS=1 LISTEN_PID=$$ exec "$@"', "sh", *args]
        return subprocess.Popen(args, pass_fds=[end.fileno()], stdout=subprocess.PIPE, stderr=subprocess.PIPE, **kw)
    return subprocess.Popen(args, stdin=end, **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **kw})


def ask(request, *args, chunk=None, pause=0.0, half=False, fmt="prom", fd3=False, read=True):
    """Sends a request. Returns the exit code, HTTP status, head, body, stderr and seconds."""
    ours, theirs = socket.socketpair()
    began = time.monotonic()
    p = start(theirs, *args, fmt=fmt, fd3=fd3)
    theirs.close()
    ours.settimeout(60)
    answer = b""
    try:
        for i in range(0, len(request), chunk or max(1, len(request))):
            ours.sendall(request[i:i + (chunk or len(request))])
            time.sleep(pause)
    except OSError:
        pass
    if half:
        ours.shutdown(socket.SHUT_WR)
    try:
        while read and (b := ours.recv(65536)):
            answer += b
    except OSError as e:
        answer += f" [{e}]".encode()
    took = time.monotonic() - began
    ours.close()
    out, err = p.communicate(timeout=60)
    head, _, body = answer.partition(b"\r\n\r\n")
    status = int(head.split()[1]) if head.startswith(b"HTTP/1.1 ") else 0
    assert out == b"" or not read, out
    return p.returncode, status, head.decode(), body, err.decode(), took


def case(name, ok, *notes):
    tap.report(ok, name, *notes)


def good(r, fmt="prom"):
    code, status, head, body, err, _ = r
    return code == 0 and status == 200 and err == "" and f"Content-Type: {TYPES[fmt]}\r\n" in head + "\r\n" and \
        "Connection: close" in head and b"gpustat_engine_busy_seconds_total" in body and \
        body.endswith(b"# EOF\n" if fmt == "openmetrics" else b"\n")


def masked(body):
    """The body without the value that differs between responses."""
    return re.sub(rb"(?m)^(gpustat_self_cpu_seconds_total) [0-9.]+$", rb"\1 N", body)


for fmt in TYPES:
    for fd3 in (False, True):
        r = ask(GET, fmt=fmt, fd3=fd3)
        case(f"GET /metrics, {fmt}, on descriptor {3 if fd3 else 0}", good(r, fmt), r)
for text in (b"GET / HTTP/1.0\r\n\r\n", b"GET / HTTP/1.1\nHost: x\n\n", b"GET /metrics?a=b HTTP/1.1\r\nhOST: x\r\n\r\n",
             b"GET http://x:9100/metrics HTTP/1.1\r\nHost: x\r\n\r\n", b"GET http://x:9100 HTTP/1.1\r\nHost: x\r\n\r\n",
             b"GET http://x?a=b HTTP/1.0\r\n\r\n"):
    r = ask(text)
    case(f"{text[:40]!r} is 200", good(r), r)
r = ask(b"HEAD /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
case("the response to HEAD has the headers of GET and no body", r[:2] == (0, 200) and r[3] == b"" and TYPES["prom"] in r[2], r)
for text, want in ((b"GET /x HTTP/1.1\r\nHost: x\r\n\r\n", 404), (b"GET /metrics/ HTTP/1.0\r\n\r\n", 404),
                   (b"GET ?a HTTP/1.0\r\n\r\n", 404),
                   (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc", 405), (b"get / HTTP/1.1\r\nHost: x\r\n\r\n", 405),
                   (b"GET /\r\n\r\n", 400), (b"GET / HTTP/2.0\r\n\r\n", 400), (b"GET  / HTTP/1.0\r\n\r\n", 400), (b"\r\n\r\n", 400),
                   (b"GET / HTTP/1.1\r\n\r\n", 400), (b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400), (b"G\0T / HTTP/1.0\r\n\r\n", 400),
                   (b"GET / HTTP/1.0 x\r\n\r\n", 400), (bytes(range(256)) + b"\r\n\r\n", 400),
                   (b"GET / HTTP/1.1\r\nX: " + b"y" * 9000 + b"\r\n\r\n", 431), (b"z" * 200000, 431)):
    r = ask(text)
    case(f"{text[:36]!r}... is answered with {want} and a text body", r[1] == want and str(want).encode() in r[3] and r[0] == 0 and
         "text/plain" in r[2] and (want != 405 or "Allow: GET, HEAD" in r[2]), r)
r = ask(GET, chunk=1, pause=0.002)
case("a request that is sent byte by byte gets a response", good(r), r)
r = ask(GET + GET + b"x" * 50000)
case("pipelined requests: only the first gets a response, and the connection is not reset", good(r) and r[3].count(b"# TYPE gpustat_clients ") == 1, r[:3])
r = ask(GET, half=True)
case("the client half-closes the connection after the request: it gets the response", good(r), r)
r = ask(GET[:20], half=True)
case("the client half-closes the connection before the end of the request: 400", r[1] == 400, r)
r = ask(b"", half=True)
case("a port probe that sends nothing: no message, exit 0", r[:2] == (0, 0) and r[4] == "", r)
r = ask(b"", read=False)
case("the client disconnects before its request: exit 0", r[0] == 0 and r[4] == "", r)
r = ask(GET, read=False)
case("the client disconnects before the response: no signal kills gpustat", r[0] in (0, 1), r)

# A response larger than the socket buffer, to clients that read slowly, stop reading, or
# disconnect.
with tempfile.TemporaryDirectory() as d:
    os.chmod(d, 0o755)
    m = machine.Machine(os.path.join(d))
    m.device("i915", machine.I915)
    for pid in range(100, 500):
        m.process(pid, comm=f"{pid}" * 5)
        m.fd(pid, 5, machine.dump("i915", pid, *machine.ns(**{f"engine{k}": k for k in range(20)}), pdev=machine.I915))
    large = ["clients", *m.roots()]
    whole = ask(GET, *large)
    case("a response larger than 1 MB is complete", whole[:2] == (0, 200) and len(whole[3]) > 1 << 20 and whole[3].endswith(b"\n"), whole[:2])

    def large_answer(f, *more):
        ours, theirs = socket.socketpair()
        p = start(theirs, *large, *more)
        theirs.close()
        ours.sendall(GET)
        began = time.monotonic()
        got = f(ours, p)
        ours.close()
        err = p.communicate(timeout=60)[1].decode()
        return p.returncode, got, err, time.monotonic() - began

    def slowly(s, _p):
        n = 0
        while b := s.recv(8192):
            n += len(b)
            time.sleep(0.01)
        return n

    def stops(s, p):
        s.recv(8192)
        p.wait(timeout=60)

    def disconnects(s, _p):
        s.recv(8192)

    def resets(s, _p):
        s.recv(8192)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    r = large_answer(slowly)
    case("a client that reads slowly receives the whole response", r[0] == 0 and abs(r[1] - len(whole[2]) - 4 - len(whole[3])) < 20000 and r[2] == "", r)
    r = large_answer(stops)
    case("a client that stops reading: a timeout after 5 s, exit 1", r[0] == 1 and "socket: Operation timed out" in r[2] and r[3] > 4.5, r)
    for how in (disconnects, resets):
        r = large_answer(how)
        case(f"a client that {how.__name__} during the response: a message, exit 1", r[0] == 1 and "cannot write to the socket: " in r[2] and "timed out" not in r[2], r)

    def ends(s, p):
        s.recv(8192)
        p.terminate()
        n = 0
        while b := s.recv(1 << 20):
            n += len(b)
        return n

    r = large_answer(ends)
    case("SIGTERM during the response: the response is completed", r[0] == 0 and abs(r[1] - len(whole[2]) - len(whole[3])) < 20000, r)

ours, theirs = socket.socketpair()
p = start(theirs)
theirs.close()
ours.sendall(GET[:10])
machine.wait_asleep(p.pid)
p.terminate()
case("SIGTERM while gpustat waits for the request: no response, exit 0", p.wait(timeout=60) == 0 and ours.recv(10) == b"", p.returncode)
ours.close()

r = ask(GET[:30])
case("an incomplete request: 408 after 5 s", r[1] == 408 and r[5] > 4.5, r)
r = ask(GET, chunk=1, pause=0.15)
case("a request that arrives as one byte every 0.15 s: 408", r[1] == 408, r)
r = ask(GET, "--proc", "/nonexistent", "--sys", "/nonexistent")
case("no /proc and no /sys: 500, the reason on stderr, exit 1", r[1] == 500 and r[0] == 1 and "nonexistent" in r[4], r)
empty = os.path.join(HERE, "trees", "host")
r = ask(GET, "--proc", f"{empty}/proc", "--sys", f"{empty}/sys")
case("no device: 200, with the metrics about gpustat itself", r[:2] == (0, 200) and b"gpustat_self_cpu_seconds_total" in r[3], r)

with socket.socket() as s:
    s.bind(("127.0.0.1", 0))
    s.listen()
    p = start(s)
    err = p.communicate(timeout=60)[1]
    case("a listening socket (Accept=no): a message, exit 2", p.returncode == 2 and b"Accept=yes" in err, err)
for what, stdin in (("a pipe", subprocess.PIPE), ("no input", subprocess.DEVNULL)):
    p = start(stdin)
    err = p.communicate(timeout=60)[1]
    case(f"{what} in place of a socket: a message, exit 2", p.returncode == 2 and b"requires a socket" in err, err)

ours, theirs = socket.socketpair()
p = start(theirs, "--proc", "/nonexistent", "--sys", "/nonexistent", stdout=theirs, stderr=theirs)
theirs.close()
ours.sendall(GET)
answer = b""
while b := ours.recv(65536):
    answer += b
ours.close()
p.wait()
case("inetd, which also connects stderr to the socket: the response contains no messages",
     answer.startswith(b"HTTP/1.1 500") and b"gpustat:" not in answer, answer)

# Each accepted connection is passed to a new process, as systemd with Accept=yes does.
with socket.socket() as s:
    s.bind(("127.0.0.1", 0))
    s.listen()
    port = s.getsockname()[1]
    codes = []

    def serve():
        while True:
            try:
                c, _ = s.accept()
            except OSError:
                return
            q = start(c)
            c.close()
            q.communicate(timeout=60)
            codes.append(q.returncode)
    threading.Thread(target=serve, daemon=True).start()
    for i in range(3):
        c = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        c.request("GET", "/metrics", headers={"User-Agent": "Prometheus/2.42.0", "X-Prometheus-Scrape-Timeout-Seconds": "10",
                                             "Accept": "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"})
        a = c.getresponse()
        text = a.read()
        c.close()
    case("three requests as Prometheus sends them get valid responses", a.status == 200 and a.getheader("Content-Type") == TYPES["prom"] and
         text.endswith(b"\n") and b"gpustat_clients{" in text, a.status, text[:200])
    if shutil.which("curl"):
        r = subprocess.run(["curl", "-sS", "--fail", "-m", "60", f"http://127.0.0.1:{port}/metrics"], capture_output=True)
        case("a request by curl gets the same body as other clients", r.returncode == 0 and b"gpustat_clients{" in r.stdout and masked(r.stdout) == masked(ask(GET)[3]), r)
    else:
        tap.skip("a request by curl gets the same body as other clients", "needs package curl")
tap.finish()
