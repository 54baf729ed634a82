# The rounds of the controller. Each decides everything anew; what must outlive a leader is written before it is done.
from functools import partial

import requests
import rolls
import status
import volumes
from brakes import ALL, HOUR
from certificates import ROUND, Certificates
from duties import Duties
from judge import Memory, World, judge
from machines import Settings, Trouble, short
from web import within

# Seconds between rounds while machines join, for which people wait.
SOON = 10.0
HEARTBEAT = 240.0
# Seconds between looks at volumes.
LOOK = 5.0
# Seconds for each part of a turn, less than systemd's patience; for a list of the cloud; for a small look or deed.
REQUESTS, NODES, VOLUMES, LISTED, SMALL = 180, 240, 20, 120, 40
# Seconds that this machine's clock may differ from the cloud's.
SKEW = 120
# Seconds that a kubelet's certificate may last; machines of which some are remembered, since the page has 1 MiB.
CERTIFICATE, KEPT = 31 * 86400, 5000
# Seconds until marks that are away count as taken back, and that a roll is remembered of a group that is not listed.
UNMARKED = 600
ROLLED = 2 * 86400


class Controller(Certificates):
    def __init__(self, api, cloud, feed, lease, board, clock, log, never=frozenset(), measure=None):
        self.api, self.cloud, self.feed, self.lease, self.board = api, cloud, feed, lease, board
        self.clock, self.log, self.never, self.measure = clock, log, never, measure
        self.memory, self.listing, self.nodes = Memory(), None, {}
        self.term, self.begun, self.round_at, self.held = 0, 0, None, {}
        # When a machine last got its first certificate.
        self.joined_at = -ROUND
        self.denied, self.waiting, self.behind, self.again, self.judged_by, self.rolls = 0, {}, {}, {}, None, {}
        self.volumes_at, self.holding, self.first, self.answered, self.shown = None, {}, {}, 0.0, {}
        self.duties, self.found, self.problems = Duties(clock), {}, {}
        self.name, self.beat = board.identity.split("_")[0], lambda: None
        api.may = cloud.may = self.may

    def step(self):
        if self.lease.fresh():
            if self.term == self.lease.term or self.tried("page", self.begin, VOLUMES):
                self.do_duties()
            else:
                self.done("page")
            self.tell()
        if self.measure:
            leads = self.lease.fresh()
            waiting = sum(not each.decided for each in self.feed.all()) if leads else 0
            try:
                self.measure(status.metrics(self.denied, waiting, leads, self.duties))
            except OSError as error:
                self.log(f"metrics: {error}")

    def do_duties(self):
        self.tried("requests", self.certificates, REQUESTS)
        self.done("requests")
        if "requests" in self.duties.failing():
            self.answered = self.clock.own()
        pause = SOON if self.clock.own() - self.joined_at < ROUND else ROUND
        if self.round_at is None or self.clock.own() - self.round_at >= pause:
            self.round_at = self.clock.own()
            self.tried("machines", self.round, NODES)
            self.done("machines", "nodes", "page")
        if self.volumes_at is None or self.clock.own() - self.volumes_at >= LOOK:
            self.volumes_at = self.clock.own()
            self.tried("volumes", self.volumes, VOLUMES)
            self.done("volumes")

    def tried(self, duty, work, seconds=SMALL, part=False):
        # What it gives; None where it fails, which is told. Of a `part` of a duty the rest is done.
        try:
            with within(seconds):
                return work() or True
        except Exception as error:
            problem = str(error) if isinstance(error, Trouble) else f"{type(error).__name__}: {error}"
            self.fails(duty, problem, part)
            return None

    def fails(self, duty, problem, part=True):
        if problem not in self.problems.get(duty, ()):
            self.log(f"{duty}: {problem}")
        self.found.setdefault(duty, []).append((problem, part))

    def done(self, *duties):
        self.beat()
        for duty in duties:
            found = self.found.pop(duty, [])
            self.problems[duty] = [problem for problem, _ in found]
            self.duties.record(duty, self.problems[duty], not all(part for _, part in found))

    def tell(self):
        for duty, why in self.duties.untold().items():
            self.event(self.name, self.name, "DutyFails", f"the node controller: {duty}: {why}")
        if self.lease.fresh() and self.duties.over():
            self.log(f"this machine gives the lease up: {', '.join(sorted(self.duties.blind))}")
            self.lease.release()

    def event(self, *args):
        try:
            with within(SMALL):
                status.event(self.api, self.clock, *args)
        except Trouble as error:
            self.fails("page", str(error))

    def begin(self):
        term = self.lease.term
        if self.begun != term:
            self.begun = term
            self.duties.begin()
        self.board.load()
        records = self.board.records
        if self.board.is_restored(self.lease.version):
            # Machines got certificates since, which they would be denied for ever: those that are there are believed again.
            self.log("etcd was restored: what its page says of certificates is forgotten")
            for name in ("began", "certificates"):
                records.pop(name, None)
        # Who could not write the page could not write that down either.
        late = {"page": self.board.at} if self.clock.wall() - self.board.at > 2 * status.AGAIN else {}
        self.duties.begin({**records.get("failing", {}), **late})
        self.memory, self.listing, self.round_at, self.held = Memory(), None, None, {}
        self.memory.joined.update(records.get("joined", ()))
        self.answered, self.holding = self.clock.own(), {}
        self.term = term
        self.log("this machine leads")
        for problem in self.board.odd:
            self.log(problem)
            self.event(self.name, self.name, "RecordDropped", problem)

    def may(self):
        if not self.lease.fresh():
            raise Trouble("this machine leads no more")

    def look(self, age):
        # The cloud's list, no older than that.
        if self.listing is None or self.clock.own() - self.listing.at > age:
            with within(LISTED):
                listing = self.cloud.list(self.clock.own())
            ahead = self.clock.wall() - self.cloud.date
            if self.cloud.date and abs(ahead) > SKEW:
                raise Trouble(f"this machine's clock is {ahead:.0f} s ahead of the cloud's")
            self.listing = listing
        return self.listing

    def volumes(self):
        item = volumes.released(self.api, self.clock.own(), self.holding)
        if item:
            self.api.put(f"{status.FOLDER}/{volumes.HOLD}", item)

    def round(self):
        listing = self.tried("machines", partial(self.look, 0.0), LISTED)
        nodes, leases = self.tried("nodes", self.nodes_there, SMALL), self.tried("nodes", self.api.leases, SMALL)
        if self.board.item is None and not self.tried("page", self.board.load):
            return
        records, wall = self.board.records, self.clock.wall()
        records["repairs"] = [each for each in records.get("repairs", []) if wall - each["at"] < HOUR]
        # Of machines that a list has no more, the newest are kept while their certificates last.
        there = {each.id for each in self.listing.machines} if self.listing else set()
        known = sorted(records.get("certificates", {}).items(), key=lambda each: (each[0] not in there, -each[1][0]))[:KEPT]
        records["certificates"] = {id: each for id, each in known if id in there or wall - each[0] < CERTIFICATE}
        deeds, report = [], self.shown
        if listing and nodes and leases:
            deeds, report = self.look_after(listing, self.nodes, leases if leases is not True else {}, records, wall)
        failing = self.duties.failing()
        records["failing"] = {name: self.duties.at(name) for name in failing}
        if failing:
            report = {**report, "duties": failing}
        waiting = {**self.waiting, **self.behind}
        if waiting or self.denied or self.again or self.feed.skipped:
            some = requests.reasons(waiting.values())
            told = {"waiting": len(waiting), "denied": self.denied, "reasons": some, "again": self.again, "skipped": self.feed.skipped}
            report = {**report, "requests": told}
        self.may()
        if not self.tried("page", partial(self.board.save, report)):
            return
        with within(SMALL):
            for deed in deeds:
                self.tried("machines", deed, part=True)

    def nodes_there(self):
        self.nodes = self.api.nodes()

    def look_after(self, listing, nodes, leases, records, wall):
        # Deeds, each a call, and what the page shows.
        for problem in listing.problems:
            self.fails("machines", problem)
        world = World(
            listing,
            nodes,
            leases,
            self.tried("machines", self.settings, part=True) or Settings(per_hour=0),
            self.marks(records, wall),
            tuple(records["repairs"]),
            wall,
            self.clock.own(),
            self.never,
            self.cloud.names_return,
            self.answered,
        )
        actions, conditions, reasons = judge(world, self.memory)
        there = {short(each.id) for each in listing.machines}
        records["joined"] = sorted(self.memory.joined & there if not listing.problems else self.memory.joined)
        with within(SMALL):
            starts = self.decide_rolls(listing, conditions, records, world)
        with within(SMALL):
            actions = [each for each in actions if self.tried("nodes", partial(self.confirm, each), part=True)]
        with within(SMALL):
            records["owed"], problems = self.cloud.settle(listing, records.get("owed", {}))
        for problem in problems:
            self.fails("machines", problem)
        if self.cloud.names_return:
            # One change of a set at a time.
            busy = {each.pool for each in listing.machines if each.state == "leaving"}
            actions = [each for each in actions if each.verb != "replace" or not (each.pool in busy or busy.add(each.pool))]
        for action in actions:
            if action.verb == "replace":
                self.record(action, conditions, listing, records, wall)
        deeds = [*(partial(self.act, each, listing) for each in actions), *(partial(self.start_roll, each) for each in starts)]
        self.shown = self.report(listing, nodes, conditions, reasons)
        return deeds, self.shown

    def settings(self):
        found = status.settings_of(self.api.data(status.SETTINGS))
        if found is None:
            raise Trouble(f"the ConfigMap {status.SETTINGS} has no settings: nothing is repaired")
        return found

    def marks(self, records, wall):
        # Marks outlive the silence of their ConfigMap for a while, which is told.
        item = self.tried("machines", partial(self.api.data, status.MARKS), part=True)
        if item is None:
            return {"all": "keep"}
        if item is not True:
            records.pop("unmarked", None)
            records["marks"] = item.get("data") or {}
        elif records.get("marks"):
            if wall - records.setdefault("unmarked", int(wall)) < UNMARKED:
                self.fails("machines", f"the ConfigMap {status.MARKS} is gone: for {UNMARKED // 60} minutes nothing is replaced")
                return {"all": "keep"}
            records["marks"] = {}
        return records.get("marks") or {}

    def decide_rolls(self, listing, conditions, records, world):
        late, wall = [machine for machine, (what, _) in conditions.items() if what == "lost"], world.wall
        starts, kept, self.rolls = [], records.get("rolls", {}), {}
        # Of pools that are not listed, too.
        records["rolls"] = {name: record for name, record in kept.items() if wall - record["at"] < ROLLED}
        for name, pool in listing.pools.items():
            pool = self.tried("machines", partial(self.cloud.roll, pool), part=True)
            if pool is None:
                continue
            listing.pools[name] = pool
            start, why, record = rolls.decide(pool, listing.machines, late, kept.get(name, {}), wall, world.marks)
            if start and listing.problems:
                start, record = False, kept.get(name, {})
            if why:
                self.rolls[name] = why
            records["rolls"].pop(name, None)
            if record:
                records["rolls"][name] = record
            if start:
                starts.append(pool)
        return starts

    def confirm(self, action):
        # Asks cluster and cloud for it by itself before a Node or a machine goes.
        if action.verb == "hold":
            return
        node = self.api.node(action.node)
        if action.verb == "replace":
            known = self.nodes.get(action.node)
            right = (node is None) == (known is None) and (node is None or not node.ready and node.uid == known.uid)
        elif action.machine is None or action.machine.state == "gone":
            right = node is not None and node.uid == action.uid and self.cloud.gone(action.node)
        else:
            right = node is not None and node.uid == action.uid and not node.ready and self.cloud.there(action.machine)
        if not right:
            raise Trouble(f"{action.node} is left alone: {action.why}, by lists alone")

    def record(self, action, conditions, listing, records, wall):
        pool, id = listing.pools[action.pool], action.machine.id
        what, at = conditions[action.machine][0], int(wall)
        records["repairs"] = [each for each in records["repairs"] if each["machine"] != id]
        records["repairs"].append({"machine": id, "node": action.node, "pool": action.pool, "what": what, "at": at})
        if self.cloud.names_return:
            owed = records["owed"].get(action.pool, {"size": 0, "machines": 0})
            machines = owed["machines"] + 1
            records["owed"][action.pool] = {"size": max(pool.wanted, owed["size"]), "machines": machines, "at": at}

    def act(self, action, listing):
        pool = listing.pools.get(action.pool)
        if action.verb == "hold":
            if self.clock.own() - self.held.get(action.machine.id, -HEARTBEAT) >= HEARTBEAT:
                self.held[action.machine.id] = self.clock.own()
                self.cloud.hold(action.machine, pool)
            return
        self.log(f"{action.verb} {action.node}: {action.why}")
        reason = "MachineGone" if action.verb == "delete" else "MachineReplaced"
        self.event(action.node, action.uid, reason, action.why)
        if action.verb == "delete":
            self.api.delete(f"/api/v1/nodes/{action.node}", action.uid)
        else:
            self.cloud.replace(action.machine, pool)

    def start_roll(self, pool):
        self.log(f"the roll of {pool.name} is started again: {self.rolls.get(pool.name, '')}")
        self.cloud.start_roll(pool)

    def report(self, listing, nodes, conditions, reasons):
        report = {"pools": status.pools(listing, nodes, conditions, reasons, self.rolls, rolls.older)}
        if listing.problems:
            report["cloud"] = {"problems": [each[:300] for each in listing.problems[:5]]}
        if ALL in reasons:
            report["halt"] = reasons[ALL]
        return report
