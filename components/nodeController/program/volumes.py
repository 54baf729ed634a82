# Holds the end of the drivers of volumes back while one has still to delete something:
# components/kubernetes/addOns/volumes.ts.
import requests

HOLD, FINALIZER = "fenestra-volumes", "fenestra.dev/volumes"
# Seconds that the drivers have at most: what a cloud does not give back then, it may never.
LONGEST = 300


def left(volumes, claims):
    # Volumes that a driver is to delete, since their claims are gone.
    there = {"", *(each["metadata"]["uid"] for each in claims)}
    return [
        each["metadata"]["name"]
        for each in volumes
        if each["spec"].get("csi")
        and each["spec"].get("persistentVolumeReclaimPolicy") == "Delete"
        and each["spec"].get("claimRef", {}).get("uid", "") not in there
    ]


def released(api, now):
    # The object without its finalizer, when it may go; None otherwise.
    item = api.data(HOLD)
    meta = (item or {}).get("metadata", {})
    if not meta.get("deletionTimestamp") or FINALIZER not in meta.get("finalizers", ()):
        return None
    # Volumes first: a claim that is made in between is there then.
    volumes = list(api.pages("/api/v1/persistentvolumes"))
    if now - requests.seconds(meta["deletionTimestamp"]) < LONGEST and left(volumes, api.pages("/api/v1/persistentvolumeclaims")):
        return None
    return {**item, "metadata": {**meta, "finalizers": [each for each in meta["finalizers"] if each != FINALIZER]}}
