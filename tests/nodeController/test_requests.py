# What is read of a request, and what is decided about it.
import os
import time
import unittest

from support import alternatives, csr, der, item, machine, name, named, oid, pem, tokens

import pkcs10
import requests
from pkcs10 import Reader

NOW = 1_000_000.0
OWN = machine(1, made=NOW - 60)
NODE = f"system:node:{OWN.name}"
MINE = {"dns": (OWN.name,), "addresses": ("10.0.0.1",)}


def asking(kind, number=1, **spec):
    return item(kind, OWN.name, NOW, number, **spec)


class Reading(unittest.TestCase):
    def test_reasons_are_one_of_each_kind_however_many_somebody_makes(self):
        own = "its machine was started too long ago: z"
        found = requests.reasons([*(f"there is a node of that name: n{number}" for number in range(900)), own])
        self.assertEqual(found, [own, "there is a node of that name: n0 and 899 more"])

    def test_what_is_refused(self):
        good = csr(name(NODE), alternatives(**MINE))
        self.assertEqual(pkcs10.read(pem(good)).dns, (OWN.name,))
        san = alternatives(**MINE)
        parts = (der(0x30, name(NODE)), der(0x30, b"\5\0"), der(0xA0))
        bad = {
            "text before the block": b"x\n" + pem(good),
            "too long": pem(csr(name(NODE), alternatives(("a" * 7000,)))),
            "bytes behind it": pem(good + b"\0"),
            "bytes behind the signature": pem(der(0x30, Reader(good).one(0x30), der(5))),
            "a number with a long length": pem(der(0x30, der(0x30, b"\2\x81\1\0", *parts), der(0x30, b"\5\0"), der(3, b"\0\1"))),
            "bytes inside": pem(csr(name(NODE), inside=der(5))),
            "another version": pem(csr(name(NODE), version=b"\1")),
            "two common names": pem(csr(name(NODE) + named("550403", "system:node:x"))),
            "another attribute of the subject": pem(csr(name(NODE) + named("550406", "DE"))),
            "two names in one set": pem(csr(der(0x31, der(0x30, oid("550403"), der(12, b"a")), der(0x30, oid("55040a"), der(12, b"b"))))),
            "a name of another type": pem(csr(named("550403", NODE, 0x1E))),
            "bytes that are no text": pem(csr(der(0x31, der(0x30, oid("550403"), der(12, b"\xc3\xa4"))))),
            "two attributes": pem(csr(name(NODE), san + san)),
            "a mail address": pem(csr(name(NODE), alternatives(**MINE, more=der(0x81, b"a@b")))),
            "an address of five bytes": pem(csr(name(NODE), alternatives(more=der(0x87, b"12345")))),
            "another extension": pem(csr(name(NODE), san.replace(bytes.fromhex("551d11"), bytes.fromhex("551d13")))),
            "a length that is not minimal": pem(b"\x30\x81\x03" + der(2, b"\0")),
            "an indefinite length": pem(b"\x30\x80" + good[4:] + b"\0\0"),
            "cut off": pem(good[:-1]),
        }
        for what, text in bad.items():
            with self.subTest(what), self.assertRaises(pkcs10.Malformed):
                pkcs10.read(text)

    def test_kinds(self):
        of = {
            "first": asking("first"),
            "renewal": asking("renewal"),
            "serving": asking("serving", **MINE),
        }
        for kind, request in of.items():
            got = requests.reduce(request)
            self.assertEqual((got.kind, got.node, got.problem), (kind, OWN.name, ""))
        # Not ours: of kubeadm's tokens, of people, of a node's name without its group, for other signers.
        for kind in of:
            for spec in (
                {"groups": ["system:bootstrappers:kubeadm:default-node-token"]},
                {"username": "kubernetes-admin"},
                {"signerName": "kubernetes.io/kube-apiserver-client"},
            ):
                self.assertEqual(requests.reduce(asking(kind, **spec)).kind, "", spec)
        for problem, request in {
            "usages": asking("first", usages=["client auth", "digital signature", "server auth"]),
            "another node": asking("renewal", request=pem(csr(name("system:node:other")))),
            "group": asking("first", request=pem(csr(name(NODE, "system:masters")))),
            "command": asking("first", request=pem(csr(name("system:node:$(touch x)")))),
            "no address": asking("serving", dns=(OWN.name,)),
            "client with names": asking("first", **MINE),
            "no base64": asking("first") | {"spec": asking("first")["spec"] | {"request": "%%%"}},
        }.items():
            with self.subTest(problem):
                self.assertNotEqual(requests.reduce(request).problem, "")
        approved = asking("first")
        said = {"type": "Approved", "reason": "FenestraApproved", "lastUpdateTime": "1970-01-12T13:46:50Z"}
        for by_hand, message, given in (
            ("", f"first certificate of {OWN.name}, machine vm-1, by the token of pool linux", "vm-1"),
            ("", f"renewal for {OWN.name}, machine vm-1", "vm-1"),
            ("KubectlApprove", f"first certificate of {OWN.name}, machine vm-1", ""),
        ):
            approved["status"] = {"conditions": [{**said, "message": message, **({"reason": by_hand} if by_hand else {})}]}
            got = requests.reduce(approved)
            self.assertEqual((got.given, got.at, got.node), (given, NOW + 10, OWN.name))

    def test_nothing_without_what_was_read_is_approved(self):
        unread = requests.reduce(asking("renewal"))._replace(asked=None)
        self.assertEqual(requests.decide(unread, NOW, OWN, False, True, "c")[0], "deny")


class Deciding(unittest.TestCase):
    def decide(self, kind="first", at=NOW, now=NOW, of=OWN, node=False, known=True, **more):
        if kind == "serving":
            more = MINE | more
        return requests.decide(requests.reduce(item(kind, OWN.name, at, **more)), now, of, node, known, "c")[0]

    def test_table(self):
        gone, stopped = OWN._replace(state="gone"), OWN._replace(state="held")
        control = OWN._replace(pool="")
        for expected, case in [
            ("approve", {}),
            ("approve", {"of": OWN._replace(state="starting")}),
            ("wait", {"of": None}),
            ("wait", {"of": gone}),
            ("wait", {"of": stopped}),
            ("wait", {"node": True}),
            *[("deny", {"kind": kind, "at": NOW - 61}) for kind in ("first", "renewal", "serving")],
            # A pool's token is for its machines alone; the shared one for those that have no other.
            ("deny", {"groups": tokens("other")}),
            ("deny", {"groups": tokens("c-linux")}),
            ("deny", {"groups": tokens("linux", "other")}),
            ("deny", {"of": OWN._replace(pool="x-linux")}),
            ("approve", {"groups": tokens()}),
            ("approve", {"of": OWN._replace(place=True)}),
            ("deny", {"groups": tokens(), "of": OWN._replace(place=True)}),
            ("wait", {"of": OWN._replace(made=NOW - 3601)}),
            *[("wait", {"kind": kind, "of": OWN._replace(made=NOW + 1)}) for kind in ("first", "renewal", "serving")],
            *[("deny", {"of": control, "groups": tokens(*pool)}) for pool in ((), ("linux",))],
            ("deny", {"usages": ["client auth"]}),
            ("abandon", {"at": NOW - 931}),
            # Its node and first certificate do not hinder what it asks for in its own name.
            ("approve", {"kind": "renewal", "node": True, "of": OWN._replace(made=0.0)}),
            ("approve", {"kind": "renewal", "of": control}),
            ("approve", {"kind": "serving", "node": True, "of": OWN._replace(made=0.0)}),
            ("approve", {"kind": "serving", "of": control}),
            ("approve", {"kind": "serving", "dns": (OWN.name.upper() + ".", f"{OWN.name}.eu.compute.internal")}),
            ("approve", {"kind": "serving", "dns": ()}),
            ("wait", {"kind": "serving", "dns": (OWN.name, "kubernetes")}),
            ("wait", {"kind": "serving", "addresses": ("10.0.0.1", "10.0.0.2")}),
            ("wait", {"kind": "serving", "of": OWN._replace(addresses=frozenset())}),
            # Somebody has kept the certificate of a former machine of its name.
            ("deny", {"kind": "renewal", "known": False}),
            ("deny", {"kind": "serving", "known": False}),
            ("approve", {"known": False}),
            ("wait", {"kind": "renewal", "known": None}),
        ]:
            with self.subTest(case):
                self.assertEqual(self.decide(**case), expected)

    def test_times(self):
        # Whatever the machine's own time zone.
        os.environ["TZ"] = "Asia/Tokyo"
        time.tzset()
        self.addCleanup(lambda: (os.environ.pop("TZ"), time.tzset()))
        for text in ("1970-01-12T13:46:40Z", "1970-01-12T13:46:40.9876543+00:00", "1970-01-12T15:46:40+02:00", "1970-01-12T13:46:40"):
            self.assertEqual(requests.seconds(text), NOW, text)
        for text in (None, 5, "", "0001-01-01T00:00:00Z", "gestern", "1970-01-12", "1970-01-12T13:46:40 CET"):
            self.assertEqual(requests.seconds(text), 0.0, text)

    def test_addresses_are_compared_as_addresses(self):
        own = OWN._replace(addresses=frozenset({"10.0.0.1", "fd00::1"}))
        request = requests.reduce(asking("serving", **MINE))
        request = request._replace(asked=request.asked._replace(addresses=("fd00:0:0:0:0:0:0:1",)))
        self.assertEqual(requests.decide(request, NOW, own, False, True, "c")[0], "approve")

    def test_whose_turn_it_is(self):
        def asked(number, kind="first", at=0.0):
            return requests.reduce(item(kind, OWN.name, NOW + number, number))._replace(at=at)

        def turn(kind, asked_at, approved_at, now, used=False):
            before = [asked(n, kind, NOW + n) for n in approved_at]
            chosen, _ = requests.turn([asked(n, kind) for n in asked_at], before, used, NOW + now)
            return chosen and int(chosen.name[4:])

        for expected, case in [
            (1, ("first", (1, 2, 3), (), 3)),
            (None, ("first", (12, 23), (1,), 30)),
            (23, ("first", (12, 23), (1,), 31)),
            (None, ("first", (12, 23), (1,), 31, True)),
            (None, ("first", (12, 50), (1, 31), 90)),
            (50, ("first", (12, 50), (1, 31), 91)),
            (None, ("first", (12,), (31,), 900)),
            (None, ("first", (3000,), (1, 2, 3, 4, 5), 3000)),
            (4, ("renewal", (3, 4), (2,), 32, True)),
            (3000, ("renewal", (3000,), (1, 2, 3, 4, 5, 6), 3000)),
            (4, ("serving", (3, 4), (1, 2), 4)),
            (None, ("serving", (4, 5), (1, 2, 3), 12)),
            (5, ("serving", (4, 5), (1, 2, 3), 13)),
            (3, ("serving", (3,), (4,), 14)),
        ]:
            with self.subTest(case):
                self.assertEqual(turn(*case), expected)
        same = [requests.reduce(asking("first", number)) for number in (10, 9)]
        self.assertEqual([each.name for each in sorted(same, key=requests.age)], ["csr-9", "csr-10"])
