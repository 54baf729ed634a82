import assert from "node:assert/strict";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { pythonTests } from "./python.ts";

const program = fileURLToPath(new URL("../../components/nodeController/program", import.meta.url));

/** For each module its faults (a text and another), and the tests that must find them. */
const mutations: Readonly<
  Record<string, readonly [tests: string, ...faults: readonly (readonly [from: string, to: string])[]]>
> = {
  judge: [
    "judge",
    ["rounds >= ABSENT_ROUNDS", "rounds >= 1"],
    ["duration >= ABSENT_SECONDS", "duration >= 0"],
    ["doubtful = bool(listing.problems) or", "doubtful = False and"],
    ["(memory.had_machines and not listing.machines)", "False"],
    ["world.wall - node.made > OLD_NODE", "True"],
    ["node.name not in world.never", "True"],
    ["if machine.pool\n", "if True\n"],
    ["else left <= 0", "else False"],
    ["((machine.pool, machine.zone), ", "("],
    ["(machine.pool, None), ALL))", "ALL,))"],
    ["(machine.pool, None), ALL))", "(machine.pool, None)))"],
    ["< AGAIN if again", "< 0 if again"],
    ["again = machine.id in asked", "again = False"],
    ["node.made and machine.made", "True"],
    ["known and not node.ready and", "known and"],
    [", world.leases.get(node.name))", ")"],
    ["min(age, world.at - world.answered)", "age"],
    ["duration > ZOMBIE_SECONDS", "duration >= 0"],
    ["or short(machine.id) in memory.joined", ""],
    ['and duration > SEEN_SECONDS:\n        return "sick", f"its', 'and True:\n        return "sick", f"its'],
  ],
  brakes: [
    "judge",
    ['return found[:most], ""', 'return found, ""'],
    ["len(found) * 2 > count", "False"],
    ['what == "lost" and key == ALL', "False"],
  ],
  requests: [
    "requests",
    ["if request.made < machine.made:", "if False:"],
    ["or request.asked is None", ""],
    ['"wait" if now < machine.made else "deny"', '"deny"'],
    ["not known:", "False:"],
    ["if len(pools) > 1:", "if False:"],
    ['machine.pool != f"{cluster}-{request.pool}"', "not machine.pool.endswith(request.pool)"],
    ["if not request.pool and machine.place:", "if False:"],
    ["return asked[0], f", "return asked[-1], f"],
    ["return asked[-1], f", "return asked[0], f"],
    ["if first and used:", "if False:"],
    ["len(before) >= FIRSTS", "False"],
    ["PAUSE * 2 ** (len(before) - 1)", "0"],
    ["if asked[-1].made < last.made and not serving:", "if False:"],
    ["if node:", "if False:"],
    ["if others:", "if False:"],
    ["machine.state not in PRESENT", "False"],
    ['if machine.pool == "":', "if False:"],
    ['if kind != "first" and asked.name != user:', "if False:"],
    ['asked.organizations != ("system:nodes",)', "False"],
  ],
  pkcs10: [
    "requests",
    ["if len(names) != 1:", "if not names:"],
    ["    outer.end()", "    pass"],
    ["length < 0x80 or", "False or"],
    ['            raise Malformed("kind of name")', "            pass"],
  ],
  controller: [
    "controller",
    ["short(machine.id) in self.memory.joined or any(", "any("],
    ['older = [] if each.kind == "first" else', "older ="],
    ["[each.certificate, *older][:FEW]", "[each.certificate, *older]"],
    ["if machine.id in written else", "if certificate in written.get(machine.id, ((), ()))[1] else"],
    ["if one]", "]"],
    ['left = "a node" if self.api.node(request.node) else ""', 'left = ""'],
    ["self.memory, self.listing, self.round_at, self.held = Memory(), None, None, {}", "pass"],
    ["        if not right:", "        if False:"],
    ["if self.cloud.date and abs(ahead) > SKEW:", "if False:"],
    ["min(now, request.made + own - self.first[request.uid])", "now"],
    ["api.may = cloud.may = self.may", "pass"],
    ["and self.duties.over()", "and False"],
    ["    def may(self):\n        if not self.lease.fresh():", "    def may(self):\n        if False:"],
    ["            while self.lease.fresh():", "            while True:"],
    ["self.cloud.hold(action.machine, pool)", "pass"],
    ["self.cloud.start_roll(pool)", "pass"],
    ['self.denied += verdict == "deny"', "pass"],
    ['records["repairs"].append({', "[].append({"],
  ],
  duties: ["controller", ["self.patience = min(2 * self.patience, LONGEST)", "pass"]],
  azure: [
    "clouds",
    ['or pool.wanted < debt["size"] - debt["machines"]', ""],
    [' and re.search(r"was answered with 404 \\w*NotFound", str(error))', ""],
    ["return found is not None and found.name != name", "return found is None or found.name != name"],
    ['"InstanceIdsListInstanceIdNotActiveVM" not in str(error)', "True"],
    ['{"If-Match": pool.etag} if pool.etag else {}', "{}"],
    [' and self.one(name)["sku"]["capacity"] == pool.wanted', ""],
    ["elif name not in leaving:", "else:"],
    ["own & self.members", "own"],
    ["if time.monotonic() < self.quiet:", "if False:"],
  ],
  lease: [
    "controller",
    ["self.clock.own() - self.renewed < SAFE", "True"],
    ["now - self.changed < DURATION", "False"],
    ["if holder != self.identity and", 'if holder.split("_")[0] != self.identity.split("_")[0] and'],
  ],
  volumes: [
    "volumes",
    ["and now - min(holding.values()) < LONGEST", ""],
    ['not api.has("/api/v1/persistentvolumes", each)', "True"],
  ],
  web: ["clouds", ["min(self.until - time.monotonic(), self.silence)", "self.silence"], ["ssl.SSLEOFError, ", ""]],
  api: ["controller", ["if self.requests.get(request.name) is request:", "if request.name in self.requests:"]],
  status: [
    "controller",
    ["        self.item = None\n        if item", "        if item"],
    ["if shown == self.shown and", "if False and"],
  ],
  rolls: ["judge", ["if stuck:", "if False:"], ["or state in RUNNING", ""]],
  aws: [
    "clouds",
    ["(group not in pools if group else", "(False if group else"],
    ['one.get("privateIpAddress") not in self.members', "False"],
    ["if any(id not in known for id in places):", "if False:"],
  ],
};

describe("the tests of the node controller", function () {
  this.timeout(300_000);
  for (const [module, [tests, ...faults]] of Object.entries(mutations))
    for (const [from, to] of faults)
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
