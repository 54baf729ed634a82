# Every call that the controller makes, answered wrongly in every way, from the starts in turn: what was done wrong, what
# was told, and whether all was as before 25 minutes later. Arguments: cloud, and which share of the cells. A line of
# JSON for each; table.ts judges them.
import json
import re
import sys
import xml.etree.ElementTree as xml
from functools import partial

import support  # noqa: F401
import api
import aws
import azure
import clouds
import web
from status import MARKS, STATUS
from support import stamp
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


def without(name, null, world, call, data):
    # Every field of that name in an answer, away or null.
    def change(value):
        if isinstance(value, list):
            return [change(each) for each in value]
        if not isinstance(value, dict):
            return value
        return {key: None if key == name else change(each) for key, each in value.items() if null or key != name}

    text = data.decode()
    if text.startswith("<"):
        tree = xml.fromstring(text)
        for parent in list(tree.iter()):
            for each in [each for each in parent if each.tag.rsplit("}", 1)[-1] == name]:
                each.clear() if null else parent.remove(each)
        return xml.tostring(tree)
    try:
        return "\n".join(json.dumps(change(json.loads(line))) for line in text.splitlines()).encode()
    except ValueError:
        return data


def fault_of(name):
    # One of the above, or `drop:FIELD` and `null:FIELD`.
    way, _, field = name.partition(":")
    return partial(without, field, way == "null") if field else {**LOUD, **QUIET}.get(name)


class Read(dict):
    # What was parsed of the answer to a call: notes the fields that are asked for.
    call, fields = "", {}

    def __init__(self, *pairs):
        super().__init__(*pairs)
        self.asked = Read.fields.setdefault(Read.call, set())

    def get(self, key, default=None):
        self.asked.add(key)
        return super().get(key, default)

    def __getitem__(self, key):
        self.asked.add(key)
        return super().__getitem__(key)

    def __contains__(self, key):
        self.asked.add(key)
        return super().__contains__(key)


def record(world):
    # From now on fields are noted, by the one place of each program that reads an answer.
    exchange, flat, parse = world.exchange, aws.flat, web.parse

    def exchanged(one, host, timeout, method, path, body):
        Read.call = clouds.call_of(host, method, path, body)
        return exchange(one, host, timeout, method, path, body)

    def flattened(element):
        name, value = flat(element)
        return name, Read(value) if isinstance(value, dict) else value

    world.exchange, aws.flat = exchanged, flattened
    for module in (api, azure):
        module.parse = lambda data, what: json.loads(data, object_hook=Read) if parse(data, what) is not None else {}

    def stop():
        aws.flat, api.parse, azure.parse = flat, parse, parse

    return stop


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


def look(world, due, events):
    page = (world.objects.get(f"configmaps/{STATUS}", {}).get("data") or {}).get("status", "")
    leads = sum(one.lease.fresh() for one in world.controllers)
    told = any(reason == "DutyFails" for _, _, reason in world.events[events:])
    told = {"event": told, "page": page, "metrics": [world.metrics.get(one.identity, "") for one in world.controllers]}
    return {"due": due, "now": world.clock.wall(), "waiting": len(world.undecided()), "leads": leads, **told}


def left(world):
    there, nodes = {one.name for one in [*world.present(), world.member]}, world.nodes
    yield from (f"{name} has no Node" for name in there - set(nodes))
    yield from (f"{name} is a ghost" for name in set(nodes) - there)
    yield from (f"{name} is not Ready" for name, node in nodes.items() if not node.ready and name not in world.kept)
    yield from (f"{name} is gone" for name in world.kept - there)
    yield from (f"{one['metadata']['name']} waits" for one in world.undecided())
    if (len(world.present()), world.capacity) != (12, 12):
        yield f"{len(world.present())} of {world.capacity} machines"
    if world.volumes == [] and "finalizers" in world.objects.get(f"configmaps/{HOLD}", {}).get("metadata", {}) and world.objects[f"configmaps/{HOLD}"]["metadata"]["finalizers"]:
        yield "the hold of the drivers is there"


def cell(start, reuse, call="", fault=""):
    world, ones = begin(start, reuse)
    world.fault, since, events, looks = (call, fault_of(fault)), world.clock.at, len(world.events), []
    while (now := world.clock.at) - since < 2 * LONG:
        if now - since > 90:
            world.volumes = []
        if now - since > LONG:
            world.fault = ("", None)
        elif call and now - since > SOON and not world.hits:
            world.harm.append("was not asked")
            break
        # Answered so for three minutes and the ten seconds that a lease lasts.
        recent = [at for at in world.hits if now - at <= 200]
        again = fault in LOUD and now - since <= LONG and len(recent) > 4 and recent[0] <= now - 190 and recent[-1] > now - 40
        if again and (not looks or now - since > LONG - 60) and len(looks) < 2:
            looks.append(look(world, True, events))
        settle(world, ones, TURN)
    looks.append(look(world, False, len(world.events)))
    return {"cell": [start, call, fault], "harm": world.harm, "left": list(left(world)), "looks": looks}


def calls(reuse):
    # Each call with the starts that make it in ten minutes; `first`, a new cluster, only for those that no other makes.
    found = {}
    for start in [*STARTS[reuse], "first"]:
        world, ones = begin(start, reuse)
        world.calls.clear()
        stop = record(world)
        for turn in range(SOON // TURN):
            world.volumes = [] if turn > 15 else world.volumes
            settle(world, ones, TURN)
        stop()
        for call in sorted(world.calls):
            if start != "first" or call not in found:
                found.setdefault(call, []).append(start)
    return found


if __name__ == "__main__":
    reuse, share = sys.argv[1] == "azure", int(sys.argv[2])
    found = sorted(calls(reuse).items())
    faults = {call: [*LOUD, *QUIET, *(f"{way}:{field}" for field in sorted(Read.fields.get(call, ())) for way in ("drop", "null"))] for call, _ in found}
    # No API server leaves out the name of what it has made.
    faults = {call: [fault for fault in all if not (call.startswith("POST") and fault.endswith(":name"))] for call, all in faults.items()}
    rows = [(call, fault, starts[(at + number) % len(starts)]) for at, (call, starts) in enumerate(found) for number, fault in enumerate(faults[call])]
    rows = [("", "", start) for start in STARTS[reuse]] + rows[::share]
    amazons = [name for name in vars(clouds.Amazon) if name[0].isupper() and not any(name in call for call, _ in found)]
    unasked = sorted(clouds.HAS - clouds.ASKED) if reuse else amazons
    print(json.dumps({"calls": sorted({call for call, _, _ in rows if call}), "cells": len(rows), "unasked": unasked}), flush=True)
    for call, fault, start in rows:
        print(json.dumps(cell(start, reuse, call, fault)), flush=True)
