# What Azure has of this cluster, and the calls that change it.
import json
import re
import time
import urllib.parse

import requests
from machines import Listing, Machine, Pool, Trouble
from web import Web, date_of, parse

# The interfaces of a set are known to one old version only.
COMPUTE, NETWORK, INTERFACES = "2024-07-01", "2024-05-01", "2018-10-01"
STATES = {"Creating": "starting", "Succeeded": "running", "Updating": "running", "Deleting": "leaving", "Failed": "failed"}
MANAGEMENT = "https://management.azure.com"
# Seconds between lists while requests wait: each set allows twelve reads a minute.
PAUSE = 15.0
# Seconds for which lists have to show the size of a set before it is taken for restored.
SETTLED = 300


def lower(text):
    return (text or "").lower()


class Azure:
    names_return = True
    pause = PAUSE

    def __init__(self, settings):
        self.cluster, self.client = settings["CLUSTER"], settings["CLIENT_ID"]
        self.members = frozenset(settings["MEMBER_ADDRESSES"].split())
        self.group = f"/subscriptions/{settings['SUBSCRIPTION']}/resourceGroups/{settings['RESOURCE_GROUP']}/providers"
        self.token, self.until, self.quiet, self.since = "", 0.0, 0.0, {}
        # The cloud's time, and what refuses changes of one that does not lead.
        self.date, self.may = 0.0, lambda: None
        self.imds = Web("http://169.254.169.254", timeout=4.0)
        self.arm = Web(MANAGEMENT)

    def bearer(self):
        now = time.time()
        if now > self.until:
            query = urllib.parse.urlencode({"api-version": "2018-02-01", "client_id": self.client, "resource": MANAGEMENT})
            status, _, data = self.imds.ask("GET", f"/metadata/identity/oauth2/token?{query}", {"Metadata": "true"})
            if status != 200:
                raise Trouble(f"the metadata service gave no token: {status}")
            answer = parse(data, "the metadata service")
            self.token, lasts = str(answer["access_token"]), str(answer.get("expires_on"))
            self.until = min(float(lasts if lasts.isdigit() else now + 600) - 300, now + 3600)
        return self.token

    def call(self, method, path, body=None, headers=None):
        if time.monotonic() < self.quiet:
            raise Trouble("the resource manager wants fewer questions", 429)
        if method != "GET":
            self.may()
        sent = {"Authorization": f"Bearer {self.bearer()}", "Content-Type": "application/json", **(headers or {})}
        data = None if body is None else json.dumps(body).encode()
        status, answered, data = self.arm.ask(method, path, sent, data)
        if status == 401:
            self.until = 0.0
        if status == 429:
            after = answered.get("Retry-After", "")
            self.quiet = time.monotonic() + (min(float(after), 300.0) if after.isdigit() else 30.0)
        if status >= 300:
            raise Trouble(f"{method} {path.split('?')[0].rsplit('/providers/', 1)[-1]} was answered with {status} {error_of(data)}", status)
        self.date = date_of(answered, self.date)
        return parse(data, "the resource manager") if method == "GET" else {}

    def all(self, path, version):
        path = f"{path}?api-version={version}"
        while path:
            page = self.call("GET", path)
            if not isinstance(page.get("value"), list):
                raise Trouble(f"{path.split('?')[0].rsplit('/providers/', 1)[-1]} is no list")
            yield from page["value"]
            following = page.get("nextLink") or ""
            # The port is there in some lists.
            found = re.fullmatch(f"{re.escape(MANAGEMENT)}(?::443)?(/.+)", following)
            if following and (found is None or found[1] == path):
                raise Trouble("the next page of a list is elsewhere")
            path = found and found[1]

    def list(self, at):
        pools, machines, problems = {}, [], []
        for item in self.all(f"{self.group}/Microsoft.Compute/virtualMachineScaleSets", COMPUTE):
            name = item["name"]
            # In a group that another cluster has as well, c-2-linux may be the set linux of the cluster c-2.
            owner = (item.get("tags") or {}).get("fenestra:cluster", self.cluster)
            if not lower(name).startswith(f"{self.cluster}-") or owner != self.cluster:
                continue
            path = f"{self.group}/Microsoft.Compute/virtualMachineScaleSets/{name}"
            size, found = (item.get("sku") or {}).get("capacity"), []
            # A repair would restore a set of no size to nothing.
            sized = type(size) is int and size >= 0
            try:
                if not sized:
                    raise Trouble(f"its size is {size}")
                found = self.set(name, path)
            except Trouble as error:
                problems.append(f"{name}: {error}")
            machines += found
            if sized:
                ids = frozenset(each.id for each in found)
                pools[name] = Pool(name, size, ids=ids, path=path, etag=item.get("etag") or "")
        try:
            machines += self.control_plane()
        except Trouble as error:
            problems.append(f"control plane: {error}")
        return Listing(tuple(machines), pools, tuple(problems), at)

    def addresses(self, path, version):
        # By machine: their own lists have none, those of interfaces name the machine.
        found = {}
        for card in self.all(path, version):
            owner = lower((card.get("properties", {}).get("virtualMachine") or {}).get("id"))
            found.setdefault(owner, set()).update(addresses_of(card))
        return found

    def set(self, name, path):
        addresses = self.addresses(f"{path}/networkInterfaces", INTERFACES)
        found = []
        for item in self.all(f"{path}/virtualMachines", COMPUTE):
            # One without an id is being deleted.
            if item.get("id"):
                found.append(machine(item, name, addresses.get(lower(item["id"]), ()), f"{path}/virtualMachines/{item.get('instanceId')}"))
        return [each for each in found if each]

    def control_plane(self):
        cards = self.addresses(f"{self.group}/Microsoft.Network/networkInterfaces", NETWORK)
        found = []
        for item in self.all(f"{self.group}/Microsoft.Compute/virtualMachines", COMPUTE):
            own = cards.get(lower(item.get("id")), set())
            one = machine(item, "", own, "")
            if one and one.name.startswith(f"{self.cluster}-cp-") and own & self.members:
                found.append(one)
        return found

    def gone(self, name):
        # Asks for the machine whose number the name ends with.
        match = re.fullmatch(r"([a-z0-9-]+)([0-9a-z]{6})", name)
        if match is None:
            return True
        path = f"{self.group}/Microsoft.Compute/virtualMachineScaleSets/{self.cluster}-{match[1]}/virtualMachines/{int(match[2], 36)}"
        try:
            item = self.call("GET", f"{path}?api-version={COMPUTE}")
        except Trouble as error:
            # The resource manager's own, not that of whoever is on the way.
            if error.status == 404 and re.search(r"was answered with 404 \w*NotFound", str(error)):
                return True
            raise
        found = machine(item, "", (), "")
        return found is not None and found.name != name

    def there(self, one):
        # Whether that very machine has its name, by itself.
        found = machine(self.call("GET", f"{one.path}?api-version={COMPUTE}"), "", (), "")
        return found is not None and (found.id, found.name, found.made) == (one.id, one.name, one.made)

    def replace(self, machine, pool):
        # Deleting lowers the size of the set by one; `settle` raises it again.
        body = {"instanceIds": [machine.path.rsplit("/", 1)[-1]]}
        try:
            self.call("POST", f"{pool.path}/delete?api-version={COMPUTE}", body)
        except Trouble as error:
            if "InstanceIdsListInstanceIdNotActiveVM" not in str(error) and error.status != 404:
                raise

    def settle(self, listing, owed):
        # Restores sizes, each by a call that goes through if nobody changed the set since it was read, and not while one
        # of its machines goes, which that would end. Gives what is still owed, and what fails. A list may be from before
        # the machine went, so it has to show the size for a while, and the set by itself too; one that comes of no repair
        # is somebody else's wish.
        left, problems, leaving = {}, [], {each.pool for each in listing.machines if each.state == "leaving"}
        for name, debt in owed.items():
            pool, key = listing.pools.get(name), (name, debt["at"])
            since = self.since.setdefault(key, listing.at)
            if pool is None and self.away(name):
                continue
            left[name] = debt
            if pool is None:
                problems.append(f"{name} is owed a size of {debt['size']}, and is not listed")
                continue
            headers = {"If-Match": pool.etag} if pool.etag else {}
            try:
                if pool.wanted >= debt["size"] or pool.wanted < debt["size"] - debt["machines"]:
                    if listing.at - since > SETTLED and self.one(name)["sku"]["capacity"] == pool.wanted:
                        del left[name], self.since[key]
                elif name not in leaving:
                    self.call("PATCH", f"{pool.path}?api-version={COMPUTE}", {"sku": {"capacity": debt["size"]}}, headers)
            except (Trouble, LookupError, TypeError) as error:
                problems.append(f"the size of {name} is not restored: {error}")
        return left, problems

    def one(self, name):
        return self.call("GET", f"{self.group}/Microsoft.Compute/virtualMachineScaleSets/{name}?api-version={COMPUTE}")

    def away(self, name):
        try:
            self.one(name)
        except Trouble as error:
            return error.status == 404 and "ResourceNotFound" in str(error)
        return False

    def hold(self, machine, pool):
        pass

    start_roll = hold

    def roll(self, pool):
        # The next update repeats a roll that came to nothing.
        return pool


def addresses_of(card):
    configurations = (card.get("properties") or {}).get("ipConfigurations") or ()
    found = [(each.get("properties") or {}).get("privateIPAddress") for each in configurations]
    return {each for each in found if each}


def machine(item, pool, addresses, path):
    properties = item.get("properties") or {}
    name = lower((properties.get("osProfile") or {}).get("computerName"))
    disk = (properties.get("storageProfile") or {}).get("osDisk") or {}
    if not name or not properties.get("vmId"):
        return None
    return Machine(
        properties["vmId"],
        name,
        pool,
        STATES.get(properties.get("provisioningState"), "held"),
        requests.seconds(properties.get("timeCreated")),
        "".join((item.get("zones") or [""])[:1]),
        lower(disk.get("osType")) or "linux",
        frozenset({name}),
        frozenset(addresses),
        path=path,
        # A machine of an older template may have the tags of its set all the same.
        place=(item.get("tags") or {}).get("fenestra:join") == "pool" and properties.get("latestModelApplied") is not False,
    )


def error_of(data):
    try:
        error = json.loads(data)["error"]
        return f"{error.get('code', '')} {error.get('message', '')}"[:300]
    except (ValueError, KeyError, TypeError, AttributeError):
        return data[:200].decode("utf-8", "replace")
