# What the cloud and the cluster say, as plain values. A list of the cloud proves presence, never absence.
import hashlib
from typing import NamedTuple

# States of a machine. `held` is there, but somebody else's business (standby, detached); `leaving` and `gone` never
# come back.
PRESENT = frozenset({"starting", "running"})
OVER = frozenset({"leaving", "gone"})


class Machine(NamedTuple):
    id: str  # unique for ever: instance id, vmId
    name: str  # of its node
    pool: str  # its group; "" for a control-plane machine
    state: str
    made: float  # seconds of the epoch: launch on AWS, creation on Azure
    zone: str = ""
    os: str = "linux"
    names: frozenset = frozenset()  # DNS names that are its own
    addresses: frozenset = frozenset()
    version: str = ""  # template that it was made from
    waits: bool = False  # at the launch hook of its group
    path: str = ""  # how the cloud's calls name it
    place: bool = False  # its template has a join secret of its pool's own


class Pool(NamedTuple):
    name: str
    wanted: int
    version: str = ""
    healthy: tuple = ()  # least and most machines in percent while a group replaces its own
    ids: frozenset = frozenset()  # machines that belong to it, whether described or not
    roll: dict = {}  # the newest one: state, started, reason
    path: str = ""
    etag: str = ""


class Listing(NamedTuple):
    machines: tuple
    pools: dict
    problems: tuple = ()  # why the list is not whole
    at: float = 0.0  # own clock when the list was asked for

    def by_name(self):
        # Of one name, the youngest that is not over.
        found = {}
        for machine in sorted(self.machines, key=lambda each: (each.state not in OVER, each.made)):
            found[machine.name] = machine
        return found


class Node(NamedTuple):
    name: str
    uid: str
    made: float
    ready: bool
    since: float  # of the condition Ready, as the node says
    silent: float = 0.0  # last beat of its health task, where that is too old


class Settings(NamedTuple):
    not_ready_after: float = 1200.0
    join_within: dict = {"linux": 900.0, "windows": 2400.0}
    max_unhealthy: float = 0.2
    per_hour: int = 2


def short(id):
    # What is remembered of it for long.
    return hashlib.sha256(id.encode()).hexdigest()[:8]


class Trouble(Exception):
    # A call that failed; what it says is for people.
    def __init__(self, text, status=0, head=b""):
        super().__init__(text)
        self.status, self.head = status, head
