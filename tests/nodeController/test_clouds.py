# What is read of the clouds' answers, in the form of their documents, and which calls are made.
import http.client
import json
import socket
import ssl
import threading
import time
import unittest
import urllib.parse
from unittest import mock

import clouds
from clouds import ROOT, SET, card, described, groups, instance, member, vm

import aws
import azure
from azure import machine
from machines import Listing, Machine, Pool, Trouble
from web import Web

WORKER, CONTROL, STRANGER = "i-0000000000000000a", "i-0000000000000000b", "i-0000000000000000c"


class Answers:
    def __init__(self, answer):
        self.answer, self.asked = answer, []

    def ask(self, method, path, headers=None, body=None):
        self.asked.append((method, path, headers or {}, (body or b"").decode()))
        status, data, *more = self.answer(method, path, (body or b"").decode())
        return status, (more[0] if more else {}), data.encode()


def amazon(answer):
    answers = Answers(lambda method, path, body: answer(dict(urllib.parse.parse_qsl(body))))
    return clouds.amazon(answers), answers


def account(found, *instances):
    return amazon(lambda form: (200, found if form["Action"] == "DescribeAutoScalingGroups" else described(*instances)))[0]


class Amazon(unittest.TestCase):
    def test_signature(self):
        # AWS' own test suite, post-vanilla.
        headers = {"host": "example.amazonaws.com", "x-amz-date": "20150830T123600Z"}
        got = aws.sign(headers, b"", "service", "us-east-1", "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
        self.assertTrue(got.endswith("Signature=5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"), got)

    def test_machines_are_those_of_the_groups_and_those_at_the_members_addresses(self):
        def answer(form):
            if form["Action"] == "DescribeAutoScalingGroups":
                return 200, groups(member(WORKER, "Pending:Wait"))
            if "NextToken" not in form:
                return 200, described(instance(WORKER, "10.0.0.5", "c-linux", platform="<platform>windows</platform>"), token="<nextToken>more</nextToken>")
            return 200, described(instance(CONTROL, "10.0.9.1"), instance(STRANGER, "10.0.0.7"), instance(STRANGER, "10.0.0.8", "c-other"))

        cloud, _ = amazon(answer)
        listing = cloud.list(7.0)
        worker, control = listing.machines
        self.assertEqual(listing.problems, ())
        names = frozenset({WORKER, f"{WORKER}.eu-central-1.compute.internal"})
        place, own = ("c-linux", "running", 1000.0, "eu-central-1a", "windows"), (names, frozenset({"10.0.0.5"}))
        self.assertEqual(worker, Machine(WORKER, WORKER, *place, *own, "lt-1:1", True))
        self.assertEqual((control.id, control.pool), (CONTROL, ""))
        self.assertEqual(listing.pools["c-linux"], Pool("c-linux", 2, "lt-1:2", ("100", "134"), frozenset({WORKER})))

    def test_states(self):
        for ec2, phase, expected in [
            ("pending", "Pending", "starting"),
            ("running", "InService", "running"),
            ("running", "Terminating:Wait", "leaving"),
            ("running", "Standby", "held"),
            ("running", "SomethingNew", "held"),
            ("stopped", "InService", "held"),
            ("terminated", "Terminated", "gone"),
        ]:
            [found] = account(groups(member(WORKER, phase)), instance(WORKER, "10.0.0.5", "c-linux", ec2)).list(0.0).machines
            self.assertEqual((found.state, bool(found.addresses)), (expected, expected != "gone"), phase)

    def test_a_group_that_chooses_among_sizes_has_its_template_in_its_policy(self):
        head, tail = "<LaunchTemplate><LaunchTemplateId>lt-1</LaunchTemplateId><Version>2</Version>", "</LaunchTemplate><InstanceM"
        inner = f"{head.replace('<LaunchTemplate>', '<LaunchTemplateSpecification>')}</LaunchTemplateSpecification>"
        text = groups(member(WORKER)).replace(
            f"{head}{tail}", f"<MixedInstancesPolicy><LaunchTemplate>{inner}</LaunchTemplate></MixedInstancesPolicy><InstanceM"
        )
        self.assertIn("Mixed", text)
        self.assertEqual(account(text).list(0.0).pools["c-linux"].version, "lt-1:2")
        # Templates of single types: machines of them are no older ones.
        for overrides, expected in [
            ("<member><InstanceType>m7i.large</InstanceType></member>", "lt-1:2"),
            ("<member><InstanceType>m7i.large</InstanceType>" + inner.replace("lt-1", "lt-2") + "</member>", ""),
        ]:
            own = text.replace(f"{inner}</LaunchTemplate>", f"{inner}<Overrides>{overrides}</Overrides></LaunchTemplate>")
            self.assertEqual(account(own).list(0.0).pools["c-linux"].version, expected)

    def test_a_version_that_is_a_word_is_that_of_no_machine(self):
        for word in ("$Latest", "$Default"):
            self.assertEqual(account(groups(member(WORKER), version=word)).list(0.0).pools["c-linux"].version, "")

    def test_a_zone_that_is_down_hides_its_own_machines_only(self):
        def answer(form):
            if form["Action"] == "DescribeAutoScalingGroups":
                return 200, groups(member(WORKER) + member(STRANGER, zone="eu-central-1b"))
            if form.get("InstanceId.1") == WORKER:
                return 200, described(instance(WORKER, "10.0.0.5", "c-linux"))
            return 503, "<Response><Errors><Error><Code>Unavailable</Code><Message>zone</Message></Error></Errors></Response>"

        listing = amazon(answer)[0].list(0.0)
        self.assertEqual([each.id for each in listing.machines], [WORKER])
        self.assertRegex(listing.problems[1], "^eu-central-1b: ")

    def test_a_machine_that_is_not_described_yet_makes_the_list_partial(self):
        self.assertTrue(account(groups(member(WORKER))).list(0.0).problems)

    def test_proof_that_one_is_gone(self):
        missing = "<Response><Errors><Error><Code>InvalidInstanceID.NotFound</Code></Error></Errors></Response>"
        for expected, answer in [
            (True, (400, missing)),
            (True, (200, described(instance(WORKER, "10.0.0.5", state="terminated")))),
            (False, (200, described(instance(WORKER, "10.0.0.5")))),
            (False, (200, described())),
        ]:
            self.assertEqual(amazon(lambda form, answer=answer: answer)[0].gone(WORKER), expected)
        with self.assertRaises(Trouble):
            amazon(lambda form: (500, ""))[0].gone(WORKER)
        self.assertTrue(amazon(lambda form: (500, ""))[0].gone("someone"), "no instance has such a name")

    def test_calls(self):
        cloud, answers = amazon(lambda form: (200, f"<{form['Action']}Response/>"))
        pool, one = Pool("c-linux", 1, "lt-1:2", ("100", "134")), Machine(WORKER, WORKER, "c-linux", "running", 0.0)
        cloud.replace(one, pool)
        cloud.hold(one, pool)
        cloud.start_roll(pool)
        forms = [dict(urllib.parse.parse_qsl(asked[3])) for asked in answers.asked]
        self.assertEqual([form["Action"] for form in forms], [
            "TerminateInstanceInAutoScalingGroup", "RecordLifecycleActionHeartbeat", "StartInstanceRefresh",
        ])
        self.assertEqual((forms[0]["InstanceId"], forms[0]["ShouldDecrementDesiredCapacity"]), (WORKER, "false"))
        self.assertEqual((forms[2]["Preferences.MinHealthyPercentage"], forms[2]["Preferences.SkipMatching"]), ("100", "true"))
        self.assertEqual(forms[2]["Preferences.ScaleInProtectedInstances"], "Refresh")
        self.assertEqual(pool, cloud.roll(pool))


class Kept(unittest.TestCase):
    def test_a_kept_connection_that_the_other_side_closed_is_made_anew(self):
        closed = [ssl.SSLEOFError(8, "EOF"), ssl.SSLZeroReturnError(6, "closed"), BrokenPipeError(), http.client.RemoteDisconnected()]
        for error, expected in [*((each, "answer") for each in closed), (TimeoutError(), None)]:
            with self.subTest(type(error).__name__):
                web, old, new = Web("https://example.test"), Answering(error), Answering(None)
                web.connection, web.connect = old, lambda new=new: new
                if expected:
                    self.assertEqual(web.open("GET", "/"), expected)
                else:
                    self.assertRaises(Trouble, web.open, "GET", "/")

    # Other files leave virtual time behind.
    @mock.patch("web.time", time)
    def test_an_answer_that_drips_has_an_end(self):
        for before in (b"", b"HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n"):
            with socket.create_server(("127.0.0.1", 0)) as server:
                threading.Thread(target=drip, args=(server, before), daemon=True).start()
                web, began = Web(f"http://127.0.0.1:{server.getsockname()[1]}", timeout=0.5), time.monotonic()
                self.assertRaises(Trouble, web.ask, "GET", "/")
                self.assertLess(time.monotonic() - began, 8)


def drip(server, before):
    with server.accept()[0] as to:
        to.sendall(before or b"H")
        for _ in range(100):
            time.sleep(0.1)
            try:
                to.sendall(b"T")
            except OSError:
                return


class Answering:
    sock = None

    def __init__(self, error):
        self.error = error

    def request(self, *_, **__):
        if self.error:
            raise self.error

    def getresponse(self):
        return "answer"

    def close(self):
        pass


def microsoft(answer):
    answers = Answers(answer)
    return clouds.microsoft(answers), answers


def listed(method, path, body):
    path = urllib.parse.urlsplit(path).path
    node, control = f"{SET}/virtualMachines/10", f"{ROOT}/Microsoft.Compute/virtualMachines/c-cp-4"
    pages = {
        f"{ROOT}/Microsoft.Compute/virtualMachineScaleSets": [
            {"name": "c-linux", "sku": {"capacity": 2}, "etag": '"7"', "tags": {"fenestra:cluster": "c"}},
            {"name": "other"},
            {"name": "c-2-linux", "tags": {"fenestra:cluster": "c-2"}},
        ],
        f"{SET}/virtualMachines": [vm(node, "Linux00000A"), vm("", "linux00000b", number="11")],
        f"{SET}/networkInterfaces": [card(node.upper(), "10.0.0.5")],
        f"{ROOT}/Microsoft.Compute/virtualMachines": [
            vm(control, "c-cp-4", number="4"),
            vm(f"{ROOT}/Microsoft.Compute/virtualMachines/bastion", "bastion", number="9"),
            vm(f"{ROOT}/Microsoft.Compute/virtualMachines/other", "c-cp-9", number="8"),
        ],
        f"{ROOT}/Microsoft.Network/networkInterfaces": [
            card(control, "10.0.9.2"),
            card(f"{ROOT}/Microsoft.Compute/virtualMachines/other", "10.0.0.9"),
        ],
    }
    return 200, json.dumps({"value": pages[path]})


class Microsoft(unittest.TestCase):
    def test_machines(self):
        listing = microsoft(listed)[0].list(3.0)
        worker, control = listing.machines
        self.assertEqual(listing.problems, ())
        names, addresses = frozenset({"linux00000a"}), frozenset({"10.0.0.5"})
        path = f"{SET}/virtualMachines/10"
        self.assertEqual(worker, Machine("vm-10", "linux00000a", "c-linux", "running", 1000.0, "2", "linux", names, addresses, path=path))
        self.assertEqual((control.name, control.pool, control.addresses), ("c-cp-4", "", frozenset({"10.0.9.2"})))
        self.assertEqual(listing.pools["c-linux"], Pool("c-linux", 2, ids=frozenset({"vm-10"}), path=SET, etag='"7"'))

    def test_pages(self):
        def answer(method, path, body):
            if "next" in path:
                return 200, json.dumps({"value": [2]})
            return 200, json.dumps({"value": [1], "nextLink": f"{azure.MANAGEMENT}{port}/next?a=b"})

        # Lists of a set's machines name the port (Azure/azure-sdk-for-java, core management tests).
        for port in ("", ":443"):
            cloud, answers = microsoft(answer)
            self.assertEqual(list(cloud.all("/x", "1")), [1, 2])
            self.assertEqual(answers.asked[-1][1], "/next?a=b")
        for other in ("https://evil.example/", f"{azure.MANAGEMENT}:8443/x", f"{azure.MANAGEMENT}.evil.example/x", f"{azure.MANAGEMENT}:443/x?api-version=1"):
            evil = microsoft(lambda *_, other=other: (200, json.dumps({"value": [], "nextLink": other})))[0]
            with self.assertRaises(Trouble):
                list(evil.all("/x", "1"))

    def test_a_set_that_fails_makes_the_list_partial(self):
        def answer(method, path, body):
            return (500, "") if path.startswith(f"{SET}/virtualMachines") else listed(method, path, body)

        listing = microsoft(answer)[0].list(0.0)
        self.assertEqual([each.name for each in listing.machines], ["c-cp-4"])
        self.assertEqual(len(listing.problems), 1)

    def test_a_token_that_is_refused_is_asked_for_anew(self):
        cloud, _ = microsoft(lambda *_: (401, ""))
        cloud.until = 9e9
        self.assertRaises(Trouble, cloud.call, "GET", "/x")
        self.assertEqual(cloud.until, 0.0)

    def test_too_many_questions_silence_all_for_as_long_as_is_said(self):
        cloud, answers = microsoft(lambda *_: (429, "", {"Retry-After": "60"}))
        for _ in range(3):
            with self.assertRaises(Trouble):
                cloud.call("GET", "/x")
        self.assertEqual(len(answers.asked), 1)

    def test_proof_that_one_is_gone(self):
        for expected, answer in [
            (True, (404, json.dumps({"error": {"code": "ResourceNotFound"}}))),
            (True, (200, json.dumps(vm("x", "linux00000b")))),
            (False, (200, json.dumps(vm("x", "Linux00000A")))),
            (False, (200, json.dumps({"properties": {}}))),
        ]:
            cloud, answers = microsoft(lambda *_, answer=answer: answer)
            self.assertEqual(cloud.gone("linux00000a"), expected)
            self.assertIn(f"{SET}/virtualMachines/10?", answers.asked[0][1])
        for answer in [(500, ""), (404, "{}"), (404, ""), (200, "")]:
            with self.assertRaises(Trouble):
                microsoft(lambda *_, answer=answer: answer)[0].gone("linux00000a")

    def test_a_machine_that_has_its_name(self):
        one = machine(vm("x", "linux00000a"), "c-linux", (), f"{SET}/virtualMachines/10")
        for made, expected in ((1000, True), (940, False), (0, False)):
            cloud, _ = microsoft(lambda *_, made=made: (200, json.dumps(vm("x", "linux00000a", made=made))))
            self.assertEqual(cloud.there(one), expected)

    def test_replacing(self):
        cloud, answers = microsoft(lambda *_: (202, ""))
        one = Machine("vm-10", "linux00000a", "c-linux", "running", 0.0, path=f"{SET}/virtualMachines/10")
        cloud.replace(one, Pool("c-linux", 2, path=SET))
        method, path, _, body = answers.asked[0]
        self.assertEqual((method, path.split("?")[0], json.loads(body)), ("POST", f"{SET}/delete", {"instanceIds": ["10"]}))
        for answer in [(404, "{}"), (400, json.dumps({"error": {"code": "InstanceIdsListInstanceIdNotActiveVM"}}))]:
            microsoft(lambda *_, answer=answer: answer)[0].replace(one, Pool("c-linux", 2, path=SET))
        with self.assertRaises(Trouble):
            microsoft(lambda *_: (409, "{}"))[0].replace(one, Pool("c-linux", 2, path=SET))

    def test_sizes_are_restored(self):
        owed = {"c-linux": {"size": 4, "machines": 2, "at": 1000}}

        def settle(wanted, *later, leaving=False, status=200, by_itself=None):
            answer = {"error": {"code": "ResourceNotFound"}, "sku": {"capacity": wanted if by_itself is None else by_itself}}
            cloud, answers = microsoft(lambda *_: (status, json.dumps(answer)))
            machines = (Machine("x", "x", "c-linux", "leaving", 0.0),) if leaving else ()
            for at in (0.0, *later):
                pools = {} if wanted is None else {"c-linux": Pool("c-linux", wanted, path=SET, etag='"7"')}
                left, problems = cloud.settle(Listing(machines, pools, (), at), owed)
            return left, [(asked[0], asked[2].get("If-Match"), json.loads(asked[3])) for asked in answers.asked if asked[3]], len(problems)

        patch = ("PATCH", '"7"', {"sku": {"capacity": 4}})
        self.assertEqual(settle(2), (owed, [patch], 0))
        self.assertEqual(settle(2, leaving=True), (owed, [], 0))
        self.assertEqual(settle(2, 9000.0), (owed, [patch] * 2, 0), "a debt has no end but its size")
        for wanted in (4, 5, 1):
            self.assertEqual(settle(wanted), (owed, [], 0), "the list may be from before")
            self.assertEqual(settle(wanted, 301.0), ({}, [], 0), "restored, or somebody else's wish")
            self.assertEqual(settle(wanted, 301.0, by_itself=3), (owed, [], 0), "the list is old")
        self.assertEqual(settle(None), (owed, [], 1), "lists may leave it out")
        self.assertEqual(settle(None, status=404), ({}, [], 0))
        for status in (409, 412, 429):
            self.assertEqual(settle(2, status=status), (owed, [patch], 1))
