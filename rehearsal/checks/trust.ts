import { decodeJwt } from "jose";
import { z } from "zod";
import { expect, expectEqual } from "../../check/check.ts";
import { statusOf } from "../../check/cluster/api.ts";
import { controlPlaneKey, ports } from "../../check/facts.ts";
import { machinesPage, pageSchema } from "../../components/gates/machinesPage.ts";
import { newCertificateRequest } from "../../plan/fakes/certificates.ts";
import type { SimulatedMachine } from "../../plan/fakes/machines.ts";
import { type Api, apiFor, kubeconfig } from "../api/client.ts";
import { type CloudSimulation, joinSecretName } from "../clouds/cloud.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { type ControlPlaneLab, hostileAgent, inMachines } from "../cluster/controlPlaneLab.ts";
import { limitsMs } from "../host/command.ts";
import { waitFor } from "../host/processes.ts";
import type { LinuxMachine } from "../machines/linuxMachine.ts";
import type { CheckContext, RehearsalCheck } from "./context.ts";
import { type Follow, walk } from "./manual.ts";

const signerName = "kubernetes.io/kube-apiserver-client-kubelet";

const secretSchema = z.object({ server: z.url(), caCertificate: z.string(), token: z.string() });

/** What a machine reads to join. */
export async function joinSecretOf(cloud: CloudSimulation, machine: SimulatedMachine) {
  return secretSchema.parse(JSON.parse(await cloud.readSecret(machine, joinSecretName(cloud, machine))));
}

async function secretOfWorker({ cloud, linuxWorkers: [worker] }: CheckContext) {
  const machine = cloud.machines.find(({ id }) => id === worker);
  if (machine === undefined) throw new Error("there is no Linux worker");
  return { machine, ...(await joinSecretOf(cloud, machine)) };
}

/** Asks for a client certificate. @returns name of the request */
export async function askFor(
  { certificates }: Api,
  commonName: string,
  organization: string,
  metadata: object = { generateName: "csr-" },
): Promise<string> {
  const { request } = newCertificateRequest({ commonName, organization });
  const spec = {
    request: Buffer.from(request).toString("base64"),
    signerName,
    usages: ["digital signature", "client auth"],
  };
  const made = await certificates.createCertificateSigningRequest({ body: { metadata, spec } });
  return made.metadata?.name ?? "";
}

/** What the node controller shows of each pool; nothing before its first round. */
async function poolsOf({ core }: Api) {
  const { namespace, name } = machinesPage;
  const { items } = await core.listNamespacedConfigMap({ namespace, fieldSelector: `metadata.name=${name}` });
  return pageSchema.safeParse(JSON.parse(items[0]?.data?.status ?? "null")).data?.pools ?? {};
}

/** What is tried with a worker's identities, by method, path and content; `NODE` is a control-plane node. */
const hostile: readonly (readonly [method: string, path: string, body: object])[] = [
  ["PATCH", "/api/v1/nodes/NODE/status", { metadata: { annotations: { "fenestra.test/hostile": "1" } } }],
  ["PATCH", "/api/v1/nodes/NODE/status", { metadata: { finalizers: ["fenestra.test/hostile"] } }],
  ["PATCH", "/api/v1/nodes/OWN/status", { metadata: { labels: { [controlPlaneKey]: "" } } }],
  ["PATCH", "/api/v1/nodes/OWN/status", { metadata: { finalizers: ["fenestra.test/hostile"] } }],
  ["DELETE", "/api/v1/nodes/NODE", {}],
  [
    "PATCH",
    "/api/v1/namespaces/default/services/kubernetes/status",
    { status: { loadBalancer: { ingress: [{ ip: "169.254.169.254" }] } } },
  ],
  ["GET", "/api/v1/namespaces/kube-system/secrets", {}],
  ["POST", "/api/v1/namespaces/kube-system/serviceaccounts/default/token", {}],
  ["PATCH", "/apis/certificates.k8s.io/v1/certificatesigningrequests/any/approval", { status: {} }],
];

/** What no kubelet's request has: three of the long ones would stop a list that is read as a whole. */
const longName = "<".repeat(1_300_000);
const hostileRequests: readonly object[] = [
  ...[1, 2, 3].map((number) => ({
    name: `csr-long${number}`,
    ownerReferences: [{ apiVersion: "v1", kind: "Node", name: longName, uid: "1" }],
  })),
  ...["csr:a", "csr~a", "csr a", "csr?x", "csr\u{e4}"].map((name) => ({ name })),
  { generateName: "csr-", labels: { a: "b" } },
  { generateName: "csr-", annotations: { a: "b" } },
  { generateName: "csr-", finalizers: ["fenestra.test/hostile"] },
];

/** What workers' identities may do in the cloud, by trying it. */
export const cloudTrustChecks: readonly RehearsalCheck[] = [
  {
    id: "worker secrets",
    title: "a worker's identity reads the join secret of its pool, and no other pool's or other secret of the cluster",
    run: async ({ cloud, note }) => {
      // Workers may read logins for downloads too; `join` is of the release before.
      const names = cloud.secretNames().filter((name) => !/\/(credentials(-[a-z0-9]{8})?|join)$/.test(name));
      const workers = cloud.machines.filter(({ group }) => group !== undefined);
      const pools = new Set(workers.map((worker) => joinSecretName(cloud, worker)));
      expect(pools.size > 0 && names.length > pools.size, "there are no workers or no other secrets");
      for (const worker of workers) {
        const join = joinSecretName(cloud, worker);
        const others = names.filter((name) => name !== join);
        const text = await cloud.readSecret(worker, join);
        expect(text.includes("expires"), `the join secret that ${worker.name} reads is none`);
        for (const name of others) {
          const read = await cloud.readSecret(worker, name).then(
            () => true,
            () => false,
          );
          expect(!read, `${worker.name} can read ${name}`);
        }
      }
      note(
        `${workers.length} workers of ${pools.size} pools tried ${names.length - 1} other secrets each: all refused`,
      );
    },
  },
  {
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
  },
];

/** Checks that a worker stays a worker, by what a hostile one would try with its identity, join secret or network. */
export function trustChecks(cluster: Cluster, lab: ControlPlaneLab, follow: Follow): readonly RehearsalCheck[] {
  const workerOf = ({ linuxWorkers: [id = ""] }: CheckContext): LinuxMachine => {
    const machine = cluster.machines.get(id);
    if (machine === undefined) throw new Error("no Linux worker runs");
    return machine;
  };
  return [
    {
      id: "leaked kubeconfig",
      slow: true,
      title:
        "the exported kubeconfig loses its rights when its binding does, the machines' jobs keep theirs and have no file above it",
      run: async (context) => {
        const { kubectl, peoplesApi, note } = context;
        const [revoke, look] = walk("A kubeconfig leaked");
        const binding = ["clusterrolebinding", "fenestra:administrators"];
        const { stdout: kept } = await kubectl(["get", ...binding, "--output=jsonpath={.subjects}"]);
        const status = async (): Promise<number | undefined> =>
          await peoplesApi.core.listNode().then(() => 200, statusOf);
        const until = (wanted: number) =>
          waitFor(`${wanted} to the exported kubeconfig`, limitsMs.answer, async () => (await status()) === wanted);
        await peoplesApi.core.createNamespacedConfigMap({
          namespace: "default",
          body: { metadata: { name: "leaked" } },
        });
        await peoplesApi.core.deleteNamespacedConfigMap({ namespace: "default", name: "leaked" });
        await follow(revoke, context);
        await until(403);
        const seen = await follow(look, context);
        for (const verb of ["create", "delete"])
          expect(seen.includes(`"${verb}","configmaps","default","leaked"]`), `what was done with it: ${seen}`);
        await lab.script(0, "publish-join-secret.sh");
        const left = await inMachines(cluster, "ls /etc/kubernetes/*.conf");
        expect(
          left.length > 0 && !left.some((file) => file.includes("super-admin")),
          `kubeconfigs of machines: ${left.join(" ")}`,
        );
        const put = [{ op: "add", path: "/subjects", value: JSON.parse(kept) }];
        await kubectl(["patch", ...binding, "--type=json", `--patch=${JSON.stringify(put)}`]);
        await until(200);
        note(`bound and not, ${left.length} files`);
      },
    },
    {
      id: "hostile worker",
      title:
        "no identity that lies on a worker writes another node or roles of its own, reads Secrets, makes tokens or approves requests",
      run: async (context) => {
        const worker = workerOf(context);
        const { items } = await context.api.core.listNode({ labelSelector: controlPlaneKey });
        const node = items[0]?.metadata?.name ?? "";
        const url = `https://${lab.machine(0).address}:${ports.api}`;
        const run = async (line: string): Promise<string> => (await worker.run(["bash", "-c", line])).stdout.trim();
        const files = await run("ls /var/lib/kubelet/pods/*/volumes/kubernetes.io~projected/*/token");
        const certificate = "/var/lib/kubelet/pki/kubelet-client-current.pem";
        const identities = [
          { file: certificate, identity: `cert = ${certificate}`, known: "201" },
          { file: certificate, identity: "", known: "401" },
        ];
        for (const file of files.split("\n")) {
          const token = await run(`cat '${file}'`);
          // Other checks beside this one delete pods.
          if (token === "") continue;
          const { aud = [], iss = "" } = decodeJwt(token);
          // The API takes tokens for its issuer. One for another audience, such as the cloud's, is nobody there.
          identities.push({
            file,
            identity: `header = "Authorization: Bearer ${token}"`,
            known: [aud].flat().includes(iss) ? "201" : "401",
          });
        }
        const who = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
        const calls = [
          ["POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", who] as const,
          ...hostile.map(
            ([method, path, body]) =>
              [method, path.replace("NODE", node).replace("OWN", context.linuxWorkers[0] ?? ""), body] as const,
          ),
        ];
        const problem = async (identity: string, known: string): Promise<string | undefined> => {
          const config = calls.map(([method, path, body]) =>
            [
              ...["insecure", `user-agent = ${hostileAgent}`, 'output = "/dev/null"', 'write-out = "%{http_code}\\n"'],
              ...[identity, `request = ${method}`],
              `header = "Content-Type: application/${method === "PATCH" ? "merge-patch+json" : "json"}"`,
              ...(method === "GET" ? [] : [`data = ${JSON.stringify(JSON.stringify(body))}`]),
              `url = "${url}${path}${method === "GET" ? "" : "?dryRun=All"}"`,
            ].join("\n"),
          );
          const stdin = config.join("\nnext\n");
          const answers = (await worker.run(["curl", "--silent", "--config", "-"], { stdin })).stdout.split("\n");
          for (const [index, [method, path, body]] of calls.entries()) {
            const answer = answers[index] ?? "";
            if (!(index === 0 || known === "401" ? [known] : ["403", "422"]).includes(answer))
              return `${identity.slice(0, 60)}: ${method} ${path} ${JSON.stringify(body)}: ${answer}`;
          }
          return undefined;
        };
        for (const { file, identity, known } of identities) {
          const found = await problem(identity, known);
          expect(found === undefined || (await run(`test -e '${file}' || echo gone`)) === "gone", found ?? "");
        }
        // Requests that no kubelet makes, with its kubelet's certificate and with its join secret.
        const { machine, server, caCertificate: ca, token } = await secretOfWorker(context);
        const pem = await worker.readFile(certificate);
        const users = [{ certificate: pem, key: pem }, { token }];
        const { nodeName } = context.cloud.identity(machine);
        for (const user of users) {
          const api = apiFor(kubeconfig({ server, ca, user }));
          for (const metadata of hostileRequests) {
            const code = await askFor(api, `system:node:${nodeName}`, "system:nodes", metadata).catch(statusOf);
            expect(
              code === 403 || code === 422,
              `a request with ${JSON.stringify(metadata).slice(0, 80)} was answered with ${code}`,
            );
          }
        }
        const taken = identities.filter(({ known }) => known === "201").length;
        expect(taken > 1, "no pod of the worker has a token");
        context.note(
          `${taken} identities of the API's and ${identities.length - taken} of others', ${hostile.length} requests each; ${hostileRequests.length} requests for certificates that no kubelet makes`,
        );
      },
    },
    {
      id: "names of nodes",
      title:
        "the join secret is worth one's own name: no other node's, no control-plane node's, no invented one, no other group",
      run: async (context) => {
        const { api, note, registered } = context;
        const { server, caCertificate: ca, token } = await secretOfWorker(context);
        const bootstrap = apiFor(kubeconfig({ server, ca, user: { token } }));
        const names = [...registered.values()];
        const other = names.find(({ pool }) => pool !== undefined)?.name ?? "";
        // It may have registered before registrations were recorded.
        const { items: own } = await api.core.listNode({ labelSelector: controlPlaneKey });
        const controlPlane = own[0]?.metadata?.name;
        expect(controlPlane !== undefined, "there is no control-plane node");
        // The number of a machine that its group does not have.
        const invented = `${other.slice(0, -3)}fff`;
        const wanted = [
          [`system:node:${other}`, "system:nodes"],
          [`system:node:${controlPlane}`, "system:nodes"],
          [`system:node:${invented}`, "system:nodes"],
          // The last one is refused at once, which shows that the others were looked at.
          ["kubernetes-admin", "kubeadm:cluster-admins"],
        ] as const;
        const made: string[] = [];
        for (const [commonName, organization] of wanted) made.push(await askFor(bootstrap, commonName, organization));
        const conditionsOf = async (name: string): Promise<readonly string[]> =>
          (await api.certificates.readCertificateSigningRequest({ name })).status?.conditions?.map(
            ({ type }) => type,
          ) ?? [];
        await waitFor("the control plane to look at the requests", limitsMs.answer, async () =>
          (await conditionsOf(made.at(-1) ?? "")).includes("Denied"),
        );
        for (const [index, name] of made.entries())
          expect(!(await conditionsOf(name)).includes("Approved"), `${wanted[index]?.[0]} was approved`);
        const requests = (await api.certificates.listCertificateSigningRequest()).items;
        const reasons = requests
          .filter(({ spec }) => spec.signerName === signerName && spec.username?.startsWith("system:bootstrap:"))
          .flatMap(
            ({ status }) =>
              status?.conditions?.filter(({ type }) => type === "Approved").map(({ reason }) => reason) ?? [],
          );
        expectEqual([...new Set(reasons)], ["FenestraApproved"], "who approved first certificates");
        note(
          `${reasons.length} first certificates were approved by the control plane's own job, ${made.length} hostile requests were not`,
        );
        await Promise.all(made.map((name) => api.certificates.deleteCertificateSigningRequest({ name })));
      },
    },
    {
      id: "node controller",
      title: "the node controller knows every machine of the pools, and finds it well",
      limitMs: limitsMs.steps,
      run: async ({ api, cloud, note }) => {
        const names = cloud.machines.flatMap(({ group }) => group?.name ?? []);
        const wanted = Object.fromEntries(names.map((name) => [name, names.filter((other) => other === name).length]));
        await waitFor("the node controller to find every machine of the pools well", limitsMs.steps, async () => {
          const pools = await poolsOf(api);
          return Object.entries(wanted).every(([name, count]) => pools[name]?.ready === count);
        });
        note(`${Object.keys(wanted).length} pools`);
      },
    },
  ];
}
