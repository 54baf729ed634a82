# What is done about nodes and machines: the rule of absence, repairs and their brakes, rolls; when the drivers of volumes may go.
import unittest

from support import machine, stamp

import rolls
from brakes import ALL, frozen
from judge import Memory, World, judge
from api import Api
from machines import Listing, Node, Pool, Settings
from status import pools
from volumes import FINALIZER, LONGEST, released

NOW = 2_000_000.0
OLD = NOW - 86400


def node(of, ready=True, since=OLD, made=OLD):
    return Node(of.name, f"uid-{of.name}", made, ready, since)


def world(machines, nodes, at=0.0, problems=(), **more):
    pools = {each.pool: Pool(each.pool, 3) for each in machines if each.pool}
    more = {"leases": {}, "settings": Settings(), "marks": {}, "repairs": (), "wall": NOW + at, "at": at, **more}
    return World(Listing(tuple(machines), pools, tuple(problems), at), {each.name: each for each in nodes}, **more)


def rounds(machines, nodes, seconds=600, memory=None, every=30, **more):
    memory = memory or Memory()
    return [judge(world(machines, nodes, float(at), **more), memory)[0] for at in range(0, seconds + 1, every)]


def verbs(actions):
    return [(each.verb, each.node) for each in actions]


FLEET = [machine(number, made=OLD, zone="abc"[number % 3]) for number in range(1, 13)]
WELL = [node(each) for each in FLEET]


class Silence(unittest.TestCase):
    def test_a_ready_node_whose_health_task_is_behind_its_kubelet_is_shown_and_nothing_is_done(self):
        def item(name, beat):
            ready = {"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-11-27T01:20:01Z"}
            meta = {"name": name, "uid": name, "creationTimestamp": "2026-11-26T00:00:00Z", "annotations": {"fenestra.dev/beat": beat}}
            return {"metadata": meta, "status": {"conditions": [ready]}}

        api, fleet = Api("", ""), FLEET[:3]
        api.pages = lambda path: [item(each.name, beat) for each, beat in zip(fleet, ("2026-11-27T01:00:00Z", "2026-11-27T01:10:00Z", "<script>"))]
        nodes, memory = api.nodes(), Memory()
        actions, conditions, _ = judge(world(fleet, nodes.values()), memory)
        self.assertEqual(actions, [])
        self.assertEqual(pools(world(fleet, ()).listing, nodes, conditions, {}, {}, lambda *_: ())[fleet[0].pool]["silent"], [f"{fleet[0].name} since 2026-11-27T01:00Z"])


class Absence(unittest.TestCase):
    def test_a_ghost_goes_after_three_whole_lists_and_two_minutes(self):
        got = rounds(FLEET[1:], WELL)
        self.assertEqual([index for index, actions in enumerate(got) if actions][0], 4)
        self.assertEqual(verbs(got[4]), [("delete", FLEET[0].name)])
        self.assertEqual(got[4][0].uid, WELL[0].uid)
        slow = rounds(FLEET[1:], WELL, every=130)
        self.assertEqual([bool(actions) for actions in slow][:3], [False, False, True], "three lists, however slow")

    def test_a_list_that_proves_nothing(self):
        fresh = node(FLEET[0], made=NOW - 60)
        for what, got in {
            "partial": rounds(FLEET[1:], WELL, problems=("zone a",)),
            "a young node": rounds(FLEET[1:], [fresh, *WELL[1:]], seconds=480),
            "never": rounds(FLEET[1:], WELL, never=frozenset({FLEET[0].name})),
            "leaving": rounds([FLEET[0]._replace(state="leaving"), *FLEET[1:]], WELL),
        }.items():
            with self.subTest(what):
                self.assertEqual(sum(map(len, got)), 0)
        memory = Memory()
        rounds(FLEET[:1], WELL[:1], seconds=60, memory=memory)
        self.assertEqual(sum(map(len, rounds([], WELL[:1], memory=memory))), 0, "suddenly empty")

    def test_absence_that_is_interrupted_begins_anew(self):
        memory = Memory()
        rounds(FLEET[1:], WELL, seconds=90, memory=memory)
        judge(world(FLEET, WELL, 100.0), memory)
        self.assertEqual([judge(world(FLEET[1:], WELL, at), memory)[0] for at in (130.0, 160.0, 190.0, 220.0)], [[]] * 4)

    def test_many_ghosts_go_slowly_and_most_nodes_never(self):
        half = rounds(FLEET[6:], WELL)
        self.assertEqual({len(actions) for actions in half}, {0, 1}, "a tenth of twelve in a round")
        memory = Memory()
        for at in range(0, 301, 30):
            actions, _, reasons = judge(world(FLEET[9:], WELL, float(at)), memory)
            self.assertEqual(actions, [])
        self.assertIn("9 of 12", reasons[("", None)])

    def test_a_terminated_machine_needs_no_patience(self):
        got = rounds([FLEET[0]._replace(state="gone"), *FLEET[1:]], WELL, seconds=0)
        self.assertEqual(verbs(got[0]), [("delete", FLEET[0].name)])

    def test_a_name_that_came_back(self):
        young = FLEET[0]._replace(id="vm-2", made=NOW - 60)
        fleet, dead = [young, *FLEET[1:]], [node(FLEET[0], False), *WELL[1:]]
        got = rounds(fleet, dead, names_return=True)
        self.assertEqual([index for index, actions in enumerate(got) if actions][0], 4, "no sooner than a ghost")
        self.assertEqual(verbs(got[4]), [("delete", young.name)])
        self.assertEqual({verb for actions in got for verb, _ in verbs(actions)}, {"delete"}, "the new machine is not sick")
        memory = Memory()
        for what, actions in {
            "an instance that was stopped and started is the same": rounds(fleet, dead),
            "its own": rounds(fleet, [node(young, False, made=NOW - 30), *WELL[1:]], names_return=True),
            "Ready: its kubelet is not dead": rounds(fleet, WELL, names_return=True),
            "its Lease is renewed": [
                judge(world(fleet, dead, float(at), names_return=True, leases={young.name: at}), memory)[0] for at in range(0, 601, 30)
            ],
            "a control-plane machine": rounds([young._replace(pool=""), *FLEET[1:]], dead, names_return=True),
            "it leaves": rounds([young._replace(state="leaving"), *FLEET[1:]], dead, names_return=True),
            "no time of the Node": rounds(fleet, [dead[0]._replace(made=0.0), *WELL[1:]], names_return=True),
            "no time of the machine": rounds([young._replace(made=0.0), *FLEET[1:]], dead, names_return=True),
        }.items():
            with self.subTest(what):
                self.assertEqual([each for each in sum(actions, []) if each.verb == "delete"], [])


class Repairs(unittest.TestCase):
    def once(self, machines, nodes, seconds=360, **more):
        return verbs(rounds(machines, nodes, seconds, **more)[-1])

    def test_table(self):
        sick = [node(FLEET[0], False, NOW - 1300), *WELL[1:]]
        young = machine(99, made=NOW - 300)
        late = machine(99, made=NOW - 960)
        windows = late._replace(os="windows")
        zombie = {"leases": {FLEET[0].name: NOW + 360}}
        replace = [("replace", FLEET[0].name)]
        for what, expected, got in [
            ("sick", replace, self.once(FLEET, sick)),
            ("seen for too short", [], self.once(FLEET, sick, seconds=270)),
            ("unready for too short", [], self.once(FLEET, [node(FLEET[0], False, NOW - 600), *WELL[1:]])),
            ("kept", [], self.once(FLEET, sick, marks={FLEET[0].name: "keep"})),
            ("kept by a capital", [], self.once(FLEET, sick, marks={FLEET[0].name: "Keep"})),
            ("kept until later", [], self.once(FLEET, sick, marks={FLEET[0].name: f"keep until {int(NOW + 9999)}"})),
            ("kept until before", replace, self.once(FLEET, sick, marks={FLEET[0].name: f"keep until {int(NOW)}"})),
            ("all kept", [], self.once(FLEET, sick, marks={"all": "keep"})),
            ("held", [], self.once([FLEET[0]._replace(state="held"), *FLEET[1:]], sick)),
            ("control plane", [], self.once([FLEET[0]._replace(pool=""), *FLEET[1:]], sick)),
            ("joining", [], self.once([*FLEET, young], WELL)),
            ("lost", [("replace", late.name)], self.once([*FLEET, late], WELL)),
            ("lost at first sight", [], self.once([*FLEET, late], WELL, seconds=0)),
            ("joining, and its kubelet runs", [], self.once([*FLEET, young], WELL, leases={young.name: NOW + 360})),
            ("Windows takes longer", [], self.once([*FLEET, windows], WELL)),
            ("zombie", replace, self.once(FLEET, WELL[1:], **zombie)),
            ("a kubelet that is away for a moment", [], self.once(FLEET, WELL[1:], seconds=270, **zombie)),
            ("failed", replace, self.once([FLEET[0]._replace(state="failed"), *FLEET[1:]], [node(FLEET[0], False, NOW - 400), *WELL[1:]])),
        ]:
            with self.subTest(what):
                self.assertEqual(got, expected)

    def test_a_machine_whose_node_was_deleted_has_time_to_make_another(self):
        for seconds, expected in ((270, []), (360, [("replace", FLEET[0].name)])):
            memory = Memory()
            judge(world(FLEET, WELL, -30.0), memory)
            got = [verbs(each) for each in rounds(FLEET, WELL[1:], seconds, memory=memory)]
            self.assertEqual((got[-1], any(got[:-2])), (expected, False))

    def test_brakes(self):
        def sick(count, fleet=FLEET):
            return [node(each, index >= count, NOW - 1300) for index, each in enumerate(fleet)]

        one_zone = [each._replace(zone="a") for each in FLEET]
        self.assertEqual(len(self.once(one_zone, sick(2))), 2)
        self.assertEqual(self.once(one_zone, sick(3)), [], "more than a fifth")
        self.assertEqual(self.once(FLEET, sick(3)), [], "one in each zone is a quarter of the pool")
        # A zone that is down stops its own repairs alone.
        down = [node(each, each.zone != "a" and each.name != FLEET[0].name, NOW - 1300) for each in FLEET]
        self.assertEqual(FLEET[0].zone, "b")
        self.assertEqual(self.once(FLEET, down), [("replace", FLEET[0].name)])
        # So many in an hour, whoever led.
        before = tuple({"machine": f"x{index}", "pool": "c-other", "what": "sick", "at": NOW} for index in range(2))
        self.assertEqual(self.once(one_zone, sick(2), repairs=before[:1]), [("replace", FLEET[0].name)])
        self.assertEqual(self.once(one_zone, sick(2), repairs=before), [])
        self.assertEqual(len(self.once(one_zone, sick(2), repairs=tuple({**each, "at": NOW - 3700} for each in before))), 2)

    def test_what_is_frozen(self):
        def reasons(*cells):
            whats = [(pool, zone, what) for pool, zone, given in cells for what in given.split()]
            fleet = {machine(number, zone=zone)._replace(pool=pool): (what, "") for number, (pool, zone, what) in enumerate(whats)}
            return set(frozen(0.2, fleet))

        quarter = [("b", zone, "sick well well well") for zone in "xyz"]
        self.assertEqual(reasons(*quarter), {("b", None)})
        self.assertEqual(reasons(("a", "x", "sick sick"), *quarter), {("a", "x"), ("b", None)}, "of no other pool")
        # What is frozen already counts once.
        ones = [(f"of one {number}", "x", "sick" if number < 3 else "well") for number in range(10)]
        self.assertEqual(reasons(("b", "w", "sick sick"), *quarter, *ones), {("b", "w"), ("b", None), ALL})
        self.assertEqual(reasons(*quarter, ("b", "x", "joining leaving held joining")), {("b", None)}, "of those that are there")
        self.assertEqual(reasons(("b", "x", "sick unready zombie" + " well" * 9)), {("b", "x")})

    def test_a_cluster_in_which_many_never_joined_is_frozen(self):
        lost = [each._replace(made=NOW - 960) for each in FLEET]
        self.assertEqual(self.once(lost, [node(each) for each in lost[6:]]), [])

    def test_who_was_not_answered_is_not_lost(self):
        late = machine(99, made=NOW - 960)
        for answered, expected in ((-530.0, []), (-560.0, [("replace", late.name)])):
            self.assertEqual(self.once([*FLEET, late], WELL, answered=answered), expected)
        self.assertEqual(self.once([*FLEET, late._replace(made=0.0)], WELL), [], "nobody knows since when")

    def test_one_that_is_still_there_is_asked_for_again_within_the_same_limit(self):
        sick = [node(FLEET[0], False, NOW - 1300), *WELL[1:]]
        for at, expected in ((NOW, []), (NOW - 300, [("replace", FLEET[0].name)])):
            same = {"machine": FLEET[0].id, "pool": "c-linux", "what": "sick", "at": at}
            self.assertEqual(self.once(FLEET, sick, repairs=(same, {**same, "machine": "x"})), expected)
        two = [node(each, False, NOW - 1300) for each in FLEET[:2]] + WELL[2:]
        self.assertEqual(len(self.once(FLEET, two, repairs=(same,))), 2, "who is asked again takes no other's place")

    def test_machines_that_do_not_join_go_one_in_an_hour(self):
        late = [machine(number, made=NOW - 960 + number) for number in (90, 91)]
        self.assertEqual(self.once([*FLEET, *late], WELL, settings=Settings(per_hour=9)), [("replace", late[0].name)])
        before = ({"machine": "x", "pool": "c-linux", "what": "lost", "at": NOW},)
        self.assertEqual(self.once([*FLEET, *late], WELL, settings=Settings(per_hour=9), repairs=before), [])
        sick = [node(FLEET[0], False, NOW - 1300), *WELL[1:]]
        self.assertEqual(self.once(FLEET, sick, settings=Settings(per_hour=9), repairs=before), [("replace", FLEET[0].name)])
        same = ({**before[0], "machine": late[0].id, "at": NOW - 300},)
        again = self.once([*FLEET, *late], WELL, settings=Settings(per_hour=9), repairs=same)
        self.assertEqual(again, [("replace", late[0].name)])

    def test_a_launch_hook_is_held_while_its_machine_may_still_join(self):
        waits = machine(99, made=NOW - 60)._replace(waits=True)
        self.assertEqual(verbs(rounds([*FLEET, waits], WELL, seconds=0)[0]), [("hold", waits.name)])
        self.assertEqual(rounds([*FLEET, waits], [*WELL, node(waits)], seconds=0)[0], [])


class Rolls(unittest.TestCase):
    def test_a_roll_is_started_again_until_all_are_new_with_growing_pauses(self):
        pool = Pool("c-linux", 3, "lt:2", roll={"state": "Failed", "reason": "quota"})
        old = [machine(number, version="lt:1") for number in range(3)]
        record, starts = {}, []
        for at in range(0, 80_000, 30):
            start, why, record = rolls.decide(pool, old, [], record, float(at), {})
            self.assertEqual(why, "quota")
            if start:
                starts.append(at)
        self.assertEqual([after - before for before, after in zip([0, *starts], starts)], [300, 900, 3600, 14400, 43200])

    def test_when_none_is_started(self):
        pool, old = Pool("c-linux", 1, "lt:2"), [machine(1, version="lt:1")]
        patient = {"version": "lt:2", "tries": 0, "at": 0}

        def starts(pool=pool, machines=old, late=(), record=patient):
            return rolls.decide(pool, machines, late, record, 1e6, {})[0]

        self.assertTrue(starts())
        self.assertFalse(starts(record={}), "the update itself comes first")
        self.assertFalse(starts(record={**patient, "version": "lt:1"}))
        self.assertFalse(starts(machines=[machine(1, version="lt:2")]))
        self.assertFalse(starts(machines=[old[0]._replace(state="leaving")]))
        self.assertFalse(starts(machines=[old[0]._replace(pool="c-other")]))
        self.assertFalse(starts(pool=pool._replace(version=""), record={**patient, "version": ""}))
        self.assertFalse(starts(machines=[machine(1, version="")]), "nobody says of which template it is")
        self.assertFalse(starts(late=[machine(2, version="lt:2")]), "the new template does not join")
        self.assertTrue(starts(late=[machine(2, version="lt:1")]))
        for state in ("Pending", "InProgress", "Cancelling", "RollbackInProgress", "Baking"):
            self.assertFalse(starts(pool=pool._replace(roll={"state": state})))


def volume(name, claim="gone", policy="Delete", **spec):
    reference = {"claimRef": {"uid": claim}} if claim else {}
    return {"metadata": {"name": name}, "spec": {"csi": {"driver": "d"}, "persistentVolumeReclaimPolicy": policy, **reference, **spec}}


class Stored:
    def __init__(self, volumes, deleted=NOW - 10, finalizers=(FINALIZER, "a.b/c")):
        self.volumes = volumes
        times = {} if deleted is None else {"deletionTimestamp": stamp(deleted)}
        self.item = {"metadata": {"name": "fenestra-volumes", "resourceVersion": "7", "finalizers": list(finalizers), **times}}

    def data(self, name):
        return self.item if name == "fenestra-volumes" else None

    def has(self, path, name):
        return True

    def pages(self, path):
        yield from self.volumes if path.endswith("volumes") else [{"metadata": {"uid": "there"}}]


class Volumes(unittest.TestCase):
    def test_waits_for_one_that_only_a_list_has_no_more(self):
        holding = {}
        self.assertIsNone(released(Stored([volume("b")]), NOW, holding))
        self.assertIsNone(released(Stored([]), NOW, holding))

    def test_waits_for_no_other(self):
        others = [volume("a", "there"), volume("b", policy="Retain"), volume("c", None), volume("d", csi=None)]
        meta = released(Stored(others), NOW, {})["metadata"]
        self.assertEqual((meta["finalizers"], meta["resourceVersion"]), (["a.b/c"], "7"))

    def test_waits_at_most_so_long(self):
        # By the own clock, whatever the API server's says.
        holding, api = {}, Stored([volume("a")], 1.0)
        self.assertIsNone(released(api, NOW, holding))
        self.assertIsNone(released(api, NOW + LONGEST - 1, holding))
        self.assertIsNotNone(released(api, NOW + LONGEST, holding))

    def test_leaves_it_alone_before_and_afterwards(self):
        self.assertIsNone(released(Stored([], None), NOW, {}))
        self.assertIsNone(released(Stored([], finalizers=("a.b/c",)), NOW, {}))
