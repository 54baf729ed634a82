# What a leader owes, and when each of it was last done whole.
DUTIES = ("requests", "nodes", "machines", "volumes", "page")
# Seconds without a whole success until the page, and an Event, say so; until a leader that does nothing at all of one
# gives the lease up, and at most.
SHOWN, TOLD, BLIND, LONGEST = 60, 90, 180, 3 * 3600


class Duties:
    def __init__(self, clock):
        self.clock, self.patience, self.whole = clock, BLIND, 0.0
        self.done, self.why, self.blind, self.events = dict.fromkeys(DUTIES, 0.0), {}, set(), set()

    def begin(self, failing=None):
        # A new leader counts from now, but for what has failed already: names, to seconds of the epoch.
        own, wall = self.clock.own(), self.clock.wall()
        self.whole, self.blind = own, set(DUTIES)
        if failing is not None:
            self.why = {name: "it failed for the leader before" for name in DUTIES if name in failing}
            self.done = {name: own - max(0.0, wall - failing.get(name, wall)) for name in DUTIES}

    def record(self, name, problems, blind):
        # `blind`: nothing of it was done.
        (self.blind.add if blind else self.blind.discard)(name)
        if problems:
            self.why[name] = "; ".join(dict.fromkeys(problems))[:500]
        else:
            self.done[name] = self.clock.own()
            self.why.pop(name, None)
            self.events.discard(name)
        if not self.blind:
            self.whole, self.patience = self.clock.own(), BLIND

    def failing(self, seconds=SHOWN):
        own = self.clock.own()
        return {name: why for name, why in self.why.items() if own - self.done[name] > seconds}

    def at(self, name):
        return int(self.clock.wall() - self.clock.own() + self.done[name])

    def untold(self):
        # For an Event, once.
        found = {name: why for name, why in self.failing(TOLD).items() if name not in self.events}
        self.events.update(found)
        return found

    def over(self):
        # Whether another one should try; the next time it is left more, for all may be blind.
        if self.clock.own() - self.whole < self.patience:
            return False
        self.patience = min(2 * self.patience, LONGEST)
        return True
