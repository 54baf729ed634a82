# Client of this machine's API server. When that one is away, another machine leads.
import http.client
import json
import ssl
import threading
import urllib.parse

import requests
from machines import Node, Trouble
from web import TOO_LONG, Web, parse

CSRS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
# Items of a page, and where those are too large for one.
PAGE, SMALL_PAGE, LINE = 500, 5, 4 * 1024 * 1024


class Api:
    def __init__(self, origin, folder, timeout=4.0):
        self.origin, self.folder, self.timeout = origin, folder, timeout
        self.own = threading.local()

    def web(self, timeout=None):
        context = ssl.create_default_context(cafile=f"{self.folder}/ca.crt")
        context.load_cert_chain(f"{self.folder}/client.pem")
        return Web(self.origin, context, timeout or self.timeout)

    def call(self, method, path, body=None):
        if not hasattr(self.own, "web"):
            self.own.web = self.web()
        headers = {"Accept": "application/json", "Content-Type": "application/json"}
        status, _, data = self.own.web.ask(method, path, headers, None if body is None else json.dumps(body).encode())
        if status >= 300:
            text = data[:300].decode("utf-8", "replace")
            try:
                text = json.loads(data).get("message", text)
            except (ValueError, AttributeError):
                pass
            raise Trouble(f"{method} {path.split('?')[0]}: {status} {text}", status)
        return parse(data, "the API server")

    def get(self, path):
        return self.call("GET", path)

    def put(self, path, body):
        return self.call("PUT", path, body)

    def post(self, path, body):
        return self.call("POST", path, body)

    def delete(self, path, uid):
        return self.call("DELETE", path, {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": uid}})

    def pages(self, path):
        # The items of a list, page by page: memory holds one page. The last thing yielded is the list's version.
        more, limit = "", PAGE
        while True:
            try:
                page = self.get(f"{path}?limit={limit}{more}")
            except Trouble as error:
                if error.status != TOO_LONG or limit == SMALL_PAGE:
                    raise
                limit = SMALL_PAGE
                continue
            yield from page.get("items", ())
            meta = page.get("metadata", {})
            if not meta.get("continue"):
                self.own.version = meta.get("resourceVersion", "")
                return
            more = "&continue=" + urllib.parse.quote(meta["continue"], "")

    def nodes(self):
        found = {}
        for item in self.pages("/api/v1/nodes"):
            meta = item["metadata"]
            ready = [each for each in item.get("status", {}).get("conditions", ()) if each.get("type") == "Ready"][:1]
            is_ready = bool(ready) and ready[0].get("status") == "True"
            since = requests.seconds(ready[0].get("lastTransitionTime")) if ready else 0.0
            made = requests.seconds(meta["creationTimestamp"])
            found[meta["name"]] = Node(meta["name"], meta["uid"], made, is_ready, max(since, made))
        return found

    def leases(self):
        # When each kubelet renewed its lease.
        path = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
        return {item["metadata"]["name"]: requests.seconds((item.get("spec") or {}).get("renewTime")) for item in self.pages(path)}

    def has_node(self, name):
        try:
            return bool(self.get(f"/api/v1/nodes/{name}"))
        except Trouble as error:
            if error.status != 404:
                raise
            return False

    def pods_of(self, node):
        # Whether pods are bound to that name: whoever has its certificate reads what they may.
        query = urllib.parse.quote(f"spec.nodeName={node}", "")
        return bool(self.get(f"/api/v1/pods?fieldSelector={query}&limit=1").get("items"))

    def decide(self, request, approved, reason, message):
        # For exactly the object that was looked at. Another machine may have decided it just now.
        self.put(
            f"{CSRS}/{request.name}/approval",
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
        # A ConfigMap of kube-system; None when there is none.
        try:
            return self.get(f"/api/v1/namespaces/kube-system/configmaps/{name}")
        except Trouble as error:
            if error.status != 404:
                raise
            return None


class Feed:
    # The requests for kubelets' certificates, listed and watched in a thread of its own.
    def __init__(self, api, log):
        self.api, self.log = api, log
        self.lock, self.news = threading.Lock(), threading.Event()
        self.requests, self.whole = {}, False

    def start(self):
        threading.Thread(target=self.run, name="requests", daemon=True).start()

    def run(self):
        pause = threading.Event()
        while True:
            try:
                version = self.list()
                while version:
                    version = self.watch(version)
            except Exception as error:
                self.whole = False
                self.log(f"the requests for certificates cannot be read: {error}")
                pause.wait(2)

    def list(self):
        found = {}
        for item in self.api.pages(CSRS):
            self.take(found, item)
        with self.lock:
            self.requests, self.whole = found, True
        self.news.set()
        return self.api.own.version

    def take(self, into, item):
        request = requests.reduce(item)
        if request.kind and (not request.decided or request.given or request.issued):
            into[request.name] = request
        else:
            into.pop(request.name, None)

    def watch(self, version):
        # Lines of a stream that ends by itself; the version to go on from, "" to list again.
        web = self.api.web(timeout=90.0)
        query = f"watch=1&allowWatchBookmarks=true&timeoutSeconds=240&resourceVersion={version}"
        try:
            answer = web.open("GET", f"{CSRS}?{query}", {"Accept": "application/json"})
            if answer.status != 200:
                return ""
            while True:
                line = answer.readline(LINE)
                if not line.endswith(b"\n"):
                    return version if not line else ""
                event = parse(line, "the watch")
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

    def forget(self, request):
        # What was answered just now; the watch may have brought the answer already, and that stays.
        with self.lock:
            if self.requests.get(request.name) is request:
                del self.requests[request.name]
