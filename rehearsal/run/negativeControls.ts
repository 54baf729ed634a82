import { rootCertificates } from "node:tls";
import { type DecodedFile, type DecodedUserData, decodeUserData } from "../../plan/decode/userData.ts";
import type { SimulatedMachine } from "../../plan/fakes/machines.ts";
import type { MirrorList } from "../../plan/report/mirrorList.ts";
import type { CloudSimulation } from "../clouds/cloud.ts";
import type { DecodedMachine } from "../cluster/surroundings.ts";

/** What makes a stand-in fail, before its container's name (rehearsal/runtime/containers/stand-in/pod.go). */
const failsAnnotation = "stand-in.fenestra.dev/";

type Changed = (machine: DecodedMachine) => boolean;

/**
 * Changes the content of the files of all machines, or of some.
 * @throws where a Linux machine fetches what is changed, since it then comes unchanged; other stacks have it in their
 * user data
 */
function inFiles(change: (file: DecodedFile) => string, changed: Changed = () => true): Breakage {
  return {
    payload: (machine) => {
      const { payload } = machine;
      if (!changed(machine)) return payload;
      const files = payload.files.map((file) => {
        const content = change(file);
        if (content !== file.content && payload.system === "linux" && payload.fetched.includes(file.path))
          throw new Error(
            `the negative control changes ${file.path}, which these machines fetch; choose another stack`,
          );
        return { ...file, content };
      });
      return { ...payload, files };
    },
  };
}

/**
 * Changes the content of one file, by its path or the end of that, on all machines, or on some.
 * @throws where the file lacks what is changed
 */
function inFile(end: string, change: (content: string) => string, changed?: Changed): Breakage {
  return inFiles(({ path, content }) => {
    if (!path.endsWith(end)) return content;
    const found = change(content);
    if (found === content) throw new Error(`${path} does not have what the negative control changes`);
    return found;
  }, changed);
}

/** What it breaks, and the check that must then fail. */
interface NegativeControl extends Breakage {
  /** What is broken, for people. */
  readonly what: string;
  /** Id of the check that must fail. */
  readonly fails: string;
}

/**
 * Negative controls: each breaks one thing in the decoded payloads or around them, after the program and before the
 * machines, and its check must then fail: one that cannot fail would be worth nothing.
 */
export const breakages: Readonly<Record<string, NegativeControl>> = {
  "windows-taint": {
    what: "Windows nodes register os=Windows instead of os=windows",
    fails: "pool <windows pool>: registration",
    ...inFile(
      "kubelet-config.yaml",
      (content) => content.replaceAll(/("?value"?: ?"?)windows/g, "$1Windows"),
      ({ payload }) => payload.system === "windows",
    ),
  },
  "wrong-ca": {
    what: "Linux workers trust another authority than the cluster's",
    fails: "nodes register",
    ...inFile(
      "/etc/fenestra/bootstrap-kubelet.conf",
      (content) => content.replace("@CA_DATA@", Buffer.from(rootCertificates[0] ?? "").toString("base64")),
      ({ machine, payload }) => payload.system === "linux" && machine.group !== undefined,
    ),
  },
  "stray-request": {
    what: "Linux machines ask a host that is not the mirror, and do not mind that nobody answers",
    fails: "mirror: nothing else",
    ...inFile("/opt/fenestra/bootstrap.sh", (content) =>
      content.replace(/^set -euo pipefail$/m, "$&\ncurl --silent --noproxy '*' https://stray.example.org/ || true"),
    ),
  },
  "approves-every-name": {
    what: "the controller-manager approves whatever a join secret asks for, as kubeadm has it",
    fails: "names of nodes",
    ...inFiles(({ path, content }) => {
      if (path === "/etc/fenestra/kubeadm.yaml") return content.replace(",-csrapproving", "");
      if (path !== "/etc/fenestra/bindings.yaml") return content;
      const asks = content.split("---\n").find((document) => document.includes("fenestra:workers-ask")) ?? "";
      const approved = "system:certificates.k8s.io:certificatesigningrequests:nodeclient";
      return `${content}---\n${asks.replace("workers-ask", "workers-get").replace("system:node-bootstrapper", approved)}`;
    }),
  },
  "unhealthy-program": {
    what: "the program of CoreDNS answers its probes as an unhealthy one",
    fails: "workloads",
    ...inFile("/corednsdeployment+strategic.yaml", (content) =>
      content.replace(
        /^ {2}template:$/m,
        `$&\n    metadata: { annotations: { ${failsAnnotation}coredns: unhealthy } }`,
      ),
    ),
  },
  "pod-addresses-kept": {
    what: "machines keep the addresses that their interface has for pods",
    fails: "workloads",
    ...inFile("/pod-network.sh", (content) => content.replace(/^ *ip address delete .*$/m, "    true")),
  },
  "mirror-without-login": {
    what: "Linux machines ask the mirror without the login that it wants",
    fails: "control plane",
    ...inFile("/etc/fenestra/templates/etc/fenestra/curl/.curlrc", () => ""),
  },
  "proxy-without-login": {
    what: "Linux machines use the proxy without the login that it wants",
    fails: "control plane",
    ...inFile("/etc/fenestra/templates/etc/fenestra/proxy.env", (content) => content.replaceAll("@LOGIN_PROXY@@", "")),
  },
  "mirror-distrusted": {
    what: "machines trust another authority than that of the mirror, of a stack with certificateAuthorities",
    fails: "control plane",
    ...inFiles(({ path, content }) =>
      path.startsWith("/usr/local/share/ca-certificates/") ? `${rootCertificates[0]}\n` : content,
    ),
  },
  "mirror-without-pause": {
    what: "the mirror of a stack that has one lacks the image of every pod's sandbox",
    fails: "control plane",
    mirror: (list) => ({ ...list, images: list.images.filter(({ reference }) => !/\/pause[:@]/.test(reference)) }),
  },
  "mirror-without-crictl": {
    what: "the mirror of a stack that has one lacks crictl for Linux",
    fails: "control plane",
    mirror: (list) => ({ ...list, files: list.files.filter(({ url }) => !/crictl-.*linux-amd64/.test(url)) }),
  },
};

export function breakagesText(): string {
  const width = Math.max(...Object.keys(breakages).map((name) => name.length));
  return Object.entries(breakages)
    .map(([name, { what, fails }]) => `  ${name.padEnd(width)}  ${what}; fails [${fails}]`)
    .join("\n");
}

/** Several breakages as one: each changes what those before have left. */
export function together(broken: readonly Breakage[]): Breakage {
  const { mirror } = broken.find((one) => one.mirror !== undefined) ?? {};
  return {
    payload: ({ machine, payload }) =>
      broken.reduce((changed, one) => one.payload?.({ machine, payload: changed }) ?? changed, payload),
    ...(mirror !== undefined && { mirror }),
  };
}

/** Breaks something on purpose, which a negative control expects to be seen. */
export interface Breakage {
  /** Changes a machine's decoded files before it boots, except those that a Linux machine fetches. */
  readonly payload?: (machine: DecodedMachine) => DecodedUserData;
  /** Changes the list that fills the mirror. */
  readonly mirror?: (list: MirrorList) => MirrorList;
}

/** A machine with its user data, changed by a breakage. */
export function decodeMachine(
  machine: SimulatedMachine,
  cloud: CloudSimulation,
  change: Breakage["payload"],
): DecodedMachine {
  const decoded = { machine, payload: decodeUserData(machine.userData, cloud.objects(machine)) };
  return change === undefined ? decoded : { machine, payload: change(decoded) };
}
