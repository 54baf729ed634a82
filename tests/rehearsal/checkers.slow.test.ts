import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import {
  type CheckerOptions,
  type Checkers,
  type ConfigRequest,
  checkConfigs,
  obtainCheckers,
} from "../../rehearsal/programs/checkers/obtain.ts";
import { fakeGo } from "./fakeGo.ts";

describe("obtainCheckers", () => {
  let folder = "";
  let lines: string[] = [];

  const source = () => path.join(folder, "module/check-kubelet/main.go");

  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), "fenestra-checkers-"));
    const minors = ["1.35", "1.37"].map((minor) => `kubernetes/${minor}`);
    for (const name of ["check-kubelet", "readers/check-containerd", ...minors])
      mkdirSync(path.join(folder, "module", name), { recursive: true });
    for (const name of ["go", "empty"]) mkdirSync(path.join(folder, name));
    writeFileSync(path.join(folder, "module/go.mod"), "module x\n\nrequire (\n\tk8s.io/kubernetes v1.36.3\n)\n");
    const other = ["readers", ...minors].flatMap((name) => [`${name}/go.mod`, `${name}/go.sum`]);
    for (const name of ["go.sum", ...other]) writeFileSync(path.join(folder, "module", name), "");
    writeFileSync(source(), "package main\n");
    writeFileSync(path.join(folder, "go/go"), fakeGo, { mode: 0o755 });
    lines = [];
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const obtain = (more: Partial<CheckerOptions> = {}): Promise<Checkers> =>
    obtainCheckers({
      progress: { startedAt: 0, line: (text) => lines.push(text.replace(/[\d.]+ s$/, "T s")) },
      cacheDir: path.join(folder, "cache"),
      folder: path.join(folder, "module"),
      path: path.join(folder, "go"),
      ...more,
    });
  const built = (): readonly string[] => readFileSync(path.join(folder, "go/built.log"), "utf8").trimEnd().split("\n");

  it("builds each program once, and a changed source anew", async () => {
    const checkers = await obtain();
    assert.deepEqual([...checkers.kubelet.keys()].sort(), ["1.35", "1.36", "1.37"]);
    assert.deepEqual(built(), [...Array(3).fill("./check-kubelet"), "./check-containerd"]);
    assert.deepEqual(lines.slice(0, 2), [
      "building from tools: check-kubelet-1.36 (about 10 s the first time on 2 processors)",
      "check-kubelet-1.36: built in T s",
    ]);
    assert.deepEqual(await obtain({ path: path.join(folder, "empty") }), checkers);
    assert.equal(built().length, 4);
    writeFileSync(source(), "package main // changed\n");
    const again = await obtain();
    assert.equal(again.containerd, checkers.containerd);
    assert.notDeepEqual(again.kubelet, checkers.kubelet);
    assert.equal(built().length, 7);
  });

  it("leaves containerd's reader out where nobody is to wait for its build", async () => {
    assert.equal((await obtain({ effort: "cache", minors: ["1.36"] })).containerd, undefined);
    assert.deepEqual(built(), ["./check-kubelet"]);
    const { containerd } = await obtain({ minors: ["1.36"] });
    assert.deepEqual(await obtain({ effort: "cache", minors: ["1.36"] }), await obtain({ minors: ["1.36"] }));
    assert.notEqual(containerd, undefined);
  });

  it("is left to one of two processes that want the same at the same time", async () => {
    const [first, second] = await Promise.all([obtain({ minors: ["1.36"] }), obtain({ minors: ["1.36"] })]);
    assert.deepEqual(first, second);
    assert.deepEqual(built(), ["./check-kubelet", "./check-containerd"]);
  });

  it("asks the program of the request's kind and minor", async () => {
    const checkers = await obtain();
    const ask = async (kind: ConfigRequest["kind"], minor: string) =>
      (await checkConfigs(checkers, [{ id: "a", kind, os: "linux", minor, text: "" }])).get("a");
    assert.deepEqual(await ask("kubelet", "1.35"), ["./check-kubelet kubernetes/1.35/go.mod"]);
    assert.deepEqual(await ask("kubelet", "1.36"), ["./check-kubelet go.mod"]);
    assert.deepEqual(await ask("kubelet", "1.37"), ["./check-kubelet kubernetes/1.37/go.mod"]);
    assert.deepEqual(await ask("containerd", "1.35"), ["./check-containerd go.mod"]);
  });

  it("takes a request without an answer for an error", async () => {
    const request: ConfigRequest = { id: "b", kind: "containerd", os: "linux", minor: "1.36", text: "" };
    await assert.rejects(checkConfigs(await obtain(), [request]), /^Error: no answer for b$/);
  });

  it("names a minor that is not pinned, with those that are", async () => {
    await assert.rejects(
      obtain({ minors: ["1.34"] }),
      /^RehearsalError: tools pins no Kubernetes 1\.34; there are 1\.35, 1\.36, 1\.37\.\n/,
    );
    await assert.rejects(
      checkConfigs(await obtain({ minors: ["1.36"] }), [
        { id: "a", kind: "kubelet", os: "linux", minor: "1.35", text: "" },
      ]),
      /^RehearsalError: There is no checker of kubelet 1\.35\./,
    );
  });
});
