# Holds the end of the drivers of volumes back while one has still to delete something:
# components/kubernetes/addOns/volumes.ts.
HOLD, FINALIZER = "fenestra-volumes", "fenestra.dev/volumes"
# Seconds that a volume holds the drivers at most.
LONGEST = 300


def left(volumes, claims):
    # Volumes that a driver is to delete, since their claims are gone.
    there = {each["metadata"]["uid"] for each in claims}
    return [
        each["metadata"]["name"]
        for each in volumes
        # The API server always says the policy.
        if each["spec"]["persistentVolumeReclaimPolicy"] == "Delete"
        and each["spec"].get("csi")
        and each["spec"].get("claimRef") is not None
        and each["spec"]["claimRef"].get("uid") not in there
    ]


def released(api, now, holding):
    # The object without its finalizer, when it may go. `holding` is what was seen to hold it, and since when: that a list
    # has it no more is no proof.
    item = api.data(HOLD)
    meta = (item or {}).get("metadata", {})
    if not meta.get("deletionTimestamp") or FINALIZER not in meta.get("finalizers", ()):
        return None
    # Volumes first: a claim that is made in between is there then.
    there = list(api.pages("/api/v1/persistentvolumes"))
    for name in left(there, api.pages("/api/v1/persistentvolumeclaims")):
        holding.setdefault(name, now)
    listed = {each["metadata"]["name"] for each in there}
    for name in [each for each in holding if each not in listed and not api.has("/api/v1/persistentvolumes", each)]:
        del holding[name]
    if holding and now - min(holding.values()) < LONGEST:
        return None
    return {**item, "metadata": {**meta, "finalizers": [each for each in meta["finalizers"] if each != FINALIZER]}}
