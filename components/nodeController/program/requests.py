# Which certificates kubelets get, by what the cloud says of their machine. Pure.
import base64
import binascii
import hashlib
import ipaddress
import re
from datetime import datetime
from typing import NamedTuple

import pkcs10
from machines import PRESENT

ZONE = re.compile(r"(?:Z|[+-]\d\d:\d\d|(?<=:\d\d))$")
CLIENT, SERVING = "kubernetes.io/kube-apiserver-client-kubelet", "kubernetes.io/kubelet-serving"
SIGNERS = (CLIENT, SERVING)
BOOTSTRAPPER = re.compile(r"system:bootstrap:[a-z0-9]{6}")
# Groups of a join secret's token: of all, and of one pool's beside it.
BOOTSTRAPPERS = "system:bootstrappers:fenestra:workers"
OF_POOL = re.compile(r"system:bootstrappers:fenestra:pool:([a-z]([a-z0-9-]{0,61}[a-z0-9])?)")
NODE = re.compile(r"system:node:([a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?)")
USAGES = {CLIENT: "client auth", SERVING: "server auth"}
# An approval names the machine that it was for.
GIVEN = re.compile(r"(?:first certificate of|renewal for|serving certificate of) [a-z0-9.-]{1,63}, machine ([A-Za-z0-9-]{1,64})(?:[,;] .*)?")
# How the API server names the certificate of a request's maker (since Kubernetes 1.32), and how much of its hash is kept.
CREDENTIAL, HASH, HASH_LENGTH = "authentication.kubernetes.io/credential-id", "X509SHA256=", 20

# Seconds: a kubelet asks anew after a quarter of an hour; a machine that has not asked in an hour is broken or stolen,
# and the API server keeps answered requests as long.
ABANDONED = 930
NEW_MACHINE = 3600
# Seconds after an answer until the next of that kind for that machine, twice as many after each but for serving ones: a
# kubelet tries again after 2, 4, 8 and 16 (client-go: util/certificate/certificate_manager.go). First certificates of one
# start of a machine at most, of which none was used; serving ones that it gets at once.
PAUSE, FIRSTS, SERVING, AT_ONCE = 30, 5, 10, 3


class Request(NamedTuple):
    name: str
    uid: str
    version: str
    made: float
    kind: str  # first, renewal, serving; "" for what is none of ours
    node: str
    asked: object = None  # what was read; None is never approved
    pool: str = ""  # whose token a first one was made with; "" for the one that all shared
    problem: str = ""  # why it can never be right
    decided: bool = False
    at: float = 0.0  # when it was approved
    given: str = ""  # machine that it was approved for, where this program did
    by: str = ""  # the certificate that it was made with
    certificate: str = ""  # the one that came of it


def seconds(stamp):
    # RFC 3339 as the API server and both clouds write it, to the second, UTC where it says nothing; 0 for what is none:
    # .NET's empty time is of the year 1.
    try:
        return max(0.0, datetime.fromisoformat(f"{stamp[:19]}{ZONE.search(stamp)[0] or 'Z'}").timestamp())
    except (TypeError, ValueError, LookupError, OverflowError):
        return 0.0


def reduce(item):
    meta, spec, state = item["metadata"], item["spec"], item.get("status") or {}
    kind, node, pools = "", "", set()
    user, groups, signer = spec.get("username", ""), spec.get("groups") or [], spec.get("signerName", "")
    own = NODE.fullmatch(user)
    if signer == CLIENT and BOOTSTRAPPER.fullmatch(user) and BOOTSTRAPPERS in groups:
        kind, pools = "first", {found[1] for found in map(OF_POOL.fullmatch, groups) if found}
    elif signer in SIGNERS and own and "system:nodes" in groups:
        kind, node = ("renewal" if signer == CLIENT else "serving"), own[1]
    base = Request(meta["name"], meta["uid"], meta["resourceVersion"], seconds(meta["creationTimestamp"]), kind, node)
    if not kind:
        return base
    base = base._replace(pool=min(pools, default=""), decided=bool(state.get("conditions")))
    for each in [*((spec.get("extra") or {}).get(CREDENTIAL) or ())]:
        if each.startswith(HASH):
            base = base._replace(by=each[len(HASH) :][:HASH_LENGTH])
    for each in state.get("conditions") or ():
        if each.get("type") == "Approved":
            given = GIVEN.fullmatch(each.get("message") or "") if each.get("reason") == "FenestraApproved" else None
            at = seconds(each.get("lastUpdateTime")) or base.made
            base = base._replace(at=at, given=given[1] if given else "", certificate=fingerprint(state.get("certificate")))
    try:
        asked = pkcs10.read(base64.b64decode(spec.get("request", ""), validate=True))
    except (pkcs10.Malformed, binascii.Error, ValueError) as error:
        return base._replace(problem=f"not a request as a kubelet makes it: {error}")
    named = NODE.fullmatch(asked.name)
    if named is None or asked.organizations != ("system:nodes",):
        return base._replace(problem="not a request for the certificate of a node")
    base = base._replace(node=named[1], asked=asked)
    if len(pools) > 1:
        return base._replace(problem=f"a token of the pools {' and '.join(sorted(pools))}")
    if kind != "first" and asked.name != user:
        return base._replace(node=node, problem="a request for another node")
    usages = sorted(spec.get("usages") or [])
    wanted = ["digital signature", USAGES[signer]]
    if usages not in (sorted(wanted), sorted([*wanted, "key encipherment"])):
        return base._replace(problem="not the usages of a kubelet")
    if kind == "serving" and not asked.addresses:
        return base._replace(problem="a serving certificate without an address")
    if kind != "serving" and (asked.dns or asked.addresses):
        return base._replace(problem="a client certificate with alternative names")
    return base


def age(request):
    # Of one second by the database's count.
    return request.made, int(request.version) if request.version.isdecimal() else 0


def fingerprint(certificate):
    # Of a certificate in PEM, in base64 once more.
    try:
        body = base64.b64decode(certificate or "").split(b"-----")[2]
        return hashlib.sha256(base64.b64decode(body)).hexdigest()[:HASH_LENGTH]
    except (IndexError, ValueError):
        return ""


def foreign(asked, machine):
    names = [name for name in asked.dns if name.lower().rstrip(".") not in machine.names]
    own = {ipaddress.ip_address(each) for each in machine.addresses}
    return names + [each for each in asked.addresses if ipaddress.ip_address(each) not in own]


def decide(request, now, machine, node, known, cluster):
    # approve, deny, wait or abandon, and why. `machine` is the cloud's of that name, `node` whether there is a Node of it,
    # `known` whether the certificate that it was made with is the machine's. What may still become true is never denied.
    if request.problem or request.asked is None:
        return "deny", request.problem or "it was not read"
    if now - request.made > ABANDONED:
        return "abandon", "nobody waits for it any more"
    if machine is None or machine.state not in PRESENT:
        return "wait", "no machine of that name runs"
    if request.made < machine.made:
        # A start that is still to come is some clock's fault.
        return "wait" if now < machine.made else "deny", f"asked for before its machine was started: {request.node}"
    if request.kind != "first" and not known:
        return "wait" if known is None else "deny", f"made with a certificate that the machine of its name was not given: {machine.id}, {request.node}"
    if request.kind == "renewal":
        return "approve", f"renewal for {request.node}, machine {machine.id}"
    if request.kind == "serving":
        if foreign(request.asked, machine):
            return "wait", f"a name or an address is not of that machine: {machine.id}"
        return "approve", f"serving certificate of {request.node}, machine {machine.id}"
    if machine.pool == "":
        return "deny", "a control-plane machine does not join"
    if request.pool and machine.pool != f"{cluster}-{request.pool}":
        return "deny", f"made with the token of pool {request.pool}, and {request.node} is of {machine.pool}"
    if not request.pool and machine.place:
        return "deny", f"made with the token that pools shared, and {machine.pool} has one of its own"
    if node:
        return "wait", f"there is a node of that name: {request.node}"
    if now - machine.made > NEW_MACHINE:
        return "wait", f"its machine was started too long ago: {request.node}"
    token = f"the token of pool {request.pool}" if request.pool else "the token that pools share"
    return "approve", f"first certificate of {request.node}, machine {machine.id}, by {token}"


def reasons(texts):
    # One of each kind, with how many there are: whoever asks for much fills no list.
    found = {}
    for text in sorted(texts):
        found.setdefault(text.split(":")[0], []).append(text)
    return [few[0] if len(few) == 1 else f"{few[0]} and {len(few) - 1} more" for few in found.values()]


def turn(asked, before, used, now):
    # Which of the requests of one kind for one machine is answered now, if any, and why the others wait. Of `asked`, all
    # right and the oldest first, it is the oldest, since whoever copies one comes later; after an answer the newest, since
    # a kubelet that starts again has forgotten what it asked for. Where a first certificate was `used` there is no other.
    if not before:
        return asked[0], f"another one asked for the same machine before: {asked[0].name}"
    last, first = max(before, key=lambda each: each.at), asked[0].kind == "first"
    if first and used:
        return None, f"the certificate that another one got is in use: {last.name}, {last.node}"
    if first and len(before) >= FIRSTS:
        return None, f"first certificates were given and none was used: {len(before)} of {last.node}"
    # A kubelet asks for one whenever its addresses change, several times at its start: all are answered.
    serving = asked[0].kind == "serving"
    pause = (SERVING if len(before) >= AT_ONCE else 0) if serving else PAUSE * 2 ** (len(before) - 1)
    if now < last.at + pause:
        return None, f"another one was approved a moment ago: {last.name} of {last.node}"
    if asked[-1].made < last.made and not serving:
        return None, f"a newer one was approved: {last.name}"
    return asked[-1], f"another one asked for the same machine later: {asked[-1].name}"
