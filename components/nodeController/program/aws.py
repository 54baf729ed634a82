# What AWS has of this cluster, and the calls that change it. Auto Scaling says what is of the groups, EC2 what it is.
import hashlib
import hmac
import re
import time
import urllib.parse
import xml.etree.ElementTree as xml

import requests
from machines import Listing, Machine, Pool, Trouble
from web import Web, date_of, parse

STATES = {"pending": "starting", "running": "running", "shutting-down": "leaving", "terminated": "gone"}
INSTANCE = re.compile(r"i-([0-9a-f]{8}|[0-9a-f]{17})")
VERSIONS = {"autoscaling": "2011-01-01", "ec2": "2016-11-15"}
# Seconds between lists while requests wait.
PAUSE = 5.0


def flat(element):
    # Children by name without namespace; lists have `item` or `member`.
    name = element.tag.rsplit("}", 1)[-1]
    children = list(element)
    if not children:
        return name, element.text or ""
    pairs = [flat(each) for each in children]
    if all(key in ("item", "member") for key, _ in pairs):
        return name, [value for _, value in pairs]
    return name, dict(pairs)


def items(value):
    return value if isinstance(value, list) else []


class Aws:
    names_return = False
    pause = PAUSE

    def __init__(self, settings):
        self.cluster, self.region = settings["CLUSTER"], settings["REGION"]
        self.members = frozenset(settings["MEMBER_ADDRESSES"].split())
        self.keys, self.until = None, 0.0
        # The cloud's time, and what refuses changes of one that does not lead.
        self.date, self.may = 0.0, lambda: None
        self.imds = Web("http://169.254.169.254", timeout=4.0)
        self.webs = {name: Web(f"https://{name}.{self.region}.amazonaws.com") for name in VERSIONS}

    def metadata(self, path):
        status, _, token = self.imds.ask("PUT", "/latest/api/token", {"X-aws-ec2-metadata-token-ttl-seconds": "300", "Content-Length": "0"})
        if status == 200:
            status, _, data = self.imds.ask("GET", f"/latest/meta-data/{path}", {"X-aws-ec2-metadata-token": token.decode()})
        if status != 200 or not data:
            raise Trouble(f"the metadata service answered {path} with {status}")
        return data.decode()

    def credentials(self, now):
        if self.keys is None or now > self.until:
            role = self.metadata("iam/security-credentials/").split()[0]
            keys = parse(self.metadata(f"iam/security-credentials/{role}"), "the metadata service")
            self.keys = keys["AccessKeyId"], keys["SecretAccessKey"], keys["Token"]
            self.until = min(now + 1800, requests.seconds(keys.get("Expiration")) - 300) if keys.get("Expiration") else now + 300
        return self.keys

    def call(self, service, action, **form):
        if not action.startswith("Describe"):
            self.may()
        now = time.time()
        body = urllib.parse.urlencode({"Action": action, "Version": VERSIONS[service], **form}).encode()
        headers = {
            "content-type": "application/x-www-form-urlencoded; charset=utf-8",
            "host": f"{service}.{self.region}.amazonaws.com",
            "x-amz-date": time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now)),
        }
        key, secret, token = self.credentials(now)
        headers["x-amz-security-token"] = token
        headers["Authorization"] = sign(headers, body, service, self.region, key, secret)
        status, answered, data = self.webs[service].ask("POST", "/", headers, body)
        if status in (401, 403):
            self.keys = None
        if status != 200:
            code, said = re.search(rb"<Code>([^<]*)", data), re.search(rb"<Message>([^<]*)", data)
            text = " ".join(each[1].decode("utf-8", "replace") for each in (code, said) if each)
            raise Trouble(f"{action} was answered with {status} {text[:300]}", status)
        try:
            name, found = flat(xml.fromstring(data))
        except xml.ParseError:
            name, found = "", {}
        if name != f"{action}Response":
            raise Trouble(f"{action} did not answer with its XML")
        self.date = date_of(answered, self.date)
        return found if isinstance(found, dict) else {}

    def all(self, service, action, token, key, **form):
        more = {}
        while True:
            answer = self.call(service, action, **form, **more)
            answer = answer.get(f"{action}Result", answer) or {}
            if key not in answer:
                raise Trouble(f"{action} answered without {key}")
            yield items(answer[key])
            # EC2 writes names in lower case.
            following = answer.get(token[0].lower() + token[1:]) or answer.get(token)
            if not following:
                return
            if more == {token: following}:
                raise Trouble(f"{action} answers with one page again and again")
            more = {token: following}

    def list(self, at):
        pools, places = self.groups()
        problems = []
        try:
            instances = self.instances({"Filter.1.Name": f"tag:kubernetes.io/cluster/{self.cluster}", "Filter.1.Value.1": "owned"})
        except Trouble as error:
            problems.append(str(error))
            instances = self.by_zone(places, problems)
        machines = [each for each in (self.machine(one, pools, places) for one in instances) if each]
        known = {each.id for each in machines}
        if any(id not in known for id in places):
            problems.append("EC2 does not describe every machine of the groups yet")
        return Listing(tuple(machines), pools, tuple(problems), at)

    def groups(self):
        # Groups by name, and of each instance: group, zone, state there, template.
        pools, places = {}, {}
        form = {"Filters.member.1.Name": f"tag:kubernetes.io/cluster/{self.cluster}", "Filters.member.1.Values.member.1": "owned"}
        for page in self.all("autoscaling", "DescribeAutoScalingGroups", "NextToken", "AutoScalingGroups", MaxRecords="100", **form):
            for group in page:
                name = group["AutoScalingGroupName"]
                if not name.startswith(f"{self.cluster}-"):
                    continue
                choice = (group.get("MixedInstancesPolicy") or {}).get("LaunchTemplate") or {}
                template = group.get("LaunchTemplate") or choice.get("LaunchTemplateSpecification")
                # A type may have a template of its own.
                one = all("LaunchTemplateSpecification" not in each for each in items(choice.get("Overrides")))
                policy = group.get("InstanceMaintenancePolicy") or {}
                members = items(group.get("Instances"))
                for each in members:
                    template_of = version_of(each.get("LaunchTemplate"))
                    places[each["InstanceId"]] = (name, each["AvailabilityZone"], each["LifecycleState"], template_of)
                pools[name] = Pool(
                    name,
                    int(group["DesiredCapacity"]),
                    version_of(template) if one else "",
                    (policy.get("MinHealthyPercentage", ""), policy.get("MaxHealthyPercentage", "")),
                    frozenset(each["InstanceId"] for each in members),
                )
        return pools, places

    def instances(self, form):
        found = []
        for page in self.all("ec2", "DescribeInstances", "NextToken", "reservationSet", **form):
            for reservation in page:
                found += items(reservation.get("instancesSet"))
        return found

    def by_zone(self, places, problems):
        # While a zone is down, a list without ids fails as a whole (Amazon EC2 API reference, DescribeInstances).
        found = []
        for zone in sorted({place[1] for place in places.values()}):
            ids = sorted(id for id, place in places.items() if place[1] == zone)
            for start in range(0, len(ids), 100):
                form = {f"InstanceId.{number}": id for number, id in enumerate(ids[start : start + 100], 1)}
                try:
                    found += self.instances(form)
                except Trouble as error:
                    problems.append(f"{zone}: {error}")
                    break
        return found

    def machine(self, one, pools, places):
        id = one["instanceId"]
        tags = {each.get("key"): each.get("value") for each in items(one.get("tagSet"))}
        cards = items(one.get("networkInterfaceSet"))
        addresses = {card["privateIpAddress"] for card in cards if card.get("privateIpAddress")}
        for card in cards:
            for each in items(card.get("privateIpAddressesSet")):
                addresses.add(each.get("privateIpAddress"))
                addresses.add((each.get("association") or {}).get("publicIp"))
            addresses.update(each.get("ipv6Address") for each in items(card.get("ipv6AddressesSet")))
        addresses.add(one.get("privateIpAddress"))
        group, zone, phase, version = places.get(id, (tags.get("aws:autoscaling:groupName", ""), "", "", ""))
        # Neither of a group of this cluster nor at an address of the control plane: somebody else's.
        if not INSTANCE.fullmatch(id) or (group not in pools if group else one.get("privateIpAddress") not in self.members):
            return None
        state = STATES.get((one.get("instanceState") or {}).get("name"), "held")
        if phase.startswith("Terminat") and state in ("starting", "running"):
            state = "leaving"
        elif phase and not phase.startswith(("Pending", "InService")) and state == "running":
            state = "held"
        return Machine(
            id,
            id,
            group,
            state,
            requests.seconds(one.get("launchTime")),
            zone or (one.get("placement") or {}).get("availabilityZone", ""),
            "windows" if one.get("platform") == "windows" else "linux",
            frozenset(each.lower() for each in (id, one.get("privateDnsName")) if each),
            frozenset(each for each in addresses if each),
            version,
            phase == "Pending:Wait",
            place=tags.get("fenestra:join") == "pool",
        )

    def roll(self, pool):
        answer = self.call("autoscaling", "DescribeInstanceRefreshes", AutoScalingGroupName=pool.name, MaxRecords="1")
        found = items((answer.get("DescribeInstanceRefreshesResult") or {}).get("InstanceRefreshes"))[:1]
        if not found:
            return pool
        return pool._replace(
            roll={
                "state": found[0].get("Status", ""),
                "started": requests.seconds(found[0].get("StartTime")),
                "reason": (found[0].get("StatusReason") or "")[:300],
            }
        )

    def gone(self, name):
        # Proven by itself and not by a list.
        if not INSTANCE.fullmatch(name):
            return True
        try:
            found = self.instances({"InstanceId.1": name})
        except Trouble as error:
            if "InvalidInstanceID.NotFound" in str(error):
                return True
            raise
        return bool(found) and all((each.get("instanceState") or {}).get("name") == "terminated" for each in found)

    def there(self, machine):
        # No name comes back.
        return False

    def replace(self, machine, pool):
        # The group makes another one; its hook lets this one drain.
        self.call(
            "autoscaling", "TerminateInstanceInAutoScalingGroup", InstanceId=machine.id, ShouldDecrementDesiredCapacity="false"
        )

    def hold(self, machine, pool):
        # Whether a machine that does not join goes is decided here, with limits, and not by the end of its hook.
        form = {"AutoScalingGroupName": pool.name, "LifecycleHookName": "join", "InstanceId": machine.id}
        try:
            self.call("autoscaling", "RecordLifecycleActionHeartbeat", **form)
        except Trouble as error:
            # It has joined since the list.
            if "No active Lifecycle Action" not in str(error):
                raise

    def start_roll(self, pool):
        least, most = pool.healthy
        preferences = {"Preferences.MinHealthyPercentage": least, "Preferences.MaxHealthyPercentage": most} if least and most else {}
        self.call(
            "autoscaling",
            "StartInstanceRefresh",
            AutoScalingGroupName=pool.name,
            Strategy="Rolling",
            # By default it waits an hour for machines that are protected from scale-in, and fails.
            **{
                "Preferences.InstanceWarmup": "0",
                "Preferences.SkipMatching": "true",
                "Preferences.ScaleInProtectedInstances": "Refresh",
            },
            **preferences,
        )

    def settle(self, listing, owed):
        # A group replaces what it loses by itself.
        return {}, []


def version_of(template):
    # A group may name $Latest; machines have the number.
    version = (template or {}).get("Version", "")
    return f"{template.get('LaunchTemplateId', '')}:{version}" if version.isdigit() else ""


def sign(headers, body, service, region, key, secret):
    # Signature version 4 (AWS IAM User Guide, "Create a signed AWS API request") of a POST to the path `/`.
    names = ";".join(sorted(name.lower() for name in headers))
    lines = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers))
    canonical = f"POST\n/\n\n{lines}\n{names}\n{hashlib.sha256(body).hexdigest()}"
    moment = headers["x-amz-date"]
    scope = f"{moment[:8]}/{region}/{service}/aws4_request"
    text = f"AWS4-HMAC-SHA256\n{moment}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
    signature = ("AWS4" + secret).encode()
    for part in (moment[:8], region, service, "aws4_request", text):
        signature = hmac.new(signature, part.encode(), hashlib.sha256).digest()
    return f"AWS4-HMAC-SHA256 Credential={key}/{scope}, SignedHeaders={names}, Signature={signature.hex()}"
