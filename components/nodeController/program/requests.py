# Which certificates kubelets get, by what the cloud says of their machine. Pure.
import base64
import binascii
import calendar
import hashlib
import ipaddress
import re
import time
from typing import NamedTuple

import pkcs10
from machines import PRESENT

CLIENT, SERVING = "kubernetes.io/kube-apiserver-client-kubelet", "kubernetes.io/kubelet-serving"
SIGNERS = (CLIENT, SERVING)
BOOTSTRAPPER = re.compile(r"system:bootstrap:[a-z0-9]{6}")
BOOTSTRAPPERS = "system:bootstrappers:fenestra:workers"
NODE = re.compile(r"system:node:([a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?)")
NAME = re.compile(r"[A-Za-z0-9._-]{1,253}")
USAGES = {CLIENT: "client auth", SERVING: "server auth"}
# A certificate names the machine that it was given to.
GIVEN = re.compile(r"(first certificate of|renewal for) ([a-z0-9.-]{1,63})(?:, machine ([A-Za-z0-9-]{1,64}))?")
# How the API server names the certificate that a request was made with (since Kubernetes 1.32), and how much of its
# hash is kept.
CREDENTIAL, HASH, HASH_LENGTH = "authentication.kubernetes.io/credential-id", "X509SHA256=", 20

# Seconds: a kubelet gives up after a quarter of an hour and asks anew; a machine that has not asked in an hour is
# broken or stolen.
ABANDONED = 930
NEW_MACHINE = 3600


class Request(NamedTuple):
    name: str
    uid: str
    version: str
    made: float
    kind: str  # first, renewal, serving; "" for what is none of ours
    node: str
    dns: tuple = ()
    addresses: tuple = ()
    problem: str = ""  # why it can never be right
    decided: bool = False
    given: str = ""  # machine that this one was the first certificate of
    by: str = ""  # the certificate that it was made with
    issued: tuple = ()  # the certificate that came of it, and its machine


def seconds(stamp):
    # RFC 3339 as the API server and both clouds write it, to the second.
    try:
        return float(calendar.timegm(time.strptime(stamp[:19], "%Y-%m-%dT%H:%M:%S")))
    except (TypeError, ValueError):
        return 0.0


def reduce(item):
    # A CertificateSigningRequest as the few words that are needed of it.
    meta, spec = item["metadata"], item["spec"]
    conditions = (item.get("status") or {}).get("conditions") or []
    kind, node = "", ""
    user, groups, signer = spec.get("username", ""), spec.get("groups") or [], spec.get("signerName", "")
    own = NODE.fullmatch(user)
    if signer == CLIENT and BOOTSTRAPPER.fullmatch(user) and BOOTSTRAPPERS in groups:
        kind = "first"
    elif signer in SIGNERS and own and "system:nodes" in groups:
        kind, node = ("renewal" if signer == CLIENT else "serving"), own[1]
    base = Request(meta["name"], meta["uid"], meta["resourceVersion"], seconds(meta["creationTimestamp"]), kind, node)
    for each in [*((spec.get("extra") or {}).get(CREDENTIAL) or ())]:
        if each.startswith(HASH):
            base = base._replace(by=each[len(HASH) :][:HASH_LENGTH])
    for each in conditions:
        given = GIVEN.fullmatch(each.get("message") or "")
        if each.get("type") == "Approved" and each.get("reason") == "FenestraApproved" and given:
            certificate = fingerprint((item.get("status") or {}).get("certificate"))
            first = (given[3] or given[2]) if given[1].startswith("first") else ""
            base = base._replace(given=first, issued=(certificate, given[3]) if certificate and given[3] else ())
    if conditions or not kind or not NAME.fullmatch(meta["name"]):
        return base._replace(decided=bool(conditions))
    try:
        asked = pkcs10.read(base64.b64decode(spec.get("request", ""), validate=True))
    except (pkcs10.Malformed, binascii.Error, ValueError) as error:
        return base._replace(problem=f"not a request as a kubelet makes it: {error}")
    named = NODE.fullmatch(asked.name)
    if named is None or asked.organizations != ("system:nodes",):
        return base._replace(problem="not a request for the certificate of a node")
    base = base._replace(node=named[1], dns=asked.dns, addresses=asked.addresses)
    if kind != "first" and asked.name != user:
        return base._replace(problem="a request for another node")
    usages = sorted(spec.get("usages") or [])
    wanted = ["digital signature", USAGES[signer]]
    if usages not in (sorted(wanted), sorted([*wanted, "key encipherment"])):
        return base._replace(problem="not the usages of a kubelet")
    if kind == "serving" and not asked.addresses:
        return base._replace(problem="a serving certificate without an address")
    if kind != "serving" and (asked.dns or asked.addresses):
        return base._replace(problem="a client certificate with alternative names")
    return base


def fingerprint(certificate):
    # Of a certificate in PEM, in base64 once more; "" without one.
    try:
        body = base64.b64decode(certificate or "").split(b"-----")[2]
        return hashlib.sha256(base64.b64decode(body)).hexdigest()[:HASH_LENGTH]
    except (IndexError, ValueError):
        return ""


def foreign(request, machine):
    # Names and addresses in a request that are not the machine's own.
    names = [name for name in request.dns if name.lower().rstrip(".") not in machine.names]
    own = {ipaddress.ip_address(each) for each in machine.addresses}
    return names + [each for each in request.addresses if ipaddress.ip_address(each) not in own]


def decide(request, now, machine, given, node, owner=""):
    # approve, deny or wait, and why. `machine` is what the cloud has of that name, `given` whether another first
    # certificate of it was given since it was started, `node` whether the cluster has a Node of that name, `owner` the
    # machine that the certificate was given to with which it was made, if that is known. What may still become true is
    # never denied.
    if request.problem:
        return "deny", request.problem
    if now - request.made > ABANDONED:
        return "abandon", "nobody waits for it any more"
    if machine is None or machine.state not in PRESENT:
        return "wait", f"the cloud has no machine {request.node} that runs"
    if request.made < machine.made:
        return "wait", f"asked for before {request.node} was started"
    if request.kind != "first" and owner not in ("", machine.id):
        return "deny", f"made with a certificate of machine {owner}, which had the name of machine {machine.id}"
    if request.kind == "renewal":
        return "approve", f"renewal for {request.node}, machine {machine.id}"
    if request.kind == "serving":
        others = foreign(request, machine)
        if others:
            return "wait", f"{', '.join(others[:4])[:200]} is not of machine {machine.id}"
        return "approve", f"serving certificate of {request.node}, machine {machine.id}"
    if machine.pool == "":
        return "deny", "a control-plane machine does not join"
    if node:
        return "wait", f"there is a node {request.node}"
    if given:
        return "wait", f"another request for machine {machine.id} was approved"
    if now - machine.made > NEW_MACHINE:
        return "wait", f"{request.node} was started too long ago"
    return "approve", f"first certificate of {request.node}, machine {machine.id}"
