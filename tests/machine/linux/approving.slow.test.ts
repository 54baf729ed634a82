import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { hostname } from "node:os";
import { afterEach, before, describe, it } from "mocha";
import { poolRoll } from "../../../components/azure/poolGroup.ts";
import type { ClusterSpec } from "../../../components/model/clusterSpec.ts";
import { exampleSpec } from "../../support/stacks.ts";
import { exampleControlPlane } from "./examples.ts";
import { disposeMachine, machine, needsNamespaces, spec } from "./machine.ts";
import type { Sandbox } from "./sandbox.ts";

const azure = exampleSpec("azure-prod");
const worker = "i-0aaaaaaaaaaaaaaaa";
const azureWorker = "linux00000a";
const command = "$(touch /run/PWNED)";

/** A request as openssl makes it, PEM. */
function pem(subject: string): string {
  const options = "req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout /dev/null -multivalue-rdn".split(" ");
  const { stdout, status } = spawnSync("openssl", [...options, "-subj", subject], { encoding: "utf8" });
  assert.equal(status, 0, subject);
  return stdout;
}
const subjectOf = (node: string): string => `/O=system:nodes/CN=system:node:${node}`;

interface TestRequest {
  readonly name?: string;
  readonly node?: string;
  readonly pem?: string;
  readonly username?: string;
  readonly groups?: readonly string[];
  readonly usages?: readonly string[];
  /** Seconds since it was made. */
  readonly age?: number;
  readonly version?: number;
  /** Node that it was approved for. */
  readonly given?: string;
}

const time = (age: number): string => `${new Date(Date.now() - age * 1000).toISOString().slice(0, 19)}Z`;

/** A CertificateSigningRequest as the API gives it. Default: the one of a new worker. */
function request(of: TestRequest): object {
  return {
    metadata: {
      name: of.name ?? "node-csr-1",
      uid: "5b1f5f0e-0000-4000-8000-000000000001",
      resourceVersion: String(of.version ?? 100),
      creationTimestamp: time(of.age ?? 5),
    },
    spec: {
      request: Buffer.from(of.pem ?? pem(subjectOf(of.node ?? worker))).toString("base64"),
      username: of.username ?? "system:bootstrap:abcdef",
      groups: of.groups ?? ["system:bootstrappers", "system:bootstrappers:fenestra:workers", "system:authenticated"],
      usages: of.usages ?? ["digital signature", "client auth"],
    },
    status:
      of.given === undefined
        ? {}
        : {
            conditions: [{ type: "Approved", reason: "FenestraApproved", message: `first certificate of ${of.given}` }],
          },
  };
}

/** What the cluster and the cloud know. */
interface World {
  /** Seconds since the machine was started. Default: a minute. */
  readonly started?: number;
  readonly files?: Readonly<Record<string, string>>;
  readonly of?: ClusterSpec;
}

/** Outcome of the requests after one round: `Approved node-csr-1`, in the order of the requests. */
function decisions(requests: readonly TestRequest[], { started = 60, files = {}, of = spec }: World = {}) {
  const here = machine(exampleControlPlane(of));
  here.write("/var/lib/fenestra/identity.env", "NODE_NAME=x\nPROVIDER_ID=x\nNODE_IP=10.20.224.10\n");
  here.write("/store/requests", JSON.stringify({ items: requests.map(request) }));
  here.write("/store/leader", `${hostname()}_ab12`);
  here.write(
    "/store/instances",
    `<item><instanceId>${worker}</instanceId><launchTime>${time(started).replace("Z", ".000Z")}</launchTime></item>`,
  );
  const computerName = azureWorker.toUpperCase();
  here.write(
    "/store/machine",
    JSON.stringify({
      properties: { osProfile: { computerName }, timeCreated: time(started).replace("Z", ".1234567+00:00") },
    }),
  );
  for (const [name, content] of Object.entries(files)) here.write(`/store/${name}`, content);
  // The first pause is over at once, the second one never.
  here.writeScript("/store/on-sleep", '#!/bin/bash\n[ ! -e "$0.once" ] && touch "$0.once"\n');
  const { code, output, calls } = here.run("/opt/fenestra/approve-nodes.sh");
  assert.equal(code, 0, output);
  assert.equal(here.has("/run/PWNED"), false);
  const place = (decision: string): number => requests.findIndex(({ name = "node-csr-1" }) => decision.endsWith(` ${name}`));
  const made = here.has("/store/decisions") ? decisionsIn(here).toSorted((a, b) => place(a) - place(b)) : [];
  return { made, calls, output };
}

function decisionsIn(here: Sandbox): readonly string[] {
  return here
    .read("/store/decisions")
    .replaceAll("}{", "}\n{")
    .split("\n")
    .map((text) => {
      const { metadata, status } = JSON.parse(text);
      assert.deepEqual(Object.keys(metadata), ["name", "uid", "resourceVersion"]);
      return `${status.conditions[0].type} ${metadata.name}`;
    });
}

describe("approval of first certificates", function () {
  this.timeout(60_000);
  before(needsNamespaces);
  afterEach(disposeMachine);

  it("gives a new worker of the cluster its name, when EC2 says that it is one", () => {
    const { made, calls } = decisions([{}]);
    assert.deepEqual(made, ["Approved node-csr-1"]);
    const asked = calls.find((call) => call.includes("DescribeInstances")) ?? "";
    assert.deepEqual(
      [...asked.matchAll(/Filter\.\d\.Name=(\S+) --data-urlencode Filter\.\d\.Value\.1=(\S+)/g)].map(([, name, value]) => [name, value]),
      [
        ["instance-id", worker],
        ["instance-state-name", "running"],
        [`tag:kubernetes.io/cluster/${spec.name}`, "owned"],
        ["tag:aws:autoscaling:groupName", `${spec.name}-*`],
      ],
    );
    assert.ok(
      calls.some((call) =>
        call.endsWith("replace --raw /apis/certificates.k8s.io/v1/certificatesigningrequests/node-csr-1/approval --filename -"),
      ),
    );
  });

  it("gives it on Azure when the scale set that the name leads to has it", () => {
    const { made, calls } = decisions([{ node: azureWorker }], { of: azure });
    assert.deepEqual(made, ["Approved node-csr-1"]);
    assert.ok(calls.some((call) => call.includes(`/virtualMachineScaleSets/${azure.name}-linux/virtualMachines/10?api-version=`)));
    assert.deepEqual(decisions([{ node: "linux00000b" }], { of: azure }).made, []);
    assert.deepEqual(decisions([{ node: `${azure.name}-cp-0`, age: 400 }], { of: azure }).made, ["Denied node-csr-1"]);
  });

  it("is the business of one machine, and only when somebody asks", () => {
    assert.deepEqual(decisions([{}], { files: { leader: "another_ab12" } }).made, []);
    const idle = decisions([{ given: worker }]);
    assert.deepEqual([idle.made, idle.calls.filter((call) => call.includes("lease"))], [[], []]);
  });

  it("gives a name once, to the newest request: another key for it is denied, one that was used before the machine was made does not count", () => {
    const two = [
      { name: "z-first", version: 7 },
      { name: "a-second", version: 12 },
    ];
    assert.deepEqual(decisions(two).made, ["Denied z-first", "Approved a-second"]);
    const earlier = { name: "earlier", given: worker, age: 30 };
    assert.deepEqual(decisions([earlier, {}]).made, ["Denied node-csr-1"]);
    assert.deepEqual(decisions([{ ...earlier, age: 600 }, {}]).made, ["Approved node-csr-1"]);
  });

  it("waits while there is a node of the name, pods of it, or the cloud does not know it; later it denies", () => {
    for (const files of [{ existing: `node/${worker}\n` }, { pods: "pod/x\n" }, { instances: "<reservationSet/>" }]) {
      assert.deepEqual(decisions([{}], { files }).made, [], JSON.stringify(files));
      assert.deepEqual(decisions([{ age: 400 }], { files, started: 500 }).made, ["Denied node-csr-1"]);
    }
    // Nothing is decided while the cloud does not answer.
    assert.deepEqual(decisions([{ age: 400 }], { files: { fail: "^curl.*https://ec2" }, started: 500 }).made, []);
  });

  it("denies a name whose machine is old, and a request that is older than the machine", () => {
    assert.deepEqual(decisions([{}], { started: 4000 }).made, ["Denied node-csr-1"]);
    assert.deepEqual(decisions([{ age: 100 }], { started: 60 }).made, ["Denied node-csr-1"]);
  });

  it("takes away the node of a machine that was given a new disk, and then gives the name again; only on Azure, where names stay", () => {
    const reimaged = String(Math.floor(Date.now() / 1000) - 100);
    const files = { existing: `node/${azureWorker}\n`, replaced: reimaged };
    const first = decisions([{ node: azureWorker }], { of: azure, files, started: 9000 });
    assert.deepEqual(first.made, []);
    assert.ok(first.calls.some((call) => call.endsWith(`delete node ${azureWorker} --wait=false`)));
    const then = decisions([{ node: azureWorker }], { of: azure, files: { replaced: reimaged }, started: 9000 });
    assert.deepEqual(then.made, ["Approved node-csr-1"]);
    const before = decisions([{ node: azureWorker, age: 200 }], { of: azure, files, started: 9000 });
    assert.equal(
      before.calls.some((call) => call.includes("delete node")),
      false,
    );
    const aws = decisions([{}], { files: { existing: `node/${worker}\n`, replaced: reimaged }, started: 9000 });
    assert.equal(
      aws.calls.some((call) => call.includes("delete node")),
      false,
    );
    for (const mark of ["keep", `${reimaged} failed`, command])
      assert.deepEqual(decisions([{ node: azureWorker }], { of: azure, files: { replaced: mark }, started: 9000 }).made, [
        "Denied node-csr-1",
      ]);
  });

  it("follows the command that an update prints for machines that Azure has updated in place", () => {
    const pool = azure.pools.find(({ name }) => name === "linux") ?? assert.fail("no pool");
    const help = poolRoll(azure, pool).oldHelp([{ name: azureWorker, release: "", payload: "", sick: undefined }]);
    const [, marking = ""] = /; (kubectl [^;]* patch [^;]*); az vmss reimage .* --instance-ids ID \(linux00000a is 10\)$/.exec(help) ?? [];
    const { calls } = machine(exampleControlPlane(azure)).run("bash", "-c", marking.replaceAll("NODE", azureWorker));
    disposeMachine();
    const [, where, patch = "{}"] = /^kubectl (.*) --type merge --patch (.*)$/.exec(calls.join("\n")) ?? [];
    assert.equal(where, "--namespace kube-system patch configmap fenestra-replaced");
    const files = { existing: `node/${azureWorker}\n`, replaced: JSON.parse(patch).data[azureWorker] };
    const later = [{ node: azureWorker, age: -60 }];
    const { made, calls: first } = decisions(later, { of: azure, files, started: 9000 });
    assert.deepEqual([made, first.filter((call) => call.includes("delete node")).length], [[], 1]);
    assert.deepEqual(decisions(later, { of: azure, files: { ...files, existing: "" }, started: 9000 }).made, ["Approved node-csr-1"]);
  });

  const wellFormed = pem(subjectOf(worker));
  const hostile: readonly (readonly [what: string, request: TestRequest, outcome: "Denied" | "nothing"])[] = [
    ["for administrators", { pem: pem("/O=kubeadm:cluster-admins/CN=kubernetes-admin") }, "Denied"],
    ["for two groups", { pem: pem(`/O=system:masters/O=system:nodes/CN=system:node:${worker}`) }, "Denied"],
    ["with two names", { pem: pem(`/O=system:nodes/CN=system:node:${worker}/CN=system:node:i-0bbbbbbbbbbbbbbbb`) }, "Denied"],
    ["with two values in one", { pem: pem(`/O=system:nodes+CN=system:node:${worker}`) }, "Denied"],
    ["with a command as name", { pem: pem(`/O=system:nodes/CN=system:node:${command.replace("/run/", "\\/run\\/")}`) }, "Denied"],
    ["with a name of two lines", { pem: pem(`/O=system:nodes/CN=system:node:x\nCN=system:node:${worker},O=system:nodes`) }, "Denied"],
    ["for serving", { usages: ["digital signature", "server auth"] }, "Denied"],
    ["for more than a client", { usages: ["digital signature", "client auth", "server auth"] }, "Denied"],
    ["of two blocks", { pem: `${wellFormed}${pem(subjectOf("i-0bbbbbbbbbbbbbbbb"))}` }, "Denied"],
    [
      "with text before",
      { pem: `-----BEGIN NEW CERTIFICATE REQUEST-----\nAAAA\n-----END NEW CERTIFICATE REQUEST-----\n${wellFormed}` },
      "Denied",
    ],
    ["with headers", { pem: wellFormed.replace("\n", "\nProc-Type: 4,ENCRYPTED\n\n") }, "Denied"],
    ["that is none", { pem: "x" }, "Denied"],
    ["of a node", { username: `system:node:${worker}`, groups: ["system:nodes", "system:authenticated"] }, "nothing"],
    ["of kubeadm's group", { groups: ["system:bootstrappers:kubeadm:default-node-token"] }, "nothing"],
    ["of a person who names himself so", { username: `x\nasks ${command}` }, "nothing"],
    ["of a hostile name", { name: `x/../y ${command}` }, "nothing"],
  ];
  for (const [what, asked, outcome] of hostile) {
    it(`never approves a request ${what}, and goes on behind it`, () => {
      const { made, output } = decisions([
        { name: "hostile", version: 1, ...asked },
        { name: "good", version: 2 },
      ]);
      assert.deepEqual(made, [...(outcome === "Denied" ? ["Denied hostile"] : []), "Approved good"], output);
    });
  }
});
