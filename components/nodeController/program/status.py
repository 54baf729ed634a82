# What people and programs read of the controller: one ConfigMap and Events.
#
# ConfigMap kube-system/fenestra-machines, written by the leader alone, in JSON:
#   status   what ../page.schema.json describes, to which tests hold every page
#   records  what the next leader must know: FORMS
# ConfigMap fenestra-node-controller, written by the stack's program: data.settings, JSON
#   {notReadyAfter, joinWithin: {linux, windows}: seconds, maxUnhealthy: 0..1, perHour}. Without it nothing is repaired.
# ConfigMap fenestra-marks, written by people: NODE (or `all`): "keep" or "keep until SECONDS OF THE EPOCH".
import json
import time

from duties import DUTIES
from judge import SHOWN
from lease import stamp
from machines import Settings

STATUS, SETTINGS, MARKS = "fenestra-machines", "fenestra-node-controller", "fenestra-marks"
FOLDER = "/api/v1/namespaces/kube-system/configmaps"
LISTS = ("joining", "leaving", "unready", "sick", "zombie", "lost", "held")
# Seconds until an unchanged status is written again: its age says whether somebody leads.
AGAIN = 60
# Revisions by which a restored cluster is ahead of its snapshot (etcd-restore.sh).
AHEAD = 1000000000


def settings_of(item):
    # None where they make no sense.
    try:
        given = json.loads((item or {}).get("data", {})["settings"])
        within = given["joinWithin"]
        found = Settings(
            float(given["notReadyAfter"]),
            {"linux": float(within["linux"]), "windows": float(within["windows"])},
            float(given["maxUnhealthy"]),
            int(given["perHour"]),
        )
    except (KeyError, TypeError, ValueError):
        return None
    return found if found.not_ready_after >= 60 and 0 <= found.max_unhealthy <= 1 and min(found.join_within.values()) >= 60 else None


def moment(at):
    return time.strftime("%Y-%m-%dT%H:%MZ", time.gmtime(at)) if at else ""


def told(machine, kind, node):
    # Since when it is so: its start where it has no Node.
    at = "" if kind == "leaving" else moment(node.since if node and not node.ready else machine.made)
    return f"{machine.name} since {at}" if at else machine.name


def pools(listing, nodes, conditions, reasons, rolls, older):
    found = {}
    for name, pool in sorted(listing.pools.items()):
        own = {machine: what for machine, (what, _) in conditions.items() if machine.pool == name}
        entry = {"wanted": pool.wanted, "ready": sum(what == "" for what in own.values()), "old": len(older(pool, own))}
        for kind in LISTS:
            names = sorted(told(machine, kind, nodes.get(machine.name)) for machine, what in own.items() if what == kind)
            if names:
                entry[kind] = names[:SHOWN] + ([f"and {len(names) - SHOWN} more"] if len(names) > SHOWN else [])
        mute = [nodes[machine.name] for machine, what in own.items() if what == "" and nodes[machine.name].silent]
        if mute:
            entry["silent"] = sorted(f"{node.name} since {moment(node.silent)}" for node in mute)[:SHOWN]
        frozen = [why for (pool_name, _), why in sorted(reasons.items(), key=str) if pool_name == name]
        if frozen:
            entry["frozen"] = "; ".join(frozen)
        state, why = pool.roll.get("state", ""), rolls.get(name, "")
        if state or why:
            since = moment(pool.roll.get("started", 0))
            entry["roll"] = {key: value for key, value in (("state", state), ("since", since), ("why", why)) if value}
        found[name] = entry
    return found


def metrics(denied, waiting, leads, duties):
    # In Prometheus' text format, always as long: it is written over the last one.
    found = [
        ("denied_total", "counter", "Requests for kubelets' certificates that this process has denied.", denied),
        ("waiting", "gauge", "Requests that wait, where this process leads.", waiting),
    ]
    found = [(f"fenestra_certificate_requests_{name}", *rest) for name, *rest in found]
    found.append(("fenestra_node_controller_leads", "gauge", "Whether this process leads.", int(leads)))
    text = "".join(f"# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value:>12}\n" for name, kind, help, value in found)
    name = "fenestra_node_controller_done_timestamp_seconds"
    text += f"# HELP {name} When a duty was last done whole, where this process leads.\n# TYPE {name} gauge\n"
    return text + "".join(f'{name}{{duty="{each}"}} {duties.at(each) if leads else 0:>12}\n' for each in DUTIES)


# What each record is, so that no odd one stops a leader for good: repairs of the last hour, sizes owed to scale sets,
# rolls that were started; by machine since when its certificates count, and the newest few, and when that memory began;
# duties that fail and since when; machines that have had a Node; marks, and since when they are away.
FORMS = {
    "repairs": lambda each: isinstance(each, list) and all(type(one["at"]) is int and one["machine"] + one["pool"] for one in each),
    "owed": lambda each: all(one["size"] + one["at"] + one["machines"] > 0 for one in each.values()),
    "rolls": lambda each: all(one["at"] + one["tries"] + len(one["version"]) > 0 for one in each.values()),
    "certificates": lambda each: all(at + 1 and "".join(few) for at, few in each.values()),
    "began": lambda each: each + 1 > 0,
    "failing": lambda each: all(at + 1 for at in each.values()),
    "joined": lambda each: isinstance(each, list) and len("".join(each)) + 1,
    "marks": lambda each: all(len(mark) + 1 for mark in each.values()),
    "unmarked": lambda each: each + 1 > 0,
}


def sound(name, record):
    try:
        return bool(FORMS[name](record))
    except (KeyError, TypeError, ValueError, AttributeError):
        return False


class Board:
    # The leader's page: read when it begins to lead, and written before what it says is done.
    def __init__(self, api, clock, identity):
        self.api, self.clock, self.identity = api, clock, identity
        self.item, self.records, self.odd, self.shown, self.written, self.at = None, {}, [], None, 0.0, 0.0

    def load(self):
        page = self.api.data(STATUS)
        self.item = page or {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": STATUS, "namespace": "kube-system"},
        }
        data = self.item.get("data") or {}
        try:
            self.at = float(json.loads(data["status"])["at"])
        except (KeyError, TypeError, ValueError):
            # One that was never made is due, whoever leads.
            self.at = self.clock.wall() if page else 0.0
        try:
            found = json.loads(data.get("records", "{}")).items()
        except (ValueError, AttributeError):
            found = [("all", None)]
        self.records = {name: record for name, record in found if sound(name, record)}
        self.odd = [f"the record of {name} on the page makes no sense and is dropped" for name, _ in found if name not in self.records]
        self.shown = None

    def is_restored(self, version):
        # Whether the page is of a snapshot, by a version of now.
        both = version, self.item["metadata"].get("resourceVersion", "")
        return all(map(str.isdecimal, both)) and int(both[0]) - int(both[1]) >= AHEAD

    def save(self, status):
        # Fails when somebody else has written since.
        text = json.dumps(self.records, sort_keys=True)
        shown = (json.dumps(status, sort_keys=True), text)
        if shown == self.shown and self.clock.own() - self.written < AGAIN:
            return
        whole = {"at": int(self.clock.wall()), "leader": self.identity, **status}
        item = {**self.item, "data": {"status": json.dumps(whole, indent=1), "records": text}}
        # Without an answer nobody knows what is written: then it is read again.
        self.item = None
        if item["metadata"].get("resourceVersion"):
            self.item = self.api.put(f"{FOLDER}/{STATUS}", item)
        else:
            self.item = self.api.post(FOLDER, item)
        self.shown, self.written = shown, self.clock.own()


def event(api, clock, name, uid, reason, message, kind=("v1", "Node")):
    now = stamp(clock.wall())
    body = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        # No point at its end: the API server takes "-" alone there.
        "metadata": {"generateName": "fenestra-node-controller-", "namespace": "default"},
        "eventTime": now,
        "type": "Warning",
        "reason": reason,
        "action": reason,
        "note": message[:1000],
        "reportingController": "fenestra.dev/node-controller",
        "reportingInstance": "control-plane",
        "regarding": {"apiVersion": kind[0], "kind": kind[1], "name": name[:253], "uid": uid},
    }
    api.post("/apis/events.k8s.io/v1/namespaces/default/events", body)
