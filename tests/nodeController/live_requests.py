# What a worker can write into lists that the controller reads, on a real API server: ORIGIN and TOKEN.
import json
import os
import threading
import time
import unittest

import live

import api
import status
import web
from machines import Trouble

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
        self.api = live.OwnApi(os.environ["ORIGIN"], os.environ["TOKEN"])
        self.web = self.api.web()
        self.request = live.signed("worker")
        live.let_nodes(self.api)
        self.made("/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "default"}})

    def made(self, path, what):
        try:
            self.api.post(path, what)
        except Trouble as error:
            self.assertIn(error.status, (409, web.TOO_LONG), error)

    def ask(self, meta=None, kind="renewal", **spec):
        return live.sent(self.web, kind, "worker", live.body(kind, "worker", self.request, meta, **spec))

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
        for kind, name in (("v1", "Node"), "worker"), (("certificates.k8s.io/v1", "CertificateSigningRequest"), "csr-a"):
            status.event(self.api, live.Clock, name, "u", "CertificateGivenAgain", "why", kind)
            told = [each for each in self.api.pages("/api/v1/namespaces/default/events") if each["involvedObject"]["name"] == name]
            self.assertEqual([(each["reason"], each["message"]) for each in told], [("CertificateGivenAgain", "why")])

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
                live.body("renewal", "worker", self.request, {"name": f"n{n}", "ownerReferences": [OWNER]}),
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
        for limit in (web.LIMIT, 4 * 1024 * 1024):
            web.LIMIT, kept = limit, web.LIMIT
            try:
                feed = api.Feed(self.api, print)
                feed.list()
                nodes, leases = set(self.api.nodes()), set(self.api.leases())
                few = {f"n{number}" for number in SHORT}
                whole = {f"n{number}" for number in range(5)} if limit == kept else few
                self.assertEqual((nodes, leases), (whole, whole))
                self.assertLessEqual(few, {each.name for each in feed.all()})
                self.assertEqual(feed.skipped, 0 if limit == kept else 3 + 1)
                self.assertTrue(self.api.pods_of("n1"))
                feed.whole = False
                threading.Thread(target=feed.run, daemon=True).start()
                while not feed.whole:
                    time.sleep(0.1)
                before = feed.skipped
                self.made(api.CSRS, live.body("renewal", "worker", self.request, {"name": f"l{limit}", "ownerReferences": [OWNER]}))
                self.ask({"name": f"w{limit}"})
                end = time.monotonic() + 20
                while time.monotonic() < end and f"w{limit}" not in {each.name for each in feed.all()}:
                    time.sleep(0.2)
                self.assertIn(f"w{limit}", {each.name for each in feed.all()})
                self.assertGreater(feed.skipped, before, "a line that is too long")
            finally:
                web.LIMIT = kept


def short(value):
    return json.loads(json.dumps(value).replace(LONG, "x"))
