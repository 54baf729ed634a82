# HTTPS with keep-alive and a limit on everything, and without a proxy, as scripts ask the cloud.
import http.client
import json
import ssl
import urllib.parse

from machines import Trouble

# What the machine trusts, authorities of the stack file included.
AUTHORITIES = "/etc/ssl/certs/ca-certificates.crt"
# Bytes of an answer: memory is limited, and some of what is read, others have written. The status of one that has more.
LIMIT, TOO_LONG = 16 * 1024 * 1024, 1
# What a kept connection meets that the other side has closed meanwhile, which clouds do within seconds.
CLOSED = (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError, ssl.SSLEOFError, ssl.SSLZeroReturnError)


class Web:
    def __init__(self, origin, context=None, timeout=10.0):
        parts = urllib.parse.urlsplit(origin)
        self.host, self.port, self.secure = parts.hostname, parts.port, parts.scheme == "https"
        self.context, self.timeout, self.connection = context, timeout, None

    def connect(self):
        kind = http.client.HTTPSConnection if self.secure else http.client.HTTPConnection
        options = {"timeout": self.timeout}
        if self.secure:
            options["context"] = self.context or ssl.create_default_context(cafile=AUTHORITIES)
        return kind(self.host, self.port, **options)

    def open(self, method, path, headers=None, body=None):
        # A kept connection may have been closed by the other side: then once more, if nothing can have happened.
        for again in (True, False):
            kept = self.connection is not None
            try:
                if not kept:
                    self.connection = self.connect()
                self.connection.request(method, path, body=body, headers=headers or {})
                return self.connection.getresponse()
            except (OSError, http.client.HTTPException) as error:
                self.close()
                if not (again and kept and isinstance(error, CLOSED)):
                    raise Trouble(f"{method} {self.host}: {type(error).__name__} {error}") from None

    def ask(self, method, path, headers=None, body=None):
        # Status, headers, body.
        answer = self.open(method, path, headers, body)
        try:
            data = answer.read(LIMIT)
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise Trouble(f"{method} {self.host}: {error}") from None
        if answer.will_close or not answer.isclosed():
            self.close()
        if len(data) == LIMIT:
            raise Trouble(f"{method} {self.host}: the answer is too long", TOO_LONG)
        return answer.status, answer.headers, data

    def close(self):
        if self.connection is not None:
            self.connection.close()
        self.connection = None


def parse(data, what):
    try:
        return json.loads(data) if data else {}
    except ValueError:
        raise Trouble(f"{what} did not answer with JSON") from None
