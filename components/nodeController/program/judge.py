# What is wrong with nodes and machines, and what is done about it. Pure but for its memory, the leader's own.
from typing import NamedTuple

from brakes import AGAIN, ALL, HOUR, deletions, frozen
from machines import OVER, PRESENT, short

# A Node is a ghost's when whole lists in a row have no machine of its name.
ABSENT_ROUNDS, ABSENT_SECONDS, OLD_NODE = 3, 120, 600
# A machine without a Node whose kubelet is alive; a Node that says NotReady, seen so by this leader itself; a Lease
# that is renewed.
ZOMBIE_SECONDS, SEEN_SECONDS, FRESH_LEASE = 300, 300, 60
# Clocks of two services.
SKEW = 120
# Names in a list of the status.
SHOWN = 20


class Action(NamedTuple):
    verb: str  # delete (a Node), replace (a machine), hold (the launch hook of one that has not joined)
    node: str
    machine: object = None
    pool: str = ""
    why: str = ""
    uid: str = ""


class Memory:
    def __init__(self):
        self.since, self.rounds, self.now = {}, {}, set()
        self.had_machines = False
        # Machines whose Node a leader has seen: a deleted Node takes its Lease along.
        self.joined = set()
        # Places, to when they were last frozen.
        self.frozen = {}

    def begin(self):
        self.now = set()

    def held(self, key, at):
        self.now.add(key)
        self.since.setdefault(key, at)
        self.rounds[key] = self.rounds.get(key, 0) + 1
        return at - self.since[key], self.rounds[key]

    def end(self):
        for key in set(self.since) - self.now:
            del self.since[key], self.rounds[key]


def ghosts(world, memory):
    # Nodes whose machine is gone. Absence counts in a whole list that is not suddenly empty; that a Node is older than
    # the machine of its name, while nobody renews its Lease.
    listing, nodes = world.listing, world.nodes
    machines = listing.by_name()
    doubtful = bool(listing.problems) or (memory.had_machines and not listing.machines)
    memory.had_machines = bool(listing.machines) or (memory.had_machines and doubtful)
    found = []

    def lasts(*key):
        duration, rounds = memory.held(key, world.at)
        return duration >= ABSENT_SECONDS and rounds >= ABSENT_ROUNDS

    for node in nodes.values():
        machine = machines.get(node.name)
        if machine is None and not doubtful and node.name not in world.never and node.made and world.wall - node.made > OLD_NODE:
            if lasts("absent", node.name, node.uid):
                found.append(Action("delete", node.name, None, "", "the cloud has no such machine any more", node.uid))
        elif machine is None and doubtful and ("absent", node.name, node.uid) in memory.since:
            # What was seen so far stays; it does not grow.
            memory.now.add(("absent", node.name, node.uid))
        elif machine is not None and machine.state == "gone":
            found.append(Action("delete", node.name, machine, machine.pool, f"machine {machine.id} was terminated", node.uid))
        elif machine is not None and world.names_return and older(node, machine):
            if lasts("older", node.name, node.uid, world.leases.get(node.name)):
                why = f"it is older than machine {machine.id}, which has its name now"
                found.append(Action("delete", node.name, machine, machine.pool, why, node.uid))
    return found


def older(node, machine):
    # Times that cannot be read say nothing.
    known = machine.pool and machine.state in PRESENT and node.made and machine.made
    return known and not node.ready and node.made < machine.made - SKEW


def condition(world, memory, machine):
    # What is wrong with a machine of a pool: "" for nothing, or joining, leaving, sick, zombie, lost; and why.
    node = world.nodes.get(machine.name)
    age = world.wall - machine.made if machine.made else 0.0
    within = world.settings.join_within.get(machine.os, world.settings.join_within["linux"])
    if machine.state in OVER:
        return "leaving", ""
    if machine.state not in PRESENT and machine.state != "failed":
        return "held", ""
    if node is None:
        renewed = world.leases.get(machine.name)
        alive = renewed is not None and world.wall - renewed < FRESH_LEASE
        duration, _ = memory.held(("nodeless", machine.id), world.at)
        if alive or short(machine.id) in memory.joined:
            late = duration > ZOMBIE_SECONDS and age > within
            why = "its kubelet runs, but it has no Node" if alive else "its Node was deleted, and it has made no other"
            return ("zombie", why) if late else ("joining", "")
        if min(age, world.at - world.answered) > within and duration > 0:
            return "lost", f"it has not joined in {int(within)} s"
        return "joining", ""
    if world.names_return and older(node, machine):
        # Of the machine that had the name before.
        return "unready", ""
    memory.joined.add(short(machine.id))
    if node.ready:
        return "", ""
    duration, _ = memory.held(("unready", machine.id, node.uid), world.at)
    if (world.wall - node.since if node.since else duration) > world.settings.not_ready_after and duration > SEEN_SECONDS:
        return "sick", f"its node has not been Ready for {int(world.settings.not_ready_after)} s"
    if machine.state == "failed" and duration > SEEN_SECONDS:
        return "sick", "the cloud calls it failed, and its node is not Ready"
    return "unready", ""


class World(NamedTuple):
    listing: object
    nodes: dict
    leases: dict  # node to the time of its last renewal
    settings: object
    marks: dict  # node to what the operator says of it
    repairs: tuple  # of the last hour
    wall: float
    at: float  # own clock
    never: frozenset = frozenset()  # nodes that stay
    names_return: bool = False
    answered: float = float("-inf")  # own clock since when every request for a certificate could be answered


def kept(marks, name, wall):
    words = marks.get(name, "").lower().split()
    return words[:1] == ["keep"] and (len(words) == 1 or not words[-1].isdigit() or float(words[-1]) > wall)


def judge(world, memory):
    # Actions, conditions by machine, and what is frozen.
    memory.begin()
    actions, halt = deletions(ghosts(world, memory), len(world.nodes))
    conditions = {
        machine: condition(world, memory, machine)
        for machine in world.listing.by_name().values()
        if machine.pool
    }
    memory.end()
    reasons = frozen(world.settings.max_unhealthy, conditions)
    if halt:
        reasons[ALL] = halt
    memory.frozen.update(dict.fromkeys(reasons, world.at))
    recent = [each for each in world.repairs if world.wall - each["at"] < HOUR]
    asked = {each["machine"]: each["at"] for each in recent}
    lost = {each["pool"] for each in recent if each.get("what") == "lost"}
    left = world.settings.per_hour - len(recent)
    for machine, (what, why) in sorted(conditions.items(), key=lambda each: each[0].made):
        if machine.waits and what in ("joining", "lost", "zombie"):
            actions.append(Action("hold", machine.name, machine, machine.pool))
        if what not in ("sick", "zombie", "lost") or kept(world.marks, machine.name, world.wall) or kept(world.marks, "all", world.wall):
            continue
        places = (machine.pool, machine.zone), (machine.pool, None), ALL
        if any(place in reasons for place in places):
            continue
        # Where the fault was elsewhere, nodes come back one after the other.
        thawed = [place for place in places if world.at - memory.frozen.get(place, float("-inf")) < SEEN_SECONDS]
        if thawed:
            reasons[thawed[0]] = "too many machines were not well a moment ago"
            continue
        # Who is asked for a second time has been counted.
        again = machine.id in asked
        if world.wall - asked[machine.id] < AGAIN if again else left <= 0:
            continue
        if what == "lost" and machine.pool in lost and not again:
            # One after the other: that none joins may be a fault of ours.
            continue
        node = world.nodes.get(machine.name)
        actions.append(Action("replace", machine.name, machine, machine.pool, why, node.uid if node else what))
        left -= not again
        if what == "lost":
            lost.add(machine.pool)
    return actions, conditions, reasons
