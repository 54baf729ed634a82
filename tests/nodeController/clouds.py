# Both clouds as the controller asks them, over one fleet of machines. Forms, states and refusals are
# those of the actions' pages in the Amazon EC2 and EC2 Auto Scaling API references (EC2 Developer Guide, "Eventual
# consistency"), and of the Azure REST API (Virtual Machine Scale Sets and their VMs; Azure Resource Manager, "Throttling
# Resource Manager requests").
import json
import random
import re
import urllib.parse

from support import machine, stamp

import aws
import azure
from machines import OVER, PRESENT

SETTINGS = {
    "CLUSTER": "c",
    "REGION": "eu-central-1",
    "MEMBER_ADDRESSES": "10.0.9.1 10.0.9.2 10.0.9.3 10.0.9.4 10.0.9.5",
    "CLIENT_ID": "client",
    "SUBSCRIPTION": "s",
    "RESOURCE_GROUP": "g",
}
# Seconds until an ending machine is gone, lists forget it, a launch hook without heartbeat abandons.
ENDING, FORGOTTEN, HOOK = 60, 3600, 900
PAGE = 5
BASE36 = "0123456789abcdefghijklmnopqrstuvwxyz"


def base36(number):
    return base36(number // 36) + BASE36[number % 36] if number >= 36 else BASE36[number]


class Fleet:
    # What there really is: one group of workers and a machine of the control plane.
    def __init__(self, seed, clock, reuse):
        self.seed, self.random, self.clock, self.reuse = seed, random.Random(seed), clock, reuse
        self.machines, self.capacity, self.template, self.etag = {}, 0, 1, 1
        self.number, self.hidden, self.refresh, self.ends, self.beats = 0, None, None, {}, {}
        self.member = machine(250, "", made=clock.wall() - 90000, addresses=frozenset({"10.0.9.1"}))
        if reuse:
            self.member = self.member._replace(id="vm-cp", name="c-cp-0", names=frozenset({"c-cp-0"}))

    def present(self):
        return [one for one in self.machines.values() if one.state in PRESENT]

    def launch(self, made=None):
        self.number += 1
        now = self.clock.wall() if made is None else made
        one = machine(self.number, made=now, zone="abc"[self.number % 3], version=f"lt-1:{self.template}", waits=not self.reuse and made is None)
        if self.reuse:
            # Numbers of instances come back, and names are made of them.
            used = {each.path for each in self.machines.values() if each.state != "gone"}
            free = sorted({each.path for each in self.machines.values()} - used)
            path = self.random.choice(free) if free and self.random.random() < 0.7 else str(self.number)
            name = "linux" + base36(int(path)).rjust(6, "0")
            one = one._replace(id=f"vm-{self.number}", name=name, names=frozenset({name}), path=path, version="")
        self.machines[one.id] = one
        self.beats[one.id] = now + HOOK
        return one

    def end(self, id):
        self.machines[id] = self.machines[id]._replace(state="leaving")
        self.ends[id] = self.clock.wall() + ENDING

    def joined(self, id):
        self.machines[id] = self.machines[id]._replace(waits=False)

    def tick(self):
        now = self.clock.wall()
        for id, at in self.ends.items():
            if now >= at and self.machines[id].state == "leaving":
                self.machines[id] = self.machines[id]._replace(state="gone")
        for one in self.present():
            if one.waits and now >= self.beats[one.id]:
                self.end(one.id)
        while len(self.present()) < self.capacity:
            self.launch()

    def update(self):
        # The roll that the update itself would start is lost.
        self.template += 1

    def shown(self):
        luck, now = random.Random(f"{self.seed} {self.clock.at}"), self.clock.wall()
        return [
            one for one in self.machines.values() if one.id != self.hidden and (one.state != "gone" or now < self.ends.get(one.id, 0) + luck.random() * FORGOTTEN)
        ]


def instance(id, address, group="", state="running", platform="", made=1000, zone="eu-central-1a"):
    tag = f"<item><key>aws:autoscaling:groupName</key><value>{group}</value></item>" if group else ""
    own = f"<privateIpAddress>{address}</privateIpAddress>"
    card = f"<item>{own}<privateIpAddressesSet><item>{own}<primary>true</primary></item></privateIpAddressesSet></item>"
    name = f"{id}.eu-central-1.compute.internal"
    if state == "terminated":
        own = card = name = ""
    return f"""<item><instanceId>{id}</instanceId><instanceState><code>16</code><name>{state}</name></instanceState>
      <privateDnsName>{name}</privateDnsName><launchTime>{stamp(made)}</launchTime>{platform}
      <placement><availabilityZone>{zone}</availabilityZone></placement>{own}
      <tagSet><item><key>kubernetes.io/cluster/c</key><value>owned</value></item>{tag}</tagSet>
      <networkInterfaceSet>{card}</networkInterfaceSet></item>"""


def member(id, state="InService", zone="eu-central-1a", version="1"):
    return f"""<member><InstanceId>{id}</InstanceId><AvailabilityZone>{zone}</AvailabilityZone><LifecycleState>{state}</LifecycleState>
      <LaunchTemplate><LaunchTemplateId>lt-1</LaunchTemplateId><Version>{version}</Version></LaunchTemplate></member>"""


def groups(members, name="c-linux", token="", desired=2, version=2):
    return f"""<DescribeAutoScalingGroupsResponse xmlns="http://autoscaling.amazonaws.com/doc/2011-01-01/"><DescribeAutoScalingGroupsResult>
      <AutoScalingGroups><member><AutoScalingGroupName>{name}</AutoScalingGroupName><DesiredCapacity>{desired}</DesiredCapacity>
      <LaunchTemplate><LaunchTemplateId>lt-1</LaunchTemplateId><Version>{version}</Version></LaunchTemplate><InstanceMaintenancePolicy>
      <MinHealthyPercentage>100</MinHealthyPercentage><MaxHealthyPercentage>134</MaxHealthyPercentage></InstanceMaintenancePolicy>
      <Instances>{members}</Instances></member></AutoScalingGroups>{token}</DescribeAutoScalingGroupsResult>
      </DescribeAutoScalingGroupsResponse>"""


def described(*items, token=""):
    reservations = "".join(f"<item><reservationId>r</reservationId><instancesSet>{each}</instancesSet></item>" for each in items)
    return f'<DescribeInstancesResponse xmlns="x"><reservationSet>{reservations}</reservationSet>{token}</DescribeInstancesResponse>'


def refused(status, code, message=""):
    return status, f"<Response><Errors><Error><Code>{code}</Code><Message>{message}</Message></Error></Errors></Response>"


class Amazon:
    def __init__(self, fleet, changing):
        self.fleet, self.changing = fleet, changing

    def ask(self, method, path, headers=None, body=None):
        form = dict(urllib.parse.parse_qsl(body.decode()))
        action = form["Action"]
        if not action.startswith("Describe"):
            self.changing(action, form.get("InstanceId"))
        status, data = getattr(self, action)(form)
        return status, {}, data.encode()

    def DescribeAutoScalingGroups(self, form):
        phase = {"leaving": "Terminating:Wait", "gone": "Terminated"}
        members = [
            member(one.id, phase.get(one.state, "Pending:Wait" if one.waits else "InService"), one.zone, one.version.split(":")[1])
            for one in self.fleet.shown()
            if one.state != "gone"
        ]
        return 200, groups("".join(members), desired=self.fleet.capacity, version=self.fleet.template)

    def DescribeInstances(self, form):
        fleet = self.fleet
        wanted = [id for key, id in form.items() if key.startswith("InstanceId.")]
        known = {one.id: one for one in [*(fleet.machines.values() if wanted else fleet.shown()), fleet.member]}
        if not all(id in known for id in wanted):
            return refused(400, "InvalidInstanceID.NotFound", "The instance ID does not exist")
        found = [one for one in known.values() if not wanted or one.id in wanted]
        begin = int(form.get("NextToken", 0))
        token = f"<nextToken>{begin + PAGE}</nextToken>" if begin + PAGE < len(found) else ""
        state = {"gone": "terminated", "leaving": "running"}
        return 200, described(
            *[
                instance(one.id, min(one.addresses), one.pool, state.get(one.state, one.state), made=one.made, zone=one.zone)
                for one in found[begin : begin + PAGE]
            ],
            token=token,
        )

    def DescribeInstanceRefreshes(self, form):
        roll = self.fleet.refresh
        if roll is None:
            return 200, "<DescribeInstanceRefreshesResponse/>"
        return 200, f"""<DescribeInstanceRefreshesResponse><DescribeInstanceRefreshesResult><InstanceRefreshes><member><InstanceRefreshId>r</InstanceRefreshId>
          <Status>{roll["status"]}</Status><StartTime>{stamp(roll["since"])}</StartTime></member></InstanceRefreshes></DescribeInstanceRefreshesResult></DescribeInstanceRefreshesResponse>"""

    def StartInstanceRefresh(self, form):
        if self.fleet.refresh is not None and self.fleet.refresh["status"] == "InProgress":
            return refused(400, "InstanceRefreshInProgress", "An Instance Refresh is already in progress")
        self.fleet.refresh = {"status": "InProgress", "since": self.fleet.clock.wall()}
        return 200, f"<{form['Action']}Response/>"

    def TerminateInstanceInAutoScalingGroup(self, form):
        one = self.fleet.machines.get(form["InstanceId"])
        if one is None or one.state in OVER:
            return refused(400, "ValidationError", "Instance Id not found - No managed instance found for instance ID")
        self.fleet.end(one.id)
        return 200, f"<{form['Action']}Response/>"

    def RecordLifecycleActionHeartbeat(self, form):
        one = self.fleet.machines.get(form["InstanceId"])
        if one is None or not one.waits or one.state in OVER:
            return refused(400, "ValidationError", "No active Lifecycle Action found with instance ID")
        self.fleet.beats[one.id] = self.fleet.clock.wall() + HOOK
        return 200, f"<{form['Action']}Response/>"


# Lists that Azure's fake has, and those that were asked for: test_table.py tells one that nobody wants.
HAS, ASKED = set(), set()
ROOT = "/subscriptions/s/resourceGroups/g/providers"
SET = f"{ROOT}/Microsoft.Compute/virtualMachineScaleSets/c-linux"


def vm(id, name, state="Succeeded", number="10", made=1000, zone="2", **more):
    properties = {
        "vmId": f"vm-{number}",
        "provisioningState": state,
        "timeCreated": stamp(made)[:-1] + ".1234567+00:00",
        "osProfile": {"computerName": name},
        "storageProfile": {"osDisk": {"osType": "Linux"}},
        **more,
    }
    return {"id": id, "instanceId": number, "zones": [zone], "properties": properties}


def card(machine, address):
    return {"properties": {"virtualMachine": {"id": machine}, "ipConfigurations": [{"properties": {"privateIPAddress": address}}]}}


class Microsoft:
    def __init__(self, fleet, changing):
        self.fleet, self.changing = fleet, changing

    def ask(self, method, path, headers=None, body=None):
        fleet, parts = self.fleet, urllib.parse.urlsplit(path)
        changing = method != "GET"
        content = json.loads(body) if body else {}
        if changing:
            ids = content.get("instanceIds", [None])
            self.changing(method, next((one.id for one in fleet.present() if one.path == ids[0]), None))
        query = dict(urllib.parse.parse_qsl(parts.query))
        status, answer = self.change(method, headers, content) if changing else self.read(parts.path, query)
        return status, {}, json.dumps(answer).encode()

    def read(self, path, query):
        fleet = self.fleet
        shown = [one for one in fleet.shown() if one.state != "gone"]
        if match := re.fullmatch(f"{SET}/virtualMachines/(\\d+)", path):
            found = [self.item(one) for one in fleet.machines.values() if one.state != "gone" and one.path == match[1]]
            return (200, found[-1]) if found else (404, {"error": {"code": "NotFound"}})
        if path == SET:
            return 200, {"name": "c-linux", "sku": {"capacity": fleet.capacity}}
        control = f"{ROOT}/Microsoft.Compute/virtualMachines/c-cp-0"
        lists = {
            f"{ROOT}/Microsoft.Compute/virtualMachineScaleSets": [
                {"name": "c-linux", "sku": {"capacity": fleet.capacity}, "etag": str(fleet.etag)}
            ],
            f"{SET}/virtualMachines": [self.item(one) for one in shown],
            f"{SET}/networkInterfaces": [card(f"{SET}/virtualMachines/{one.path}".upper(), min(one.addresses)) for one in shown],
            f"{ROOT}/Microsoft.Compute/virtualMachines": [vm(control, "c-cp-0", number="cp")],
            f"{ROOT}/Microsoft.Network/networkInterfaces": [card(control, "10.0.9.1")],
        }
        HAS.update(lists)
        ASKED.add(path)
        begin, more = int(query.get("$skiptoken", 0)), {}
        if begin + PAGE < len(lists[path]):
            more = {"nextLink": f"{azure.MANAGEMENT}{path}?api-version={query['api-version']}&$skiptoken={begin + PAGE}"}
        return 200, {"value": lists[path][begin : begin + PAGE], **more}

    def item(self, one):
        made = vm(f"{SET}/virtualMachines/{one.path}", one.name.upper(), {"leaving": "Deleting"}.get(one.state, "Succeeded"), one.path)
        made["properties"].update(vmId=one.id, timeCreated=stamp(one.made)[:-1] + ".1234567+00:00")
        return {**made, "zones": [one.zone]}

    def change(self, method, headers, content):
        fleet = self.fleet
        if headers.get("If-Match", str(fleet.etag)) != str(fleet.etag):
            return 412, {"error": {"code": "PreconditionFailed"}}
        if any(one.state == "leaving" for one in fleet.machines.values()) and fleet.random.random() < 0.5:
            return 409, {"error": {"code": "Conflict"}}
        if method == "PATCH":
            fleet.capacity = content["sku"]["capacity"]
        else:
            found = [one for one in fleet.present() if one.path == content["instanceIds"][0]]
            if not found:
                return 400, {"error": {"code": "InstanceIdsListInstanceIdNotActiveVM"}}
            fleet.end(found[0].id)
            fleet.capacity -= 1
        fleet.etag += 1
        return 202, {}


def amazon(web):
    cloud = aws.Aws(SETTINGS)
    cloud.credentials = lambda now: ("key", "secret", "token")
    cloud.webs = {"ec2": web, "autoscaling": web}
    return cloud


def microsoft(web):
    cloud = azure.Azure(SETTINGS)
    cloud.bearer = lambda: "token"
    cloud.arm = web
    return cloud


def metadata(path):
    if path.endswith("/security-credentials/"):
        return "role"
    if "oauth2" in path:
        return json.dumps({"access_token": "token"})
    return json.dumps({"AccessKeyId": "key", "SecretAccessKey": "secret", "Token": "token"}) if "role" in path else "session"


def call_of(host, method, path, body):
    parts = urllib.parse.urlsplit(path)
    if "amazonaws" in host:
        form = dict(urllib.parse.parse_qsl((body or b"").decode()))
        return form["Action"] + (" by id" if "InstanceId.1" in form else "")
    if "watch" in parts.query:
        method = "WATCH"
    return f"{method} " + re.sub(r"/(nodes|certificatesigningrequests|virtualMachines|security-credentials)/[^/]+", r"/\1/*", parts.path)
