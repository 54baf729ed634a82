import { decodeJwt } from "jose";
import { z } from "zod";
import { expect, expectEqual } from "../../check/check.ts";
import { statusOf } from "../../check/cluster/clusterApi.ts";
import { controlPlaneKey, ports } from "../../check/facts.ts";
import type { SimulatedMachine } from "../../plan/fakes/machines.ts";
import { type Api, apiAs } from "../api/client.ts";
import { type CloudSimulation, joinSecretName } from "../clouds/cloud.ts";
import type { MirrorOnly } from "../clouds/mirror.ts";
import { type LookUp, newCertificateRequest } from "../clouds/server.ts";
import type { Cluster } from "../cluster/cluster.ts";
import type { ControlPlaneLab } from "../cluster/controlPlaneLab.ts";
import type { DecodedMachine } from "../cluster/surroundings.ts";
import { limitsMs } from "../host/command.ts";
import { waitFor } from "../host/processes.ts";
import type { LinuxMachine } from "../machines/linuxMachine.ts";
import type { CheckContext, RehearsalCheck } from "./context.ts";
import { type Follow, walk } from "./manual.ts";

const signerName = "kubernetes.io/kube-apiserver-client-kubelet";

const secretSchema = z.object({ server: z.url(), caCertificate: z.string(), token: z.string() });

/** What a machine reads to join. */
async function joinSecretOf(cloud: CloudSimulation, machine: SimulatedMachine) {
  return secretSchema.parse(JSON.parse(await cloud.readSecret(machine, joinSecretName(cloud, machine))));
}

/** Asks for a client certificate. @returns name of the request */
async function askFor({ certificates }: Api, commonName: string, organization: string): Promise<string> {
  const { request } = newCertificateRequest({ commonName, organization });
  const spec = {
    request: Buffer.from(request).toString("base64"),
    signerName,
    usages: ["digital signature", "client auth"],
  };
  const made = await certificates.createCertificateSigningRequest({
    body: { metadata: { generateName: "csr-" }, spec },
  });
  return made.metadata?.name ?? "";
}

type HostileCall = readonly [method: string, path: string, body: object];

/**
 * What is tried with a worker's identities: a call of each kind, at a control-plane node. Which fields they may write
 * tests ask of an API server (tests/kubernetes/hostileCalls.yaml).
 */
const hostileCalls = (node: string): readonly HostileCall[] => [
  ["PATCH", `/api/v1/nodes/${node}/status`, { metadata: { annotations: { "fenestra.test/hostile": "1" } } }],
  ["DELETE", `/api/v1/nodes/${node}`, {}],
  ["GET", "/api/v1/namespaces/kube-system/secrets", {}],
  ["POST", "/api/v1/namespaces/kube-system/serviceaccounts/default/token", {}],
  ["PATCH", "/apis/certificates.k8s.io/v1/certificatesigningrequests/any/approval", { status: {} }],
];

export const refusedCallsCheck: RehearsalCheck = {
  id: "refused calls",
  title: "no machine made a call to the cloud that its role does not allow",
  run: async ({ callsOfBoot, cloud }) => {
    const refused = callsOfBoot
      .filter(({ allowed }) => !allowed)
      .map(({ machine, action, resource }) => `${machine}: ${action} on ${resource}`);
    expect(refused.length === 0, refused.join("; "));
    expect(
      callsOfBoot.some(({ action }) => action === cloud.readAction),
      "no machine read a secret at all",
    );
  },
};

/** Of a stack whose machines reached nothing but its mirror. @param lookUps of hosts that do not exist, a live list */
export function nothingElseCheck(
  mirror: MirrorOnly,
  lookUps: readonly LookUp[],
  { machines }: Cluster,
): RehearsalCheck {
  const { httpProxy, issuers = [], proxied } = mirror;
  return {
    id: "mirror: nothing else",
    title: "no machine looked for another host, and each used the proxy where there is one",
    run: async ({ note }) => {
      const names = lookUps
        .filter(({ name }) => !issuers.includes(name))
        .map(({ caller, name }) => `${name} by ${caller}`);
      expectEqual([...new Set(names)], [], "names that machines looked up and that this network does not have");
      const refused = proxied.filter((request) => request.refused);
      expectEqual([...new Set(refused.map(({ target }) => target))], [], "hosts that the proxy refused");
      const callers = [...new Set(proxied.map(({ caller }) => caller))].sort();
      const users = httpProxy === undefined ? [] : [...machines.values()].map(({ address }) => address);
      expectEqual(callers, users.sort(), "machines that used the proxy");
      note(`${proxied.length} requests by the proxy`);
    },
  };
}

/** Checks that a worker stays a worker, by what a hostile one would try with its identity, join secret or network. */
export function trustChecks(cluster: Cluster, lab: ControlPlaneLab): readonly RehearsalCheck[] {
  return [
    {
      id: "hostile worker",
      title: "no identity that lies on a worker writes another node, reads Secrets, makes tokens or approves requests",
      run: async (context) => {
        const worker = cluster.machines.get(context.linuxWorkers[0] ?? "");
        if (worker === undefined) throw new Error("no Linux worker runs");
        context.note(await tryIdentities(context, worker, `https://${lab.machine(0).address}:${ports.api}`));
      },
    },
    {
      id: "names of nodes",
      title:
        "the join secret is worth one's own name: no other node's, no control-plane node's, no invented one, no other group",
      run: askForNames,
    },
  ];
}

const kubeletCertificate = "/var/lib/kubelet/pki/kubelet-client-current.pem";

/** An identity that lies on a worker: its file, a line for curl, and its status to whom asks who they are. */
type Found = readonly [file: string, line: string, known: "201" | "401"];

/** The kubelet's certificate, nobody, and the tokens of all pods. */
async function identitiesOn(run: (line: string) => Promise<string>): Promise<readonly Found[]> {
  const found: Found[] = [
    [kubeletCertificate, `cert = ${kubeletCertificate}`, "201"],
    [kubeletCertificate, "", "401"],
  ];
  for (const file of (await run("ls /var/lib/kubelet/pods/*/volumes/kubernetes.io~projected/*/token")).split("\n")) {
    const token = await run(`cat '${file}'`);
    // Other checks beside this one delete pods.
    if (token === "") continue;
    const { aud = [], iss = "" } = decodeJwt(token);
    // The API takes tokens for its issuer. One for another audience, such as the cloud's, is nobody there.
    found.push([file, `header = "Authorization: Bearer ${token}"`, [aud].flat().includes(iss) ? "201" : "401"]);
  }
  return found;
}

/** Calls as a curl configuration, which prints a status each. */
function curlConfig(url: string, identity: string, calls: readonly HostileCall[]): string {
  const one = ([method, path, body]: HostileCall) =>
    [
      ...["insecure", 'output = "/dev/null"', 'write-out = "%{http_code}\\n"'],
      ...[identity, `request = ${method}`],
      `header = "Content-Type: application/${method === "PATCH" ? "merge-patch+json" : "json"}"`,
      ...(method === "GET" ? [] : [`data = ${JSON.stringify(JSON.stringify(body))}`]),
      `url = "${url}${path}${method === "GET" ? "" : "?dryRun=All"}"`,
    ].join("\n");
  return calls.map(one).join("\nnext\n");
}

/** Makes the hostile calls with every identity of a worker, by itself. @returns what was tried, in words */
async function tryIdentities({ api }: CheckContext, worker: LinuxMachine, url: string): Promise<string> {
  const run = async (line: string): Promise<string> => (await worker.run(["bash", "-c", line])).stdout.trim();
  const [node] = (await api.core.listNode({ labelSelector: controlPlaneKey })).items;
  const hostile = hostileCalls(node?.metadata?.name ?? "");
  const who = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
  const calls = [["POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", who] as const, ...hostile];
  const identities = await identitiesOn(run);
  for (const [file, line, known] of identities) {
    const curl = ["curl", "--silent", "--config", "-"];
    const answers = (await worker.run(curl, { stdin: curlConfig(url, line, calls) })).stdout.split("\n");
    const wrong = calls.flatMap(([method, path], index) => {
      const wanted = index === 0 || known === "401" ? [known] : ["403", "422"];
      const answer = answers[index] ?? "";
      return wanted.includes(answer) ? [] : [`${line.slice(0, 60)}: ${method} ${path}: ${answer}`];
    });
    expect(wrong.length === 0 || (await run(`test -e '${file}' || echo gone`)) === "gone", wrong.join("; "));
  }
  const taken = identities.filter(([, , known]) => known === "201").length;
  expect(taken > 1, "no pod of the worker has a token");
  return `${taken} identities of ${identities.length} are the API's, ${hostile.length} calls each`;
}

async function askForNames(context: CheckContext): Promise<void> {
  const { api, note, registered, cloud, linuxWorkers } = context;
  const worker = cloud.machines.find(({ id }) => id === linuxWorkers[0]);
  expect(worker !== undefined, "there is no Linux worker");
  const { server, caCertificate: ca, token } = await joinSecretOf(cloud, worker);
  const bootstrap = apiAs(server, ca, { token });
  const ofPools = [...registered].filter(([, { metadata }]) => metadata?.labels?.["fenestra.dev/pool"] !== undefined);
  const other = ofPools[0]?.[0] ?? "";
  // It is given its label after its registration.
  const controlPlane = (await api.core.listNode({ labelSelector: controlPlaneKey })).items[0]?.metadata?.name;
  expect(controlPlane !== undefined, "there is no control-plane node");
  // The last one of a machine that its group does not have.
  const nodes = [other, controlPlane, `${other.slice(0, -3)}fff`];
  const wanted = [
    ...nodes.map((name) => [`system:node:${name}`, "system:nodes"] as const),
    // It is refused at once, which shows that the others were looked at.
    ["kubernetes-admin", "kubeadm:cluster-admins"] as const,
  ];
  const made: string[] = [];
  for (const [commonName, organization] of wanted) made.push(await askFor(bootstrap, commonName, organization));
  const requests = async () => (await api.certificates.listCertificateSigningRequest()).items;
  const has = async (name: string | undefined, condition: string): Promise<boolean> =>
    (await requests()).some(
      ({ metadata, status }) =>
        metadata?.name === name && status?.conditions?.some(({ type }) => type === condition) === true,
    );
  await waitFor("the control plane to look at the requests", limitsMs.answer, () => has(made.at(-1), "Denied"));
  for (const [index, name] of made.entries())
    expect(!(await has(name, "Approved")), `${wanted[index]?.[0]} was approved`);
  const reasons = (await requests())
    .filter(({ spec }) => spec.signerName === signerName && spec.username?.startsWith("system:bootstrap:"))
    .flatMap(({ status }) => status?.conditions ?? [])
    .flatMap(({ type, reason }) => (type === "Approved" ? [reason] : []));
  expectEqual([...new Set(reasons)], ["FenestraApproved"], "who approved first certificates");
  note(
    `${reasons.length} first certificates were approved by the control plane's own job, ${made.length} hostile requests were not`,
  );
  await Promise.all(made.map((name) => api.certificates.deleteCertificateSigningRequest({ name })));
}

/** Seconds that a machine may wait for its first certificate. */
const patience = 30;

const ask = (api: Api, node: string): Promise<string> => askFor(api, `system:node:${node}`, "system:nodes");

/** Requests with an approval, none of which may be one of these names. */
async function expectRefused({ certificates }: Api, names: readonly string[]) {
  // The node controller's turn, and a list of the cloud that is newer than the request.
  await new Promise((resolve) => setTimeout(resolve, 20_000));
  const { items } = await certificates.listCertificateSigningRequest();
  const approved = items.filter(({ status }) => status?.conditions?.some(({ type }) => type === "Approved"));
  const wrong = approved.filter(({ metadata }) => names.includes(metadata?.name ?? ""));
  expectEqual(wrong.length, 0, "hostile requests that were approved");
  return approved;
}

/** A worker ends and another one comes in its place. */
export function replacementCheck(cluster: Cluster, worker: DecodedMachine, follow: Follow): RehearsalCheck {
  const current = ({ machines }: CloudSimulation): SimulatedMachine => {
    const machine = machines.find(({ id, urn }) => urn === worker.machine.urn && cluster.machines.has(id));
    if (machine === undefined) throw new Error(`no machine of ${worker.machine.urn} runs`);
    return machine;
  };
  return {
    id: "replaced",
    slow: true,
    limitMs: limitsMs.steps,
    title:
      "a machine that was ended, by the manual's steps for a compromised one, has no Node and no new certificate; its successor joins at once",
    run: async (context) => {
      const { api, cloud, note } = context;
      const machine = current(cloud);
      const { nodeName } = cloud.identity(machine);
      const { server, caCertificate: ca, token } = await joinSecretOf(cloud, machine);
      // What root on the machine may have kept.
      const pem = await cluster.machines.get(machine.id)?.readFile("/var/lib/kubelet/pki/kubelet-client-current.pem");
      const [thief, bootstrap] = [apiAs(server, ca, { pem: pem ?? "" }), apiAs(server, ca, { token })];
      // The number of a machine that its group does not have.
      const hostile = [await ask(bootstrap, `${nodeName.slice(0, -3)}fff`)];
      const [isolate, end, publish, traces] = walk();
      const names = { NODE: nodeName };
      for (const step of [isolate, end, publish]) await follow(step, context, names);
      await waitFor("the token of before to be worth nothing", limitsMs.machine, async () => {
        const made = await ask(bootstrap, nodeName).catch(statusOf);
        if (typeof made === "string") hostile.push(made);
        return made === 401;
      });
      await cluster.powerOffMachine(machine);
      const { machine: next } = await cluster.replaceMachine({ machine, payload: worker.payload });
      const successor = cloud.identity(next).nodeName;
      await waitFor(`node ${successor} in place of ${nodeName}`, limitsMs.machine, async () => {
        const nodes = (await api.core.listNode()).items.map(({ metadata }) => metadata?.name);
        return nodes.includes(successor) && !nodes.includes(nodeName);
      });
      const late = await ask(thief, nodeName).catch(statusOf);
      const approved = await expectRefused(api, [...hostile, ...(typeof late === "string" ? [late] : [])]);
      const seen = await follow(traces, context, names);
      expect(seen.includes(`"create","/apis/certificates.k8s.io/v1/certificatesigningrequests`), `its traces: ${seen}`);
      const took = approved.flatMap(({ metadata, status }) =>
        (status?.conditions ?? []).flatMap(({ message, lastUpdateTime }) =>
          message?.startsWith(`first certificate of ${successor},`)
            ? +new Date(lastUpdateTime ?? 0) - +new Date(metadata?.creationTimestamp ?? 0)
            : [],
        ),
      );
      expect(
        took.length === 1 && (took[0] ?? 0) <= patience * 1000,
        `the first certificate of ${successor} took ${took.join(", ")} ms`,
      );
      note(`${successor} came after ${nodeName}, with a certificate after ${Math.round((took[0] ?? 0) / 1000)} s`);
    },
  };
}
