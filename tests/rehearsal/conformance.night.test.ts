import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { z } from "zod";
import { findOnPath } from "../../rehearsal/testkit/programs.ts";
import { readDocument } from "../docs/documents.ts";
import { skipIf } from "../support/skip.ts";
import { suiteFolder } from "../support/temporary.ts";
import { type KeptRehearsal, keepRehearsal } from "./kept.ts";

const run = promisify(execFile);
const root = path.join(import.meta.dirname, "../../");
const module = path.join(root, "tools/conformance");

/** Groups whose tests need an API server, controllers, a scheduler and kubelets, and no program in a container. */
const groups = ["api-machinery", "apps", "architecture", "auth", "instrumentation", "scheduling"];

const reportSchema = z.array(
  z.object({
    SpecReports: z.array(
      z.object({
        ContainerHierarchyTexts: z.array(z.string()).nullable(),
        LeafNodeText: z.string(),
        LeafNodeType: z.string(),
        State: z.string(),
        Failure: z.object({ Message: z.string() }).optional(),
      }),
    ),
  }),
);

/** Parts of names of tests that the simulator cannot run. */
function limits(): readonly string[] {
  return readFileSync(new URL("conformanceLimits.txt", import.meta.url), "utf8")
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => line.replace(/ \| .*/, ""));
}

/** The suite's programs, of the rehearsal's release. */
async function build(folder: string): Promise<void> {
  const go = (args: readonly string[]) =>
    run("go", [...args], {
      cwd: module,
      env: { ...process.env, CGO_ENABLED: "0", GOFLAGS: "-trimpath -buildvcs=false" },
    });
  await go(["build", "-o", folder, "github.com/onsi/ginkgo/v2/ginkgo"]);
  const [version, rehearsed] = [module, path.dirname(module)].map(
    (of) => /^\s*k8s\.io\/kubernetes v(\S+)$/m.exec(readFileSync(path.join(of, "go.mod"), "utf8"))?.[1],
  );
  assert.equal(version, rehearsed, "the suite's release is the rehearsal's");
  const linker = `-s -w -X k8s.io/component-base/version.gitVersion=v${version}`;
  const suite = ["-o", path.join(folder, "e2e.test"), "k8s.io/kubernetes/test/e2e"];
  await go(["test", "-c", "-vet=off", "-ldflags", linker, ...suite]);
}

describe("Kubernetes' own conformance tests on a kept rehearsal", function () {
  this.timeout(5 * 60 * 60_000);
  const folder = suiteFolder();
  let rehearsal: KeptRehearsal | undefined;

  after(() => rehearsal?.end());

  it("pass but for what the simulator cannot do", async function () {
    const go = await findOnPath("go", process.env.PATH ?? "");
    skipIf(this, go === undefined ? "Go, which builds the suite, is not on PATH" : undefined);
    await build(folder);
    rehearsal = await keepRehearsal();
    const { enter, kubectl, kubeconfig } = rehearsal;
    const known = limits();
    const escaped = (name: string): string => name.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
    const focus = `\\[sig-(${groups.join("|")})\\].*\\[Conformance\\]`;
    const skip = known.map(escaped).join("|");
    const ginkgo = ["--no-color", "--procs=4", "--timeout=4h", "--json-report=report.json", `--output-dir=${folder}`];
    const suite = [
      "--provider=skeleton",
      `--kubeconfig=${kubeconfig}`,
      `--kubectl-path=${kubectl}`,
      "--allowed-not-ready-nodes=0",
      "--non-blocking-taints=os,node-role.kubernetes.io/control-plane",
      "--node-os-distro=ubuntu",
      "--disable-log-dump",
      "--dump-logs-on-failure=false",
    ];
    const [file = "", ...words] = [
      ...enter,
      path.join(folder, "ginkgo"),
      ...ginkgo,
      `--focus=${focus}`,
      `--skip=${skip}`,
      path.join(folder, "e2e.test"),
      "--",
      ...suite,
    ];
    const ended = spawn(file, words, { stdio: ["ignore", "inherit", "inherit"] });
    await once(ended, "exit");

    const specs = reportSchema
      .parse(JSON.parse(readFileSync(path.join(folder, "report.json"), "utf8")))
      .flatMap(({ SpecReports }) => SpecReports)
      .filter(({ LeafNodeType }) => LeafNodeType === "It")
      .map((each) => ({ ...each, name: [...(each.ContainerHierarchyTexts ?? []), each.LeafNodeText].join(" ") }));
    const failed = specs.filter(({ State }) => State !== "passed" && State !== "skipped");
    assert.deepEqual(
      failed.map(({ name, Failure }) => `${name}: ${Failure?.Message.slice(0, 300)}`),
      [],
    );
    const wanted = specs.map(({ name }) => name).filter((name) => new RegExp(focus).test(name));
    const left = wanted.filter((name) => known.some((part) => name.includes(part)));
    const stale = known.filter((part) => !left.some((name) => name.includes(part)));
    assert.deepEqual(stale, []);
    const passed = specs.filter(({ State }) => State === "passed").length;
    assert.equal(passed, wanted.length - left.length);
    const told = /(\d+) of the (\d+) of/.exec(readDocument("docs/operations/conformance.md").text);
    assert.deepEqual(told?.slice(1).map(Number), [passed, wanted.length]);
  });
});
