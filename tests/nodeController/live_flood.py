# How long honest requests wait beside hostile ones, on a real API server: ORIGIN, TOKEN, KIND, COUNT. One worker makes
# those of a kubelet's kinds; a `stranger` asks for a machine that nobody has, while a thousand join.
import json
import os
import resource
import threading
import time

import live
from api import CSRS, Feed
from controller import Controller
from lease import Lease
from requests import seconds
from status import Board

kind, count = os.environ["KIND"], int(os.environ["COUNT"])
stranger = kind == "stranger"
clock, api = live.Clock(), live.OwnApi(os.environ["ORIGIN"], os.environ["TOKEN"])
live.let_nodes(api)
cloud = live.Cloud(1000 if stranger else 3)
worker, joins, renews, *_ = (each.id for each in cloud.machines)
lease, feed = Lease(api, "flood", clock), Feed(api, print)
controller = Controller(api, cloud, feed, lease, Board(api, clock, "flood"), clock, lambda text: None)
# Any certificate counts of machines older than the memory.
controller.board.records["began"] = int(time.time()) + 3600


def lead():
    while True:
        lease.leads()
        controller.step()
        feed.news.wait(1)
        feed.news.clear()
        # As the program itself does.
        time.sleep(0.2)


threading.Thread(target=feed.run, daemon=True).start()
threading.Thread(target=lead, daemon=True).start()
asked, of = ("first", "i-0ffffffffffffffff") if stranger else (kind, worker)
addresses = ["-addext", "subjectAltName=IP:10.0.0.1"] if kind == "serving" else []
hostile = live.body(asked, of, live.signed(of, *addresses))
honest = [live.body("first", each.id, live.signed(each.id)) for each in cloud.machines] if stranger else []
left = iter(range(count))


def send():
    web = api.web()
    for number in left:
        mine = [honest.pop()] if honest and number % 10 == 0 else []
        for what in [hostile, *mine]:
            code, said = live.sent(web, asked, of, what)
            assert code == 201, said


def took(kind, node):
    web, began = api.web(), time.monotonic()
    name = live.sent(web, kind, node, live.body(kind, node, live.signed(node)))[1]["metadata"]["name"]
    while not (api.get(f"{CSRS}/{name}").get("status") or {}).get("conditions"):
        time.sleep(0.05)
        assert time.monotonic() - began < 120
    return round(time.monotonic() - began, 1)


began = time.monotonic()
threads = [threading.Thread(target=send) for _ in range(4)]
for each in threads:
    each.start()
for each in threads:
    each.join()
result = {"made": round(time.monotonic() - began), "seen": len(feed.all())}
if stranger:
    while sum(each.at > 0 for each in feed.all()) < 1000 and time.monotonic() - began < 600:
        time.sleep(1)
    decided = [(each["metadata"], each["status"]["conditions"][0]) for each in api.pages(CSRS) if each["status"].get("conditions")]
    waits = [seconds(how["lastUpdateTime"]) - seconds(meta["creationTimestamp"]) for meta, how in decided]
    result |= {"decided": len(decided), "joined": max(waits)}
else:
    result |= {"first": took("first", joins), "renewal": took("renewal", renews)}
print(json.dumps({**result, "mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024}))
os._exit(0)
