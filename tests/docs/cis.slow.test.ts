import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { parse } from "yaml";
import { z } from "zod";
import { kubeletConfiguration } from "../../components/machine/kubeletConfig.ts";
import { patchesFolder } from "../../components/machine/linux/staticPodPatches.ts";
import { runOrFail } from "../../rehearsal/testkit/machines.ts";
import { obtainPrograms } from "../../rehearsal/testkit/programs.ts";
import { exampleControlPlane, fileOf } from "../machine/examples.ts";
import { specOf } from "../support/mocks.ts";
import { obtainOrSkip } from "../support/skip.ts";
import { suiteFolder } from "../support/temporary.ts";
import { cisRows, type Rendered } from "./cis.ts";

const podSchema = z.object({ spec: z.object({ containers: z.tuple([z.object({ command: z.array(z.string()) })]) }) });

describe("the table of the CIS benchmark", () => {
  const folder = suiteFolder();
  let files: Rendered;

  before(async function () {
    const { kubeadm } = await obtainOrSkip(this, (progress) => obtainPrograms({ progress }));
    const spec = specOf("aws-prod");
    const payload = exampleControlPlane(spec);
    const config = path.join(folder, "kubeadm.yaml");
    const text = fileOf(payload, "/etc/fenestra/kubeadm.yaml")
      .replace(patchesFolder, folder)
      .replaceAll(/@([A-Z_]+)@/g, "name");
    writeFileSync(config, text);
    for (const phase of [
      ["etcd", "local"],
      ["control-plane", "all"],
    ])
      await runOrFail([
        "env",
        `KUBEADM_INIT_DRYRUN_DIR=${folder}`,
        kubeadm.path,
        "init",
        "phase",
        ...phase,
        "--dry-run",
        "--config",
        config,
      ]);
    const manifests = readdirSync(folder).filter((name) => name.endsWith(".yaml") && name !== "kubeadm.yaml");
    const commands = manifests.map(
      (name) => podSchema.parse(parse(readFileSync(path.join(folder, name), "utf8"))).spec.containers[0].command,
    );
    const worker = spec.pools.find(({ os }) => os === "linux");
    assert.ok(worker !== undefined);
    files = {
      flag: (program, name) =>
        commands
          .find(([first]) => first === program)
          ?.find((argument) => argument.startsWith(`--${name}=`))
          ?.slice(name.length + 3),
      manifests: manifests.map((name) => statSync(path.join(folder, name))).map(({ mode, uid }) => ({ mode: mode & 0o777, uid })),
      kubelets: [kubeletConfiguration({ spec }), kubeletConfiguration({ spec, pool: worker })],
      kubeletUnitMode: payload.files.find((file) => file.path.endsWith("/kubelet.service"))?.mode,
      kubeletStage: fileOf(payload, "/opt/fenestra/stages/kubelet.sh"),
      clusterStage: fileOf(payload, "/opt/fenestra/stages/cluster.sh"),
      admission: fileOf(payload, "/etc/fenestra/admission.yaml"),
      audit: fileOf(payload, "/etc/fenestra/audit-policy.yaml"),
      encryption: fileOf(payload, "/etc/fenestra/encryption.yaml"),
    };
  });

  it("says of every item what the files say that the machines are started with", () => {
    assert.equal(files.flag("kube-apiserver", "secure-port"), "6443");
    const contradicted = cisRows.filter(({ shown }) => shown?.(files) === false).map(({ items }) => items);
    assert.deepEqual(contradicted, []);
    assert.ok(cisRows.filter(({ shown }) => shown !== undefined).length > 25);
  });
});
