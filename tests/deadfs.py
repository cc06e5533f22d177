# deadfs.py - a FUSE file system with a server that responds until dies() is called: after that it
# reads requests and responds to none. A process that waits for it cannot be killed until the server
# is. Reads of files with an error fail.
# SPDX-License-Identifier: MIT
import ctypes
import errno
import os
import select
import signal
import stat
import struct

LIBC = ctypes.CDLL(None, use_errno=True)
MS_NOSUID, MS_NODEV, MS_REC, MS_PRIVATE, MNT_DETACH = 2, 4, 1 << 14, 1 << 18, 2
CLONE_NEWNS = 0x20000
# linux/fuse.h
LOOKUP, FORGET, GETATTR, OPEN, READ, STATFS, RELEASE, FLUSH, INIT, OPENDIR, READDIR, RELEASEDIR, INTERRUPT, BATCH_FORGET = (
    1, 2, 3, 14, 15, 17, 18, 25, 26, 27, 28, 29, 36, 42)


class Unable(Exception):
    pass


def checked(r, what):
    if r < 0:
        raise Unable(f"{what}: {os.strerror(ctypes.get_errno())}")


def mount(source, target, kind, flags, data):
    enc = [s.encode() if s else None for s in (source, target, kind, data)]
    checked(LIBC.mount(enc[0], enc[1], enc[2], ctypes.c_ulong(flags), enc[3]), f"mount {kind or target}")


def own_mounts():
    """Moves this process and its later children to a private mount namespace."""
    checked(LIBC.unshare(CLONE_NEWNS), "unshare")
    mount(None, "/", None, MS_REC | MS_PRIVATE, None)


class Server:
    """Mounts the file system at `where`. files: {name: bytes} of its only folder, all
    executable. A number in place of bytes is the error of each read."""

    def __init__(self, where, files, kind="fuse"):
        self.where, self.names = where, list(files)
        self.contents = {i + 2: files[n] for i, n in enumerate(self.names)}
        try:
            self.fd = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        except OSError as e:
            raise Unable(f"/dev/fuse: {e.strerror}") from None
        os.makedirs(where, exist_ok=True)
        try:
            mount("dead", where, kind, MS_NOSUID | MS_NODEV, f"fd={self.fd},rootmode=40000,user_id=0,group_id=0,allow_other")
        except Unable:
            os.close(self.fd)
            raise
        self.silence, mute = os.pipe()
        self.said, say = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.close(mute)  # so that the server ends with the test
                self.serve(say)
            finally:
                os._exit(0)
        os.close(self.fd)
        os.close(self.silence)
        os.close(say)
        self.mute = mute

    def dies(self):
        os.write(self.mute, b"x")
        os.read(self.said, 1)

    def end(self):
        """Kills the server and unmounts the file system, so that waiting requests fail."""
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.mute)
        os.close(self.said)
        LIBC.umount2(self.where.encode(), MNT_DETACH)

    # --- the server's process ---------------------------------------------------------------------

    def serve(self, say):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        silent = False
        while True:
            ready = select.select([self.fd, self.silence], [], [])[0]
            if self.silence in ready:
                if not os.read(self.silence, 1):
                    return
                silent = True
                os.write(say, b"x")
                continue
            request = os.read(self.fd, 1 << 18)
            _, op, unique, node = struct.unpack_from("=IIQQ", request)
            if silent or op in (FORGET, BATCH_FORGET, INTERRUPT):
                continue
            error, body = self.answer(op, node, request[40:])
            os.write(self.fd, struct.pack("=IiQ", 16 + len(body), -error, unique) + body)

    def attr(self, node):
        content = self.contents.get(node)
        mode = stat.S_IFDIR if content is None else stat.S_IFREG
        n = 0 if content is None else 4096 if isinstance(content, int) else len(content)
        return struct.pack("=QQQQQQIIIIIIIIII", node, n, (n + 511) // 512, 0, 0, 0, 0, 0, 0, mode | 0o755, 1, 0, 0, 0, 4096, 0)

    def answer(self, op, node, body):
        if op == INIT:
            _, _, ahead, _ = struct.unpack_from("=IIII", body)
            return 0, struct.pack("=IIIIHHIIHH", 7, 31, ahead, 0, 16, 12, 1 << 16, 1, 32, 0).ljust(64, b"\0")
        if op == LOOKUP:
            name = body.rstrip(b"\0").decode()
            if name not in self.names:
                return errno.ENOENT, b""
            child = self.names.index(name) + 2
            return 0, struct.pack("=QQQQII", child, 0, 0, 0, 0, 0) + self.attr(child)  # the kernel must not cache it: each access sends a request
        if op == GETATTR:
            return 0, struct.pack("=QII", 0, 0, 0) + self.attr(node)
        if op in (OPEN, OPENDIR):
            # FOPEN_DIRECT_IO: read(2) returns the error of the server
            return 0, struct.pack("=QII", 0, isinstance(self.contents.get(node), int), 0)
        if op == READ:
            _, at, n = struct.unpack_from("=QQI", body)
            if isinstance(self.contents[node], int):
                return self.contents[node], b""
            return 0, self.contents[node][at:at + n]
        if op == STATFS:
            return 0, struct.pack("=QQQQQIIII", 0, 0, 0, 0, 0, 4096, 255, 4096, 0) + bytes(24)
        if op in (RELEASE, RELEASEDIR, FLUSH, READDIR):
            return 0, b""
        return errno.ENOSYS, b""
