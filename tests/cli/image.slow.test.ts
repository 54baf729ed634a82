// Sees what nothing faster does: the files that a builder gets, of whole plans.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { gunzipSync } from "node:zlib";
import { z } from "zod";
import { stackDir } from "../support/stacks.ts";
import { fenestra, suiteFolder } from "../support/suite.ts";

const archiveSchema = z.object({ entry: z.string(), files: z.record(z.string(), z.string()) });
const machineSchema = z.looseObject({
  paths: z.record(z.string(), z.string()),
  artifacts: z.array(z.looseObject({ folder: z.string() })),
  stages: z.array(z.looseObject({ name: z.string(), content: z.string().optional() })),
  bake: z.looseObject({
    waves: z.array(z.array(z.string())),
    images: z.array(z.string()),
    remove: z.array(z.string()),
    generalize: z.looseObject({ command: z.array(z.string()) }),
  }),
});
const provisionerSchema = z.record(
  z.string(),
  z.looseObject({ inline: z.array(z.string()).default([]), valid_exit_codes: z.array(z.number()).optional() }),
);

describe("fenestra image", function () {
  this.timeout(300_000);
  const folder = suiteFolder();
  const text = (...names: readonly string[]) => readFileSync(path.join(folder, ...names), "utf8");
  const image = (stack: string, pool: string, ...more: readonly string[]) =>
    fenestra("image", ...stackDir, "--stack", stack, "--pool", pool, "--out", path.join(folder, stack), ...more);

  for (const stack of ["aws-dev", "azure-dev"])
    describe(stack, () => {
      const digest = `a.test/b@sha256:${"0".repeat(64)}`;
      let machine: z.output<typeof machineSchema>;
      let files: Readonly<Record<string, string>>;
      before(async () => {
        const { code, err } = await image(stack, "win2022", "--pull", digest);
        assert.equal(code, 0, err);
        const [, packed = ""] = /^\$p='([^']+)'$/m.exec(text(stack, "bake.ps1")) ?? [];
        const archive = archiveSchema.parse(JSON.parse(gunzipSync(Buffer.from(packed, "base64")).toString("utf8")));
        ({ files } = archive);
        assert.equal(archive.entry, "C:\\fenestra\\bake.ps1");
        machine = machineSchema.parse(JSON.parse(files["C:\\fenestra\\machine.json"] ?? ""));
      });

      it("writes a script that bakes what may be in an image", () => {
        assert.deepEqual(readdirSync(path.join(folder, stack)).toSorted(), ["README.md", "bake.pkr.json", "bake.ps1"]);
        assert.deepEqual(machine.bake.waves, [["features", "settings", "artifacts", "programs"]]);
        assert.ok(machine.bake.images.every((each) => /@sha256:[0-9a-f]{64}$/.test(each)));
        for (const part of [digest, "/servercore:", "/nanoserver:", "windows-host-process", "/pause"])
          assert.ok(
            machine.bake.images.some((each) => each.includes(part)),
            part,
          );
      });

      it("which takes away all that it was given, but nothing of the image's purpose", () => {
        const gone = (file: string) =>
          machine.bake.remove.some((each) => file === each || file.startsWith(`${each}\\`));
        const {
          node,
          state,
          logs,
          kubeconfig,
          certificates,
          image: record,
          downloads = "",
          cniBin = "",
        } = machine.paths;
        for (const file of [...Object.keys(files), node, state, logs, kubeconfig, certificates])
          assert.ok(gone(file ?? ""), file);
        for (const file of [record ?? "", downloads, cniBin, ...machine.artifacts.map((each) => `${each.folder}\\x`)])
          assert.ok(!gone(file), file);
        assert.equal(machine.bake.remove.at(-1), state);
      });

      it("and a Packer template with the builders' steps in order", () => {
        const template = z
          .looseObject({ build: z.object({ sources: z.array(z.string()), provisioner: z.array(provisionerSchema) }) })
          .parse(JSON.parse(text(stack, "bake.pkr.json")));
        const steps = template.build.provisioner.flatMap((each) => Object.entries(each));
        assert.deepEqual(
          steps.map(([name]) => name),
          ["file", "powershell", "windows-restart", "powershell", "powershell", "powershell", "shell-local"],
        );
        assert.deepEqual(
          steps.map(([, { valid_exit_codes }]) => valid_exit_codes).filter((codes) => codes !== undefined),
          [[0, 3010], [0], [0]],
        );
        assert.match(steps[4]?.[1].inline.join() ?? "", /-Seal -Sysprep/);
      });
    });

  it("refuses what cannot become an image, and says what can", async () => {
    const cases: readonly (readonly [args: readonly string[], message: RegExp])[] = [
      [["aws-dev", "none"], /--pool none is no Windows pool of aws-dev; allowed: win2019, win2022/],
      [["aws-dev", "win2022", "--pull", "a:latest"], /--pull a:latest has no digest/],
      [["aws-dev", "win2022", "--base", "20348.1.2"], /--base 20348.1.2 is neither latest nor a pinned image/],
    ];
    for (const [[stack = "", pool = "", ...more], message] of cases) {
      const { code, err } = await image(stack, pool, ...more);
      assert.equal(code, 2);
      assert.match(err, message);
    }
  });
});
