# When the drivers of volumes may go.
import unittest

from support import stamp

from volumes import FINALIZER, LONGEST, released

NOW = 3_000_000.0


def volume(name, claim="gone", policy="Delete", **spec):
    reference = {"claimRef": {"uid": claim}} if claim else {}
    return {"metadata": {"name": name}, "spec": {"csi": {"driver": "d"}, "persistentVolumeReclaimPolicy": policy, **reference, **spec}}


class Api:
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
    def test_waits_for_volumes_of_claims_that_are_gone(self):
        self.assertIsNone(released(Api([volume("a", "there"), volume("b")]), NOW, {}))

    def test_waits_for_one_that_only_a_list_has_no_more(self):
        holding = {}
        self.assertIsNone(released(Api([volume("b")]), NOW, holding))
        self.assertIsNone(released(Api([]), NOW, holding))

    def test_waits_for_no_other(self):
        others = [volume("a", "there"), volume("b", policy="Retain"), volume("c", None), volume("d", csi=None)]
        meta = released(Api(others), NOW, {})["metadata"]
        self.assertEqual((meta["finalizers"], meta["resourceVersion"]), (["a.b/c"], "7"))

    def test_waits_at_most_so_long(self):
        # By the own clock, whatever the API server's says.
        holding, api = {}, Api([volume("a")], 1.0)
        self.assertIsNone(released(api, NOW, holding))
        self.assertIsNone(released(api, NOW + LONGEST - 1, holding))
        self.assertIsNotNone(released(api, NOW + LONGEST, holding))

    def test_leaves_it_alone_before_and_afterwards(self):
        self.assertIsNone(released(Api([], None), NOW, {}))
        self.assertIsNone(released(Api([], finalizers=("a.b/c",)), NOW, {}))
