# What is wrong with nodes and machines, and what is done about it. Pure but for its memory, which is the leader's own
# and lost with it.
import math
from typing import NamedTuple

from machines import OVER, PRESENT

HOUR = 3600
# Rule of absence: a Node is a ghost's when whole lists in a row have no machine of its name.
ABSENT_ROUNDS, ABSENT_SECONDS, OLD_NODE = 3, 120, 600
# A machine without a Node whose kubelet is alive; a Node that says NotReady, seen so by this leader itself; a Lease
# that is renewed.
ZOMBIE_SECONDS, SEEN_SECONDS, FRESH_LEASE = 300, 300, 60
# Clocks of two services.
SKEW = 120
# Names of a pool's troubled machines in the status.
SHOWN = 20


class Action(NamedTuple):
    verb: str  # delete (a Node), replace (a machine), hold (the launch hook of one that has not joined)
    node: str
    machine: object = None
    pool: str = ""
    why: str = ""
    uid: str = ""


class Memory:
    # Since when something has been so, round after round.
    def __init__(self):
        self.since, self.rounds, self.now = {}, {}, set()
        self.had_machines = False
        # Ids of machines whose Node this leader has seen: a deleted Node takes its Lease along, so one that lost it
        # tells so by nothing else.
        self.joined = set()

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

    def forget(self):
        self.since, self.rounds = {}, {}


def share(part, whole):
    # A tenth of three is one: a limit never keeps the first one from being looked after.
    return max(1, math.floor(part * whole))


def ghosts(world, memory):
    # Nodes whose machine is gone. Absence counts only in a whole list that is not suddenly empty.
    listing, nodes = world.listing, world.nodes
    machines = listing.by_name()
    doubtful = bool(listing.problems) or (memory.had_machines and not listing.machines)
    memory.had_machines = bool(listing.machines) or (memory.had_machines and doubtful)
    found = []
    for node in nodes.values():
        machine = machines.get(node.name)
        if machine is None and not doubtful and node.name not in world.never and world.wall - node.made > OLD_NODE:
            duration, rounds = memory.held(("absent", node.name, node.uid), world.at)
            if duration >= ABSENT_SECONDS and rounds >= ABSENT_ROUNDS:
                found.append(Action("delete", node.name, None, "", "the cloud has no such machine any more", node.uid))
        elif machine is None and doubtful and ("absent", node.name, node.uid) in memory.since:
            # What was seen so far stays; it does not grow.
            memory.now.add(("absent", node.name, node.uid))
        elif machine is not None and machine.state == "gone":
            found.append(Action("delete", node.name, machine, machine.pool, f"machine {machine.id} was terminated", node.uid))
        elif machine is not None and world.names_return and machine.pool and machine.state in PRESENT and node.made < machine.made - SKEW:
            why = f"it is older than machine {machine.id}, which has its name now"
            found.append(Action("delete", node.name, machine, machine.pool, why, node.uid))
    return found


def condition(world, memory, machine):
    # What is wrong with a machine of a pool: "" for nothing, or joining, leaving, sick, zombie, lost; and why.
    node = world.nodes.get(machine.name)
    age = world.wall - machine.made
    within = world.settings.join_within.get(machine.os, world.settings.join_within["linux"])
    if machine.state in OVER:
        return "leaving", ""
    if machine.state not in PRESENT and machine.state != "failed":
        return "held", ""
    if node is None:
        renewed = world.leases.get(machine.name)
        alive = renewed is not None and world.wall - renewed < FRESH_LEASE
        duration, _ = memory.held(("nodeless", machine.id), world.at)
        if alive or machine.id in memory.joined:
            late = duration > ZOMBIE_SECONDS and age > within
            why = "its kubelet runs, but it has no Node" if alive else "its Node was deleted, and it has made no other"
            return ("zombie", why) if late else ("joining", "")
        if age > within and duration > 0:
            return "lost", f"it has not joined in {int(within)} s"
        return "joining", ""
    memory.joined.add(machine.id)
    if node.ready:
        return "", ""
    duration, _ = memory.held(("unready", machine.id, node.uid), world.at)
    if world.wall - node.since > world.settings.not_ready_after and duration > SEEN_SECONDS:
        return "sick", f"its node has not been Ready for {int(world.settings.not_ready_after)} s"
    if machine.state == "failed" and duration > SEEN_SECONDS:
        return "sick", "the cloud calls it failed, and its node is not Ready"
    return "unready", ""


def frozen(world, conditions):
    # Zones and pools with so much trouble that its cause must be elsewhere: (pool, zone) and (pool, None), to the
    # reason.
    cells, reasons = {}, {}
    for machine, (what, _) in conditions.items():
        bad = what in ("sick", "unready", "zombie")
        for key in ((machine.pool, machine.zone), (machine.pool, None)):
            count = cells.setdefault(key, [0, 0])
            count[0] += bad
            count[1] += what not in ("leaving", "held", "joining", "lost")
    limit = world.settings.max_unhealthy
    for key, (bad, whole) in sorted(cells.items(), key=lambda each: each[0][1] is None):
        pool, zone = key
        if zone is None:
            # Zones that are frozen already do not stop the others.
            apart = [cells[other] for other in reasons if other[0] == pool]
            bad, whole = bad - sum(each[0] for each in apart), whole - sum(each[1] for each in apart)
        if bad > share(limit, whole):
            reasons[key] = f"{bad} of {whole} machines are not well" + (f" in {zone}" if zone else "")
    return reasons


class World(NamedTuple):
    listing: object
    nodes: dict
    leases: dict  # node to the time of its last renewal
    settings: object
    marks: dict  # node to what the operator says of it
    repairs: tuple  # of the last hour: dictionaries with machine, pool, why, at
    wall: float
    at: float  # own clock, which nobody sets
    never: frozenset = frozenset()  # nodes that no list may end
    names_return: bool = False


def kept(marks, name, wall):
    # keep, or keep until <epoch>.
    words = marks.get(name, "").lower().split()
    return words[:1] == ["keep"] and (len(words) == 1 or not words[-1].isdigit() or float(words[-1]) > wall)


def judge(world, memory):
    # Actions of this round, conditions by machine, frozen zones and pools.
    memory.begin()
    actions = ghosts(world, memory)
    most = share(0.1, len(world.nodes))
    halt = ""
    absent = [each for each in actions if each.machine is None]
    if len(absent) > most and len(absent) * 2 > len(world.nodes):
        halt = f"the cloud is said to have no machine of {len(absent)} of {len(world.nodes)} nodes; they are not removed"
        actions = [each for each in actions if each.machine is not None]
    actions = actions[:most]
    conditions = {
        machine: condition(world, memory, machine)
        for machine in world.listing.by_name().values()
        if machine.pool
    }
    memory.end()
    reasons = frozen(world, conditions)
    if halt:
        reasons[("", None)] = halt
    recent = [each for each in world.repairs if world.wall - each["at"] < HOUR]
    asked = {each["machine"] for each in recent}
    lost = {each["pool"] for each in recent if each.get("what") == "lost"}
    left = world.settings.per_hour - len(recent)
    for machine, (what, why) in sorted(conditions.items(), key=lambda each: each[0].made):
        if machine.waits and what in ("joining", "lost", "zombie"):
            actions.append(Action("hold", machine.name, machine, machine.pool))
        if what not in ("sick", "zombie", "lost") or machine.id in asked or kept(world.marks, machine.name, world.wall):
            continue
        if kept(world.marks, "all", world.wall) or left <= 0 or (machine.pool, machine.zone) in reasons or (machine.pool, None) in reasons:
            continue
        if what == "lost" and machine.pool in lost:
            # One after the other: that none joins may be a fault of ours.
            continue
        node = world.nodes.get(machine.name)
        actions.append(Action("replace", machine.name, machine, machine.pool, why, node.uid if node else what))
        left -= 1
        if what == "lost":
            lost.add(machine.pool)
    return actions, conditions, reasons
