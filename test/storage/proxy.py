"""A faulty way to a server of Azure's storage: an HTTP proxy on loopback that forwards signed requests unchanged, or,
as a seed says, answers 500 or 503 in the server's place, drops connections before or after the server has done what
was asked, cuts blobs short, is slow, shows new blobs late, adds messages twice and keeps those that are removed.

Each process gets a door of its own: what it wrote itself it sees at once, what others wrote perhaps later.
"""

import collections
import dataclasses
import http.client
import http.server
import random
import re
import threading
import time
import urllib.parse


@dataclasses.dataclass
class Faults:
    """Shares of the requests that each can befall, 0 to 1."""
    refused: float = 0  # 500, or 503 with Retry-After
    dropped: float = 0  # the connection, half of the times after the request was done
    cut: float = 0      # blobs that come: the connection ends within
    short: float = 0    # the same, but the length is mended: only the range tells
    forged: float = 0   # blobs with a checksum: all is mended, so that only that tells
    slow: float = 0     # all requests
    slow_s: float = 0.05
    late: float = 0     # new blobs: others do not find or list them
    late_s: float = 0.3
    twice: float = 0    # messages
    undead: float = 0   # removals of messages: said, not done


HOP_BY_HOP = {"connection", "keep-alive", "transfer-encoding", "content-length"}
WITH_CHECKSUM = re.compile(r"/(data|eval|state)/\d+$|/rounds/\d+/(\d+/\d+|sums/\d+|total)$|/model$")


class Proxy:
    def __init__(self, blob_endpoint, queue_endpoint, seed, faults):
        self.endpoints = {"blob": blob_endpoint, "queue": queue_endpoint}
        self.seed, self.faults = seed, faults
        self.injected = collections.Counter()
        self.requests = 0
        self.down = False  # drops everything
        self._asked = collections.Counter()
        self._late = {}  # path: (door, until when)
        self._known = set()
        self._lock = threading.Lock()
        self._servers = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for server in self._servers:
            server.shutdown()
            server.server_close()

    def door(self):
        """Endpoints (blobs, queues) for one process."""
        number, found = len(self._servers), []
        for service, endpoint in self.endpoints.items():
            target = urllib.parse.urlsplit(endpoint)
            server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
            server.daemon_threads = True
            server.proxy, server.service, server.target, server.door = self, service, target.netloc, number
            threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
            self._servers.append(server)
            found.append(f"http://127.0.0.1:{server.server_port}{target.path}")
        return found

    def roll(self, fault, path, share):
        """Whether it befalls this request: a function of seed, fault, path, and how often that was asked before."""
        if share == 0:
            return False
        with self._lock:
            self._asked[fault, path] += 1
            times = self._asked[fault, path]
        hit = random.Random(f"{self.seed} {fault} {path} {times}").random() < share
        if hit:
            self.count(fault)
        return hit

    def count(self, fault):
        with self._lock:
            self.injected[fault] += 1

    def wrote(self, door, path):
        with self._lock:
            new = path not in self._known
            self._known.add(path)
        if new and self.roll("late", path, self.faults.late):
            with self._lock:
                self._late[path] = (door, time.monotonic() + self.faults.late_s)

    def hidden(self, door, path):
        with self._lock:
            writer, until = self._late.get(path, (door, 0))
        return writer != door and time.monotonic() < until


class Dropped(Exception):
    pass


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    upstream = None

    def log_message(self, *_):
        pass

    def handle_one_request(self):
        try:
            super().handle_one_request()
        except (Dropped, OSError):
            self.close_connection = True

    def handle_any(self):
        proxy, faults = self.server.proxy, self.server.proxy.faults
        proxy.requests += 1
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        split = urllib.parse.urlsplit(self.path)
        path, query = urllib.parse.unquote(split.path), urllib.parse.parse_qs(split.query)
        key = f"{self.command} {path}"
        if proxy.down:
            raise Dropped
        if proxy.roll("slow", key, faults.slow):
            time.sleep(faults.slow_s)
        if proxy.roll("refused", key, faults.refused):
            busy = proxy.roll("busy", key, 0.5)
            return self.refuse(*((503, "ServerBusy") if busy else (500, "InternalError")), retry_after=busy)
        dropped = proxy.roll("dropped", key, faults.dropped)
        if dropped and not proxy.roll("answer dropped", key, 0.5):
            raise Dropped
        of_blob = self.server.service == "blob" and path.count("/") > 2
        of_message = self.server.service == "queue" and "/messages" in path
        if of_blob and self.command in ("GET", "HEAD") and proxy.hidden(self.server.door, path):
            return self.refuse(404, "BlobNotFound")
        if of_message and self.command == "DELETE" and proxy.roll("undead", key, faults.undead):
            return self.answer(204, [], b"")
        status, headers, answer = self.forward(body)
        if of_message and self.command == "POST" and proxy.roll("twice", key, faults.twice):
            self.forward(body)
        if of_blob and self.command == "PUT" and status == 201 and query.get("comp", ["blocklist"]) == ["blocklist"]:
            proxy.wrote(self.server.door, path)
        if dropped:
            raise Dropped
        if query.get("comp") == ["list"] and self.server.service == "blob":
            answer = self.without_hidden(path, answer)
        if of_blob and self.command == "GET" and status in (200, 206) and len(answer) > 1:
            if proxy.roll("cut", key, faults.cut):
                self.answer(status, headers, answer[:len(answer) // 2], length=len(answer))
                self.wfile.flush()
                raise Dropped
            shorter = answer[:-1 - len(answer) // 3]
            if status == 206 and proxy.roll("short", key, faults.short):
                answer = shorter
            elif WITH_CHECKSUM.search(path) and shorter and proxy.roll("forged", key, faults.forged):
                answer, whole = shorter, f"bytes 0-{len(shorter) - 1}/{len(shorter)}"
                headers = [(name, whole if name.lower() == "content-range" else value) for name, value in headers]
        self.answer(status, headers, answer)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = handle_any

    def without_hidden(self, path, xml):
        def kept(entry):
            name = re.search(rb"<Name>(.*?)</Name>", entry[0])
            if name and self.server.proxy.hidden(self.server.door, f"{path.rstrip('/')}/{name[1].decode()}"):
                return b""
            return entry[0]
        return re.sub(rb"<Blob>.*?</Blob>", kept, xml, flags=re.DOTALL)

    def forward(self, body):
        """As it came, to the server; once more when that has closed an idle connection."""
        for again in (True, False):
            fresh = self.upstream is None
            if fresh:
                self.upstream = http.client.HTTPConnection(self.server.target, timeout=60)
            try:
                self.upstream.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
                for name, value in self.headers.items():
                    if name.lower() not in ("connection", "expect"):
                        self.upstream.putheader(name, value)
                self.upstream.endheaders(body)
                response = self.upstream.getresponse()
                answer = response.read()
                return response.status, response.getheaders(), answer
            except (http.client.HTTPException, OSError):
                self.upstream.close()
                self.upstream = None
                if fresh or not again:
                    raise Dropped from None
        raise Dropped

    def refuse(self, status, code, retry_after=False):
        xml = f'<?xml version="1.0" encoding="utf-8"?><Error><Code>{code}</Code><Message>Try again.</Message></Error>'
        headers = [("Content-Type", "application/xml"), ("x-ms-error-code", code)]
        self.answer(status, headers + ([("Retry-After", "1")] if retry_after else []), xml.encode())

    def answer(self, status, headers, body, length=None):
        self.send_response_only(status)
        for name, value in headers:
            if name.lower() not in HOP_BY_HOP:
                self.send_header(name, value)
        if status not in (204, 304):
            self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def finish(self):
        if self.upstream is not None:
            self.upstream.close()
        try:
            super().finish()
        except OSError:
            pass
