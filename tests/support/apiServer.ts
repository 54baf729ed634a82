import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { tmpdir } from "node:os";
import path from "node:path";
import { text as textOf } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import type { Context } from "mocha";
import { type CommandResult, runCommand } from "../../rehearsal/host/command.ts";
import { obtainPrograms, type Programs } from "../../rehearsal/programs/obtain.ts";
import { obtainOrSkip } from "./skip.ts";

interface ApiAnswer {
  readonly taken: boolean;
  /** The object, or a Status. */
  readonly body: string;
  readonly warnings: readonly string[];
}

/** How service accounts' tokens are signed and checked. */
interface TokenSettings {
  /** PEM. */
  readonly signingKey: string;
  /** Public keys that are accepted, PEM. */
  readonly publicKeys: string;
  /** More arguments of the API server. */
  readonly args: readonly string[];
}

/** A real kube-apiserver with etcd and controller-manager on loopback, without nodes. */
export interface ApiServer {
  /** Runs kubectl as an administrator. */
  kubectl(args: readonly string[], input?: string): Promise<CommandResult>;
  /** Sends a text as an administrator, much faster than kubectl. */
  send(
    method: "POST" | "PATCH",
    path: string,
    text: string,
    as?: Readonly<Record<string, string | string[]>>,
  ): Promise<ApiAnswer>;
  /** Restarts the API server with this service account key and these arguments. */
  restart(tokens: TokenSettings): Promise<void>;
}

/** Below the ports that the kernel gives away (net.ipv4.ip_local_port_range), and none of the programs' defaults. */
const ports = { etcdClient: 22_379, etcdPeer: 22_380, api: 26_443, controllers: 20_257, scheduler: 20_259 } as const;

/** A loopback address of its own: tests of another process start the same programs. */
function ownAddress() {
  return `127.${[...randomBytes(3)].map((byte) => 1 + (byte % 254)).join(".")}`;
}

interface ApiServerOptions {
  /** An AuthenticationConfiguration. Default: none. */
  readonly authentication?: string | undefined;
  /** More arguments of the API server. */
  readonly flags?: readonly string[];
  /** Whether a scheduler places pods; a test's Nodes then stay Ready without a kubelet. Default: no. */
  readonly schedules?: boolean;
}

/**
 * Obtains the programs as {@link obtainOrSkip} does, and starts them. They and their files go with the suite, whose
 * tests have half an hour.
 */
export async function startApiServer(suite: Context, options: ApiServerOptions = {}): Promise<ApiServer> {
  const programs = await obtainOrSkip(suite, (progress) => obtainPrograms({ progress }));
  const folder = mkdtempSync(path.join(tmpdir(), "fenestra-api-"));
  const children: ChildProcess[] = [];
  suite.test?.parent?.afterAll(async () => {
    const ended = children.map((child) =>
      child.exitCode !== null || child.signalCode !== null
        ? undefined
        : new Promise((resolve) => child.once("exit", resolve)),
    );
    for (const child of children.toReversed()) child.kill("SIGKILL");
    await Promise.all(ended);
    rmSync(folder, { recursive: true, force: true });
  });
  const { restart, send } = await startAll(programs, folder, children, options);
  const kubeconfig = path.join(folder, "kubeconfig");
  const kubectl: ApiServer["kubectl"] = (args, input = "") =>
    runCommand([programs.kubectl.path, "--kubeconfig", kubeconfig, ...args], { stdin: input, timeoutMs: 600_000 });
  return { kubectl, send, restart };
}

async function startAll(
  programs: Programs,
  folder: string,
  children: ChildProcess[],
  { authentication, flags = [], schedules = false }: ApiServerOptions,
): Promise<Pick<ApiServer, "restart" | "send">> {
  const host = ownAddress();
  const token = randomBytes(16).toString("hex");
  const file = (name: string) => path.join(folder, name);
  const own = generateKeyPairSync("rsa", {
    modulusLength: 2048,
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
    publicKeyEncoding: { type: "spki", format: "pem" },
  });
  writeFileSync(file("tokens.csv"), `${token},admin,1,"system:masters"\n`);
  if (authentication !== undefined) writeFileSync(file("authentication.yaml"), authentication);
  mkdirSync(file("logs"));
  const start = (program: { readonly path: string }, args: readonly string[]) => {
    const log = openSync(path.join(folder, "logs", path.basename(program.path)), "w");
    // They live for a minute.
    const child = spawn(program.path, args, { stdio: ["ignore", log, log], env: { ...process.env, GOGC: "400" } });
    children.push(child);
    return child;
  };
  const etcd = `http://${host}:${ports.etcdClient}`;
  const peer = `http://${host}:${ports.etcdPeer}`;
  const store = start(programs.etcd, [
    `--data-dir=${file("etcd")}`,
    "--unsafe-no-fsync",
    `--listen-client-urls=${etcd}`,
    `--advertise-client-urls=${etcd}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=default=${peer}`,
  ]);
  const startApi = ({ signingKey, publicKeys, args }: TokenSettings) => {
    writeFileSync(file("sa.key"), signingKey);
    writeFileSync(file("sa.pub"), publicKeys);
    return start(programs["kube-apiserver"], [
      `--etcd-servers=${etcd}`,
      `--bind-address=${host}`,
      `--secure-port=${ports.api}`,
      `--cert-dir=${file("certificates")}`,
      `--service-account-key-file=${file("sa.pub")}`,
      `--service-account-signing-key-file=${file("sa.key")}`,
      "--authorization-mode=RBAC",
      `--token-auth-file=${file("tokens.csv")}`,
      "--service-cluster-ip-range=10.96.0.0/16",
      "--allow-privileged=true",
      ...(authentication === undefined ? [] : [`--authentication-config=${file("authentication.yaml")}`]),
      ...args,
      ...flags,
    ]);
  };
  let server = startApi({
    signingKey: own.privateKey,
    publicKeys: own.publicKey,
    args: ["--service-account-issuer=https://kubernetes.default.svc"],
  });
  writeFileSync(
    file("kubeconfig"),
    JSON.stringify({
      apiVersion: "v1",
      kind: "Config",
      // The certificate is one that the server made for itself a moment ago.
      clusters: [
        { name: "test", cluster: { server: `https://${host}:${ports.api}`, "insecure-skip-tls-verify": true } },
      ],
      users: [{ name: "admin", user: { token } }],
      contexts: [{ name: "test", context: { cluster: "test", user: "admin" } }],
      "current-context": "test",
    }),
  );
  const look = [programs.kubectl.path, "--kubeconfig", file("kubeconfig"), "get", "--raw", "/readyz"];
  const ready = () =>
    until(
      "the API server to be ready",
      async () => (await runCommand(look)).stdout === "ok",
      () => readFileSync(path.join(folder, "logs", "kube-apiserver"), "utf8").slice(-2000),
      () => store.exitCode !== null || server.exitCode !== null,
    );
  await ready();
  const client = [
    `--kubeconfig=${file("kubeconfig")}`,
    "--leader-elect=false",
    `--bind-address=${host}`,
    `--cert-dir=${file("certificates")}`,
  ];
  if (schedules) start(programs["kube-scheduler"], [...client, `--secure-port=${ports.scheduler}`]);
  start(programs["kube-controller-manager"], [
    ...client,
    `--service-account-private-key-file=${file("sa.key")}`,
    "--use-service-account-credentials",
    `--secure-port=${ports.controllers}`,
    // It taints nodes without a kubelet.
    "--controllers=*,-node-lifecycle-controller",
  ]);
  const restart: ApiServer["restart"] = async (tokens) => {
    const ended = new Promise((resolve) => server.once("exit", resolve));
    server.kill("SIGKILL");
    await ended;
    server = startApi(tokens);
    await ready();
  };
  const send: ApiServer["send"] = (method, url, text, as = {}) =>
    new Promise((resolve, reject) => {
      const headers = {
        ...as,
        authorization: `Bearer ${token}`,
        "content-type": `application/${method === "POST" ? "" : "merge-patch+"}json`,
      };
      const options = { method, host, port: ports.api, path: url, headers, rejectUnauthorized: false };
      const sent = request(options, async (response) => {
        const warnings =
          response.headersDistinct.warning?.flatMap((each) => /^299 \S+ "(.*)"$/s.exec(each)?.[1] ?? []) ?? [];
        const body = await textOf(response);
        resolve({ taken: response.statusCode === 200 || response.statusCode === 201, body, warnings });
      });
      sent.on("error", reject).end(text);
    });
  return { restart, send };
}

/** Asks until the answer is yes. Throws after two minutes, or when it is pointless, with `log`'s result. */
export async function until(
  what: string,
  ask: () => Promise<boolean>,
  log: () => string = () => "",
  isPointless: () => boolean = () => false,
) {
  const end = Date.now() + 120_000;
  while (!(await ask())) {
    if (isPointless()) throw new Error(`waited for ${what}, but a program has ended\n${log()}`);
    if (Date.now() > end) throw new Error(`waited two minutes for ${what}\n${log()}`);
    await pause(200);
  }
}

const group = { apiVersion: "admissionregistration.k8s.io/v1" };
const sentinel = (kind: string, name: string, spec: object, binding: object) => [
  {
    ...group,
    kind,
    metadata: { name },
    spec: {
      failurePolicy: "Fail",
      matchConstraints: {
        resourceRules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] }],
      },
      matchConditions: [{ name: "own", expression: `object.metadata.name == "${name}"` }],
      ...spec,
    },
  },
  { ...group, kind: `${kind}Binding`, metadata: { name }, spec: { policyName: name, ...binding } },
];

/**
 * Waits until the API server enforces every earlier policy, and no deleted one. It computes all of a kind at once from
 * two watches, each in order (k8s.io/apiserver: plugin/policy/generic/policy_source.go): a test's policy in force was
 * preceded by the others in its watch, and a second one shows what was computed after that.
 */
export async function policiesInForce({ kubectl, send }: Pick<ApiServer, "kubectl" | "send">) {
  const kinds = [
    ["ValidatingAdmissionPolicy", { validations: [{ expression: "false" }] }, { validationActions: ["Deny"] }],
    [
      "MutatingAdmissionPolicy",
      {
        reinvocationPolicy: "Never",
        mutations: [
          {
            patchType: "ApplyConfiguration",
            applyConfiguration: { expression: 'Object{metadata: Object.metadata{labels: {"seen": "yes"}}}' },
          },
        ],
      },
      {},
    ],
  ] as const;
  for (const [kind, spec, binding] of kinds)
    for (const round of ["first", "second"]) {
      const name = `sentinel-${round}`;
      const objects = JSON.stringify({ apiVersion: "v1", kind: "List", items: sentinel(kind, name, spec, binding) });
      const made = await kubectl(["create", "-f", "-"], objects);
      assert.equal(made.code, 0, made.stderr);
      await until(`${kind} ${name} to be in force`, async () => {
        const map = JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name } });
        const { taken, body } = await send("POST", "/api/v1/namespaces/default/configmaps?dryRun=All", map);
        return !taken || body.includes('"seen":"yes"');
      });
      await kubectl(["delete", "-f", "-"], objects);
    }
}

/** Applies objects, which the API server must take. */
export async function applied({ kubectl }: ApiServer, items: readonly object[], ...flags: string[]) {
  // Of a list kubectl would validate each by OpenAPI's second version, which the API server makes for nobody else.
  const documents = items.map((each) => JSON.stringify(each)).join("\n");
  const { code, stderr } = await kubectl(["apply", "--server-side", ...flags, "-f", "-"], documents);
  assert.equal(code, 0, stderr);
}

export const namespaceOf = (name: string, labels: Readonly<Record<string, string>> = {}) => ({
  apiVersion: "v1",
  kind: "Namespace",
  metadata: { name, labels },
});
