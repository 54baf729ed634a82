# When a group's own roll is started again. Pure. A scale set takes it up by itself, with the next update. A roll that is
# under way is never stopped: machines that do not join hold it up, and none that works goes before one has.
from judge import kept

RUNNING = frozenset({"Pending", "InProgress", "Cancelling", "RollbackInProgress", "Baking"})
# The update that makes a template rolls it first. Then the pause grows with each roll of a version that came to nothing.
PAUSES = (300, 900, 3600, 14400, 43200)


def older(pool, machines):
    own = [each for each in machines if each.pool == pool.name and each.state == "running"]
    return [each for each in own if each.version and each.version != pool.version]


def decide(pool, machines, late, record, wall, marks):
    # Whether to start, why not or why again, and what is remembered of this version. `late` are machines that have not
    # joined in time. A roll would end machines that an operator keeps.
    record = record if record.get("version") == pool.version else {"version": pool.version, "tries": 0, "at": int(wall)}
    state = pool.roll.get("state", "")
    if not pool.version or state in RUNNING:
        return False, "", record
    old = older(pool, machines)
    if not old:
        return False, "", {}
    why = pool.roll.get("reason") or (f"the last roll ended as {state}" if state else "no roll was started")
    stuck = [each.name for each in late if each.pool == pool.name and each.version == pool.version]
    if stuck:
        return False, f"{stuck[0]} has the new template and has not joined; {why}", record
    held = [name for name in ("all", *(each.name for each in old)) if kept(marks, name, wall)]
    if held:
        return False, f"{held[0]} is marked keep; {why}", record
    left = record["at"] + PAUSES[min(record["tries"], len(PAUSES) - 1)] - wall
    if left > 0:
        return False, why, record
    return True, why, {**record, "tries": record["tries"] + 1, "at": int(wall)}
