# HTTPS with keep-alive and a limit on everything. No proxy: metadata and API server are here, and a cloud's API is asked through the
# machine's own setting, if there is one.
import http.client
import json
import os
import ssl
import urllib.parse

from machines import Trouble

# Bytes of an answer: memory is limited, and some of what is read, others have written.
TOO_LONG = 1
LIMIT = 16 * 1024 * 1024


class Web:
    def __init__(self, origin, context=None, timeout=10.0, proxied=False):
        parts = urllib.parse.urlsplit(origin)
        self.host, self.port, self.secure = parts.hostname, parts.port, parts.scheme == "https"
        self.context, self.timeout, self.connection = context, timeout, None
        self.proxy = proxy_for(self.host) if proxied else None

    def connect(self):
        kind = http.client.HTTPSConnection if self.secure else http.client.HTTPConnection
        options = {"timeout": self.timeout}
        if self.secure:
            options["context"] = self.context or ssl.create_default_context()
        if self.proxy is None:
            return kind(self.host, self.port, **options)
        connection = kind(self.proxy.hostname, self.proxy.port or 3128, **options)
        headers = {}
        if self.proxy.username:
            import base64

            login = f"{urllib.parse.unquote(self.proxy.username)}:{urllib.parse.unquote(self.proxy.password or '')}"
            headers["Proxy-Authorization"] = "Basic " + base64.b64encode(login.encode()).decode()
        connection.set_tunnel(self.host, self.port or 443, headers)
        return connection

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
                if not (again and kept and isinstance(error, (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError))):
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


def proxy_for(host):
    # The machine's proxy and what it is not used for, as curl reads them.
    url = os.environ.get("HTTPS_PROXY", "")
    apart = [each.strip().lstrip(".") for each in os.environ.get("NO_PROXY", "").split(",") if each.strip()]
    if not url or any(host == each or host.endswith("." + each) for each in apart):
        return None
    return urllib.parse.urlsplit(url)
