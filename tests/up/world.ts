import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, request } from "node:http";
import { connect } from "node:net";
import path from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout } from "node:timers/promises";
import { createServer as createTlsServer } from "node:tls";
import { stringify } from "yaml";
import { type PropertyMap, reveal } from "../../components/gates/values.ts";
import { placeOf, simulatedCloud } from "../../plan/fakes/cloud.ts";
import { plainRequest, type RecordedProgram, type RecordedResource } from "../../plan/program/recorded.ts";
import { runProgram } from "../../plan/program/runProgram.ts";
import { objectOf } from "../../rehearsal/api/apply.ts";
import { issueServerCertificate, newAuthority } from "../../rehearsal/clouds/server.ts";
import { ServedCloud, type Subject } from "../support/servedCloud.ts";
import { listening } from "../support/suite.ts";
import { type Providing, serveProviders } from "./providers.ts";

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
  'az group list '*) ;;
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

/** What a test changes of the world. */
export interface Mood {
  /** Whether a proxy opens the way to the API, and shows a certificate of its own. */
  opened: boolean;
}

export interface World {
  readonly folder: string;
  readonly mood: Mood;
  /** Asks the rehearsed machines and their cluster (machines.ts). */
  readonly ask: Machines["ask"];
  /** Number of resources that the cloud has. */
  readonly size: () => number;
  /** Calls of pulumi, aws and az, a line each. */
  readonly calls: () => readonly string[];
  /** Runs the command there. */
  readonly fenestra: (args: readonly string[], options?: RunOptions) => Promise<Run>;
  readonly close: () => Promise<void>;
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

type Config = Readonly<Record<string, string>>;

/** A project with a stack in a simulated cloud, for the official engine at `pulumiPath`. */
export async function makeWorld(folder: string, pulumiPath: string, stack: string, config: Config): Promise<World> {
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
  const place = { entry: path.join(root, "index.ts"), stack, config };
  const simulate = simulatedCloud(placeOf(config), "real");
  const program = await runProgram({ ...place, mode: "known-outputs", simulate });
  // The engine gets the same keys: the kubeconfig of the machines is its own.
  const cloud = new ServedCloud(simulate, program.resources);
  const machines = await startMachines(folder, program, config);
  const served = await serveProviders(rehearsed(cloud, machines));
  const mood: Mood = { opened: false };
  const vault = createServer(async (request, response) => {
    const { plaintext = "", ciphertext = "" }: Record<string, string> = JSON.parse(await text(request));
    const data =
      request.url?.includes("/encrypt/") === true
        ? { ciphertext: `k ${plaintext}` }
        : { plaintext: ciphertext.slice(2) };
    response.end(JSON.stringify({ data }));
  });
  const { certificate: cert, key } = issueServerCertificate(newAuthority("a proxy"), { commonName: "proxy" });
  const stranger = createTlsServer({ cert, key });
  const opening = await listening(stranger);
  // The gates go by HTTPS_PROXY: the machines' namespaces alone know the names of load balancers.
  const proxy = createServer().on("connect", ({ url }, socket) => {
    const through = mood.opened ? connect(opening) : connect(machines.socket);
    if (mood.opened) socket.write("HTTP/1.1 200 OK\r\n\r\n");
    else through.write(`CONNECT ${url} HTTP/1.1\r\nHost: ${url}\r\n\r\n`);
    socket.pipe(through).pipe(socket);
    for (const end of [through, socket])
      end.on("error", () => {
        through.destroy();
        socket.destroy();
      });
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
  const fenestra: World["fenestra"] = async (args, { interruptAt, env: more = {} } = {}) => {
    const child = spawn(process.execPath, [path.join(root, "cli/main.ts"), ...args], {
      cwd: at("project"),
      env: { ...env, ...more },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let [output, interrupted] = ["", false];
    const read = (part: string) => {
      output += part;
      if (interruptAt === undefined || interrupted || !interruptAt.test(output)) return;
      interrupted = true;
      child.kill("SIGINT");
    };
    child.stdout.setEncoding("utf8").on("data", read);
    child.stderr.setEncoding("utf8").on("data", read);
    return { code: (await once(child, "close"))[0], output };
  };
  return {
    folder,
    mood,
    ask: machines.ask,
    size: () => cloud.size,
    calls: () => (existsSync(calls) ? readFileSync(calls, "utf8").trim().split("\n") : []),
    fenestra,
    close: async () => {
      served.close();
      for (const each of [vault, proxy, stranger]) each.close();
      proxy.closeAllConnections();
      await machines.close();
    },
  };
}

const deletion = ["delete", "--ignore-not-found", "--wait=false", "--filename", "-"];
const isMachine = /:(Instance|VirtualMachine|autoscaling\/group:Group|VirtualMachineScaleSet)$/;

/** A cloud whose machines boot, and whose cluster has the objects. */
function rehearsed(cloud: ServedCloud, machines: Machines): Providing {
  const { ask } = machines;
  const asked = (subject: Subject, inputs: PropertyMap): object =>
    objectOf({ ...plainRequest({ ...subject, inputs }), id: undefined, outputs: {} });
  const isObject = ({ type }: Subject) => type.startsWith("kubernetes:");
  // As a cloud attaches a disk after it has made the machine.
  const start = async (urn: string) => {
    await setTimeout(2_000);
    await ask("start", { urn, resources: cloud.resources.map(plain) });
  };
  return {
    configure: (name, inputs) => cloud.configure(name, inputs),
    difference: (question) => cloud.difference(question),
    read: (...of) => cloud.read(...of),
    create: async (subject, inputs) => {
      if (isObject(subject)) await ask("apply", { object: asked(subject, inputs) });
      const made = cloud.create(subject, inputs);
      if (isMachine.test(subject.type)) void start(subject.urn);
      return made;
    },
    update: async (subject, id, question) => {
      if (isObject(subject)) await ask("apply", { object: asked(subject, question.inputs), force: true });
      return cloud.update(subject, id, question);
    },
    delete: async (subject, id, inputs) => {
      if (isObject(subject)) await ask("kubectl", { words: deletion, object: asked(subject, inputs) });
      if (isMachine.test(subject.type)) await ask("stop", { urn: subject.urn });
      cloud.delete(subject, id, inputs);
    },
  };
}

/** A resource as data for another process; the cloud numbers those that replace one. */
function plain({ urn, type, name, id, inputs, outputs }: RecordedResource): object {
  return { urn: urn.replace(/#\d+$/, ""), type, name, id, inputs: reveal(inputs), outputs: reveal(outputs) };
}

interface Machines {
  readonly socket: string;
  readonly ask: (call: string, of?: object) => Promise<string>;
  readonly close: () => Promise<void>;
}

/** The machines of a program, none of them running (machines.ts). */
async function startMachines(
  folder: string,
  { stack, resources, outputs }: RecordedProgram,
  config: Config,
): Promise<Machines> {
  const program = { stack, config, resources: resources.map(plain), outputs: reveal(outputs) };
  writeFileSync(path.join(folder, "program.json"), JSON.stringify(program));
  const log = openSync(path.join(folder, "machines.log"), "w");
  const child = spawn(process.execPath, [path.join(import.meta.dirname, "machines.ts"), folder], {
    stdio: ["ignore", log, log],
  });
  const ended = once(child, "close");
  const socket = path.join(folder, "machines");
  while (!existsSync(socket)) {
    const said = () => readFileSync(path.join(folder, "machines.log"), "utf8");
    if (child.exitCode !== null) throw new Error(said());
    await setTimeout(200);
  }
  return {
    socket,
    ask: async (call, of = {}) => {
      const asking = request({ socketPath: socket, path: `/${call}`, method: "POST" });
      const answered = once(asking, "response");
      asking.end(JSON.stringify(of));
      const [answer] = await answered;
      const said = await text(answer);
      if (answer.statusCode !== 200) throw new Error(said);
      return said;
    },
    close: async () => {
      child.kill();
      await ended;
    },
  };
}
