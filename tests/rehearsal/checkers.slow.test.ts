import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { RehearsalError } from "../../rehearsal/host/errors.ts";
import { type ConfigRequest, checkConfigs } from "../../rehearsal/programs/checkers/check.ts";
import { type CheckerOptions, type Checkers, obtainCheckers } from "../../rehearsal/programs/checkers/obtain.ts";

/** Go as far as the build needs it: a program that answers each request with what it was built from. */
const fakeGo = `#!/bin/bash
mod=go.mod
while [ $# -gt 0 ]; do case $1 in -o) out=$2; shift ;; -modfile=*) mod=\${1#*=} ;; esac; last=$1; shift; done
[ "$last" != "$FAIL_PACKAGE" ] || { echo "no such module" >&2; exit 1; }
echo "$last" >> "$PWD/built.log"
printf '#!/bin/bash\\ncat >/dev/null\\necho %q\\n' "[{\\"id\\":\\"a\\",\\"problems\\":[\\"$last $mod\\"]}]" > "$out"
/bin/chmod +x "$out"
`;

describe("obtainCheckers", () => {
  let folder = "";
  let lines: string[] = [];

  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), "fenestra-checkers-"));
    for (const name of ["module/cmd", "go", "empty"]) mkdirSync(path.join(folder, name), { recursive: true });
    writeFileSync(path.join(folder, "module/go.mod"), "module x\n\nrequire (\n\tk8s.io/kubernetes v1.36.3\n)\n");
    for (const minor of ["1.35", "1.37"]) writeFileSync(path.join(folder, `module/kubernetes-${minor}.mod`), "");
    writeFileSync(path.join(folder, "module/cmd/main.go"), "package main\n");
    writeFileSync(path.join(folder, "go/go"), fakeGo, { mode: 0o755 });
    lines = [];
  });
  afterEach(() => {
    rmSync(folder, { recursive: true, force: true });
    delete process.env.FAIL_PACKAGE;
  });

  const obtain = (more: Partial<CheckerOptions> = {}): Promise<Checkers> =>
    obtainCheckers({
      progress: { startedAt: 0, line: (text) => lines.push(text.replace(/[\d.]+ s$/, "T s")) },
      cacheDir: path.join(folder, "cache"),
      folder: path.join(folder, "module"),
      path: path.join(folder, "go"),
      ...more,
    });
  const built = (): readonly string[] => {
    const log = readFileSync(path.join(folder, "module/built.log"), "utf8");
    return log.trimEnd().split("\n");
  };

  it("builds each program once, and a changed source anew", async () => {
    const checkers = await obtain();
    assert.deepEqual([...checkers.kubelet.keys()].sort(), ["1.35", "1.36", "1.37"]);
    assert.deepEqual(built(), ["./cmd/check-containerd", ...Array(3).fill("./cmd/check-kubelet")]);
    assert.deepEqual(lines, [
      "building from tools/checkers: check-containerd, check-kubelet-1.36, check-kubelet-1.35, check-kubelet-1.37",
      "check-containerd: building, 1 of 4; about 6 minutes to go",
      "check-containerd: built in T s",
      "check-kubelet-1.36: building, 2 of 4; about 5 minutes to go",
      "check-kubelet-1.36: built in T s",
      "check-kubelet-1.35: building, 3 of 4; about 3 minutes to go",
      "check-kubelet-1.35: built in T s",
      "check-kubelet-1.37: building, 4 of 4; about 2 minutes to go",
      "check-kubelet-1.37: built in T s",
    ]);
    assert.deepEqual(await obtain({ path: path.join(folder, "empty") }), checkers);
    assert.equal(built().length, 4);
    writeFileSync(path.join(folder, "module/cmd/main.go"), "package main // changed\n");
    assert.notEqual((await obtain()).containerd, checkers.containerd);
    assert.equal(built().length, 8);
    assert.deepEqual(readdirSync(path.dirname(checkers.containerd)).sort(), [
      "check-containerd",
      "check-kubelet-1.35",
      "check-kubelet-1.36",
      "check-kubelet-1.37",
    ]);
  });

  it("builds no kubelet that is not asked for", async () => {
    const checkers = await obtain({ minors: ["1.37"] });
    assert.deepEqual([...checkers.kubelet.keys()], ["1.37"]);
    assert.deepEqual(built(), ["./cmd/check-containerd", "./cmd/check-kubelet"]);
  });

  it("asks the program of the request's kind and minor", async () => {
    const checkers = await obtain();
    const ask = async (kind: ConfigRequest["kind"], minor: string) =>
      (await checkConfigs(checkers, [{ id: "a", kind, os: "linux", minor, text: "" }])).get("a");
    assert.deepEqual(await ask("kubelet", "1.35"), ["./cmd/check-kubelet kubernetes-1.35.mod"]);
    assert.deepEqual(await ask("kubelet", "1.36"), ["./cmd/check-kubelet go.mod"]);
    assert.deepEqual(await ask("kubelet", "1.37"), ["./cmd/check-kubelet kubernetes-1.37.mod"]);
    assert.deepEqual(await ask("containerd", "1.35"), ["./cmd/check-containerd go.mod"]);
  });

  it("takes a request without an answer for an error", async () => {
    const request: ConfigRequest = { id: "b", kind: "containerd", os: "linux", minor: "1.36", text: "" };
    await assert.rejects(checkConfigs(await obtain(), [request]), /^Error: no answer for b$/);
  });

  it("says what to do when Go is missing", async () => {
    await assert.rejects(obtain({ path: path.join(folder, "empty"), minors: ["1.36"] }), (error) => {
      assert.ok(error instanceof RehearsalError);
      assert.equal(
        error.message,
        [
          "Go, which builds check-containerd, check-kubelet-1.36 from tools/checkers, is not on PATH.",
          "  - install Go 1.26 or newer (https://go.dev/dl; since 1.21 an older Go fetches the wanted one by itself)",
        ].join("\n"),
      );
      return true;
    });
  });

  it("names a minor that is not pinned, with those that are", async () => {
    await assert.rejects(
      obtain({ minors: ["1.34"] }),
      /^RehearsalError: tools\/checkers pins no Kubernetes 1\.34; there are 1\.35, 1\.36, 1\.37\.\n/,
    );
    await assert.rejects(
      checkConfigs(await obtain({ minors: ["1.36"] }), [{ id: "a", kind: "kubelet", os: "linux", minor: "1.35", text: "" }]),
      /^RehearsalError: There is no checker of kubelet 1\.35\./,
    );
  });

  it("tells why a build failed, and keeps nothing of it", async () => {
    process.env.FAIL_PACKAGE = "./cmd/check-kubelet";
    await assert.rejects(obtain(), /go build of check-kubelet-1\.36 in .* failed with exit code 1:\nno such module/);
    delete process.env.FAIL_PACKAGE;
    const checkers = await obtain();
    assert.deepEqual(built(), ["./cmd/check-containerd", ...Array(3).fill("./cmd/check-kubelet")]);
    assert.equal(checkers.kubelet.size, 3);
  });
});
