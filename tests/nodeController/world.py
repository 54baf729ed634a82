# The controller, all its threads turn by turn, in virtual time: only its sockets are replaced. Behind them are an API
# server (forms and refusals of Kubernetes 1.36), the metadata services (IMDSv2; Azure Instance Metadata Service) and the
# clouds of clouds.py. `harm` notes what must never be done.
import base64
import copy
import hashlib
import json
import time
import types
import urllib.parse
from email.utils import formatdate
from functools import partial

from support import PAGE, Answer, item, misfits, node_item, refusal, stamp

import api
import aws
import azure
import clouds
import requests
import web
from api import KINDS
from controller import Controller
from judge import HOUR
from lease import Lease
from machines import OVER, Node
from status import SETTINGS, STATUS, Board
from volumes import HOLD, LONGEST

BEGIN = 3_000_000.0
SETTING = {"notReadyAfter": 1200, "joinWithin": {"linux": 900, "windows": 2400}, "maxUnhealthy": 0.2, "perHour": 2}


class Clock:
    def __init__(self):
        self.at = 0.0

    def own(self):
        return self.at

    def wall(self):
        return BEGIN + self.at


class World(clouds.Fleet):
    # Cloud, cluster, and what was done to them.
    def __init__(self, seed, reuse):
        super().__init__(seed, Clock(), reuse)
        self.nodes, self.leases, self.requests, self.objects, self.volumes = {}, {}, {}, {}, []
        self.version, self.firsts, self.repairs, self.done, self.asked, self.broken = 0, {}, [], [], {}, set()
        self.certificates, self.events, self.harm, self.kept = {}, [], [], set()
        # Calls by name; which call is answered how; how far the API server's clock is ahead.
        self.calls, self.fault, self.hits, self.skew = {}, ("", None), [], 0.0
        self.lists, self.old, self.faulty = {}, {}, None
        self.controllers, self.role, self.busy = [], "main", {}
        for module in (web, api, aws, azure):
            module.time = types.SimpleNamespace(
                monotonic=self.clock.own, time=self.clock.wall, gmtime=time.gmtime, strftime=time.strftime
            )
        self.config(SETTINGS, settings=json.dumps(SETTING))
        self.capacity = 12
        for _ in range(12):
            self.join(self.launch(made=BEGIN - 86400))
        self.join(self.member)

    def must(self, held, text):
        if not held:
            self.harm.append(f"{self.clock.at:.0f}: {text}")

    def store(self, key, item):
        self.version += 1
        text = (item.get("data") or {}).get("status")
        if key == f"configmaps/{STATUS}" and text is not None:
            for problem in misfits(PAGE, json.loads(text)):
                self.must(False, f"the page has another form: {problem}")
        item = copy.deepcopy(item)
        item.setdefault("metadata", {})["resourceVersion"] = str(self.version)
        self.objects[key] = {**item, "kind": KINDS[key.split("/")[0]]}
        return self.objects[key]

    def config(self, name, **data):
        return self.store(f"configmaps/{name}", {"metadata": {"name": name}, "data": data})

    def page(self):
        return json.loads(self.objects[f"configmaps/{STATUS}"]["data"]["status"])

    def did(self, what):
        return [each[1] for each in self.done if each[0] == what]

    def join(self, one):
        self.version += 1
        now = self.clock.wall()
        self.nodes[one.name] = Node(one.name, f"uid-{self.version}", (max(one.made, now) if one.made >= BEGIN else one.made) + self.skew, True, now)
        self.leases[one.name] = now
        if one.pool:
            self.joined(one.id)

    def ask(self, kind, one, at=None, **more):
        self.version += 1
        if one.id in self.certificates and kind != "first":
            more["extra"] = {requests.CREDENTIAL: [requests.HASH + hashlib.sha256(self.certificates[one.id]).hexdigest()]}
        made = item(kind, one.name, self.clock.wall() if at is None else at, self.version, **more)
        made["asker"] = one.id
        self.requests[made["metadata"]["name"]] = made
        self.asked[kind, one.id] = self.clock.wall()
        return made["metadata"]["name"]

    def boot(self):
        # Machines ask for a first certificate, again after a quarter of an hour (kubelet 1.36:
        # pkg/kubelet/certificate/bootstrap), and join with it, but for those whose template is broken.
        for one in self.present():
            if one.version in self.broken or one.name in self.nodes:
                continue
            if one.id not in self.firsts and self.clock.wall() - self.asked.get(("first", one.id), 0.0) > 930:
                self.requests[self.ask("first", one)]["true"] = True
            if one.id in self.firsts:
                self.join(one)

    def beat(self):
        for node in self.nodes.values():
            if node.ready:
                self.leases[node.name] = self.clock.wall()

    def unready(self, name, since=9000.0):
        self.nodes[name] = self.nodes[name]._replace(ready=False, since=self.clock.wall() - since)

    def truth(self, name):
        return [one for one in [*self.machines.values(), self.member] if one.name == name and one.state not in OVER]

    def undecided(self):
        return [each for each in self.requests.values() if each.get("true") and not each["status"] and self.truth(named(each))]

    # Calls

    def exchange(self, one, host, timeout, method, path, body):
        call = clouds.call_of(host, method, path, body)
        self.calls[call] = self.calls.get(call, 0) + 1
        hit = self.fault[1] if self.fault[0] in (call, host) and self.faulty in (None, one) else None
        if hit and (one.lease.fresh() or "kube-system/leases" in call):
            self.hits.append(self.clock.at)
        if hit == "hang":
            self.elapse(one, timeout)
            raise TimeoutError("timed out")
        if hit == "refused":
            raise ConnectionRefusedError(111, "Connection refused")
        if isinstance(hit, int):
            return Answer(hit, {"Retry-After": "30"} if hit == 429 else {}, b"<html>sorry</html>")
        if host == "127.0.0.1":
            status, answer = self.api(one, method, path, json.loads(body or "{}"))
            headers, data = {}, answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        elif host == "169.254.169.254":
            status, headers, data = 200, {}, clouds.metadata(path).encode()
        else:
            status, headers, data = one.fake.ask(method, path, one.headers, body)
            headers = {**headers, "Date": formatdate(self.clock.wall(), usegmt=True)}
        if hit:
            said = hit(self, call, data) if status in (200, 201, 202, 404) else data
            status, data = 200 if said != data and status == 404 else status, said
        elif self.fault[0] == "":
            self.old.setdefault(call, data)
        return Answer(status, headers, data)

    def elapse(self, one, seconds):
        # The lease threads go on while another hangs.
        if self.role != "main":
            self.busy[one.identity, self.role] = self.clock.at + seconds
            return
        end = self.clock.at + seconds
        while self.clock.at < end:
            self.clock.at = min(end, self.clock.at + 2)
            for each in self.controllers:
                lease_turn(self, each)
            self.role = "main"

    def api(self, one, method, path, body):
        parts = urllib.parse.urlsplit(path)
        query, words = dict(urllib.parse.parse_qsl(parts.query)), parts.path.split("/")
        if method not in ("GET",) and "leases" not in words and words[-1] != "events":
            self.must(one.lease.fresh(), f"{method} {path} of one that does not lead")
        if words[-1] == "events":
            # As apimachinery's NameIsDNSSubdomain (pkg/api/validation/generic.go).
            if not body["metadata"]["generateName"].rstrip("-")[-1:].isalnum():
                return 422, {"kind": "Status", "message": "metadata.generateName: Invalid value"}
            self.events.append((body["regarding"]["kind"], body["regarding"]["name"], body["reason"]))
            return 201, {**body, "kind": "Event"}
        if words[-1] == "approval":
            return self.decide(words[-2], body)
        if words[-2] == "nodes":
            return self.node(method, words[-1], body)
        if method == "GET" and words[-1] in KINDS:
            return self.list(words[-1], query)
        key = "/".join(words[-2:])
        if method == "POST":
            key = f"{words[-1]}/{body['metadata']['name']}"
        there = self.objects.get(key)
        if method != "POST" and there is None:
            return refusal(404, "not found")
        if method == "GET":
            return 200, there
        if method == "PUT" and there["metadata"]["resourceVersion"] != body["metadata"]["resourceVersion"]:
            return refusal(409, "conflict")
        if key == f"configmaps/{HOLD}":
            young = self.clock.wall() - requests.seconds(there["metadata"]["deletionTimestamp"]) < LONGEST
            self.must(not (self.volumes and young), "the drivers go before the volumes")
            self.done.append(("released", HOLD))
        return 200, self.store(key, body)

    def list(self, kind, query):
        if "watch" in query:
            return self.watch(query["resourceVersion"])
        found = {
            "nodes": lambda: [node_item(each) for each in self.nodes.values()],
            "leases": lambda: [{"metadata": {"name": name}, "spec": {"renewTime": stamp(at)}} for name, at in self.leases.items()],
            "certificatesigningrequests": lambda: list(self.requests.values()),
            "persistentvolumes": lambda: self.volumes,
        }.get(kind, lambda: [])()
        chosen = query.get("fieldSelector", "").split("metadata.name=")[-1]
        found = [each for each in found if chosen in ("", each["metadata"]["name"]) or "spec.nodeName" in chosen]
        if kind == "certificatesigningrequests":
            self.version += 1
            self.lists[str(self.version)] = {each["metadata"]["name"]: json.dumps(each) for each in found}
        return 200, {"kind": f"{KINDS[kind]}List", "metadata": {"resourceVersion": str(self.version)}, "items": found}

    def watch(self, version):
        before = self.lists.pop(version, None)
        if before is None:
            return 200, json.dumps({"type": "ERROR", "object": {"kind": "Status", "code": 410}}).encode() + b"\n"
        now = {name: json.dumps(each) for name, each in self.requests.items()}
        events = [("MODIFIED", each) for name, each in now.items() if before.get(name) != each]
        events += [("DELETED", each) for name, each in before.items() if name not in now]
        self.version += 1
        self.lists[str(self.version)] = now
        mark = {"kind": "CertificateSigningRequest", "metadata": {"resourceVersion": str(self.version)}}
        events.append(("BOOKMARK", json.dumps(mark)))
        return 200, b"".join(f'{{"type": "{kind}", "object": {each}}}\n'.encode() for kind, each in events)

    def node(self, method, name, body):
        node = self.nodes.get(name)
        if node is None:
            return refusal(404, "not found")
        if method == "GET":
            return 200, {"kind": "Node", **node_item(node)}
        if node.uid != body["preconditions"]["uid"]:
            return refusal(409, "conflict")
        there = self.truth(name)
        self.must(not there or (self.reuse and node.made - self.skew < there[-1].made), f"the Node of {name} is deleted, which runs")
        self.done.append(("delete", name))
        del self.nodes[name]
        return 200, {"kind": "Status", "metadata": {}, "status": "Success"}

    def decide(self, name, body):
        stored = self.requests.get(name)
        if stored is None or stored["status"] or stored["metadata"]["resourceVersion"] != body["metadata"]["resourceVersion"]:
            return refusal(409, "conflict")
        [condition], node, now = body["status"]["conditions"], named(stored), self.clock.wall()
        stored["status"] = {"conditions": [{**condition, "lastUpdateTime": stamp(now)}]}
        self.version += 1
        stored["metadata"]["resourceVersion"] = str(self.version)
        self.done.append((condition["reason"], name))
        if condition["type"] == "Denied":
            late = now - requests.seconds(stored["metadata"]["creationTimestamp"]) > 900
            self.must(not stored.get("true") or late or not self.truth(node), f"{node} is denied")
            return 200, {**stored, "kind": KINDS["certificatesigningrequests"]}
        # A list may be behind: then the machine ended just now.
        there = [one for one in self.machines.values() if one.name == node]
        request = requests.reduce({**stored, "status": {}})
        self.must(there, f"{node} never was")
        if request.kind == "first":
            self.must(node not in self.nodes, f"the name {node} is in use")
            given = self.firsts.setdefault(there[-1].id, [])
            pause = requests.PAUSE * 2 ** (len(given) - 1)
            self.must(not given or now - given[-1] >= pause, f"too many first certificates of {node}")
            self.must(len(given) < requests.FIRSTS, f"too many first certificates of {node}")
            given.append(now)
        else:
            # Lists are behind, but not so far.
            end = self.ends.get(stored["asker"], now)
            self.must(now - end < 360 or "extra" not in stored["spec"], f"{request.kind} with the certificate of a machine that is gone")
        if request.kind != "serving":
            # As the signer does.
            own = self.certificates[there[-1].id if request.kind == "first" else stored["asker"]] = f"certificate {name}".encode()
            text = f"-----BEGIN CERTIFICATE-----\n{base64.b64encode(own).decode()}\n-----END CERTIFICATE-----\n"
            stored["status"]["certificate"] = base64.b64encode(text.encode()).decode()
        else:
            self.must(set(request.asked.addresses) <= set().union(*(one.addresses for one in there)), "an address of another machine")
        return 200, {**stored, "kind": KINDS["certificatesigningrequests"]}

    def change(self, one, action, id):
        self.must(one.lease.fresh(), f"{action} of one that does not lead")
        if action in ("RecordLifecycleActionHeartbeat", "PATCH"):
            return
        if action == "StartInstanceRefresh":
            self.done.append(("roll", ""))
            return
        machine = self.machines.get(id)
        self.must(machine is not None or self.reuse, "a machine that is in no group")
        if machine is None or (action, id) in self.done:
            return
        node, now = self.nodes.get(machine.name), self.clock.wall()
        well = node is not None and node.ready and node.made - self.skew >= machine.made
        self.must(not well or now - node.since < 60, f"{machine.name} is well, and ended")
        self.must(machine.name not in self.kept, f"{machine.name} is kept, and ended")
        waits = any(each["asker"] == id for each in self.undecided())
        self.must(not waits, f"{machine.name} has no answer, and is ended")
        self.repairs = [at for at in self.repairs if now - at < HOUR] + [now]
        self.must(len(self.repairs) <= SETTING["perHour"], "too many repairs in an hour")
        self.done += [("replace", machine.name), (action, id)]


def named(request):
    return requests.reduce({**request, "status": {}}).node


class Wire:
    sock = None

    def __init__(self, world, one, web):
        self.world, self.one, self.web = world, one, web

    def request(self, method, path, body=None, headers=None):
        self.sent = method, path, body
        self.one.headers = headers

    def getresponse(self):
        return self.world.exchange(self.one, self.web.host, self.web.left(), *self.sent)

    def close(self):
        pass


def dial(world, one, made):
    made.connect = lambda: Wire(world, one, made)
    return made


def controller(world, identity, ahead=0.0):
    # On one control-plane machine, whose clock may be ahead.
    one = Controller.__new__(Controller)
    one.fake = (clouds.Microsoft if world.reuse else clouds.Amazon)(world, partial(world.change, one))
    ours = api.Api("https://127.0.0.1:6443", "")
    ours.web = lambda timeout=10.0, silence=None: dial(world, one, web.Web(ours.origin, None, timeout, silence))
    cloud = (azure.Azure if world.reuse else aws.Aws)(clouds.SETTINGS)
    for each in (cloud.imds, *([cloud.arm] if world.reuse else cloud.webs.values())):
        dial(world, one, each)
    clock = types.SimpleNamespace(own=world.clock.own, wall=lambda: world.clock.wall() + ahead)
    log = lambda text: None  # noqa: E731
    one.identity, one.feeding = identity, ""
    never = frozenset({world.member.name})
    one.__init__(ours, cloud, api.Feed(ours, log), Lease(ours, identity, clock), Board(ours, clock, identity), clock, log, never)
    world.controllers.append(one)
    return one


def free(world, one, role):
    world.role = role
    return world.clock.at >= world.busy.get((one.identity, role), 0.0)


def lease_turn(world, one):
    if free(world, one, "lease"):
        one.lease.turn(one.log)


def turn(world, one):
    lease_turn(world, one)
    if free(world, one, "feed"):
        one.feeding = one.feed.step(one.feeding)
    world.role = "main"
    one.step()


def led(seed, reuse=False, seconds=30):
    # A world and the one controller that has led it so long.
    world = World(seed, reuse)
    lead = controller(world, "cp-0_1")
    settle(world, [lead], seconds)
    return world, lead


def settle(world, controllers, seconds, every=6):
    for _ in range(seconds // every):
        world.clock.at += every
        world.tick()
        world.boot()
        world.beat()
        for one in controllers:
            turn(world, one)
