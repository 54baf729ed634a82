import assert from "node:assert/strict";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { pythonTests } from "./python.ts";

const program = fileURLToPath(new URL("../../components/nodeController/program", import.meta.url));

/** Faults, each in one module, and the tests that must find it. */
const mutations: readonly (readonly [module: string, tests: string, from: string, to: string])[] = [
  ["judge", "judge", "rounds >= ABSENT_ROUNDS", "rounds >= 1"],
  ["judge", "judge", "duration >= ABSENT_SECONDS", "duration >= 0"],
  ["judge", "judge", "doubtful = bool(listing.problems) or", "doubtful = False and"],
  ["judge", "judge", "(memory.had_machines and not listing.machines)", "False"],
  ["judge", "judge", "world.wall - node.made > OLD_NODE", "True"],
  ["judge", "judge", "node.name not in world.never", "True"],
  ["brakes", "judge", 'return found[:most], ""', 'return found, ""'],
  ["brakes", "judge", "len(found) * 2 > count", "False"],
  ["brakes", "judge", 'what == "lost" and key == ALL', "False"],
  ["judge", "judge", "if machine.pool\n", "if True\n"],
  ["judge", "judge", "else left <= 0", "else False"],
  ["judge", "judge", "((machine.pool, machine.zone), ", "("],
  ["judge", "judge", "(machine.pool, None), ALL))", "ALL,))"],
  ["judge", "judge", "(machine.pool, None), ALL))", "(machine.pool, None)))"],
  ["judge", "judge", "< AGAIN if again", "< 0 if again"],
  ["judge", "judge", "again = machine.id in asked", "again = False"],
  ["judge", "judge", "node.made and machine.made", "True"],
  ["judge", "judge", "known and not node.ready and", "known and"],
  ["judge", "judge", ", world.leases.get(node.name))", ")"],
  ["judge", "judge", "min(age, world.at - world.answered)", "age"],
  ["judge", "judge", "duration > ZOMBIE_SECONDS", "duration >= 0"],
  ["judge", "judge", "or short(machine.id) in memory.joined", ""],
  [
    "judge",
    "judge",
    'and duration > SEEN_SECONDS:\n        return "sick", f"its',
    'and True:\n        return "sick", f"its',
  ],
  ["requests", "requests", "if request.made < machine.made:", "if False:"],
  ["requests", "requests", "or request.asked is None", ""],
  ["requests", "requests", '"wait" if now < machine.made else "deny"', '"deny"'],
  ["requests", "requests", "not known:", "False:"],
  ["requests", "requests", "if len(pools) > 1:", "if False:"],
  ["requests", "requests", 'machine.pool != f"{cluster}-{request.pool}"', "not machine.pool.endswith(request.pool)"],
  ["requests", "requests", "if not request.pool and machine.place:", "if False:"],
  ["requests", "requests", "return asked[0], f", "return asked[-1], f"],
  ["requests", "requests", "return asked[-1], f", "return asked[0], f"],
  ["requests", "requests", "if first and used:", "if False:"],
  ["requests", "requests", "len(before) >= FIRSTS", "False"],
  ["requests", "requests", "PAUSE * 2 ** (len(before) - 1)", "0"],
  ["requests", "requests", "if asked[-1].made < last.made and not serving:", "if False:"],
  ["requests", "requests", "if node:", "if False:"],
  ["requests", "requests", "if others:", "if False:"],
  ["requests", "requests", "machine.state not in PRESENT", "False"],
  ["requests", "requests", 'if machine.pool == "":', "if False:"],
  ["requests", "requests", 'if kind != "first" and asked.name != user:', "if False:"],
  ["requests", "requests", 'asked.organizations != ("system:nodes",)', "False"],
  ["pkcs10", "requests", "if len(names) != 1:", "if not names:"],
  ["pkcs10", "requests", "    outer.end()", "    pass"],
  ["pkcs10", "requests", "length < 0x80 or", "False or"],
  ["pkcs10", "requests", '            raise Malformed("kind of name")', "            pass"],
  ["controller", "controller", "short(machine.id) in self.memory.joined or any(", "any("],
  ["controller", "controller", 'older = [] if each.kind == "first" else', "older ="],
  ["controller", "controller", "[each.certificate, *older][:FEW]", "[each.certificate, *older]"],
  [
    "controller",
    "controller",
    "if machine.id in written else",
    "if certificate in written.get(machine.id, ((), ()))[1] else",
  ],
  ["controller", "controller", "if one]", "]"],
  ["controller", "controller", 'left = "a node" if self.api.node(request.node) else ""', 'left = ""'],
  [
    "controller",
    "controller",
    "self.memory, self.listing, self.round_at, self.held = Memory(), None, None, {}",
    "pass",
  ],
  ["controller", "controller", "        if not right:", "        if False:"],
  ["controller", "controller", "if self.cloud.date and abs(ahead) > SKEW:", "if False:"],
  ["controller", "controller", "min(now, request.made + own - self.first[request.uid])", "now"],
  ["controller", "controller", "api.may = cloud.may = self.may", "pass"],
  ["controller", "controller", "and self.duties.over()", "and False"],
  ["duties", "controller", "self.patience = min(2 * self.patience, LONGEST)", "pass"],
  [
    "controller",
    "controller",
    "    def may(self):\n        if not self.lease.fresh():",
    "    def may(self):\n        if False:",
  ],
  ["controller", "controller", "            while self.lease.fresh():", "            while True:"],
  ["controller", "controller", "self.cloud.hold(action.machine, pool)", "pass"],
  ["controller", "controller", "self.cloud.start_roll(pool)", "pass"],
  ["controller", "controller", 'self.denied += verdict == "deny"', "pass"],
  ["controller", "controller", 'records["repairs"].append({', "[].append({"],
  ["azure", "clouds", 'or pool.wanted < debt["size"] - debt["machines"]', ""],
  ["azure", "clouds", ' and re.search(r"was answered with 404 \\w*NotFound", str(error))', ""],
  ["azure", "clouds", "return found is not None and found.name != name", "return found is None or found.name != name"],
  ["azure", "clouds", '"InstanceIdsListInstanceIdNotActiveVM" not in str(error)', "True"],
  ["azure", "clouds", '{"If-Match": pool.etag} if pool.etag else {}', "{}"],
  ["lease", "controller", "self.clock.own() - self.renewed < SAFE", "True"],
  ["lease", "controller", "now - self.changed < DURATION", "False"],
  [
    "lease",
    "controller",
    "if holder != self.identity and",
    'if holder.split("_")[0] != self.identity.split("_")[0] and',
  ],
  ["volumes", "volumes", "and now - min(holding.values()) < LONGEST", ""],
  ["volumes", "volumes", 'not api.has("/api/v1/persistentvolumes", each)', "True"],
  ["web", "clouds", "min(self.until - time.monotonic(), self.silence)", "self.silence"],
  ["api", "controller", "if self.requests.get(request.name) is request:", "if request.name in self.requests:"],
  ["status", "controller", "        self.item = None\n        if item", "        if item"],
  ["status", "controller", "if shown == self.shown and", "if False and"],
  ["rolls", "judge", "if stuck:", "if False:"],
  ["rolls", "judge", "or state in RUNNING", ""],
  ["aws", "clouds", "(group not in pools if group else", "(False if group else"],
  ["aws", "clouds", 'one.get("privateIpAddress") not in self.members', "False"],
  ["aws", "clouds", "if any(id not in known for id in places):", "if False:"],
  ["azure", "clouds", ' and self.one(name)["sku"]["capacity"] == pool.wanted', ""],
  ["azure", "clouds", "elif name not in leaving:", "else:"],
  ["azure", "clouds", "own & self.members", "own"],
  ["web", "clouds", "ssl.SSLEOFError, ", ""],
  ["azure", "clouds", "if time.monotonic() < self.quiet:", "if False:"],
];

describe("the tests of the node controller", function () {
  this.timeout(300_000);
  for (const [module, tests, from, to] of mutations)
    it(`find in ${module}.py: ${from.trim().split("\n")[0]} -> ${to.trim().split("\n")[0]}`, async () => {
      const folder = mkdtempSync(path.join(tmpdir(), "mutation-"));
      try {
        cpSync(program, folder, { recursive: true });
        const file = path.join(folder, `${module}.py`);
        const text = readFileSync(file, "utf8");
        assert.equal(text.split(from).length, 2, "the text stands there once");
        writeFileSync(
          file,
          text.replace(from, () => to),
        );
        const { code, output } = await pythonTests([`test_${tests}.py`], { PROGRAM: folder, STORIES: "40" });
        assert.equal(code, 1, output);
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    });
});
