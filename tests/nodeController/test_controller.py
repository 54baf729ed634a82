# The whole controller against a world whose `harm` is checked at each turn.
import base64
import copy
import json
import os
import re
import unittest

from support import item, machine, stamp, tokens

import api
import requests
from judge import HOUR
from status import AHEAD, MARKS, SETTINGS, STATUS, settings_of
from world import BEGIN, SETTING, World, controller, led, settle, turn as free_turn


def turn(world, one):
    free_turn(world, one)
    broken = [text for texts in one.problems.values() for text in texts if "Error: " in text]
    assert not broken + world.harm, broken + world.harm


class Whole(unittest.TestCase):
    def test_an_answer_that_the_watch_was_faster_with_stays(self):
        feed, asked = api.Feed(None, print), item("first", machine(1).name, BEGIN)
        feed.take(feed.requests, asked)
        [request] = feed.all()
        asked["status"] = {"conditions": [{"type": "Approved", "reason": "FenestraApproved", "message": "first certificate of x, machine i-1"}]}
        feed.take(feed.requests, asked)
        feed.forget(request)
        self.assertEqual([each.given for each in feed.all()], ["i-1"])
        feed.forget(feed.all()[0])
        self.assertEqual(feed.all(), [])

    def after(self, world, lead, seconds):
        # What is approved in these seconds, a turn each, without any kubelet.
        before = len(world.done)
        for _ in range(seconds):
            world.clock.at += 1
            turn(world, lead)
        return [each[1] for each in world.done[before:] if each[0] == "FenestraApproved"]

    def test_a_kubelet_that_is_restarted_before_it_used_its_certificate_gets_another_and_a_thief_none(self):
        for reuse in (False, True):
            world = World(1, reuse)
            lead, one = controller(world, "cp-0_1"), world.launch()
            self.after(world, lead, 20)
            honest, thief = world.ask("first", one), world.ask("first", one)
            self.assertEqual(self.after(world, lead, 20), [honest], "the thief's is a copy, and later")
            self.assertEqual(self.after(world, lead, 9), [])
            # Every eleven seconds another one, until it lives.
            tries = [(world.ask("first", one), self.after(world, lead, 11)) for _ in range(6)]
            given = [name for _, names in tries for name in names] + self.after(world, lead, 60)
            self.assertEqual(len(given), 2)
            self.assertEqual(given[-1], tries[-1][0], "the newest lives")
            self.assertIn(("CertificateSigningRequest", given[-1], "CertificateGivenAgain"), world.events)
            self.assertEqual(world.page()["requests"]["again"], {"linux": 2})
            # Only the last one counts.
            old, new = world.certificates[one.id], world.ask("serving", one, dns=(one.name,), addresses=tuple(one.addresses))
            self.assertEqual(self.after(world, lead, 3), [new])
            world.certificates[one.id] = f"certificate {honest}".encode()
            stolen = world.ask("renewal", one)
            self.after(world, lead, 3)
            self.assertEqual(world.requests[stolen]["status"]["conditions"][0]["reason"], "FenestraDenied")
            world.certificates[one.id] = old
            # It is in use, although there is no Node.
            world.ask("first", one)
            self.assertEqual(self.after(world, lead, 600), [])

    def test_a_certificate_is_in_use_where_there_was_a_node(self):
        world = World(1, False)
        lead, one, other = controller(world, "cp-0_1"), world.launch(), world.launch()
        self.after(world, lead, 20)
        world.join(other)
        world.ask("first", other)
        honest = world.ask("first", one)
        self.assertEqual(self.after(world, lead, 5), [honest], "a Node counts that no list has yet")
        world.join(one)
        self.after(world, lead, 40)
        del world.nodes[one.name]
        world.ask("first", one)
        self.assertEqual(self.after(world, lead, 90), [])

    def test_a_thief_who_never_stops_gets_few_certificates_and_none_beside_a_node(self):
        world = World(1, False)
        lead, one = controller(world, "cp-0_1"), world.launch()
        self.after(world, lead, 20)
        given = []
        for _ in range(60):
            world.ask("first", one)
            given += self.after(world, lead, 25)
        self.assertEqual(len(given), requests.FIRSTS)
        other, known = world.launch(), controller(world, "cp-0_2")
        self.after(world, known, 20)
        world.ask("first", other, groups=tokens("secure"))
        mine = world.ask("first", other)
        self.assertEqual(self.after(world, known, 10), [mine], "nor with the token of another pool")
        world.join(other)
        world.ask("first", other)
        self.assertEqual(self.after(world, known, 300), [])

    def test_what_ended_with_its_machine_cannot_be_pushed_out_of_memory(self):
        world = World(1, True)
        lead, one = controller(world, "cp-0_1"), world.launch()
        settle(world, [lead], 30)
        first, given = world.certificates[one.id], 0
        for _ in range(80):
            world.ask("renewal", one)
            given += len(self.after(world, lead, 4))
        self.assertLessEqual(given, 5, "one worker has not any number of certificates")
        self.assertLessEqual(max(len(each[1]) for each in lead.board.records["certificates"].values()), 3)
        world.end(one.id)
        settle(world, [lead], 90)
        world.nodes.pop(one.name, None)
        again = next(each for each in iter(world.launch, None) if each.name == one.name)
        for leader in (lead, controller(world, "cp-0_2")):
            settle(world, [leader], 30)
            world.certificates[one.id] = first
            stolen = world.ask("renewal", one)
            settle(world, [leader], 30)
            self.assertEqual(world.requests[stolen]["status"]["conditions"][0]["reason"], "FenestraDenied")
        settle(world, [leader], 900)
        own = world.ask("renewal", again)
        settle(world, [leader], 60)
        self.assertEqual(world.requests[own]["status"]["conditions"][0]["reason"], "FenestraApproved", world.requests[own]["status"])

    def test_certificates_of_before_count_and_those_that_a_person_approved(self):
        world = World(1, False)
        lead, one = controller(world, "cp-0_1"), world.launch()
        self.after(world, lead, 20)
        asked = world.ask("first", one)
        said = {"type": "Approved", "reason": "KubectlApprove", "lastUpdateTime": stamp(world.clock.wall())}
        own = world.certificates[one.id] = b"by hand"
        text = f"-----BEGIN CERTIFICATE-----\n{base64.b64encode(own).decode()}\n-----END CERTIFICATE-----\n"
        world.requests[asked]["status"] = {"conditions": [said], "certificate": base64.b64encode(text.encode()).decode()}
        self.after(world, lead, 40)
        old = min(world.machines.values())
        wanted = [world.ask("renewal", each) for each in (one, old)]
        found = self.after(world, lead, 5)
        self.assertEqual(sorted(found), sorted(wanted), [(world.requests[each]["status"], lead.board.records) for each in wanted])
        for unknown in ({old.id: b"unknown"}, {}):
            world.clock.at += 60
            world.certificates = unknown
            world.ask("renewal", old)
            self.assertEqual(self.after(world, lead, 5), [], "unknown is no where anything is written")

    def test_certificates_that_a_restored_snapshot_does_not_know_still_count(self):
        with open(os.path.join(os.path.dirname(__file__), "../../components/machine/linux/scripts/etcd-restore.sh")) as script:
            self.assertIn(f"ahead=${{ahead:-1}}{str(AHEAD)[1:]}\n", script.read())
        for successor in (None, "cp-1_1"):
            world, lead = led(23)
            one = world.present()[0]

            def answers():
                asked = [world.ask(kind, one, **more) for kind, more in (("renewal", {}), ("serving", own))]
                settle(world, world.controllers, 60)
                return [world.requests[each]["status"]["conditions"][0]["reason"] for each in asked]

            own = {"dns": (one.name,), "addresses": tuple(one.addresses)}
            self.assertEqual(answers(), ["FenestraApproved"] * 2)
            snapshot, before = copy.deepcopy(world.objects), world.version
            settle(world, [lead], 600)
            self.assertEqual(answers(), ["FenestraApproved"] * 2)
            settle(world, [lead], 600)
            world.fault = ("127.0.0.1", "refused")
            settle(world, [lead], 60)
            world.fault, world.objects, world.requests = ("", None), snapshot, {}
            world.version = before + AHEAD
            if successor:
                world.controllers.remove(lead)
                controller(world, successor)
            settle(world, world.controllers, 60)
            self.assertEqual(answers(), ["FenestraApproved"] * 2, successor)
            settle(world, world.controllers, 60)
            world.certificates[one.id] = b"of somebody else"
            self.assertEqual(answers(), ["FenestraDenied"] * 2, "what is given since counts alone")

    def test_a_denial_is_an_event_and_a_metric(self):
        world, texts = World(11, False), []
        lead, one, ghost = controller(world, "cp-0_1"), min(world.machines.values()), machine(900)
        lead.measure = texts.append
        settle(world, [lead], 30)
        self.assertEqual({text.split("controller_leads ")[-1].split()[0] for text in texts}, {"1"})
        self.assertIn("fenestra_certificate_requests_denied_total            0\n", texts[-1])
        wrong = [world.ask("serving", each) for each in (one, ghost)]
        settle(world, [lead], 6)
        self.assertIn("fenestra_certificate_requests_denied_total            2\n", texts[-1])
        self.assertEqual(len({len(text) for text in texts}), 1, "it is written over the last one")
        with open(os.path.join(os.path.dirname(__file__), "../../examples/prometheus.yaml")) as file:
            of = set(re.findall(r"fenestra_(?:certificate|node_controller)\w+", file.read()))
        self.assertEqual({name for name in of if f"\n{name}" not in texts[-1]}, set(), "an alert that can never fire")
        told = [("CertificateSigningRequest", wrong[1], "CertificateDenied"), ("Node", one.name, "CertificateDenied")]
        self.assertEqual(sorted(world.events), told)

    def test_a_machine_that_lists_leave_out_for_good_is_asked_for_by_itself(self):
        world, lead = led(7)
        world.hidden, before = min(world.machines), dict(world.nodes)
        for _ in range(170):
            world.clock.at += 6
            turn(world, lead)
        self.assertEqual(world.nodes, before)

    def test_one_that_was_killed_is_followed_after_its_lease_and_knows_the_repairs(self):
        world = World(4, False)
        world.config(MARKS, all="keep")
        first, second = controller(world, "cp-0_1"), controller(world, "cp-1_1")
        settle(world, [first, second], 30)
        self.assertTrue(first.lease.fresh() and not second.lease.fresh())
        for name in sorted(world.nodes)[:2]:
            world.unready(name)
        settle(world, [first, second], 600)
        self.assertEqual(world.did("replace"), [], "all are kept")
        del world.objects[f"configmaps/{MARKS}"]
        settle(world, [first, second], 570)
        self.assertEqual(world.repairs, [], "nobody has taken it back")
        settle(world, [first, second], 90)
        self.assertEqual(len(world.repairs), 2)
        name = sorted(world.nodes)[4]
        world.unready(name)
        settle(world, [second], 12)
        self.assertFalse(second.lease.fresh(), "a lease lasts fifteen seconds")
        settle(world, [second], 900)
        self.assertTrue(second.lease.fresh())
        self.assertEqual(len(world.repairs), 2, "the new leader knows what the old one did")
        settle(world, [second], HOUR)
        self.assertIn(("replace", name), world.done)
        again, third = controller(world, "cp-1_2"), controller(world, "cp-2_1")
        settle(world, [third, again], 24)
        self.assertEqual([each.lease.fresh() for each in (third, again)], [True, False], "who was killed is not first again")

    def test_a_term_begins_without_what_was_seen_in_the_last(self):
        world, lead = led(17)
        world.unready(sorted(world.nodes)[0])
        settle(world, [lead], 240)
        world.clock.at += 90
        settle(world, [lead], 60)
        self.assertEqual((lead.lease.term, world.repairs), (2, []))

    def test_the_hook_of_one_that_is_kept_does_not_end_it(self):
        world = World(18, False)
        world.config(MARKS, all="keep")
        lead, one = controller(world, "cp-0_1"), world.launch()
        world.capacity += 1
        world.broken.add(one.version)
        settle(world, [lead], 1200)
        self.assertIn(one.id, {each.id for each in world.present()})

    def test_one_whose_lease_is_over_begins_no_answer(self):
        world, lead = led(9)
        world.clock.at += 20
        lead.answer = lambda *_: self.fail("it leads no more")
        lead.write([(None, "approve", "", None)])

    def test_no_roll_is_started_while_a_machine_that_it_would_end_is_kept(self):
        for one in (None, 0):
            world, lead = led(21)
            name = "all" if one is None else world.present()[one].name
            world.config(MARKS, **{name: "keep"})
            world.update()
            settle(world, [lead], 3 * 3600, 30)
            self.assertEqual((world.did("roll"), world.harm), ([], []), name)
            self.assertIn(f"{name} is marked keep", world.page()["pools"]["c-linux"]["roll"]["why"])
            world.config(MARKS, **{name: "keep until 1"})
            settle(world, [lead], 600, 30)
            self.assertEqual(len(world.did("roll")), 1, name)

    def test_nodes_that_come_back_one_after_the_other_are_not_taken_for_the_last_that_are_sick(self):
        for reuse in (False, True):
            world, lead = led(24, reuse)
            names = sorted(name for name in world.nodes if name != world.member.name)
            for name in names:
                world.unready(name)
            settle(world, [lead], 1800)
            for name in names[:-1]:
                world.nodes[name] = world.nodes[name]._replace(ready=True, since=world.clock.wall())
            settle(world, [lead], 120)
            self.assertEqual(world.did("replace"), [], "a minute ago the fault was elsewhere")
            self.assertIn("a moment ago", world.page()["pools"]["c-linux"]["frozen"])
            settle(world, [lead], 600)
            self.assertEqual(world.did("replace"), names[-1:], "that one did not come back")

    def told(self, world):
        return world.page().get("duties", {})

    def test_a_leader_that_sees_nothing_is_followed_and_where_all_are_blind_each_looks_longer(self):
        world = World(12, True)
        first, second = controller(world, "cp-0_1"), controller(world, "cp-1_1")
        settle(world, [first, second], 30)
        world.fault, world.faulty = ("management.azure.com", "hang"), first
        one = world.launch()
        world.capacity += 1
        settle(world, [first, second], 360)
        self.assertEqual((first.lease.fresh(), second.lease.fresh(), one.name in world.nodes), (False, True, True))
        world.faulty, terms = None, first.lease.term + second.lease.term
        settle(world, [first, second], 3600)
        self.assertLess(first.lease.term + second.lease.term - terms, 7)
        self.assertIn("machines", self.told(world))
        self.assertIn("DutyFails", {reason for _, _, reason in world.events})
        world.fault = ("", None)
        settle(world, [first, second], 120)
        self.assertEqual((self.told(world), world.harm), ({}, []))

    def test_clocks(self):
        # Of the API server, and of the leader.
        for reuse in (False, True):
            for skew, ahead in ((-300, 0), (-4000, 0), (1000, 0), (0, 1000), (0, -1000)):
                with self.subTest((reuse, skew, ahead)):
                    world = World(13, reuse)
                    world.skew = skew
                    ones = [controller(world, "cp-0_1", ahead), controller(world, "cp-1_1")]
                    settle(world, ones, 960 if ahead > 0 else 30)
                    world.requests[world.ask("renewal", min(world.machines.values()), at=world.clock.wall() + skew)]["true"] = True
                    # One that takes its time.
                    world.broken.add(world.launch().version)
                    world.capacity += 1
                    settle(world, ones, 120)
                    world.broken.clear()
                    settle(world, ones, 780)
                    self.assertEqual((world.harm, len(world.nodes), world.undecided()), ([], 14, []))
                    self.assertEqual({what for what, _ in world.done} - {"FenestraApproved"}, set())

    def test_one_that_was_stopped_before_its_deed_does_nothing(self):
        world = World(14, False)
        first, second = controller(world, "cp-0_1"), controller(world, "cp-1_1")
        settle(world, [first, second], 30)
        name = sorted(world.nodes)[0]
        world.unready(name)

        def stopped(world, call, data):
            world.fault, world.harm = ("", None), []
            world.nodes[name] = world.nodes[name]._replace(ready=True, since=world.clock.wall() - 999)
            for _ in range(5):
                world.clock.at += 6
                turn(world, second)
            return data

        world.fault = ("POST /apis/events.k8s.io/v1/namespaces/default/events", stopped)
        settle(world, [first, second], 600)
        self.assertEqual((world.fault[0], second.lease.fresh(), world.repairs, world.harm), ("", True, [], []))

    def test_odd_records_are_dropped_and_told(self):
        for odd in ("null", "[]", "x", '{"repairs": [{}], "owed": 1, "rolls": {"a": null}, "issued": [], "joined": 1, "marks": 2}'):
            world = World(16, True)
            world.config(STATUS, records=odd)
            settle(world, [controller(world, "cp-0_1")], 60)
            self.assertEqual(self.told(world), {})
            self.assertIn("RecordDropped", {reason for _, _, reason in world.events})

    def test_what_fails_for_one_machine_stops_none_of_the_others(self):
        world, lead = led(10)
        first, second = sorted(world.nodes)[:2]
        for name in (first, second):
            world.unready(name)
        whole = lead.cloud.replace

        def replace(one, pool):
            if one.name == first:
                raise ValueError
            whole(one, pool)

        lead.cloud.replace = replace
        settle(world, [lead], 600)
        self.assertIn(("replace", second), world.done)

    def test_without_settings_nothing_is_repaired_and_certificates_are_given(self):
        world = World(5, False)
        del world.objects[f"configmaps/{SETTINGS}"]
        lead, one = controller(world, "cp-0_1"), world.launch()
        mine = world.ask("first", one)
        name = sorted(world.nodes)[0]
        world.unready(name)
        settle(world, [lead], 1200)
        self.assertEqual(world.done, [("FenestraApproved", mine)])

    def test_settings_that_make_no_sense_are_none(self):
        def read(**changes):
            return settings_of({"data": {"settings": json.dumps(SETTING | changes)}})

        self.assertEqual(read().per_hour, 2)
        short = {"linux": 59, "windows": 900}
        for odd in ({"notReadyAfter": 59}, {"maxUnhealthy": 1.01}, {"maxUnhealthy": -1}, {"perHour": "x"}, {"joinWithin": short}):
            self.assertIsNone(read(**odd), odd)

    def test_a_group_whose_roll_is_not_told_stops_no_repair(self):
        (world, lead), name = led(15), "i-00000000000000004"
        world.fault = ("DescribeInstanceRefreshes", 429)
        world.unready(name)
        settle(world, [lead], 600)
        self.assertIn(("replace", name), world.done)
        self.assertIn("DescribeInstanceRefreshes", self.told(world)["machines"])

    def test_what_is_shown_is_written_when_it_changes(self):
        world, lead = led(6, seconds=90)

        def version():
            return world.objects[f"configmaps/{STATUS}"]["metadata"]["resourceVersion"]

        before = version()
        while version() == before:
            settle(world, [lead], 6)
        before = version()
        settle(world, [lead], 54)
        self.assertEqual(version(), before)
        settle(world, [lead], 60)
        self.assertNotEqual(version(), before, "its age says that somebody leads")

    def test_a_page_whose_answer_was_lost_is_read_again(self):
        world, lead = led(6, seconds=90)
        world.fault = ("PUT /api/v1/namespaces/kube-system/configmaps/fenestra-machines", lambda *_: b"")
        while not world.hits:
            settle(world, [lead], 6)
        world.fault = ("", None)
        settle(world, [lead], 120)
        self.assertLess(world.clock.wall() - world.page()["at"], 115)
