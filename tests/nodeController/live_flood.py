# How long an honest first request and an honest renewal wait beside so many hostile ones of one kind, which one worker
# makes: ORIGIN, TOKEN, KIND, COUNT.
import json
import os
import threading
import time

import live
from api import CSRS, Feed
from controller import Controller
from lease import Lease
from status import Board

origin, token, kind, count = (os.environ[each] for each in ("ORIGIN", "TOKEN", "KIND", "COUNT"))
clock, api = live.Clock(), live.OwnApi(origin, token)
live.let_nodes(api)
cloud = live.Cloud(4)
worker, joins, renews, _ = (each.id for each in cloud.machines)
lease, feed = Lease(api, "flood", clock), Feed(api, print)
controller = Controller(api, cloud, feed, lease, Board(api, clock, "flood"), clock, lambda text: None)
threading.Thread(target=feed.run, daemon=True).start()


def lead():
    while True:
        lease.leads()
        controller.step()
        feed.news.wait(1)
        feed.news.clear()
        time.sleep(0.2)


# Of machines that are older than the memory any certificate counts.
controller.board.records["began"] = int(time.time()) + 3600
threading.Thread(target=lead, daemon=True).start()
addresses = ["-addext", "subjectAltName=IP:10.0.0.1"] if kind == "serving" else []
hostile = live.body(kind, worker, live.signed(worker, *addresses))
left = iter(range(int(count)))


def send():
    web = api.web()
    for _ in left:
        code, said = live.sent(web, kind, worker, hostile)
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
made, waiting = time.monotonic() - began, len(feed.all())
print(json.dumps({"first": took("first", joins), "renewal": took("renewal", renews), "made": round(made), "seen": waiting}))
os._exit(0)
