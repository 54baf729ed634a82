# The controller as it is, with a cloud of so many machines, against a real API server: until all of them have their
# first certificates. Arguments: origin of the API server, an administrator's token, number of machines.
import json
import resource
import sys
import threading
import time

from live import Clock, Cloud, OwnApi
from api import Feed
from controller import Controller
from lease import Lease
from status import Board


def log(text):
    if not text.startswith("FenestraApproved"):
        print(text, file=sys.stderr, flush=True)


origin, token, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
clock, api = Clock(), OwnApi(origin, token, 10.0)
lease, feed = Lease(api, "flood", clock), Feed(api, log)
controller = Controller(api, Cloud(count), feed, lease, Board(api, clock, "flood"), clock, log)
threading.Thread(target=feed.run, daemon=True).start()
print("ready", flush=True)
end = time.monotonic() + 600
while time.monotonic() < end and sum(each.at > 0 for each in feed.all()) < count:
    lease.leads()
    controller.step()
    feed.news.wait(1)
    feed.news.clear()
    # As the program itself does.
    time.sleep(0.2)
given = sum(each.at > 0 for each in feed.all())
print(json.dumps({"given": given, "waiting": len(controller.waiting), "kib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}))
