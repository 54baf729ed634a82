// Sees what nothing faster does: the steps of a first contact, each run as a runner of GitHub does.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { z } from "zod";
import { suiteFolder } from "../support/suite.ts";
import { jobs, needJq } from "./read.ts";

const root = path.join(import.meta.dirname, "../..");
const [job] = jobs.filter(({ at }) => at === "contact.yml contact");

/** init and plan are the program's own; up and down write their words down, and FAILS names what fails. */
const fenestra = `#!/bin/bash
case "$1" in init | plan) exec '${root}/cli/fenestra' "$@" ;; esac
echo "fenestra $*" >> "$CALLS"
if [[ $* =~ --evidence\\ ([^ ]+) ]]; then echo '{}' > "\${BASH_REMATCH[1]}"; fi
now="$(cat stacks/* | sha256sum)"
if [[ $1 == up && $now == "$(cat "$CALLS.last" 2> /dev/null)" ]]; then echo '  nothing would change'; fi
echo "$now" > "$CALLS.last"
[[ -z $FAILS || ! $* =~ $FAILS ]]
`;
/** In place of what else is called. What a machine is told to run is run, with its own scripts. */
const others: Readonly<Record<string, string>> = {
  npm: `echo "npm $*" >> "$CALLS"`,
  curl: "echo 100.64.7.9",
  kubectl: "[[ -z $NO_API ]] && echo node/machine-0",
  aws: `case "$2" in
  send-command) while [[ $1 != --parameters ]]; do shift; done; "$BIN/on-machine" "$(jq -r '.commands[0]' <<< "$2")" ;;
  esac`,
  az: `while [[ $1 != --scripts ]]; do shift; done; "$BIN/on-machine" "$2"`,
  "on-machine": `sed "s#/opt/fenestra/#$BIN/#g" <<< "$1" | bash`,
  systemctl: `echo "machine: systemctl $*" >> "$CALLS"`,
  "etcd-restore.sh": `if [[ $1 == --list ]]; then printf '%s\\n' 'm 20260101T000000Z.db.gz' 'm 20260102T000000Z.db.gz'; fi
  echo "machine: restore $*" >> "$CALLS"`,
};

describe("the steps of a first contact", function () {
  this.timeout(180_000);
  const folder = suiteFolder();
  before(function () {
    needJq(this);
  });

  interface Fault {
    /** A call of up or down that fails. */
    readonly fails?: string;
    readonly noApi?: string;
    /** What a step's script has in the place of a text. */
    readonly change?: readonly [from: string, to: string];
  }

  /** Runs the job in a checkout of its own. Returns each step that failed, the calls, and how it left the stack's file. */
  function ran(name: string, cloud: "aws" | "azure", { fails = "", noApi = "", change = ["", ""] }: Fault = {}) {
    const at = (...names: readonly string[]) => path.join(folder, name, ...names);
    for (const each of ["bin", "work/cli", "work/stacks"]) mkdirSync(at(each), { recursive: true });
    for (const [program, text] of Object.entries(others))
      writeFileSync(at("bin", program), `#!/bin/bash\n${text}\n`, { mode: 0o755 });
    writeFileSync(at("work/cli/fenestra"), fenestra, { mode: 0o755 });
    symlinkSync(path.join(root, "examples"), at("work/examples"));
    cpSync(path.join(root, "package.json"), at("work/package.json"));
    const settings = readFileSync(path.join(root, "Pulumi.yaml"), "utf8");
    writeFileSync(at("work/Pulumi.yaml"), settings.replace("main: index.ts", `main: ${root}/index.ts`));
    const values: Readonly<Record<string, string>> = {
      "inputs.cloud": cloud,
      "vars.REGION": cloud === "aws" ? "eu-central-1" : "westeurope",
    };
    const resolved = (text: string): string =>
      text.replaceAll(/\$\{\{ *(.*?) *\}\}/g, (_, expression: string) => values[expression] ?? "");
    const env = {
      ...Object.fromEntries(Object.entries(job?.env ?? {}).map(([key, text]) => [key, resolved(text)])),
      ...{ PROGRAM: ".", CALLS: at("calls"), BIN: at("bin"), FAILS: fails, NO_API: noApi, HOME: at("work") },
      PATH: `${at("bin")}:${path.dirname(process.execPath)}:${process.env.PATH}`,
      ...{ AWS_EC2_METADATA_DISABLED: "true", AZURE_IDENTITY_DISABLE_MULTITENANTAUTH: "true" },
    };
    // A runner calls bash with pipefail only where it is named (GitHub: "Workflow syntax", `shell`).
    const shell = (script: string) =>
      spawnSync("bash", [...(job?.shell === "bash" ? ["-eo", "pipefail"] : ["-e"]), "-c", script], {
        cwd: at("work"),
        encoding: "utf8",
        env,
      });
    const judged = fails + noApi + change.join("") === "";
    const plan = `cli/fenestra plan --stack "$STACK"`;
    const failed: string[] = [];
    for (const { run, if: condition = "", name: step = "" } of job?.steps ?? []) {
      if (run === undefined || (failed.length > 0 && !condition.includes("always()"))) continue;
      const script = run.replace(...change);
      if (judged && step.startsWith("Replace")) shell(`${plan} --json > before.json`);
      if (shell(script).status !== 0) failed.push(step);
    }
    const calls = readFileSync(at("calls"), "utf8").trim().split("\n");
    const diff = judged ? shell(`${plan} --diff before.json --json`).stdout : "";
    const written = [...String(job?.steps.at(-1)?.with?.path).matchAll(/\S+/g)].filter(([file]) =>
      existsSync(at("work", file)),
    );
    return { failed, calls, diff, written: written.length };
  }

  for (const cloud of ["aws", "azure"] as const)
    it(`go through on ${cloud}: what is replaced, restored, kept and destroyed`, () => {
      const { failed, calls, diff, written } = ran(cloud, cloud);
      assert.deepEqual(failed, []);
      const up = `fenestra up --stack ${cloud}-smallest --yes`;
      assert.deepEqual(calls, [
        "npm ci --prefix . --omit=dev --ignore-scripts --no-audit --no-fund",
        up.replace("--yes", "--plugins"),
        `${up} --evidence up.json`,
        `${up} --skip-verify --evidence same.json`,
        `${up} --evidence replaced.json`,
        "machine: systemctl start fenestra-etcd-snapshot.service",
        ...["--list", "--stop", "20260102T000000Z.db.gz"].map((word) => `machine: restore ${word}`),
        `${up} --evidence restored.json`,
        `fenestra down --stack ${cloud}-smallest --yes`,
      ]);
      assert.equal(written, 4);
      const { nodes } = z
        .looseObject({ nodes: z.array(z.looseObject({ role: z.string(), change: z.string() })) })
        .parse(JSON.parse(diff));
      const moved = nodes.filter(({ change }) => change !== "stays").map(({ role, change }) => `${role} ${change}`);
      assert.deepEqual(moved.toSorted(), ["control-plane replaced", "windows rolled"]);
    });

  it("end with an error where one goes wrong, and destroy what was made", () => {
    const faults: readonly (readonly [Fault, step: string])[] = [
      [{ fails: "--evidence up.json" }, "Up"],
      // It says that nothing would change, and fails after that.
      [{ fails: "--evidence same.json" }, "No change"],
      [{ change: ["--skip-verify --evidence same.json", "--skip-verify; echo >> stacks/x"] }, "No change"],
      [{ fails: "--evidence restored.json" }, "Restore etcd"],
      [{ noApi: "1" }, "Restore etcd"],
      [{ fails: "^down" }, "Down"],
    ];
    for (const [index, [fault, step]] of faults.entries()) {
      const { failed, calls } = ran(`fault-${index}`, "aws", fault);
      assert.deepEqual(failed, [step]);
      assert.match(calls.at(-1) ?? "", /^fenestra down /);
    }
  });
});
