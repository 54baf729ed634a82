# How much may be deleted and replaced. Pure.
import math

HOUR = 3600
# Seconds after which a machine that is still there is asked for again, within the same limit.
AGAIN = 600
# The whole cluster, as a place with a reason why nothing is replaced in it.
ALL = ("", None)


def share(part, whole):
    # A tenth of three is one.
    return max(1, math.floor(part * whole))


def deletions(found, count):
    # Of Nodes, whatever the reason: a tenth in a round, and none where it would be most, with the reason.
    most = share(0.1, count)
    if len(found) > most and len(found) * 2 > count:
        return [], f"{len(found)} of {count} nodes are said to be of no machine that there is; they are not removed"
    return found[:most], ""


def frozen(limit, conditions):
    # Zones, pools and the cluster with so much trouble that its cause must be elsewhere: (pool, zone), (pool, None) and
    # ALL, to the reason. What is frozen does not stop the others. Pools of one, and who never joined, count in the cluster.
    cells, reasons = {}, {}
    for machine, (what, _) in conditions.items():
        for key in ((machine.pool, machine.zone), (machine.pool, None), ALL):
            count = cells.setdefault(key, [0, 0])
            count[0] += what in ("sick", "unready", "zombie") or (what == "lost" and key == ALL)
            count[1] += what not in ("leaving", "held", "joining") and (what != "lost" or key == ALL)
    for key, (bad, whole) in sorted(cells.items(), key=lambda each: (each[0] == ALL, each[0][1] is None)):
        pool, zone = key
        if zone is None:
            inside = [each for each in reasons if pool in ("", each[0])]
            apart = [cells[each] for each in inside if each[1] is None or (each[0], None) not in reasons]
            bad, whole = bad - sum(each[0] for each in apart), whole - sum(each[1] for each in apart)
        if bad > share(limit, whole):
            reasons[key] = f"{bad} of {whole} machines are not well" + (f" in {zone}" if zone else "")
    return reasons
