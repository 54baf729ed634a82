// Sees what nothing faster does: what real kubeadm and API servers make of our flags and files.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { parseAllDocuments } from "yaml";
import { z } from "zod";
import { featureGates } from "../../../components/model/reservedFlags.ts";
import { runOrFail } from "../../../rehearsal/host/command.ts";
import { kubeadmProblems } from "../../../rehearsal/programs/checkers.ts";
import { obtainPrograms } from "../../../rehearsal/programs/obtain.ts";
import { type ApiServer, startApiServer, until } from "../../support/apiServer.ts";
import { specOf } from "../../support/mocks.ts";
import { obtainOrSkip } from "../../support/skip.ts";
import { suiteFolder } from "../../support/suite.ts";
import { exampleControlPlane, exampleReleases, fileOf, specAt } from "../examples.ts";
import { helpGates } from "./helpGates.ts";

const controlPlane = {
  extraArgs: {
    apiServer: {
      "enable-admission-plugins": "NodeRestriction,EventRateLimit",
      "event-ttl": "2h0m0s",
      "max-requests-inflight": "800",
      "audit-log-maxage": "7",
      "feature-gates": "ContextualLogging=false",
    },
  },
  auditPolicy: { rules: [{ level: "RequestResponse", resources: [{ resources: ["configmaps"] }] }, { level: "None" }] },
  admission: [
    {
      name: "EventRateLimit",
      configuration: {
        apiVersion: "eventratelimit.admission.k8s.io/v1alpha1",
        kind: "Configuration",
        limits: [{ type: "Server", qps: 1000, burst: 1000 }],
      },
    },
  ],
};

const argsSchema = z.looseObject({
  apiServer: z.looseObject({ extraArgs: z.array(z.object({ name: z.string(), value: z.string() })) }),
});

describe("flags and files of the control plane", () => {
  const payload = exampleControlPlane(specOf("aws-dev", { controlPlane }));
  const documents = parseAllDocuments(fileOf(payload, "/etc/fenestra/kubeadm.yaml"));
  const { extraArgs } = argsSchema.parse(documents[1]?.toJS()).apiServer;

  it("are recorded as the programs list them", async function () {
    const programs = await obtainOrSkip(this, (progress) => obtainPrograms({ progress }));
    for (const name of ["kube-apiserver", "kube-controller-manager", "kube-scheduler"] as const) {
      const help = await runOrFail([programs[name].path, "--help"]);
      assert.deepEqual(featureGates(programs["kube-apiserver"].version)[name].gates, helpGates(help));
    }
  });

  describe("on a real API server", () => {
    const folder = suiteFolder();
    let api: ApiServer;
    before(async function () {
      const own = ["admission-control-config-file", "audit-policy-file"];
      const files = extraArgs.flatMap(({ name, value }) => (own.includes(name) ? [[name, value] as const] : []));
      assert.equal(files.length, 2);
      const flags = files.map(([name, value]) => {
        writeFileSync(path.join(folder, name), fileOf(payload, value));
        return `--${name}=${path.join(folder, name)}`;
      });
      const given = Object.entries(controlPlane.extraArgs.apiServer).map(([name, value]) => `--${name}=${value}`);
      api = await startApiServer(this, { flags: [...flags, ...given, `--audit-log-path=${folder}/audit.log`] });
    });

    it("decide what is audited and admitted", async function () {
      this.timeout(60_000);
      const pod = {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: "own" },
        spec: { hostNetwork: true, containers: [{ name: "c", image: "i" }] },
      };
      // The service account of a namespace comes a moment after it.
      let refused = "";
      await until(
        "the admission plug-in",
        async () => {
          refused = (await api.kubectl(["apply", "--filename", "-"], JSON.stringify(pod))).stderr;
          return /PodSecurity/.test(refused);
        },
        () => refused,
      );
      assert.match(refused, /violates PodSecurity "baseline:latest": host namespaces/);
      assert.equal((await api.kubectl(["create", "configmap", "noted", "--from-literal=a=b"])).code, 0);
      const events = readFileSync(path.join(folder, "audit.log"), "utf8");
      assert.match(events, /"level":"RequestResponse".*"verb":"create".*"name":"noted"/);
      assert.doesNotMatch(events, /"resource":"pods"/);
    });
  });
});

function configOf(cloud: "aws" | "azure", version: string, member: number) {
  return fileOf(exampleControlPlane(specAt(cloud, version), member), "/etc/fenestra/kubeadm.yaml");
}

describe("kubeadm configuration by minor", () => {
  for (const version of exampleReleases)
    for (const cloud of ["aws", "azure"] as const)
      it(`${version} on ${cloud} is accepted by kubeadm for every member`, async function () {
        const { kubeadm } = await obtainOrSkip(this, (progress) => obtainPrograms({ progress }));
        for (const { index } of specAt(cloud, version).controlPlane.members)
          assert.deepEqual(await kubeadmProblems(kubeadm.path, configOf(cloud, version, index)), []);
      });
});
