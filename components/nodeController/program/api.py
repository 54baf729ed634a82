# Client of this machine's API server. When that one is away, another machine leads.
import http.client
import json
import re
import ssl
import threading
import time
import urllib.parse

import requests
from machines import Node, Trouble
from web import TOO_LONG, Web, parse, within

CSRS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
# Items of a page, and bytes of a line of a watch.
PAGE, LINE = 500, 4 * 1024 * 1024
# What a list begins with, before its items.
HEAD = re.compile(rb'\s*\{"kind":"\w+","apiVersion":"[\w./]+","metadata":(\{[^{}]*\}),"items":\[')
# What a machine's health task writes, and seconds after which one that has not is silent: a round may take ten minutes,
# and the next starts after five. Nothing is replaced for it.
BEAT, SILENT = "fenestra.dev/beat", 1200
# Seconds: a list, a watch, its silences, between two watches, after one that failed, and until all is listed anew.
LIST, WATCH, SILENCE, PAUSE, FAILED, ANEW = 60.0, 300.0, 90.0, 0.2, 2.0, 600.0
# What answers are, by the last word of their path.
KINDS = {
    "nodes": "Node",
    "pods": "Pod",
    "leases": "Lease",
    "events": "Event",
    "configmaps": "ConfigMap",
    "persistentvolumes": "PersistentVolume",
    "persistentvolumeclaims": "PersistentVolumeClaim",
    "certificatesigningrequests": "CertificateSigningRequest",
}


def silent_since(meta, spoke):
    beat = requests.seconds((meta.get("annotations") or {}).get(BEAT))
    return beat if beat and requests.seconds(spoke) - beat > SILENT else 0.0


class Api:
    def __init__(self, origin, folder, timeout=10.0):
        self.origin, self.folder, self.timeout = origin, folder, timeout
        # What refuses changes of one that does not lead.
        self.own, self.may = threading.local(), lambda: None

    def web(self, timeout=None, silence=None):
        context = ssl.create_default_context(cafile=f"{self.folder}/ca.crt")
        context.load_cert_chain(f"{self.folder}/client.pem")
        return Web(self.origin, context, timeout or self.timeout, silence)

    def call(self, method, path, body=None):
        if not hasattr(self.own, "web"):
            self.own.web = self.web()
        headers = {"Accept": "application/json", "Content-Type": "application/json"}
        status, _, data = self.own.web.ask(method, path, headers, None if body is None else json.dumps(body).encode())
        if status >= 300:
            # What is not in its own form, somebody on the way says.
            try:
                said = parse(data, "")
            except Trouble:
                said = {}
            text = said.get("message", data[:200].decode("utf-8", "replace"))
            code = status if said.get("kind") == "Status" else 0
            raise Trouble(f"{method} {path.split('?')[0]}: {status} {text}", code)
        found = parse(data, f"{method} {path.split('?')[0]}")
        if method != "DELETE" and not fits(method, path.split("?")[0].split("/"), found):
            raise Trouble(f"{method} {path.split('?')[0]} was answered with something else")
        return found

    def get(self, path):
        return self.call("GET", path)

    def put(self, path, body):
        self.may()
        return self.call("PUT", path, body)

    def post(self, path, body):
        self.may()
        return self.call("POST", path, body)

    def delete(self, path, uid):
        self.may()
        return self.call("DELETE", path, {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": uid}})

    def pages(self, path):
        # A list page by page: memory holds one. Nobody's object stops it: pages that are too long get smaller, and an
        # item that is too long by itself is left out and counted.
        more, limit, end, self.own.skipped = "", PAGE, time.monotonic() + LIST, 0
        while True:
            try:
                with within(end - time.monotonic()):
                    page = self.get(f"{path}?limit={limit}{more}")
                limit = min(PAGE, limit * 8)
            except Trouble as error:
                head = HEAD.match(error.head) if error.status == TOO_LONG else None
                if head is None:
                    raise
                if limit > 1:
                    limit //= 8 if limit >= 8 else limit
                    continue
                page = {"metadata": json.loads(head[1])}
                self.own.skipped += 1
            yield from page.get("items", ())
            meta = page.get("metadata", {})
            if not meta.get("continue"):
                self.own.version = meta.get("resourceVersion", "")
                return
            before, more = more, "&continue=" + urllib.parse.quote(meta["continue"], "")
            if more == before:
                raise Trouble(f"{path} answers with one page again and again")

    def nodes(self):
        found = {}
        for item in self.pages("/api/v1/nodes"):
            found[item["metadata"]["name"]] = node_of(item)
        return found

    def node(self, name):
        try:
            return node_of(self.get(f"/api/v1/nodes/{name}"))
        except Trouble as error:
            if error.status != 404:
                raise
            return None

    def leases(self):
        path = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
        return {item["metadata"]["name"]: requests.seconds((item.get("spec") or {}).get("renewTime")) for item in self.pages(path)}

    def has(self, path, name):
        # Where only lists are allowed.
        return bool(self.get(f"{path}?fieldSelector=metadata.name%3D{name}")["items"])

    def pods_of(self, node):
        # Whoever has that name's certificate reads what its pods may.
        query = urllib.parse.quote(f"spec.nodeName={node}", "")
        try:
            return bool(self.get(f"/api/v1/pods?fieldSelector={query}&limit=1").get("items"))
        except Trouble as error:
            if error.status != TOO_LONG:
                raise
            return True

    def decide(self, request, approved, reason, message):
        # Exactly the object that was looked at.
        self.put(
            f"{CSRS}/{urllib.parse.quote(request.name, '')}/approval",
            {
                "apiVersion": "certificates.k8s.io/v1",
                "kind": "CertificateSigningRequest",
                "metadata": {"name": request.name, "uid": request.uid, "resourceVersion": request.version},
                "status": {
                    "conditions": [
                        {"type": "Approved" if approved else "Denied", "status": "True", "reason": reason, "message": message}
                    ]
                },
            },
        )

    def data(self, name):
        # A ConfigMap of kube-system.
        try:
            return self.get(f"/api/v1/namespaces/kube-system/configmaps/{name}")
        except Trouble as error:
            if error.status != 404:
                raise
            return None


def fits(method, words, found):
    # Whether an answer is of the kind and name that was asked for.
    kind = KINDS.get(words[-1])
    meta = found.get("metadata")
    if method == "GET" and kind:
        return found.get("kind") == f"{kind}List" and isinstance(found.get("items"), list) and isinstance(meta, dict)
    name = "" if kind else words[-2] if words[-1] == "approval" else words[-1]
    kind = kind or KINDS[words[-3] if words[-1] == "approval" else words[-2]]
    return found.get("kind") == kind and isinstance(meta, dict) and name in ("", meta.get("name"))


def node_of(item):
    meta = item["metadata"]
    ready = [each for each in (item.get("status") or {}).get("conditions") or () if each.get("type") == "Ready"][:1]
    is_ready = bool(ready) and ready[0].get("status") == "True"
    since = requests.seconds(ready[0].get("lastTransitionTime")) if ready else 0.0
    made = requests.seconds(meta.get("creationTimestamp"))
    silent = silent_since(meta, ready[0].get("lastHeartbeatTime") if ready else None)
    return Node(meta["name"], meta["uid"], made, is_ready, max(since, made), silent)


class Feed:
    # The requests for kubelets' certificates, listed and watched in a thread of its own.
    def __init__(self, api, log):
        self.api, self.log = api, log
        self.lock, self.news = threading.Lock(), threading.Event()
        self.requests, self.whole, self.problem = {}, False, "they were not listed yet"
        self.heard, self.listed, self.said = 0.0, 0.0, ""
        # Certificates with which anything was asked for, and how many requests nobody can read.
        self.used, self.skipped = set(), 0

    def run(self):
        pause, version = threading.Event(), ""
        while True:
            version = self.step(version)
            pause.wait(PAUSE if version else FAILED)

    def step(self, version):
        # A list, or a watch from that version on; gives the one to go on from. While a watch fails, lists do.
        try:
            if version and time.monotonic() - self.listed < ANEW:
                version, self.said = self.watch(version), ""
            else:
                version = self.list()
            self.problem = ""
            return version
        except Exception as error:
            text = f"the requests for certificates cannot be read: {error}"
            if text != self.said:
                self.log(text)
            self.said = text
            if not version:
                self.problem, self.whole = text, False
            return ""

    def list(self):
        found, self.listed, self.skipped = {}, time.monotonic(), 0
        for item in self.api.pages(CSRS):
            self.take(found, item)
        self.skipped += self.api.own.skipped
        with self.lock:
            self.requests, self.whole, self.heard = found, True, time.monotonic()
        self.news.set()
        return self.api.own.version

    def take(self, into, item):
        try:
            request = requests.reduce(item)
        except Exception as error:
            self.skipped += 1
            self.log(f"a request for a certificate is left out: {type(error).__name__}: {error}")
            return
        if request.kind and request.by:
            self.used.add(request.by)
        if request.kind and (not request.decided or request.at):
            into[request.name] = request
        else:
            into.pop(request.name, None)

    def watch(self, version):
        # Gives the version to go on from; "" to list again, as after a stream of no line.
        web, found = self.api.web(WATCH, SILENCE), False
        query = f"watch=1&allowWatchBookmarks=true&timeoutSeconds=240&resourceVersion={version}"
        try:
            answer = web.open("GET", f"{CSRS}?{query}", {"Accept": "application/json"})
            if answer.status != 200:
                raise Trouble(f"a watch was answered with {answer.status}", answer.status)
            while True:
                line = answer.readline(LINE)
                if not line:
                    return version if found else ""
                if not line.endswith(b"\n"):
                    while len(line) >= LINE and not line.endswith(b"\n"):
                        line = answer.readline(LINE)
                    if not line.endswith(b"\n"):
                        return ""
                    self.skipped += 1
                    continue
                event, self.heard, found = parse(line, "the watch"), time.monotonic(), True
                item = event.get("object", {})
                if event.get("type") == "ERROR":
                    return ""
                version = item.get("metadata", {}).get("resourceVersion", version)
                if event.get("type") == "BOOKMARK":
                    continue
                with self.lock:
                    if event.get("type") == "DELETED":
                        self.requests.pop(item["metadata"]["name"], None)
                    else:
                        self.take(self.requests, item)
                self.news.set()
        except (OSError, http.client.HTTPException):
            return ""
        finally:
            web.close()

    def all(self):
        with self.lock:
            return list(self.requests.values())

    def forget(self, request, answered=None):
        # What was answered, or what it is from now on; what the watch has brought meanwhile stays.
        with self.lock:
            if self.requests.get(request.name) is request:
                del self.requests[request.name]
                if answered:
                    self.requests[request.name] = answered
