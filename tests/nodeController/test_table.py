# Every call that the controller makes, answered wrongly in every way, from the starts in turn: what was done wrong, what
# was not told, and what was not as before 25 minutes later. A share of the cells; the night has all, by SHARE.
import json
import os
import re
import unittest
import xml.etree.ElementTree as xml
from functools import partial

import clouds
from support import stamp
from status import MARKS
from volumes import FINALIZER, HOLD
from world import World, controller, settle

TURN, SOON, LONG = 6, 600, 1500
TIME = re.compile(r"time$|timestamp$|timecreated$", re.I)


def edited(change, _world, _call, data):
    # A change of each list and text, in JSON and XML.
    text = data.decode()
    if text.startswith("<"):
        tree = xml.fromstring(text)
        change_xml(change, tree)
        return xml.tostring(tree)
    try:
        return "\n".join(json.dumps(change_json(change, json.loads(line))) for line in text.splitlines()).encode()
    except ValueError:
        return data


def change_json(change, value, key=""):
    if isinstance(value, dict):
        return {name: change_json(change, each, name) for name, each in value.items()}
    if isinstance(value, list):
        kept = change(key, value) if key in ("items", "value") else value
        return [change_json(change, each) for each in kept]
    return change(key, value)


def change_xml(change, element):
    for each in element:
        if len(each) and all(one.tag.endswith(("item", "member")) for one in each) and not each.tag.endswith("Set") or each.tag.endswith("reservationSet"):
            kept = change("items", list(each))
            for one in [one for one in each if one not in kept]:
                each.remove(one)
        if not len(each):
            each.text = change(each.tag, each.text or "") or ""
        change_xml(change, each)


def half(key, value):
    return value[: (len(value) + 1) // 2] if isinstance(value, list) else value


def none(key, value):
    return [] if isinstance(value, list) else value


def timed(text, key, value):
    return text if TIME.search(key) and not isinstance(value, list) else value


def shifted(seconds):
    def change(world, call, data):
        return edited(partial(timed, stamp(world.clock.wall() + seconds)), world, call, data)

    return change


def fixed(data):
    return lambda *_: data


LOUD = {
    "hang": "hang", "refused": "refused", **{str(code): code for code in (301, 400, 401, 403, 404, 409, 429, 500, 503)},
    "html": fixed(b"<html>sorry</html>"), "nothing": fixed(b""), "object": fixed(b"{}"), "null": fixed(b"null"),
    "list": fixed(b"[]"), "text": fixed(b'"x"'),
}  # fmt: skip
# Nothing tells these from a right answer.
QUIET = {
    "half": partial(edited, half), "none": partial(edited, none), "old": lambda world, call, data: world.old.get(call, data),
    "untimed": partial(edited, partial(timed, None)), "recent": shifted(-60), "behind": shifted(-1000), "ahead": shifted(1000),
}  # fmt: skip
STARTS = {False: ("well", "joins", "leads", "kept", "rolls"), True: ("well", "joins", "leads", "kept", "owed")}


def begin(start, reuse):
    world = World(1, reuse)
    ones = [controller(world, f"cp-{index}_1") for index in range(2)]
    sick, over = sorted(world.nodes)[3:5]
    if start == "first":
        return world, ones
    settle(world, ones, 60)
    if start == "well":
        return world, ones
    world.unready(sick)
    if start == "kept":
        world.kept.add(sick)
        world.config(MARKS, **{sick: "keep"})
    settle(world, ones, 318 if start == "owed" else 282)
    if start == "leads":
        world.controllers.remove(ones[0])
        ones = [ones[1], controller(world, "cp-2_1")]
    if start == "rolls":
        world.update()
    [gone] = world.truth(over)
    world.end(gone.id)
    world.launch()
    well = next(one for one in world.present() if one.name in world.nodes and world.nodes[one.name].ready)
    world.requests[world.ask("serving", well, dns=(well.name,), addresses=tuple(well.addresses))]["true"] = True
    world.volumes = [{"metadata": {"name": f"pv-{number}"}, "spec": {"csi": {"driver": "x"}, "persistentVolumeReclaimPolicy": "Delete"}} for number in (1, 2)]
    for number, each in enumerate(world.volumes):
        each["spec"]["claimRef"] = {"uid": f"claim-{number}"}
    hold = {"name": HOLD, "deletionTimestamp": stamp(world.clock.wall()), "finalizers": [FINALIZER]}
    world.store(f"configmaps/{HOLD}", {"metadata": hold})
    return world, ones


def left(world):
    there, nodes = {one.name for one in [*world.present(), world.member]}, world.nodes
    yield from (f"{name} has no Node" for name in there - set(nodes))
    yield from (f"{name} is a ghost" for name in set(nodes) - there)
    yield from (f"{name} is not Ready" for name, node in nodes.items() if not node.ready and name not in world.kept)
    yield from (f"{name} is gone" for name in world.kept - there)
    yield from (f"{one['metadata']['name']} waits" for one in world.undecided())
    if (len(world.present()), world.capacity) != (12, 12):
        yield f"{len(world.present())} of {world.capacity} machines"
    if world.objects.get(f"configmaps/{HOLD}", {"metadata": {}})["metadata"].get("finalizers"):
        yield "the hold of the drivers is there"


def excused(call, fault):
    # Lists without a version are quorum reads (Kubernetes, "API Concepts", resource versions): one that lacks requests
    # cannot be told from a machine that never asked, and a machine an hour goes then; nor one without volumes from none.
    if re.search("(certificatesigningrequests|persistentvolumes)$", call) and fault in ("half", "none", "old"):
        return "has no answer, and is ended$|go before the volumes$"
    # In no cloud does a start move with each list.
    return "is denied$" if re.search("Instances$|virtualMachines$", call) and fault == "recent" else "^$"


def is_told(call, fault):
    # An approval whose answer alone is odd is done, which the watch shows; while a watch fails, lists go on; there is no
    # Event of whoever does not lead, or where Events fail.
    done = call.endswith("/approval") and not re.match(r"\d|hang|refused", fault)
    return not done and not re.search(r"^WATCH|leases(/|$)|events$|^PUT .*fenestra-machines$", call)


def cell(start, reuse, call="", fault=""):
    world, ones = begin(start, reuse)
    world.fault, since, events, due = (call, {**LOUD, **QUIET}.get(fault)), world.clock.at, len(world.events), False
    while (now := world.clock.at) - since < 2 * LONG:
        if now - since > 90:
            world.volumes = []
        if now - since > LONG:
            world.fault = ("", None)
        elif call and now - since > SOON and not world.hits:
            yield "was not asked"
            return
        # Answered so for three minutes and the ten seconds that a lease lasts.
        recent = [at for at in world.hits if now - at <= 200]
        due = due or len(recent) > 4 and recent[0] <= now - 190 and recent[-1] > now - 40
        settle(world, ones, TURN)
    yield from (each for each in world.harm if not re.search(excused(call, fault), each))
    yield from left(world)
    if due and fault in LOUD and is_told(call, fault) and "DutyFails" not in {reason for _, _, reason in world.events[events:]}:
        yield "nobody was told"
    yield from world.page().get("duties", {}).values()


def calls(reuse):
    # Each call with the starts that make it in ten minutes; `first`, a new cluster, only for those that no other makes.
    found = {}
    for start in [*STARTS[reuse], "first"]:
        world, ones = begin(start, reuse)
        world.calls.clear()
        for turn in range(SOON // TURN):
            world.volumes = [] if turn > 15 else world.volumes
            settle(world, ones, TURN)
        for call in sorted(world.calls):
            if start != "first" or call not in found:
                found.setdefault(call, []).append(start)
    return found


class Table(unittest.TestCase):
    def judge(self, reuse):
        found = sorted(calls(reuse).items())
        amazons = [name for name in vars(clouds.Amazon) if name[0].isupper() and not any(name in call for call, _ in found)]
        self.assertEqual(sorted(clouds.HAS - clouds.ASKED) if reuse else amazons, [], "the fake answers what nobody asks")
        rows = [(call, fault, starts[(at + number) % len(starts)]) for at, (call, starts) in enumerate(found) for number, fault in enumerate([*LOUD, *QUIET])]
        for call, fault, start in [("", "", start) for start in STARTS[reuse]] + rows[:: int(os.environ.get("SHARE", "37"))]:
            with self.subTest(call, fault=fault, start=start):
                self.assertEqual(list(cell(start, reuse, call, fault)), [])

    def test_aws(self):
        self.judge(False)

    def test_azure(self):
        self.judge(True)
