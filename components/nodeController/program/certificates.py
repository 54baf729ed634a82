# The turn of the controller that gives certificates.
import queue
import threading

import requests
from machines import Trouble, short
from web import end, within

# Seconds between rounds, that a watch may be silent, and the age of requests for which the cloud is asked often.
ROUND, SILENT, YOUNG = 30.0, 150, 120.0
# Writes at once.
WRITERS = 4
# Certificates of a machine that are remembered: its own, the one before and one that it has not fetched.
FEW = 3
# Requests that are denied or closed in a turn.
OTHERS = 100


class Certificates:
    def certificates(self):
        if not self.feed.whole or self.clock.own() - self.feed.heard > SILENT:
            raise Trouble(self.feed.problem or "nothing is heard of the requests")
        now, own, everything = self.clock.wall(), self.clock.own(), self.feed.all()
        given, known = self.remember([each for each in everything if each.at])
        pending = [each for each in everything if not each.decided]
        # Stamps are of any API server's clock.
        self.first, self.behind = {each.uid: self.first.get(each.uid, own) for each in pending}, {}
        if not pending:
            self.waiting = {}
            return
        # A list that is older than a request says nothing of it; any number of hostile ones costs one list in a while.
        listing = self.look(self.cloud.pause if any(now - each.made < YOUNG for each in pending) else ROUND)
        # What waits is looked at again with the next list.
        if self.judged_by != listing.at:
            self.judged_by, self.waiting = listing.at, {}
        machines, right, rest = listing.by_name(), {}, []
        for request in sorted(pending, key=requests.age):
            if request.name in self.waiting:
                continue
            machine = machines.get(request.node)
            counts = machine is None or machine.pool == "" or known(machine, request.by)
            seen = min(now, request.made + own - self.first[request.uid])
            verdict, why = requests.decide(request, seen, machine, request.node in self.nodes, counts, self.cloud.cluster)
            if verdict == "wait":
                self.waiting[request.name] = why
                if machine and not 0 < machine.made <= now:
                    # Nobody knows for how long.
                    self.answered = own
            elif verdict == "approve":
                right.setdefault((machine, request.kind), []).append((request, why))
            else:
                rest.append((request, verdict, why, machine))
        todo = []
        for (machine, kind), asked in right.items():
            before = [each for each in given.get((machine.id, kind), ()) if each.made >= machine.made]
            used = short(machine.id) in self.memory.joined or any(each.certificate in self.feed.used for each in before)
            chosen, reason = requests.turn([request for request, _ in asked], before, used, now)
            for request, why in asked:
                if request is not chosen:
                    self.behind[request.name] = reason
                elif before and kind == "first":
                    last = max(before, key=lambda each: each.at)
                    todo.append((request, "again", f"{why}, since {last.name} has not been used", machine))
                else:
                    todo.append((request, "approve", why, machine))
        # True ones before the rest, and of the rest a bounded number in a turn.
        self.write(todo + rest[:OTHERS])

    def remember(self, approved):
        # Approved requests by machine and kind, and whether a certificate is a machine's, None where nobody knows. Of each
        # machine the page has since when its certificates count, and the newest few, so that nobody fills the memory of
        # another. A first one ends those before it. A machine that is older than this memory is believed.
        written = self.board.records.setdefault("certificates", {})
        began = self.board.records.setdefault("began", int(self.clock.wall()))
        machines, given, self.again = self.listing.by_name() if self.listing else {}, {}, {}
        for each in sorted(approved, key=lambda each: (each.at, requests.age(each))):
            machine = machines.get(each.node)
            # One that a person approved is of the machine that has the name.
            id = each.given or (machine.id if machine and each.made >= machine.made else "")
            if not id:
                continue
            others = given.setdefault((id, each.kind), [])
            others.append(each)
            if each.kind == "first" and len(others) > 1:
                pool = each.pool or "of the release before"
                self.again[pool] = self.again.get(pool, 0) + 1
            since, kept = written.get(id, (0, []))
            if each.certificate and each.kind != "serving" and each.at >= since and each.certificate not in kept:
                older = [] if each.kind == "first" else [one for one in dict.fromkeys((each.by, *kept)) if one]
                written[id] = [int(each.at), [each.certificate, *older][:FEW]]

        def known(machine, certificate):
            return certificate in written[machine.id][1] if machine.id in written else machine.made < began or None

        return given, known

    def write(self, todo):
        if not todo:
            return
        work, troubles, left = queue.SimpleQueue(), [], end() - self.clock.own()
        for each in todo:
            work.put(each)

        def run():
            while self.lease.fresh():
                try:
                    request, verdict, why, machine = work.get_nowait()
                except queue.Empty:
                    return
                try:
                    with within(left):
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
        reason = {"deny": "FenestraDenied", "abandon": "FenestraAbandoned"}.get(verdict, "FenestraApproved")
        approved = reason == "FenestraApproved"
        if approved and request.kind == "first":
            left = "a node" if self.api.node(request.node) else ""
            if not left and self.cloud.names_return and self.api.pods_of(request.node):
                left = "pods of a node"
            if left:
                self.waiting[request.name] = f"there is {left} of that name: {request.node}"
                return
        self.api.decide(request, approved, reason, why)
        self.feed.forget(request, request._replace(decided=True, at=self.clock.wall(), given=machine.id) if approved else None)
        self.log(f"{reason} {request.name}: {why}")
        if approved and request.kind == "first":
            self.joined_at = self.clock.own()
        self.denied += verdict == "deny"
        if verdict in ("deny", "again"):
            node = self.nodes.get(request.node)
            of = (node.name, node.uid) if node else (request.name, request.uid)
            kind = ("v1", "Node") if node else ("certificates.k8s.io/v1", "CertificateSigningRequest")
            self.event(*of, {"deny": "CertificateDenied", "again": "CertificateGivenAgain"}[verdict], why, kind)
