import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { connect } from "node:net";
import path from "node:path";
import { text } from "node:stream/consumers";
import { stringify } from "yaml";
import { loadConfig } from "../../components/config/load.ts";
import type { ClassProbe } from "../../components/gates/policyGate.ts";
import { reveal, textOf } from "../../components/gates/resources.ts";
import { runtimeClassProbes } from "../../components/kubernetes/guardRails.ts";
import { clusterSpec } from "../../components/model/clusterSpec.ts";
import { issueServerCertificate, type KeyAndCertificate } from "../../plan/fakes/certificates.ts";
import { placeOf, simulatedCloud } from "../../plan/fakes/cloud.ts";
import type { SimulatedCloud } from "../../plan/program/engine.ts";
import { ServedCloud } from "../support/servedCloud.ts";
import { listening } from "../support/suite.ts";
import { serveProviders } from "./providers.ts";

const root = path.join(import.meta.dirname, "../..");

/**
 * Stands for stores and keys: a folder for a bucket or container, a Vault for the cloud's key. `aws` and `az` keep what
 * was made as files, named by what is made.
 */
const pulumi = `#!/bin/bash
args=()
for each; do
  case "$each" in awskms://*|azurekeyvault://*) each=hashivault://pulumi ;; esac
  args+=("$each")
done
case "\${PULUMI_BACKEND_URL:-}" in s3://*|azblob://*) export PULUMI_BACKEND_URL="file://$STATE" ;; esac
echo "$*" >> "$CALLS"
exec "$PULUMI" "\${args[@]}"
`;
const cloudCli = `#!/bin/bash
echo "\${0##*/} $*" >> "$CALLS"
made() { test -e "$MADE/$1"; }
case "\${0##*/} $*" in
  'aws sts '*) echo "$ACCOUNT" ;;
  'az account show '*) echo "$ACCOUNT" ;;
  'aws s3api head-bucket '*) made bucket ;;
  'aws s3api get-bucket-versioning '*) made versioning && echo Enabled ;;
  'aws s3api get-public-access-block '*) made block && echo 4 ;;
  'aws s3api create-bucket '*) touch "$MADE/bucket" ;;
  'aws s3api put-bucket-versioning '*) touch "$MADE/versioning" ;;
  'aws s3api put-public-access-block '*) touch "$MADE/block" ;;
  'aws s3api delete-bucket '*) rm "$MADE/bucket" ;;
  'aws kms describe-key '*KeyState*) made key && echo Enabled ;;
  'aws kms describe-key '*) echo key-id ;;
  'aws kms create-key '*) echo key-id ;;
  'aws kms create-alias '*) touch "$MADE/key" ;;
  'aws kms delete-alias '*) rm "$MADE/key" ;;
  'az group exists --name fenestra-azure-smallest'*) echo false ;;
  'az group exists '*) made group && echo true || echo false ;;
  'az group create '*) touch "$MADE/group" ;;
  'az group delete '*) rm -f "$MADE"/* ;;
  'az storage account show '*) made storage && echo storage-id ;;
  'az storage account create '*) touch "$MADE/storage" ;;
  'az storage account blob-service-properties show '*) made versions && echo true ;;
  'az storage account blob-service-properties update '*) touch "$MADE/versions" ;;
  'az role assignment list '*) made "role-$(md5sum <<< "$*" | head -c 1)" && echo 1 || { touch "$MADE/role-$(md5sum <<< "$*" | head -c 1)"; echo 0; } ;;
  'az storage container exists '*) made container && echo true || echo false ;;
  'az storage container create '*) touch "$MADE/container" ;;
  'az keyvault show '*) made vault && echo vault-id ;;
  'az keyvault create '*) touch "$MADE/vault" ;;
  'az keyvault key show '*) made key && echo https://v.vault.azure.net/keys/pulumi/1 ;;
  'az keyvault key create '*) touch "$MADE/key" ;;
  'aws ec2 describe-instances '*) echo i-0123456789abcdef0 ;;
  'az vm list '*) echo azure-smallest-cp-0 ;;
  *get-console-output*|*get-boot-log*) printf 'stage join done after 12 s %s\nlogin: %s\n' "$PLANTED" "$PLANTED" ;;
  *tagging*|*describe-volumes*|*list-object-versions*) ;;
  *) echo x ;;
esac
`;

/** A secret in whatever the clouds and the cluster say. */
export const planted = "AKIAHUNTER2HUNTER2AA";

/** What the cluster's API says; a test changes it. */
export interface ApiMood {
  /** Default 200. */
  readyz: number;
  readonly probes: readonly ClassProbe[];
}

/** The API of a cluster whose control plane and policies are as its gates want them. */
function answerOf(mood: ApiMood, url: string, sent: string): readonly [status: number, body: object | string] {
  const { pathname } = new URL(url, "https://api");
  const parts = pathname.split("/");
  const name = parts.at(-1) ?? "";
  const metadata = { name };
  const now = new Date().toISOString();
  if (pathname === "/readyz") return [mood.readyz, mood.readyz === 200 ? "ok" : `not today, ${planted}`];
  if (name === "selfsubjectaccessreviews") return [201, { status: { allowed: true } }];
  if (parts.includes("leases")) return [200, { kind: "Lease", metadata, spec: { renewTime: now } }];
  if (parts.at(-2) === "nodes")
    return [200, { kind: "Node", metadata: { ...metadata, labels: { "node-role.kubernetes.io/control-plane": "" } } }];
  if (name === "pods") {
    const { spec } = JSON.parse(sent);
    const runtimeClassName = mood.probes.find(({ image }) => image === spec.containers[0].image)?.runtimeClass;
    return [201, { kind: "Pod", spec: { ...spec, runtimeClassName } }];
  }
  if (parts.at(-2) === "pods") {
    const nodeName = name.replace(/^(etcd|kube-apiserver)-/, "");
    const running = { state: { running: { startedAt: "2100-01-01T00:00:00Z" } } };
    const status = { conditions: [{ type: "Ready", status: "True" }], containerStatuses: [running] };
    return [200, { kind: "Pod", metadata, spec: { nodeName }, status }];
  }
  const conditions = [{ type: "Ready", status: "True", message: `well, ${planted}` }];
  if (name === "nodes")
    return [200, { kind: "NodeList", items: [{ metadata: { name: "n", labels: {} }, status: { conditions } }] }];
  const event = { involvedObject: { kind: "Pod", name: `p-${planted}` }, reason: "Pulled", message: `with ${planted}` };
  if (name === "events") return [200, { kind: "EventList", items: [{ metadata, ...event }] }];
  return [404, { kind: "Status", message: `nothing at ${pathname}, ${planted}` }];
}

export interface World {
  readonly folder: string;
  readonly mood: ApiMood;
  /** Number of resources that the cloud has. */
  readonly size: () => number;
  /** Calls of pulumi, aws and az, a line each. */
  readonly calls: () => readonly string[];
  /** Runs a program in the project. */
  readonly run: (program: string, args: readonly string[], options?: RunOptions) => Promise<Run>;
  /** Runs the command there. */
  readonly fenestra: (args: readonly string[], options?: RunOptions) => Promise<Run>;
  readonly close: () => void;
}

interface RunOptions {
  /** Sends an interrupt as soon as the output has this. */
  readonly interruptAt?: RegExp;
  readonly env?: Readonly<Record<string, string>>;
}

interface Run {
  readonly code: number | null;
  readonly output: string;
}

/** A project with a stack in a simulated cloud, for the official engine at `pulumiPath`. */
export async function makeWorld(
  folder: string,
  pulumiPath: string,
  stack: string,
  config: Readonly<Record<string, string>>,
): Promise<World> {
  const at = (...names: readonly string[]) => path.join(folder, ...names);
  for (const each of ["bin", "made", "state", "project", "home"]) mkdirSync(at(each), { recursive: true });
  // As in a repository of one's own.
  const settings = readFileSync(path.join(root, "Pulumi.yaml"), "utf8");
  writeFileSync(at("project/Pulumi.yaml"), settings.replace("main: index.ts", `main: ${root}/index.ts`));
  mkdirSync(at("project/stacks"));
  writeFileSync(at(`project/stacks/Pulumi.${stack}.yaml`), stringify({ config }));
  for (const name of ["aws", "az"]) writeFileSync(at("bin", name), cloudCli, { mode: 0o755 });
  writeFileSync(at("bin/pulumi"), pulumi, { mode: 0o755 });
  const host = path.join(import.meta.dirname, "languageHost.ts");
  writeFileSync(at("bin/pulumi-language-nodejs"), `#!/bin/sh\nexec '${process.execPath}' '${host}' "$@"\n`, {
    mode: 0o755,
  });
  let authority: KeyAndCertificate | undefined;
  const simulate = simulatedCloud(placeOf(config), "real");
  const remembering: SimulatedCloud = (request) => {
    const made = simulate(request);
    if (request.type.endsWith(":SelfSignedCert") && /kubernetes/.test(request.name))
      authority = {
        certificate: textOf(made.outputs.certPem) ?? "",
        key: textOf(reveal(request.inputs.privateKeyPem ?? "")) ?? "",
      };
    return made;
  };
  const cloud = new ServedCloud(remembering);
  const served = await serveProviders(cloud);
  const mood: ApiMood = { readyz: 200, probes: runtimeClassProbes(clusterSpec(loadConfig(config)).windows) };
  const vault = createServer(async (request, response) => {
    const { plaintext = "", ciphertext = "" }: Record<string, string> = JSON.parse(await text(request));
    const data =
      request.url?.includes("/encrypt/") === true
        ? { ciphertext: `k ${plaintext}` }
        : { plaintext: ciphertext.slice(2) };
    response.end(JSON.stringify({ data }));
  });
  // The gates go by HTTPS_PROXY, so any name of a load balancer leads here.
  const apis = new Map<string, number>();
  const proxy = createServer();
  proxy.on("connect", async ({ url = "" }, socket) => {
    const [hostname = ""] = url.split(":");
    const known = apis.get(hostname);
    const port = known ?? (await serveApi(hostname, authority, mood));
    apis.set(hostname, port);
    const through = connect(port, "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      socket.pipe(through).pipe(socket);
    });
    for (const end of [through, socket]) end.on("error", () => end.destroy());
  });
  const calls = at("calls");
  const env: NodeJS.ProcessEnv = {
    PATH: `${at("bin")}:${path.dirname(process.execPath)}:${process.env.PATH}`,
    ...{ HOME: at("home"), PULUMI_HOME: at("home/.pulumi"), PULUMI: pulumiPath, STATE: at("state"), CALLS: calls },
    ...{ MADE: at("made"), PLANTED: planted, ACCOUNT: config["fenestra:accountId"], VAULT_TOKEN: "t" },
    VAULT_ADDR: `http://127.0.0.1:${await listening(vault)}`,
    HTTPS_PROXY: `http://127.0.0.1:${await listening(proxy)}`,
    ...{ FENESTRA_PREFLIGHT_SKIP: "all", PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION: "true" },
    PULUMI_DEBUG_PROVIDERS: [...served.ports].map(([name, port]) => `${name}:${port}`).join(","),
    NO_COLOR: "1",
  };
  const runIn: World["run"] = async (program, args, { interruptAt, env: more = {} } = {}) => {
    const child = spawn(program, args, {
      cwd: at("project"),
      env: { ...env, ...more },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let [output, interrupted] = ["", false];
    const read = (part: string): void => {
      output += part;
      if (interruptAt === undefined || interrupted || !interruptAt.test(output)) return;
      interrupted = true;
      child.kill("SIGINT");
    };
    child.stdout.setEncoding("utf8").on("data", read);
    child.stderr.setEncoding("utf8").on("data", read);
    const [code] = await once(child, "close");
    return { code, output };
  };
  return {
    folder,
    mood,
    size: () => cloud.size,
    calls: () => (existsSync(calls) ? readFileSync(calls, "utf8").trim().split("\n") : []),
    run: runIn,
    fenestra: (args, options) => runIn(process.execPath, [path.join(root, "cli/main.ts"), ...args], options),
    close: () => {
      served.close();
      vault.close();
      proxy.close();
      proxy.closeAllConnections();
    },
  };
}

async function serveApi(hostname: string, authority: KeyAndCertificate | undefined, mood: ApiMood): Promise<number> {
  if (authority === undefined) throw new Error("the cluster has no authority yet");
  const { certificate, key } = issueServerCertificate(authority, { commonName: "api", dnsNames: [hostname] });
  const server = createTlsServer({ cert: certificate, key }, async (request, response) => {
    const [status, body] = answerOf(mood, request.url ?? "", await text(request));
    response
      .writeHead(status, { "content-type": "application/json" })
      .end(typeof body === "string" ? body : JSON.stringify(body));
  });
  server.unref();
  return listening(server);
}
