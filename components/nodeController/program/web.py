# HTTPS with keep-alive and without a proxy: the one place for what an answer may be, and how long anything may last.
import contextlib
import http.client
import io
import json
import ssl
import threading
import time
import urllib.parse
from email.utils import mktime_tz, parsedate_tz
from functools import partial

from machines import Trouble

# What the machine trusts, authorities of the stack file included.
AUTHORITIES = "/etc/ssl/certs/ca-certificates.crt"
# Bytes of an answer, some of which others have written; the status of one that has more, and what is kept of it.
LIMIT, TOO_LONG, HEAD = 16 * 1024 * 1024, 1, 65536
# What a kept connection meets that the other side has closed, which clouds do within seconds.
CLOSED = (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError, ssl.SSLEOFError, ssl.SSLZeroReturnError)
thread = threading.local()


def end():
    return getattr(thread, "end", float("inf"))


@contextlib.contextmanager
def within(seconds):
    # All calls that this thread makes meanwhile end after so long, or with those around them.
    before = end()
    thread.end = min(before, time.monotonic() + seconds)
    try:
        yield
    finally:
        thread.end = before


class Stream(io.RawIOBase):
    # What comes in until a time: a byte now and then does not begin the wait anew.
    def __init__(self, web, sock, raw):
        self.web, self.sock, self.raw = web, sock, raw

    def readable(self):
        return True

    def readinto(self, into):
        self.sock.settimeout(self.web.left())
        return self.raw.readinto(into)

    def close(self):
        self.raw.close()
        super().close()


class Timed(http.client.HTTPResponse):
    def __init__(self, web, sock, *args, **more):
        super().__init__(sock, *args, **more)
        self.fp = io.BufferedReader(Stream(web, sock, self.fp.detach()))


class Web:
    # An answer is whole within `timeout` seconds; of a stream, `silence` may pass between two parts.
    def __init__(self, origin, context=None, timeout=10.0, silence=None):
        parts = urllib.parse.urlsplit(origin)
        self.host, self.port, self.secure = parts.hostname, parts.port, parts.scheme == "https"
        self.context, self.timeout, self.silence, self.connection, self.until = context, timeout, silence or timeout, None, 0.0

    def left(self):
        left = min(self.until - time.monotonic(), self.silence)
        if left <= 0:
            raise TimeoutError("it took too long")
        return left

    def connect(self):
        kind = http.client.HTTPSConnection if self.secure else http.client.HTTPConnection
        options = {"timeout": self.left()}
        if self.secure:
            options["context"] = self.context or ssl.create_default_context(cafile=AUTHORITIES)
        made = kind(self.host, self.port, **options)
        made.response_class = partial(Timed, self)
        return made

    def open(self, method, path, headers=None, body=None):
        # Once more where the other side had closed a kept connection.
        self.until = min(end(), time.monotonic() + self.timeout)
        for again in (True, False):
            kept = self.connection is not None
            try:
                if not kept:
                    self.connection = self.connect()
                elif getattr(self.connection, "sock", None):
                    self.connection.sock.settimeout(self.left())
                self.connection.request(method, path, body=body, headers=headers or {})
                return self.connection.getresponse()
            except (OSError, http.client.HTTPException) as error:
                self.close()
                if not (again and kept and isinstance(error, CLOSED)):
                    raise Trouble(f"{method} {self.host}: {type(error).__name__} {error}") from None

    def ask(self, method, path, headers=None, body=None):
        answer = self.open(method, path, headers, body)
        try:
            data = answer.read(LIMIT)
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise Trouble(f"{method} {self.host}: {error}") from None
        if answer.will_close or not answer.isclosed():
            self.close()
        if len(data) == LIMIT:
            raise Trouble(f"{method} {self.host}: the answer is too long", TOO_LONG, data[:HEAD])
        return answer.status, answer.headers, data

    def close(self):
        if self.connection is not None:
            self.connection.close()
        self.connection = None


def parse(data, what):
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise Trouble(f"{what} did not answer with an object")
    return found


def date_of(headers, before):
    # The server's time, in seconds of the epoch.
    try:
        return float(mktime_tz(parsedate_tz(headers.get("Date", ""))))
    except (TypeError, ValueError, OverflowError):
        return before
