# The controller as it is, with a cloud of so many machines, against a real API server: until all of them have their
# first certificates. Arguments: origin of the API server, an administrator's token, number of machines.
import json
import resource
import ssl
import sys
import threading
import time

import support
from api import Api, Feed
from controller import Controller
from lease import Lease
from machines import Listing, Pool
from status import Board
from web import Web


class Clock:
    wall, own = staticmethod(time.time), staticmethod(time.monotonic)


class Tokened(Web):
    def open(self, method, path, headers=None, body=None):
        return super().open(method, path, {**(headers or {}), "Authorization": f"Bearer {token}"}, body)


class OwnApi(Api):
    # The server has made its certificate itself a moment ago.
    def web(self, timeout=None, silence=None):
        return Tokened(self.origin, ssl._create_unverified_context(), timeout or self.timeout, silence)


class Cloud:
    names_return, pause, date = False, 5.0, 0.0

    def __init__(self, count):
        made = time.time() - 60
        self.machines = tuple(support.machine(number, made=made) for number in range(1, count + 1))

    def list(self, at):
        return Listing(self.machines, {"c-linux": Pool("c-linux", len(self.machines))}, (), at)

    def roll(self, pool):
        return pool

    def settle(self, listing, owed):
        return {}, []


def log(text):
    if not text.startswith("FenestraApproved"):
        print(text, file=sys.stderr, flush=True)


origin, token, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
clock, api = Clock(), OwnApi(origin, "", 10.0)
lease, feed = Lease(api, "flood", clock), Feed(api, log)
controller = Controller(api, Cloud(count), feed, lease, Board(api, clock, "flood"), clock, log)
threading.Thread(target=feed.run, daemon=True).start()
print("ready", flush=True)
end = time.monotonic() + 600
while time.monotonic() < end and sum(each.given != "" for each in feed.all()) < count:
    lease.leads()
    controller.step()
    feed.news.wait(1)
    feed.news.clear()
    # As the program itself does.
    time.sleep(0.2)
given = sum(each.given != "" for each in feed.all())
print(json.dumps({"given": given, "waiting": len(controller.waiting), "kib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}))
