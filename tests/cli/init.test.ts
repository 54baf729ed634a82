import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { Command } from "@commander-js/extra-typings";
import { type Paint, plain } from "../../check/report.ts";
import { commandOf, type Terminal, UsageError } from "../../cli/exit.ts";
import { init } from "../../cli/init.ts";
import { commands } from "../../cli/main.ts";
import { printed } from "../../cli/printed.ts";
import { runCommand } from "../../cli/run.ts";
import { deployableStacks, stackLines } from "../../cli/stacks.ts";
import { loadConfig } from "../../components/config/load.ts";
import { parseStackFile, readStackFile, stackNames } from "../../components/config/stackFile.ts";
import { clusterSpec } from "../../components/model/clusterSpec.ts";
import { ConfigError } from "../../components/model/problem.ts";
import { defaultRelease } from "../../components/model/releases.ts";
import { fewerMachines } from "../../components/model/upgrade.ts";
import { findingRules } from "../../plan/report/findings.ts";
import { pinRules } from "../../plan/report/rules/pins.ts";
import { stackDir, testStacks } from "../support/stacks.ts";
import { fenestra } from "../support/suite.ts";

describe("fenestra init", () => {
  let folder = new URL("file:///");
  beforeEach(() => {
    folder = pathToFileURL(`${mkdtempSync(path.join(tmpdir(), "stacks-"))}/`);
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const bare = { machines: [], leaks: [], asOf: undefined, encrypted: [] };
  const silent = { out: () => undefined, err: () => undefined };

  it("writes a file of what the options say, and leaves an existing one alone", async () => {
    const options = { stack: "shop", cloud: "aws", production: true, allow: "198.18.0.0/15, 100.64.0.0/10" };
    assert.equal(await init(options, false, silent, folder), 0);
    const config = loadConfig(readStackFile("shop", folder));
    assert.deepEqual(config.network, {
      cidr: "10.0.0.0/16",
      zones: zones("eu-central-1", "abc"),
      nat: "perZone",
      natAddresses: 1,
    });
    assert.deepEqual([config.environment, config.controlPlane.replicas], ["production", 3]);
    assert.deepEqual(config.access.public?.allow, ["198.18.0.0/15", "100.64.0.0/10"]);
    assert.deepEqual(
      config.pools.map(({ name, os, count }) => [name, os, count]),
      [
        ["linux", "linux", 2],
        ["win2022", "windows-2022", 2],
      ],
    );
    assert.equal(await init({ ...options, stack: "azure", cloud: "azure" }, false, silent, folder), 0);
    assert.ok(loadConfig(readStackFile("azure", folder)).pools.every(({ perZone, count }) => perZone && count === 3));
    rmSync(new URL("Pulumi.azure.yaml", folder));
    assert.equal(await init({ ...options, stack: "tokyo", region: "ap-northeast-1" }, false, silent, folder), 0);
    assert.deepEqual(loadConfig(readStackFile("tokyo", folder)).network.zones, zones("ap-northeast-1", "acd"));
    rmSync(new URL("Pulumi.tokyo.yaml", folder));
    // Before anything is asked.
    await assert.rejects(init({ stack: "shop" }, false, silent, folder), /Pulumi\.shop\.yaml exists; allowed: another/);
    assert.throws(() => readStackFile("shpo", folder), /one of shop\n +fix: +did you mean shop\?/);
    assert.deepEqual(stackLines(folder).slice(1), [
      `shop   aws    eu-central-1  ${defaultRelease}      linux, win2022`,
    ]);
  });

  it("are deployed without values of documentation, development first", () => {
    const { names, leftOut } = deployableStacks(testStacks);
    assert.deepEqual(names, ["aws-private", "aws-spot", "azure-cni", "azure-gmsa", "azure-logs", "azure-private"]);
    assert.match(leftOut[0] ?? "", /^aws-dev is left out:/);
    writeFileSync(new URL("Pulumi.wrong.yaml", folder), "config: {}");
    assert.deepEqual(deployableStacks(folder), {
      names: [],
      leftOut: ["wrong is left out: its file has mistakes: fenestra plan --stack wrong"],
    });
  });

  it("asks four questions, again after a wrong answer, and the cloud for the rest", async () => {
    const replies = ["azure", "westeurop", "", ""];
    const asked: string[] = [];
    const out: string[] = [];
    const said: string[] = [];
    const ask = async (question: string) => {
      asked.push(question);
      return replies.shift() ?? assert.fail(`no reply to ${question}`);
    };
    const screen = { out: (text: string) => out.push(text), err: (text: string) => said.push(text), ask };
    const account = "01234567-0123-0123-0123-0123456789ab";
    await init({ stack: "shop", production: true }, true, screen, folder, undefined, async (cloud, region) => {
      assert.deepEqual([cloud, region], ["azure", "westeurope"]);
      return { account, quota: "enough" };
    });
    assert.deepEqual([asked[1], said], ["Region [westeurope]: ", ["enough\n"]]);
    assert.match(asked[2] ?? "", /^Allowed: eastus, .*\nRegion \[westeurope\]: $/s);
    assert.match(asked[3] ?? "", /^Networks that reach the API/);
    assert.equal(loadConfig(parseStackFile(out.join(""), "shop")).accountId, account);
    out.length = 0;
    replies.push("aws", "", "");
    await init({ stack: "shop" }, true, screen, folder, undefined, async () => ({
      ...{ zones: ["eu-central-1b", "eu-central-1c"], address: "100.64.7.9", account: "210987654321" },
    }));
    assert.match(
      out.join(""),
      /accountId: "210987654321".*\[eu-central-1b, eu-central-1c\].*allow: \[100\.64\.7\.9\/32\]/s,
    );
  });

  it("refuses missing or wrong options, and values against the rules, without a file", async () => {
    for (const [args, message] of [
      [["--stack", "x", "--cloud", "gcp"], /^fenestra: --cloud gcp: is not allowed; allowed: aws, azure\n$/],
      [["--stack", "x", "--cloud", "aws", "--allow", "10.0.0.1/8"], /config\.fenestra:access\.public\.allow/],
      [["--stack", "x", "--cloud", "aws", "--allow", "0.0.0.0/1,128.0.0.0/1"], /open to 100 % of the internet/],
    ] as const) {
      const { code, out, err } = await fenestra("init", ...args, "--print");
      assert.deepEqual([code, out], [2, ""]);
      assert.match(err, message);
    }
  });

  it("says at once what the plan warns of", async () => {
    const args = ["--stack", "x", "--cloud", "azure", "--region", "westus", "--allow", "192.168.1.0/24", "--print"];
    const { code, err } = await fenestra("init", ...args);
    assert.equal(code, 0);
    assert.match(err, /192\.168\.1\.0\/24 is private: /);
  });

  it("makes a file whose stack has nothing known against it but what no digest exists for, which it accepts", async () => {
    for (const cloud of ["aws", "azure"] as const)
      for (const production of [false, true]) {
        const out: string[] = [];
        await init({ stack: "new", cloud, production }, true, { ...silent, out: (text) => out.push(text) }, folder);
        const spec = clusterSpec(loadConfig(parseStackFile(out.join(""), "new")));
        const program = { stack: "new", resources: [], outputs: {}, messages: [] };
        const weak = pinRules["known-vulnerability"].find({ spec, program, ...bare });
        const names = weak.flatMap((each) => each.names ?? []);
        assert.deepEqual(
          Object.keys(spec.acknowledge)
            .filter((name) => name !== "unconfirmed-artifact")
            .toSorted(),
          names.toSorted(),
          out.join(""),
        );
        assert.deepEqual(
          weak.map(({ path: at }) => at),
          ["containerd 2.3.4"],
        );
        for (const reason of Object.values(spec.acknowledge)) assert.match(reason, /fenestra pin/);
      }
    const examples = [testStacks, new URL("../../stacks/", import.meta.url)];
    for (const [stacks, name] of examples.flatMap((each) => stackNames(each).map((name) => [each, name] as const)))
      assert.equal(readStackFile(name, stacks)["fenestra:acknowledge"], undefined, name);
  });
});

function zones(region: string, letters: string) {
  return [...letters].map((letter) => `${region}${letter}`);
}

/** Commands that make or change something, and what they say is how far they are. */
const makers = ["init", "update", "rehearse", "up", "down", "image", "schema", "completion"];

describe("fenestra schema", () => {
  it("prints every finding to read", async () => {
    assert.deepEqual(
      [...(await fenestra("schema", "--findings")).out.matchAll(/^- `([a-z-]+)` \((?:note|warning|error)\b/gm)].map(
        ([, id]) => id,
      ),
      [...Object.keys(findingRules), "acknowledged-nothing", fewerMachines].sort(),
    );
  });

  it("has a schema of each command that lists something, which prints it with --json", async () => {
    const lists: string[] = [];
    for (const [name, [, load]] of Object.entries(commands))
      if ((await load()).command.declaration.options.some(({ long }) => long === "--json")) lists.push(name);
    assert.deepEqual([...lists, ...makers].sort(), Object.keys(commands).sort());
    assert.deepEqual([...new Set(Object.keys(printed).map((name) => name.split("-")[0]))].sort(), lists.sort());
    for (const name of ["stack", ...Object.keys(printed)]) {
      const { $schema, type }: Record<string, unknown> = JSON.parse((await fenestra("schema", name)).out);
      assert.match(`${$schema} ${type}`, /2020-12\/schema (object|array)$/, name);
    }
  });
});

describe("what a command writes", () => {
  const hostile = "\u001b[2J\u009b##vso[task.x]\n::add-mask::\u001b[31my\n";
  const mild = "\u{FFFD}[2J\u{FFFD}# #vso[task.x]\n: :add-mask::\u{FFFD}[31my\n";

  /** Of a command that says what others have said, in each way that there is. */
  async function written(name: string, paint?: Paint) {
    const said: string[] = [];
    const ways: Readonly<Record<string, (terminal: Terminal) => void>> = {
      out: ({ out, paint: colour = plain }) => out(`${colour("red", "x")}${hostile}`),
      err: ({ err }) => err(hostile),
      note: ({ note }) => note(hostile),
      usage: () => {
        throw new UsageError(hostile);
      },
      git: () => {
        throw new Error(`Command failed: ${hostile}`);
      },
      config: () => {
        throw new ConfigError([{ path: "x", value: undefined, message: hostile, allowed: hostile }]);
      },
    };
    const command = commandOf(new Command(), async (_, terminal) => {
      ways[name]?.(terminal);
      return 0;
    });
    const write = (text: string) => void said.push(text);
    const screen = { out: write, err: write, ...(paint !== undefined && { paint }) };
    await runCommand(["it"], screen, { it: ["", async () => ({ command })] });
    return said.join("");
  }

  it("steers no terminal and no pipeline, whoever's words they are", async () => {
    for (const name of ["out", "err", "note", "usage", "git", "config"]) {
      const text = await written(name);
      assert.ok(text.includes(mild.trimEnd()) && !text.includes("\u001b") && !/^::|##vso/m.test(text), text);
    }
  });

  it("has its own colours where there are some, and nobody's elsewhere", async () => {
    const coloured = mild.replace("\u{FFFD}[31m", "\u001b[31m");
    assert.equal(
      await written("out", (_style, text) => `\u001b[31m${text}\u001b[39m`),
      `\u001b[31mx\u001b[39m${coloured}`,
    );
  });

  it("is refused before any work where it has no place", async () => {
    const folder = mkdtempSync(path.join(tmpdir(), "fenestra-"));
    const file = path.join(folder, "file");
    writeFileSync(file, "");
    const stack = ["--stack", "aws-smallest", ...stackDir];
    for (const [option, words] of [
      ["out", ["plan", ...stack]],
      ["out", ["changes", "--since", "HEAD"]],
      ["out", ["image", ...stack, "--pool", "win2022"]],
      ["preview", ["up", ...stack.slice(0, 2)]],
    ] as const)
      for (const place of [file, path.join(file, "a", "b"), ""]) {
        const { code, err, order } = await fenestra(...words, `--${option}=${place}`);
        assert.deepEqual([code, order], [2, ["err"]], `${words[0]} ${err}`);
        assert.match(err, new RegExp(`^fenestra: --${option}.*; allowed: a folder that is yours to write`));
      }
    rmSync(folder, { recursive: true });
  });
});
