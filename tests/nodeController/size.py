# The controller's memory, calls and time by CLOUD, NODES of 15 KB, POOLS. What the fakes held before is taken off the
# memory; their time is not.
import json
import re
import resource
import sys
import time

import clouds
from world import World, controller, settle

reuse, nodes, pools = sys.argv[1] == "azure", int(sys.argv[2]), int(sys.argv[3])
clouds.PAGE, IMAGES, ROUNDS = 1000, [{"names": ["x" * 140], "sizeBytes": 1}] * 80, 4


class Large(World):
    def list(self, kind, query):
        status, whole = super().list(kind, query)
        if kind in ("nodes", "leases"):
            at, end = (int(query.get(key, 0)) for key in ("continue", "limit"))
            whole["items"], more = whole["items"][at : at + end], len(whole["items"]) > at + end
            whole["metadata"]["continue"] = str(at + end) if more else ""
            for each in whole["items"] if kind == "nodes" else ():
                each["status"]["images"] = IMAGES
        return status, whole


class Sets(clouds.Microsoft):
    def read(self, path, query):
        words = path.split("/")
        if words[-1] == "virtualMachineScaleSets":
            return 200, {"value": [{"name": f"c-linux{number}", "sku": {"capacity": nodes // pools}} for number in range(pools)]}
        if len(words) < 9 or not words[8].startswith("c-linux"):
            return super().read(path, query)
        shown, mine = self.fleet.shown, int(words[8][7:])
        self.fleet.shown, words[8] = lambda: [one for one in shown() if int(one.path) % pools == mine], "c-linux"
        try:
            return super().read("/".join(words), query)
        finally:
            self.fleet.shown = shown


class Groups(clouds.Amazon):
    def DescribeAutoScalingGroups(self, form):
        members = re.findall(r"<member><InstanceId>.*?</member>", super().DescribeAutoScalingGroups(form)[1], re.S)
        parts = [clouds.groups("".join(members[n::pools]), f"c-linux{n}", desired=nodes // pools, version=1) for n in range(pools)]
        inner = [part.split("<AutoScalingGroups>")[1].split("</AutoScalingGroups>")[0] for part in parts]
        return 200, parts[0].replace(inner[0], "".join(inner))


clouds.Microsoft, clouds.Amazon = Sets, Groups
world = Large(1, reuse)
for _ in range(nodes - 12):
    world.join(world.launch(made=world.clock.wall() - 86400))
world.capacity = nodes
lead = controller(world, "cp-0_1")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
settle(world, [lead], 66)
world.calls, at = {}, time.process_time()
settle(world, [lead], 30 * ROUNDS)
spent, after = time.process_time() - at, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
pools_shown = json.loads(world.objects["configmaps/fenestra-machines"]["data"]["status"])["pools"]
assert (sum(each["ready"] for each in pools_shown.values()), len(pools_shown), world.harm, lead.duties.why) == (nodes, pools, [], {})
outside = sum(count for call, count in world.calls.items() if "leases/" not in call and "fenestra-volumes" not in call)
print(json.dumps({"mib": (after - before) // 1024, "calls": outside / ROUNDS, "seconds": round(spent / ROUNDS, 1)}))
