# One leader of all control-plane machines, by client-go's rules: expiry is judged by the own clock since the record
# changed. That only one acts is not certain, so each changing call asks `fresh` first and is idempotent.
import time

from machines import Trouble
from web import within

DURATION, RENEW, SAFE = 15, 2, 10
# Seconds for a look and a write, and those in which one that gave the lease up leaves it to others.
CALLS, AWAY = 8, 30
PATH = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
NAME = "fenestra-node-controller"


def stamp(wall):
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(wall)) + f".{int(wall % 1 * 1e6):06d}Z"


class Lease:
    def __init__(self, api, identity, clock):
        self.api, self.identity, self.clock = api, identity, clock
        self.seen, self.changed, self.renewed, self.term = None, 0.0, None, 0
        self.away, self.said, self.version = 0.0, "", ""

    def fresh(self):
        return self.renewed is not None and self.clock.own() - self.renewed < SAFE

    def turn(self, log):
        # Once every RENEW seconds; no answer ends the thread.
        said = ""
        try:
            with within(CALLS):
                self.leads()
        except Exception as error:
            if getattr(error, "status", 0) != 409:
                said = f"the lease: {type(error).__name__} {error}"
        if said and said != self.said:
            log(said)
        self.said = said

    def leads(self):
        now = self.clock.own()
        try:
            lease = self.api.get(f"{PATH}/{NAME}")
        except Trouble as error:
            if error.status != 404:
                raise
            lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": NAME, "namespace": "kube-system"}}
        spec = lease.get("spec") or {}
        record = (spec.get("holderIdentity"), spec.get("renewTime"), lease["metadata"].get("resourceVersion"))
        if record != self.seen:
            self.seen, self.changed = record, now
        holder = spec.get("holderIdentity") or ""
        # One of this machine that was killed: another machine may have it first.
        if holder != self.identity and (now < self.away or holder and now - self.changed < DURATION):
            self.renewed = None
            return
        wall = stamp(self.clock.wall())
        taken = spec.get("acquireTime") if holder == self.identity and self.renewed is not None else None
        lease["spec"] = {
            "holderIdentity": self.identity,
            "leaseDurationSeconds": DURATION,
            "acquireTime": taken or wall,
            "renewTime": wall,
            "leaseTransitions": (spec.get("leaseTransitions") or 0) + (holder != self.identity),
        }
        if lease["metadata"].get("resourceVersion"):
            lease = self.api.call("PUT", f"{PATH}/{NAME}", lease)
        else:
            lease = self.api.call("POST", PATH, lease)
        self.version = lease["metadata"].get("resourceVersion", "")
        # The answer may have taken long. A new term begins without what the last one remembered.
        if not (holder == self.identity and self.fresh()):
            self.term += 1
        self.renewed = now

    def release(self):
        # For others to take it at once; else it ends by itself.
        if not self.fresh():
            return
        self.renewed, self.away = None, self.clock.own() + AWAY
        try:
            lease = self.api.get(f"{PATH}/{NAME}")
            if lease["spec"].get("holderIdentity") == self.identity:
                lease["spec"].update({"holderIdentity": "", "leaseDurationSeconds": 1})
                self.api.call("PUT", f"{PATH}/{NAME}", lease)
        except (Trouble, KeyError):
            pass
