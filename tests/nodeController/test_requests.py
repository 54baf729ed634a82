# What is read of a request, and what is decided about it.
import base64
import random
import subprocess
import unittest

from support import alternatives, csr, der, item, machine, name, named, oid, pem

import pkcs10
import requests
from pkcs10 import Reader

NOW = 1_000_000.0
OWN = machine(1, made=NOW - 60)
NODE = f"system:node:{OWN.name}"
MINE = {"dns": (OWN.name,), "addresses": ("10.0.0.1",)}


class Reading(unittest.TestCase):
    def test_a_request_of_openssl(self):
        extension = f"subjectAltName=DNS:{OWN.name},DNS:{OWN.name}.eu.compute.internal,IP:10.0.0.1,IP:fd00::1"
        for curve in ("prime256v1", "secp384r1"):
            options = f"req -new -newkey ec -pkeyopt ec_paramgen_curve:{curve} -nodes -keyout /dev/null -addext {extension}".split()
            made = subprocess.run(["openssl", *options, "-subj", f"/O=system:nodes/CN={NODE}"], capture_output=True, check=True).stdout
            got = pkcs10.read(made)
            self.assertEqual(got[:2], (NODE, ("system:nodes",)))
            self.assertEqual(got.dns, (OWN.name, f"{OWN.name}.eu.compute.internal"))
            self.assertEqual(got.addresses, ("10.0.0.1", "fd00:0:0:0:0:0:0:1"))

    def test_what_is_refused(self):
        good = csr(name(NODE), alternatives(**MINE))
        self.assertEqual(pkcs10.read(pem(good)).dns, (OWN.name,))
        san = alternatives(**MINE)
        parts = (der(0x30, name(NODE)), der(0x30, b"\5\0"), der(0xA0))
        bad = {
            "text before the block": b"x\n" + pem(good),
            "text behind it": pem(good) + b"x",
            "two blocks": pem(good) * 2,
            "another label": pem(good).replace(b"CERTIFICATE REQUEST", b"NEW CERTIFICATE REQUEST"),
            "too long": pem(csr(name(NODE), alternatives(("a" * 7000,)))),
            "bytes behind it": pem(good + b"\0"),
            "bytes behind the signature": pem(der(0x30, Reader(good).one(0x30), der(5))),
            "a number with a long length": pem(der(0x30, der(0x30, b"\2\x81\1\0", *parts), der(0x30, b"\5\0"), der(3, b"\0\1"))),
            "bytes inside": pem(csr(name(NODE), inside=der(5))),
            "another version": pem(csr(name(NODE), version=b"\1")),
            "two common names": pem(csr(name(NODE) + named("550403", "system:node:x"))),
            "no common name": pem(csr(named("55040a", "system:nodes"))),
            "another attribute of the subject": pem(csr(name(NODE) + named("550406", "DE"))),
            "two names in one set": pem(csr(der(0x31, der(0x30, oid("550403"), der(12, b"a")), der(0x30, oid("55040a"), der(12, b"b"))))),
            "a name of another type": pem(csr(named("550403", NODE, 0x1E))),
            "bytes that are no text": pem(csr(der(0x31, der(0x30, oid("550403"), der(12, b"\xc3\xa4"))))),
            "two attributes": pem(csr(name(NODE), san + san)),
            "a mail address": pem(csr(name(NODE), alternatives(**MINE, more=der(0x81, b"a@b")))),
            "a URI": pem(csr(name(NODE), alternatives(**MINE, more=der(0x86, b"x:y")))),
            "an address of five bytes": pem(csr(name(NODE), alternatives(more=der(0x87, b"12345")))),
            "another extension": pem(csr(name(NODE), san.replace(bytes.fromhex("551d11"), bytes.fromhex("551d13")))),
            "a length that is not minimal": pem(b"\x30\x81\x03" + der(2, b"\0")),
            "an indefinite length": pem(b"\x30\x80" + good[4:] + b"\0\0"),
            "cut off": pem(good[:-1]),
            "nothing": b"",
        }
        for what, text in bad.items():
            with self.subTest(what), self.assertRaises(pkcs10.Malformed):
                pkcs10.read(text)

    def test_no_bytes_fail_otherwise(self):
        random.seed(7)
        good = csr(name(NODE), alternatives(**MINE))
        for _ in range(3000):
            data = bytearray(good)
            for _ in range(random.randint(1, 4)):
                data[random.randrange(len(data))] = random.randrange(256)
            try:
                pkcs10.read(pem(bytes(data)[: random.choice((len(data), random.randrange(len(data))))]))
            except pkcs10.Malformed:
                pass

    def test_kinds(self):
        of = {
            "first": item("first", OWN.name, NOW),
            "renewal": item("renewal", OWN.name, NOW),
            "serving": item("serving", OWN.name, NOW, **MINE),
        }
        for kind, request in of.items():
            got = requests.reduce(request)
            self.assertEqual((got.kind, got.node, got.problem), (kind, OWN.name, ""))
        # Not of ours: of kubeadm's own tokens, of people, for other signers.
        for spec in (
            {"groups": ["system:bootstrappers:kubeadm:default-node-token"]},
            {"username": "kubernetes-admin"},
            {"signerName": "kubernetes.io/kube-apiserver-client"},
        ):
            self.assertEqual(requests.reduce(item("first", OWN.name, NOW, **spec)).kind, "", spec)
        for problem, request in {
            "usages": item("first", OWN.name, NOW, usages=["client auth", "digital signature", "server auth"]),
            "another node": item("renewal", OWN.name, NOW, request=pem(csr(name("system:node:other")))),
            "serving for another node": item("serving", OWN.name, NOW, request=pem(csr(name("system:node:other"), alternatives(**MINE)))),
            "group": item("first", OWN.name, NOW, request=pem(csr(name(NODE, "system:masters")))),
            "name": item("first", OWN.name, NOW, request=pem(csr(name("kubernetes-admin")))),
            "command": item("first", OWN.name, NOW, request=pem(csr(name("system:node:$(touch x)")))),
            "no address": item("serving", OWN.name, NOW, dns=(OWN.name,)),
            "client with names": item("first", OWN.name, NOW, **MINE),
            "no base64": item("first", OWN.name, NOW) | {"spec": item("first", OWN.name, NOW)["spec"] | {"request": "%%%"}},
        }.items():
            with self.subTest(problem):
                self.assertNotEqual(requests.reduce(request).problem, "")
        approved = item("first", OWN.name, NOW)
        approved["status"] = {
            "conditions": [{"type": "Approved", "reason": "FenestraApproved", "message": f"first certificate of {OWN.name}, machine vm-1"}]
        }
        self.assertEqual(requests.reduce(approved).given, "vm-1")
        approved["status"]["conditions"][0]["message"] = f"first certificate of {OWN.name}"
        self.assertEqual(requests.reduce(approved).given, OWN.name, "as the script of an older release said it")


class Deciding(unittest.TestCase):
    def decide(self, kind="first", at=NOW, now=NOW, of=OWN, given=False, node=False, owner="", **more):
        if kind == "serving":
            more = MINE | more
        return requests.decide(requests.reduce(item(kind, OWN.name, at, **more)), now, of, given, node, owner)[0]

    def test_table(self):
        gone, stopped = OWN._replace(state="gone"), OWN._replace(state="held")
        control = OWN._replace(pool="")
        for expected, case in [
            ("approve", {}),
            ("approve", {"of": OWN._replace(state="starting")}),
            ("wait", {"of": None}),
            ("wait", {"of": gone}),
            ("wait", {"of": OWN._replace(state="leaving")}),
            ("wait", {"of": stopped}),
            ("wait", {"node": True}),
            ("wait", {"given": True}),
            *[("wait", {"kind": kind, "at": NOW - 61}) for kind in ("first", "renewal", "serving")],
            ("wait", {"of": OWN._replace(made=NOW - 3601)}),
            ("deny", {"of": control}),
            ("deny", {"usages": ["client auth"]}),
            ("abandon", {"at": NOW - 931}),
            # Its node and its first certificate are no hindrance for what it asks for in its own name.
            ("approve", {"kind": "renewal", "node": True, "given": True, "of": OWN._replace(made=0.0)}),
            ("approve", {"kind": "renewal", "of": control}),
            ("wait", {"kind": "renewal", "of": gone}),
            ("wait", {"kind": "renewal", "of": None}),
            ("approve", {"kind": "serving", "node": True, "given": True, "of": OWN._replace(made=0.0)}),
            ("approve", {"kind": "serving", "of": control}),
            ("approve", {"kind": "serving", "dns": (OWN.name.upper() + ".", f"{OWN.name}.eu.compute.internal")}),
            ("approve", {"kind": "serving", "dns": ()}),
            ("wait", {"kind": "serving", "dns": (OWN.name, "kubernetes")}),
            ("wait", {"kind": "serving", "addresses": ("10.0.0.1", "10.0.0.2")}),
            ("wait", {"kind": "serving", "of": OWN._replace(addresses=frozenset())}),
            ("wait", {"kind": "serving", "of": gone}),
            # Its name belonged to another machine, whose certificate somebody has kept.
            ("deny", {"kind": "renewal", "owner": "vm-0"}),
            ("deny", {"kind": "serving", "owner": "vm-0"}),
            ("approve", {"kind": "renewal", "owner": OWN.id}),
            ("approve", {"owner": "vm-0"}),
        ]:
            with self.subTest(case):
                self.assertEqual(self.decide(**case), expected)

    def test_addresses_are_compared_as_addresses(self):
        own = OWN._replace(addresses=frozenset({"10.0.0.1", "fd00::1"}))
        request = requests.reduce(item("serving", OWN.name, NOW, **MINE))._replace(addresses=("fd00:0:0:0:0:0:0:1",))
        self.assertEqual(requests.decide(request, NOW, own, False, False)[0], "approve")
