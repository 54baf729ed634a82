# The rounds of the controller. Everything is decided anew in each; what must outlive a leader is in the ConfigMap
# before it is done.
import queue
import threading
from functools import partial

import requests
import rolls
import status
import volumes
from judge import HOUR, Memory, World, judge
from machines import Trouble

# Seconds between rounds, writes of certificates at once, and the age of requests for which the cloud is asked again and
# again.
ROUND, WRITERS, YOUNG = 30.0, 4, 120.0
HEARTBEAT = 240.0
# Seconds between looks whether the drivers of volumes are to go.
LOOK = 5.0
# Seconds that a kubelet's certificate may last, and how many of them are remembered at most: the page has 1 MiB.
CERTIFICATE, ISSUED = 31 * 86400, 6000
# Reasons of waiting requests that the status shows.
REASONS = 10
NONE = (0.0, "")


class Controller:
    def __init__(self, api, cloud, feed, lease, board, clock, log, never=frozenset(), measure=None):
        self.api, self.cloud, self.feed, self.lease, self.board = api, cloud, feed, lease, board
        self.clock, self.log, self.never, self.measure = clock, log, never, measure
        self.memory, self.listing, self.nodes = Memory(), None, {}
        self.term, self.round_at, self.held = 0, None, {}
        self.given, self.denied, self.waiting, self.judged_by, self.rolls = {}, 0, {}, None, {}
        self.problems, self.volumes_at = {}, None

    def step(self):
        # One turn: the lease, certificates, and where it is time a round over nodes. Whatever fails is told, and the
        # next turn is another.
        if self.lease.fresh() and (self.term == self.lease.term or self.tried("lead", self.begin)):
            self.tried("certificates", self.certificates)
            if self.round_at is None or self.clock.own() - self.round_at >= ROUND:
                self.round_at = self.clock.own()
                self.tried("nodes", self.round)
            if self.volumes_at is None or self.clock.own() - self.volumes_at >= LOOK:
                self.volumes_at = self.clock.own()
                self.tried("volumes", self.volumes)
        if self.measure:
            self.tried("metrics", lambda: self.measure(status.metrics(self.denied, len(self.waiting), self.lease.fresh())))

    def tried(self, what, duty):
        # Whether a duty was done. One that fails says so once, and stops no other.
        problem = ""
        try:
            duty()
        except Exception as error:
            problem = str(error) if isinstance(error, Trouble) else f"{type(error).__name__}: {error}"
            if self.problems.get(what) != problem:
                self.log(f"{what}: {problem}")
        self.problems[what] = problem
        return not problem

    def begin(self):
        term = self.lease.term
        self.board.load()
        self.memory, self.listing, self.round_at, self.given, self.held = Memory(), None, None, {}, {}
        self.term = term
        self.log("this machine leads")

    def may(self):
        if not self.lease.fresh():
            raise Trouble("this machine leads no more")

    def look(self, age):
        # The cloud's list, no older than that; what cannot be read leaves the last one, of which nothing is absent.
        if self.listing is None or self.clock.own() - self.listing.at > age:
            self.listing = self.cloud.list(self.clock.own())
        return self.listing

    def volumes(self):
        item = volumes.released(self.api, self.clock.wall())
        if item:
            self.may()
            self.api.put(f"{status.FOLDER}/{volumes.HOLD}", item)

    # Certificates

    def certificates(self):
        pending, issued = self.feed.all(), self.board.records.setdefault("issued", {})
        for request in pending:
            if request.issued and self.cloud.names_return:
                issued[request.issued[0]] = request.issued[1], int(request.made)
            if request.given and self.given.get(request.given, NONE)[0] < request.made:
                self.given[request.given] = request.made, request.name
        pending = [each for each in pending if not each.decided]
        if not pending or not self.feed.whole:
            self.waiting = {}
            return
        # A list that is older than a request says nothing of it. Hostile ones cost one list in a while, whatever their
        # number.
        now, todo = self.clock.wall(), []
        listing = self.look(self.cloud.pause if any(now - each.made < YOUNG for each in pending) else ROUND)
        # What waits is looked at again with the next list, which each round over nodes asks for too.
        if self.judged_by != listing.at:
            self.judged_by, self.waiting = listing.at, {}
        pending, machines = [each for each in pending if each.name not in self.waiting], listing.by_name()
        # The newest first: a kubelet that starts again has forgotten what it asked for.
        for request in sorted(pending, key=lambda each: (-each.made, each.name)):
            machine = machines.get(request.node)
            owner = issued.get(request.by, ("",))[0]
            verdict, why = requests.decide(request, now, machine, self.other(request, machine), request.node in self.nodes, owner)
            if verdict == "wait":
                self.waiting[request.name] = why
                continue
            if verdict == "approve" and request.kind == "first":
                self.given[machine.id] = request.made, request.name
            todo.append((request, verdict, why, machine))
        # True ones before the rest, and of the rest a bounded number in a turn.
        todo.sort(key=lambda each: each[1] != "approve")
        right = [each for each in todo if each[1] == "approve"]
        self.write(right + todo[len(right) : len(right) + 500])

    def other(self, request, machine):
        # Whether another request got a first certificate of that machine since it was started. An answer that was lost
        # is asked for again.
        both = (self.given.get(machine.id, NONE), self.given.get(machine.name, NONE)) if machine else ()
        return any(made >= machine.made and name != request.name for made, name in both)

    def write(self, todo):
        if not todo:
            return
        work, troubles = queue.SimpleQueue(), []
        for each in todo:
            work.put(each)

        def run():
            while self.lease.fresh():
                try:
                    request, verdict, why, machine = work.get_nowait()
                except queue.Empty:
                    return
                try:
                    self.answer(request, verdict, why, machine)
                except Exception as error:
                    troubles.append(error)

        threads = [threading.Thread(target=run, daemon=True) for _ in range(min(WRITERS, len(todo)))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if troubles:
            raise troubles[0]

    def answer(self, request, verdict, why, machine):
        if verdict == "approve" and request.kind == "first":
            left = "a node" if self.api.has_node(request.node) else ""
            if not left and self.cloud.names_return and self.api.pods_of(request.node):
                left = "pods of a node"
            if left:
                self.given.pop(machine.id, None)
                self.waiting[request.name] = f"there is {left} {request.node}"
                return
        self.may()
        reason = {"approve": "FenestraApproved", "deny": "FenestraDenied", "abandon": "FenestraAbandoned"}[verdict]
        try:
            self.api.decide(request, verdict == "approve", reason, why)
        except Trouble as error:
            # Decided or deleted by somebody else.
            if error.status not in (404, 409):
                raise
        self.feed.forget(request)
        if verdict != "abandon":
            self.log(f"{reason} {request.name}: {why}")
        if verdict == "deny":
            self.denied += 1
            node = self.nodes.get(request.node)
            of = (node.name, node.uid) if node else (request.name, request.uid)
            kind = ("v1", "Node") if node else ("certificates.k8s.io/v1", "CertificateSigningRequest")
            status.event(self.api, self.clock, *of, "CertificateDenied", why, kind)

    # Nodes and machines

    def round(self):
        listing = self.look(0.0)
        self.nodes = nodes = self.api.nodes()
        settings = status.settings_of(self.api.data(status.SETTINGS))
        marks = (self.api.data(status.MARKS) or {}).get("data") or {}
        wall, own = self.clock.wall(), self.clock.own()
        if self.board.item is None:
            self.board.load()
        records = self.board.records
        records["repairs"] = [each for each in records.get("repairs", []) if wall - each["at"] < HOUR]
        issued = sorted(records.get("issued", {}).items(), key=lambda each: -each[1][1])[:ISSUED]
        records["issued"] = {certificate: each for certificate, each in issued if wall - each[1] < CERTIFICATE}
        world = World(
            listing,
            nodes,
            self.api.leases(),
            settings or status.Settings(per_hour=0),
            marks,
            tuple(records["repairs"]),
            wall,
            own,
            self.never,
            self.cloud.names_return,
        )
        actions, conditions, reasons = judge(world, self.memory)
        starts = self.decide_rolls(listing, conditions, records, wall)
        actions = [each for each in actions if each.verb != "delete" or self.proven(each)]
        self.may()
        records["owed"] = self.cloud.settle(listing, records.get("owed", {}), wall)
        if self.cloud.names_return:
            # One change of a set at a time.
            busy = {each.pool for each in listing.machines if each.state == "leaving"}
            actions = [each for each in actions if each.verb != "replace" or not (each.pool in busy or busy.add(each.pool))]
        for action in actions:
            if action.verb == "replace":
                self.record(action, conditions, listing, records, wall)
        self.may()
        self.board.save(self.report(listing, nodes, conditions, reasons))
        # What fails for one machine or pool stops none of the others.
        troubles = []
        for duty in [*(partial(self.act, each, listing) for each in actions), *(partial(self.start_roll, each) for each in starts)]:
            self.may()
            try:
                duty()
            except Trouble as error:
                troubles.append(error)
        if troubles:
            raise troubles[0]

    def decide_rolls(self, listing, conditions, records, wall):
        late = [machine for machine, (what, _) in conditions.items() if what == "lost"]
        starts, kept, self.rolls = [], records.get("rolls", {}), {}
        records["rolls"] = {}
        for name, pool in listing.pools.items():
            pool = listing.pools[name] = self.cloud.roll(pool)
            start, why, record = rolls.decide(pool, listing.machines, late, kept.get(name, {}), wall)
            if start and listing.problems:
                start, record = False, kept.get(name, {})
            if why:
                self.rolls[name] = why
            if record:
                records["rolls"][name] = record
            if start:
                starts.append(pool)
        return starts

    def proven(self, action):
        # A machine that a list does not have is asked for by itself before its Node goes.
        return action.machine is not None or self.cloud.gone(action.node)

    def record(self, action, conditions, listing, records, wall):
        pool = listing.pools[action.pool]
        what = conditions[action.machine][0]
        records["repairs"].append({"machine": action.machine.id, "node": action.node, "pool": action.pool, "what": what, "at": int(wall)})
        if self.cloud.names_return:
            owed = records["owed"].get(action.pool, {"size": 0})
            records["owed"][action.pool] = {"size": max(pool.wanted, owed["size"]), "at": int(wall)}

    def act(self, action, listing):
        pool = listing.pools.get(action.pool)
        if action.verb == "hold":
            if self.clock.own() - self.held.get(action.machine.id, -HEARTBEAT) >= HEARTBEAT:
                self.held[action.machine.id] = self.clock.own()
                self.cloud.hold(action.machine, pool)
            return
        self.log(f"{action.verb} {action.node}: {action.why}")
        if action.verb == "delete":
            status.event(self.api, self.clock, action.node, action.uid, "MachineGone", action.why)
            try:
                self.api.delete(f"/api/v1/nodes/{action.node}", action.uid)
            except Trouble as error:
                # Deleted by the cloud controller, or another Node by now.
                if error.status not in (404, 409):
                    raise
            return
        status.event(self.api, self.clock, action.node, action.uid, "MachineReplaced", action.why)
        self.cloud.replace(action.machine, pool)

    def start_roll(self, pool):
        self.log(f"the roll of {pool.name} is started again: {self.rolls.get(pool.name, '')}")
        self.cloud.start_roll(pool)

    def report(self, listing, nodes, conditions, reasons):
        report = {"pools": status.pools(listing, nodes, conditions, reasons, self.rolls, rolls.older)}
        if listing.problems:
            report["cloud"] = {"problems": [each[:300] for each in listing.problems[:5]]}
        if self.waiting or self.denied:
            some = sorted(set(self.waiting.values()))[:REASONS]
            report["requests"] = {"waiting": len(self.waiting), "denied": self.denied, "reasons": some}
        return report
