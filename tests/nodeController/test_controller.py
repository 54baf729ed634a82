# The whole controller against a world that lies, loses answers and changes leaders at random. What must hold is checked at each call.
import copy
import json
import os
import random
import unittest

from support import item, machine, stamp

import api
import requests
from controller import Controller
from judge import HOUR
from lease import Lease
from machines import OVER, PRESENT, Listing, Node, Pool, Trouble
from status import MARKS, SETTINGS, STATUS, Board

BEGIN = 3_000_000.0
SETTING = {"notReadyAfter": 1200, "joinWithin": {"linux": 900, "windows": 2400}, "maxUnhealthy": 0.2, "perHour": 2}
CHANGES = ("decide", "delete", "replace", "start_roll", "settle")


class Clock:
    def __init__(self):
        self.at = 0.0

    def own(self):
        return self.at

    def wall(self):
        return BEGIN + self.at


class World:
    # What there really is: cloud, cluster, and what was done to them.
    def __init__(self, seed, reuse):
        self.random, self.clock, self.reuse = random.Random(seed), Clock(), reuse
        self.machines, self.history, self.nodes, self.leases, self.requests, self.objects = {}, [], {}, {}, {}, {}
        self.number, self.version, self.firsts, self.repairs, self.done, self.loss = 0, 0, {}, [], [], 0.0
        self.objects[f"configmaps/{SETTINGS}"] = self.stored({"metadata": {}, "data": {"settings": json.dumps(SETTING)}})
        for _ in range(12):
            one = self.launch(made=BEGIN - 86400)
            self.join(one)

    def stored(self, item):
        self.version += 1
        item = copy.deepcopy(item)
        item.setdefault("metadata", {})["resourceVersion"] = str(self.version)
        return item

    def launch(self, made=None, name=None):
        self.number += 1
        one = machine(self.number, made=self.clock.wall() if made is None else made, zone="abc"[self.number % 3])
        if self.reuse:
            one = one._replace(id=f"vm-{self.number}", name=name or f"linux{self.number:06d}")
            one = one._replace(names=frozenset({one.name}))
        self.machines[one.id] = one
        return one

    def join(self, one):
        self.version += 1
        self.nodes[one.name] = Node(one.name, f"uid-{self.version}", max(one.made, self.clock.wall()), True, self.clock.wall())
        if one.made < BEGIN:
            self.nodes[one.name] = self.nodes[one.name]._replace(made=one.made)
        self.leases[one.name] = self.clock.wall()

    def ask(self, kind, one, at=None, **more):
        self.version += 1
        made = item(kind, one.name, self.clock.wall() if at is None else at, self.version, **more)
        self.requests[made["metadata"]["name"]] = made
        return made["metadata"]["name"]

    def end(self, id):
        self.machines[id] = self.machines[id]._replace(state="leaving" if self.random.random() < 0.5 else "gone")

    def truth(self, name):
        # Machines of that name that are there.
        return [one for one in self.machines.values() if one.name == name and one.state not in OVER]


class Api:
    def __init__(self, world, controller):
        self.world, self.controller = world, controller

    def trouble(self, apply):
        # A call may be lost on the way there, or its answer on the way back.
        lost = self.world.random.random()
        if lost < self.world.loss / 2:
            raise Trouble("lost")
        result = apply()
        if lost < self.world.loss:
            raise Trouble("answer lost")
        return result

    def acting(self):
        assert self.controller.lease.fresh(), "a call of one that does not lead"

    def get(self, path):
        key = "/".join(path.split("/")[-2:])
        if key not in self.world.objects:
            raise Trouble("not found", 404)
        return copy.deepcopy(self.world.objects[key])

    def put(self, path, body):
        return self.trouble(lambda: self._put("/".join(path.split("/")[-2:]), body))

    def _put(self, key, body):
        if self.world.objects[key]["metadata"]["resourceVersion"] != body["metadata"]["resourceVersion"]:
            raise Trouble("conflict", 409)
        self.world.objects[key] = self.world.stored(body)
        return copy.deepcopy(self.world.objects[key])

    def post(self, path, body):
        kind = path.split("/")[-1]
        if kind == "events":
            return body
        key = f"{kind}/{body['metadata']['name']}"
        if key in self.world.objects:
            raise Trouble("exists", 409)
        self.world.objects[key] = self.world.stored(body)
        return copy.deepcopy(self.world.objects[key])

    def data(self, name):
        return copy.deepcopy(self.world.objects.get(f"configmaps/{name}"))

    def nodes(self):
        return self.trouble(lambda: dict(self.world.nodes))

    def leases(self):
        return dict(self.world.leases)

    def has_node(self, name):
        return name in self.world.nodes

    def pods_of(self, name):
        return False

    def delete(self, path, uid):
        self.acting()
        self.trouble(lambda: self._delete(path.split("/")[-1], uid))

    def _delete(self, name, uid):
        world = self.world
        if name not in world.nodes or world.nodes[name].uid != uid:
            raise Trouble("conflict", 409)
        there = world.truth(name)
        assert not there or (world.reuse and world.nodes[name].made < there[-1].made), f"{name} runs"
        world.done.append(("delete", name))
        del world.nodes[name]

    def decide(self, request, approved, reason, message):
        self.acting()
        self.trouble(lambda: self._decide(request, approved, reason, message))

    def _decide(self, request, approved, reason, message):
        world = self.world
        stored = world.requests.get(request.name)
        if stored is None or stored["status"] or stored["metadata"]["resourceVersion"] != request.version:
            raise Trouble("conflict", 409)
        kind = "Approved" if approved else "Denied"
        stored["status"] = {"conditions": [{"type": kind, "reason": reason, "message": message}]}
        world.done.append((reason, request.name))
        if not approved:
            return
        # A list may be behind by two minutes: then the machine ended just now.
        there = [one for one in world.machines.values() if one.name == request.node]
        assert there, f"{request.node} never was"
        if request.kind == "first":
            assert request.node not in world.nodes, "its name is in use"
            given = world.firsts.setdefault(there[-1].id, set())
            given.add(request.name)
            assert len(given) == 1, f"two first certificates of {request.node}"
        if request.kind == "serving":
            own = set().union(*(one.addresses for one in there))
            assert set(request.addresses) <= own, "an address of another machine"


class Cloud:
    pause = 5.0

    def __init__(self, world, controller):
        self.world, self.controller, self.names_return, self.mode = world, controller, world.reuse, "right"

    def list(self, at):
        world = self.world
        machines, problems = list(world.machines.values()), ()
        if self.mode == "fails":
            raise Trouble("the cloud is away")
        if self.mode == "late" and world.history:
            machines = world.history[0]
        if self.mode == "zone":
            machines, problems = [one for one in machines if one.zone != "a"], ("zone a",)
        if self.mode == "omits":
            machines = [one for one in machines if world.random.random() < 0.5]
        if self.mode == "hides":
            machines = [one for one in machines if one.id != min(world.machines)]
        if self.mode == "empty":
            machines = []
        # What was terminated long ago is listed no more.
        machines = [one for one in machines if one.state != "gone" or world.random.random() < 0.5]
        wanted = sum(one.state not in OVER for one in world.machines.values())
        return Listing(tuple(machines), {"c-linux": Pool("c-linux", wanted, "lt:1")}, problems, at)

    def gone(self, name):
        if self.mode == "fails":
            raise Trouble("the cloud is away")
        return not [one for one in self.world.machines.values() if one.name == name and one.state != "gone"]

    def roll(self, pool):
        return pool

    def hold(self, machine, pool):
        assert self.controller.lease.fresh()

    def start_roll(self, pool):
        raise AssertionError("nothing is old")

    def settle(self, listing, owed, wall):
        return owed

    def replace(self, machine, pool):
        world = self.world
        assert self.controller.lease.fresh(), "a call of one that does not lead"
        one = world.machines[machine.id]
        node = world.nodes.get(one.name)
        if node is not None and node.ready:
            assert world.clock.wall() - node.since < 60, f"{one.name} is well"
        world.repairs = [at for at in world.repairs if world.clock.wall() - at < HOUR] + [world.clock.wall()]
        assert len(world.repairs) <= SETTING["perHour"], "too many repairs in an hour"
        world.done.append(("replace", one.name))
        if one.state not in OVER:
            world.end(one.id)
            world.launch()


class Feed:
    whole = True

    def __init__(self, world):
        self.world, self.hidden = world, set()

    def all(self):
        found = [requests.reduce(each) for each in self.world.requests.values() if each["metadata"]["name"] not in self.hidden]
        return [each for each in found if not each.decided or each.given]

    def forget(self, request):
        pass


def controller(world, identity):
    one = Controller.__new__(Controller)
    api, cloud = Api(world, one), Cloud(world, one)
    lease = Lease(api, identity, world.clock)
    board = Board(api, world.clock, identity)
    one.__init__(api, cloud, Feed(world), lease, board, world.clock, lambda text: world.done.append(("log", text)))
    return one


def turn(world, one):
    try:
        one.lease.leads()
    except Trouble:
        pass
    one.step()
    broken = [text for text in one.problems.values() if "Error" in text]
    assert not broken, broken


def settle(world, controllers, seconds):
    world.loss = 0.0
    for one in controllers:
        one.cloud.mode = "right"
    for _ in range(seconds // 6):
        world.clock.at += 6
        for node in world.nodes.values():
            if node.ready:
                world.leases[node.name] = world.clock.wall()
        for one in controllers:
            turn(world, one)


class Whole(unittest.TestCase):
    def story(self, seed, reuse):
        world = World(seed, reuse)
        pick, controllers = world.random, []
        controllers = [controller(world, f"cp-{index}_1") for index in range(3)]
        for step in range(220):
            world.clock.at += pick.choice((1, 2, 5, 30, 120) if step % 20 == 0 else (1, 2, 3))
            world.loss = 0.1
            world.history = [*world.history[-20:], list(world.machines.values())]
            running = [one for one in world.machines.values() if one.state in PRESENT]
            event = pick.random()
            if event < 0.05:
                used = {each.name for each in world.machines.values() if each.state != "gone"}
                free = {each.name for each in world.machines.values()} - used
                one = world.launch(name=pick.choice([*sorted(free), None]))
                world.ask("first", one)
            elif event < 0.08 and running:
                world.end(pick.choice(running).id)
            elif event < 0.12 and world.nodes:
                name = pick.choice(sorted(world.nodes))
                world.nodes[name] = world.nodes[name]._replace(ready=pick.random() < 0.5, since=world.clock.wall())
            elif event < 0.2 and running:
                one = pick.choice(running)
                address = pick.choice(running).addresses
                world.ask("serving", one, dns=(one.name,), addresses=tuple(address))
            elif event < 0.3 and running:
                world.ask(pick.choice(("first", "renewal")), pick.choice(running))
            elif event < 0.35:
                world.ask("first", machine(900 + pick.randrange(90)))
            elif event < 0.4:
                index = pick.randrange(3)
                controllers[index] = controller(world, f"cp-{index}_{step}")
            elif event < 0.5:
                mode = pick.choice(("right", "late", "zone", "omits", "empty", "fails"))
                for one in controllers:
                    one.cloud.mode = mode
            for node in world.nodes.values():
                if node.ready:
                    world.leases[node.name] = world.clock.wall()
            for one in list(world.machines.values()):
                # Who has a certificate joins.
                if one.state in PRESENT and one.id in world.firsts and one.name not in world.nodes and pick.random() < 0.2:
                    self.assertTrue(world.truth(one.name))
                    world.join(one)
            for one in pick.sample(controllers, 3):
                if pick.random() < 0.9:
                    turn(world, one)
        return world, controllers

    def test_random_stories(self):
        for seed in range(int(os.environ.get("STORIES", "6"))):
            with self.subTest(seed):
                world, controllers = self.story(seed, bool(seed % 2))
                settle(world, controllers, 1200)
                for one in world.machines.values():
                    if one.state in PRESENT:
                        world.join(one)
                world.requests.clear()
                settle(world, controllers, 120)
                # In the end what is gone has no node.
                status = world.objects[f"configmaps/{STATUS}"]["data"]["status"]
                left = [name for name in world.nodes if all(one.state == "gone" for one in world.machines.values() if one.name == name)]
                self.assertTrue(not left or "they are not removed" in status, left)
                before = [each for each in world.done if each[0] != "log"]
                settle(world, controllers, 120)
                self.assertEqual([each for each in world.done if each[0] != "log"], before, "a round without news changes nothing")

    def test_an_answer_that_the_watch_was_faster_with_stays(self):
        feed, asked = api.Feed(None, print), item("first", machine(1).name, BEGIN)
        feed.take(feed.requests, asked)
        [request] = feed.all()
        seen = "first certificate of x, machine i-1"
        asked["status"] = {"conditions": [{"type": "Approved", "reason": "FenestraApproved", "message": seen}]}
        feed.take(feed.requests, asked)
        feed.forget(request)
        self.assertEqual([each.given for each in feed.all()], ["i-1"])
        feed.forget(feed.all()[0])
        self.assertEqual(feed.all(), [])

    def test_a_true_request_among_hostile_ones(self):
        world = World(1, False)
        one = world.launch()
        for number in range(300):
            world.ask("first", machine(1000 + number))
        mine = world.ask("first", one)
        for number in range(300):
            world.ask("first", machine(1400 + number))
        lead = controller(world, "cp-0_1")
        settle(world, [lead], 6)
        self.assertEqual(world.requests[mine]["status"]["conditions"][0]["type"], "Approved")
        self.assertEqual([each for each in world.done if each[0] != "log"], [("FenestraApproved", mine)])
        report = json.loads(world.objects[f"configmaps/{STATUS}"]["data"]["status"])
        self.assertEqual(report["pools"]["c-linux"]["joining"], [one.name])

    def test_a_request_before_its_machine_is_listed_is_looked_at_again(self):
        world = World(2, False)
        lead = controller(world, "cp-0_1")
        settle(world, [lead], 30)
        ghost = machine(77, made=world.clock.wall())
        mine = world.ask("first", ghost)
        settle(world, [lead], 6)
        self.assertEqual(world.requests[mine]["status"], {})
        world.machines[ghost.id] = ghost
        settle(world, [lead], 12)
        self.assertEqual(world.requests[mine]["status"]["conditions"][0]["type"], "Approved")

    def test_a_machine_that_lists_leave_out_for_good_is_asked_for_by_itself(self):
        world = World(7, False)
        lead = controller(world, "cp-0_1")
        settle(world, [lead], 30)
        for _ in range(20):
            world.clock.at += 6
            lead.cloud.mode = "hides"
            turn(world, lead)
        before = dict(world.nodes)
        for _ in range(150):
            world.clock.at += 6
            turn(world, lead)
        self.assertEqual(world.nodes, before)

    def test_an_answer_that_was_lost_is_asked_for_again(self):
        world = World(3, False)
        lead, one = controller(world, "cp-0_1"), world.launch()
        mine = world.ask("first", one)
        turn(world, lead)
        whole = lead.api.decide
        lead.api.decide = lambda *_: (_ for _ in ()).throw(Trouble("lost"))
        world.clock.at += 3
        turn(world, lead)
        lead.api.decide = whole
        world.requests[mine]["status"] = {}
        settle(world, [lead], 6)
        self.assertEqual(world.requests[mine]["status"]["conditions"][0]["type"], "Approved")

    def test_one_that_was_killed_is_followed_after_its_lease_and_knows_the_repairs(self):
        world = World(4, False)
        world.objects[f"configmaps/{MARKS}"] = world.stored({"data": {"all": "keep"}})
        first, second = controller(world, "cp-0_1"), controller(world, "cp-1_1")
        settle(world, [first, second], 30)
        self.assertTrue(first.lease.fresh() and not second.lease.fresh())
        for name in sorted(world.nodes)[:2]:
            world.nodes[name] = world.nodes[name]._replace(ready=False, since=world.clock.wall() - 9000)
        settle(world, [first, second], 600)
        self.assertEqual([each for each in world.done if each[0] == "replace"], [], "all are kept")
        del world.objects[f"configmaps/{MARKS}"]
        settle(world, [first, second], 60)
        self.assertEqual(len(world.repairs), 2)
        name = sorted(world.nodes)[-1]
        world.nodes[name] = world.nodes[name]._replace(ready=False, since=world.clock.wall() - 9000)
        settle(world, [second], 12)
        self.assertFalse(second.lease.fresh(), "a lease lasts fifteen seconds")
        settle(world, [second], 900)
        self.assertTrue(second.lease.fresh())
        self.assertEqual(len(world.repairs), 2, "the new leader knows what the old one did")
        settle(world, [second], HOUR)
        self.assertIn(("replace", name), world.done)
        again = controller(world, "cp-1_2")
        settle(world, [again, first], 6)
        self.assertTrue(again.lease.fresh() and not first.lease.fresh(), "the same machine need not wait for itself")

    def test_without_settings_nothing_is_repaired_and_certificates_are_given(self):
        world = World(5, False)
        del world.objects[f"configmaps/{SETTINGS}"]
        lead, one = controller(world, "cp-0_1"), world.launch()
        mine = world.ask("first", one)
        name = sorted(world.nodes)[0]
        world.nodes[name] = world.nodes[name]._replace(ready=False, since=world.clock.wall() - 9000)
        settle(world, [lead], 1200)
        self.assertEqual([each for each in world.done if each[0] != "log"], [("FenestraApproved", mine)])

    def test_what_is_shown_is_written_when_it_changes(self):
        world = World(6, False)
        lead = controller(world, "cp-0_1")
        settle(world, [lead], 90)

        def version():
            return world.objects[f"configmaps/{STATUS}"]["metadata"]["resourceVersion"]

        before = version()
        settle(world, [lead], 90)
        self.assertEqual(version(), before)
        settle(world, [lead], 300)
        self.assertNotEqual(version(), before, "its age says that somebody leads")


if __name__ == "__main__":
    unittest.main()
