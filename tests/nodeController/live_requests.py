# What a worker can write into lists that the controller reads, on a real API server: the controller's client, as an
# administrator who may take any identity. ORIGIN and TOKEN.
import base64
import json
import os
import ssl
import subprocess
import threading
import time
import unittest

import support  # noqa: F401
import api
import status
import web
from machines import Trouble

FIRST = ["system:bootstrappers:fenestra:workers", "system:bootstrappers:fenestra:pool:linux"]
# What only an administrator asks for.
api.KINDS |= {"clusterroles": "ClusterRole", "clusterrolebindings": "ClusterRoleBinding", "serviceaccounts": "ServiceAccount"}


class Clock:
    wall = staticmethod(time.time)


class Tokened(web.Web):
    def __init__(self, token, *rest):
        super().__init__(*rest)
        self.token = token

    def open(self, method, path, headers=None, body=None):
        return super().open(method, path, {**(headers or {}), "Authorization": f"Bearer {self.token}"}, body)


class OwnApi(api.Api):
    # The server's certificate is its own.
    def web(self, timeout=None, silence=None):
        return Tokened(os.environ["TOKEN"], self.origin, ssl._create_unverified_context(), timeout or self.timeout, silence)


def signed():
    # The API server checks the signature.
    made = ["openssl", "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", "/dev/null"]
    return base64.b64encode(subprocess.run([*made, "-subj", "/O=system:nodes/CN=system:node:worker"], capture_output=True, check=True).stdout).decode()


def body(request, meta=None, **spec):
    given = {"request": request, "signerName": "kubernetes.io/kube-apiserver-client-kubelet", "usages": ["digital signature", "client auth"], **spec}
    meta = {"generateName": "csr-"} if meta is None else meta
    return {"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": meta, "spec": given}


def sent(web, kind, what):
    # As that node, or with its pool's token.
    first = kind == "first"
    user = "system:bootstrap:abcdef" if first else "system:node:worker"
    headers = {"Content-Type": "application/json", "Accept": "application/json", "Impersonate-User": user}
    text = json.dumps(what, ensure_ascii=False).encode()
    parts = [("Impersonate-Group", each) for each in (FIRST if first else ["system:nodes"])]
    web.until = time.monotonic() + web.timeout
    web.connection = web.connection or web.connect()
    web.connection.putrequest("POST", api.CSRS)
    for name, value in [*headers.items(), *parts, ("Authorization", f"Bearer {web.token}"), ("Content-Length", str(len(text)))]:
        web.connection.putheader(name, value)
    web.connection.endheaders(text)
    answer = web.connection.getresponse()
    return answer.status, json.loads(answer.read())


LONG = "<" * 1_300_000
# Items that are not long.
SHORT = (1, 3)
api.LINE = 1024 * 1024
OWNER = {"apiVersion": "v1", "kind": "Node", "name": LONG, "uid": "u"}
MANAGED = {"manager": "m", "operation": "Update", "apiVersion": "certificates.k8s.io/v1", "time": "2026-01-01T00:00:00Z"}
# Fields that a kubelet leaves out, and names that none has.
HOSTILE = {
    **{f"name {name[:9]!r}": {"name": name} for name in ("csr:a", "csr~a", "csr a", "csr?x", "csrä", "csr\nx", "a" * 254, LONG)},
    "owner": {"name": "csr-a", "ownerReferences": [OWNER]},
    "finalizer": {"name": "csr-a", "finalizers": ["a.test/b"]},
    "label": {"name": "csr-a", "labels": {"a": "b"}},
    "annotation": {"name": "csr-a", "annotations": {"a": "<" * 200_000}},
    "generateName": {"name": "csr-a", "generateName": LONG},
    "managed": {"name": "csr-a", "managedFields": [{**MANAGED, "fieldsType": "FieldsV1", "fieldsV1": {f"f:{LONG}": {}}}]},
    "inside": {"name": "csr-a", "managedFields": [{**MANAGED, "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:a": {LONG: {}}}}}]},
    "version": {"name": "csr-a", "managedFields": [{**MANAGED, "apiVersion": LONG, "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {}}}]},
}
FOLDER = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"


class Lists(unittest.TestCase):
    def setUp(self):
        self.api = OwnApi(os.environ["ORIGIN"], "", 30.0)
        self.web = self.api.web()
        self.request = signed()
        # In place of the Node authorizer, which this server has not.
        group, roles = {"apiGroup": "rbac.authorization.k8s.io"}, "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
        role, subject = ({**group, "kind": kind, "name": name} for kind, name in (("ClusterRole", "system:node"), ("Group", "system:nodes")))
        self.made(roles, {"metadata": {"name": "nodes"}, "roleRef": role, "subjects": [subject]})
        self.made("/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "default"}})

    def made(self, path, what):
        try:
            self.api.post(path, what)
        except Trouble as error:
            self.assertIn(error.status, (409, web.TOO_LONG), error)

    def ask(self, meta=None, kind="renewal", **spec):
        return sent(self.web, kind, body(self.request, meta, **spec))

    def test_a_policy_bounds_requests(self):
        end = time.monotonic() + 60
        while self.ask({"name": "csr-policy", "labels": {"a": "b"}, "finalizers": []})[0] == 201 and time.monotonic() < end:
            self.api.call("DELETE", f"{api.CSRS}/csr-policy")
            time.sleep(0.5)
        for what, meta in HOSTILE.items():
            for kind in ("first", "renewal"):
                with self.subTest(what, kind=kind):
                    code, said = self.ask(meta, kind)
                    if code == 201:
                        # What the server left out does no harm.
                        self.assertLess(len(str(said)), 9000)
                        self.api.call("DELETE", f"{api.CSRS}/{meta['name']}")
                    else:
                        self.assertIn(code, (403, 422), said)
        self.assertIn(self.ask(None, signerName="a.test/b")[0], (403, 422))
        for kind in ("first", "renewal"):
            code, said = self.ask(None, kind)
            self.assertEqual(code, 201, said)
            self.api.call("DELETE", f"{api.CSRS}/{said['metadata']['name']}")

    def test_what_the_controller_says_of_objects_is_taken(self):
        for kind in ("v1", "Node"), ("certificates.k8s.io/v1", "CertificateSigningRequest"):
            status.event(self.api, Clock, "worker", "u", "CertificateGivenAgain", "why", kind)
        told = self.api.pages("/api/v1/namespaces/default/events")
        self.assertEqual([each["involvedObject"]["name"] for each in told if each.get("message") == "why"], ["worker"] * 2)

    def test_what_a_worker_writes_stops_no_list(self):
        # An administrator, whom no policy bounds, writes each list that the controller may read and a kubelet write.
        readable = set()
        for role in self.api.get("/apis/rbac.authorization.k8s.io/v1/clusterroles/fenestra:node-controller")["rules"]:
            readable |= {each for each in role["resources"] if "list" in role["verbs"]}
        readable.add("leases")
        written = set()
        for rule in self.api.get("/apis/rbac.authorization.k8s.io/v1/clusterroles/system:node")["rules"]:
            if {"create", "update", "patch"} & set(rule["verbs"]):
                written |= {each.split("/")[0] for each in rule["resources"]}
        hostile = {
            "nodes": lambda n: ("/api/v1/nodes", {"metadata": {"name": f"n{n}"}, "status": {"images": [{"names": [LONG]}]}}),
            "leases": lambda n: (FOLDER, {"metadata": {"name": f"n{n}"}, "spec": {"holderIdentity": LONG}}),
            "certificatesigningrequests": lambda n: (
                api.CSRS,
                body(self.request, {"name": f"n{n}", "ownerReferences": [OWNER]}),
            ),
            "pods": lambda n: (
                "/api/v1/namespaces/default/pods",
                {"metadata": {"name": f"n{n}"}, "spec": {"nodeName": "n1", "containers": [{"name": "a", "image": "a", "args": [LONG]}]}},
            ),
        }
        # Of a claim a kubelet may change the size alone (NodeRestriction).
        self.assertEqual(readable & written, {*hostile, "persistentvolumeclaims"})
        for number in range(5):
            for of in hostile.values():
                path, what = of(number)
                if number not in SHORT:
                    self.made(path, what)
                elif path == api.CSRS:
                    self.ask({"name": f"n{number}"})
                else:
                    self.made(path, short(what))
        web.LIMIT = 4 * 1024 * 1024
        feed = api.Feed(self.api, print)
        feed.list()
        few = {f"n{number}" for number in SHORT}
        self.assertEqual((set(self.api.nodes()), set(self.api.leases())), (few, few))
        self.assertLessEqual(few, {each.name for each in feed.all()})
        self.assertEqual(feed.skipped, 3)
        self.assertTrue(self.api.pods_of("n1"))
        feed.whole = False
        threading.Thread(target=feed.run, daemon=True).start()
        while not feed.whole:
            time.sleep(0.1)
        before = feed.skipped
        self.made(api.CSRS, body(self.request, {"name": "long", "ownerReferences": [OWNER]}))
        self.ask({"name": "well"})
        end = time.monotonic() + 20
        while time.monotonic() < end and "well" not in {each.name for each in feed.all()}:
            time.sleep(0.2)
        self.assertIn("well", {each.name for each in feed.all()})
        self.assertGreater(feed.skipped, before, "a line that is too long")


def short(value):
    return json.loads(json.dumps(value).replace(LONG, "x"))
