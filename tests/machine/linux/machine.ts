import { spawnSync } from "node:child_process";
import type { MachinePayload } from "../../../components/machine/payload.ts";
import type { ClusterSpec } from "../../../components/model/clusterSpec.ts";
import { skipIf } from "../../support/skip.ts";
import { exampleSpec } from "../../support/stacks.ts";
import { exampleControlPlane, exampleLinuxWorker } from "../examples.ts";
import { fakeArtifacts, namespaces, Sandbox } from "./sandbox.ts";

/** Path of what starts the bootstrap. */
export const entry = "/opt/fenestra/bootstrap.sh";

const original = exampleSpec("aws-prod");
const fake = await fakeArtifacts(original.artifacts);
/** A production cluster on AWS whose downloads are fakes. */
export const spec: ClusterSpec = { ...original, artifacts: fake.lock };
/** What the names of its parameters begin with. */
export const secretPrefix = `/fenestra/${spec.name}`;

/** A certificate and its key, made by openssl. */
function authority(name: string): string {
  const { stdout } = spawnSync(
    "openssl",
    `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=${name} -days 2 -keyout - -out -`.split(" "),
    { encoding: "utf8" },
  );
  return stdout;
}
/** Cluster CA, certificate and key. */
export const ca = authority("kubernetes");

let sandbox: Sandbox | undefined;

/** A machine with this payload, in a cloud that has all it asks for. */
export function machine(payload: MachinePayload): Sandbox {
  const made = new Sandbox(payload);
  sandbox = made;
  for (const [name, content] of fake.contents) made.artifact(name, content);
  for (const name of ["kubernetes-ca", "etcd-ca", "front-proxy-ca", "service-account"]) made.secret(`${secretPrefix}/${name}`, ca);
  made.secret(`${secretPrefix}/encryption-key`, Buffer.alloc(32, 7).toString("base64"));
  made.secret(`${secretPrefix}/initialised`, "no");
  made.write("/store/address", spec.controlPlane.members[0]?.address ?? "");
  made.write("/store/version", JSON.stringify({ gitVersion: `v${spec.kubernetes.version}` }));
  made.set({ METADATA_ATTEMPTS: 2, SERVICE_ATTEMPTS: 2, SECRET_ATTEMPTS: 2, READY_ATTEMPTS: 2, NODE_ATTEMPTS: 2 });
  made.set({ VOLUME_ATTEMPTS: 2, PROMOTE_ATTEMPTS: 2, ADDON_ATTEMPTS: 2, PUBLISH_ATTEMPTS: 2, JOIN_ATTEMPTS: 3 });
  return made;
}

/** What the first stage has found out about every machine here. */
export const identity = "NODE_NAME=i-0123456789abcdef0\nPROVIDER_ID=aws:///eu-central-1a/i-0123456789abcdef0\nNODE_IP=10.20.224.10\n";

/** The first control-plane machine as its jobs find it. */
export function bootedControlPlane(): Sandbox {
  const here = machine(exampleControlPlane(spec));
  here.write("/var/lib/fenestra/identity.env", identity);
  here.write("/etc/kubernetes/pki/ca.crt", ca.slice(ca.indexOf("-----BEGIN CERT")));
  return here;
}

/** A Linux worker that finds an address and a join secret. */
export function joiningWorker(): Sandbox {
  const here = machine(exampleLinuxWorker(spec));
  here.write("/store/address", "10.20.0.9");
  here.secret(`${secretPrefix}/join`, joinSecret(3600));
  return here;
}

/** Takes the machine of a test away. */
export function disposeMachine(): void {
  sandbox?.dispose();
  sandbox = undefined;
}

/** The join secret as the control plane publishes it, valid for so many seconds. */
export function joinSecret(secondsFromNow: number): string {
  const expires = new Date(Date.now() + secondsFromNow * 1000).toISOString();
  return JSON.stringify({
    server: "https://api.internal:6443",
    caCertificate: ca,
    caCertHash: "sha256:0",
    token: "abcdef.0123456789abcdef",
    expires,
  });
}

/** A suite whose tests have machines: skipped, with a word on it, where mount namespaces are not allowed; in CI that is an error. */
export function describeOnMachine(title: string, tests: () => void, timeoutMs = 60_000): void {
  describe(title, function () {
    this.timeout(timeoutMs);
    before(function () {
      const allowed = spawnSync("unshare", [...namespaces, "true"]).status === 0;
      skipIf(this, allowed ? undefined : "namespaces are not allowed here");
    });
    afterEach(disposeMachine);
    tests();
  });
}
