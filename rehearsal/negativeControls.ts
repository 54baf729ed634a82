import { parse, stringify } from "yaml";
import { z } from "zod";
import type { DecodedFile } from "../plan/decode/machine.ts";
import { newAuthority } from "../plan/fakes/certificates.ts";
import { nameOf } from "./cluster/apply.ts";
import type { DecodedMachine } from "./cluster/bringUp.ts";
import { uninitializedTaintKey } from "./cluster/facts.ts";
import type { Breakage } from "./rehearse.ts";

type Changed = (machine: DecodedMachine) => boolean;

/** Changes the content of the files of all machines, or of some. */
function inFiles(change: (file: DecodedFile) => string, changed: Changed = () => true): Breakage {
  return {
    payload: (machine) => {
      const { payload } = machine;
      if (!changed(machine)) return payload;
      return { ...payload, files: payload.files.map((file) => ({ ...file, content: change(file) })) };
    },
  };
}

/** Changes the content of the files of Windows machines. */
function inWindowsFiles(change: (file: DecodedFile) => string): Breakage {
  return inFiles(change, ({ payload }) => payload.system === "windows");
}

const isLinuxWorker: Changed = ({ machine, payload }) => payload.system === "linux" && machine.group !== undefined;

const clusterConfiguration = z.looseObject({
  kind: z.string(),
  scheduler: z.looseObject({ extraArgs: z.array(z.unknown()).default([]) }).optional(),
});

/** kubeadm's documents with another port of the scheduler. */
function withSchedulerPort(documents: string, port: string): string {
  return documents
    .split(/^---$/m)
    .map((text) => {
      const document = clusterConfiguration.safeParse(parse(text));
      if (!document.success || document.data.kind !== "ClusterConfiguration") return text;
      const { scheduler } = document.data;
      const extraArgs = [...(scheduler?.extraArgs ?? []), { name: "secure-port", value: port }];
      return `\n${stringify({ ...document.data, scheduler: { ...scheduler, extraArgs } })}`;
    })
    .join("---");
}

function withDuplicateTaint(content: string): string {
  const configuration = z.looseObject({ registerWithTaints: z.array(z.unknown()) }).parse(parse(content));
  const taint = { key: uninitializedTaintKey, value: "true", effect: "NoSchedule" };
  return stringify({ ...configuration, registerWithTaints: [...configuration.registerWithTaints, taint] });
}

/** Changes the JSON of one of the program's objects. */
function inObject(kind: string, name: string, change: (text: string) => string): Breakage {
  return {
    object: (object) => {
      if (object.kind !== kind || nameOf(object) !== name) return object;
      return objectSchema.parse(JSON.parse(change(JSON.stringify(object))));
    },
  };
}

const objectSchema = z.record(z.string(), z.unknown());

/**
 * Negative controls: each breaks one thing in the decoded payloads or around them, after the program and before the machines, and the named
 * check must then fail. A check that cannot fail would be worth nothing.
 */
export const breakages: Readonly<Record<string, Breakage>> = {
  /** Windows nodes register `os=Windows` instead of `os=windows`. Fails `pool <windows pool>: registration`. */
  "windows-taint": inWindowsFiles(({ path, content }) =>
    path.endsWith("kubelet-config.yaml") ? content.replaceAll(/("?value"?: ?"?)windows/g, "$1Windows") : content,
  ),
  /** Windows nodes say that they belong to another pool. Fails `pool <windows pool>: registration`. */
  "windows-label": inWindowsFiles(({ content }) =>
    content.replaceAll("fenestra.dev/pool=win", "fenestra.dev/pool=other"),
  ),
  /**
   * Linux machines register the taint that their kubelets add by themselves for `--cloud-provider=external`. The API server refuses the second
   * one, and no node joins. Fails `nodes register`.
   */
  "duplicate-taint": inFiles(({ path, content }) =>
    path === "/etc/fenestra/kubelet.yaml" ? withDuplicateTaint(content) : content,
  ),
  /** The same on Windows machines, seen by kubelet.exe. Fails `nodes register`. */
  "windows-duplicate-taint": inWindowsFiles(({ path, content }) =>
    path.endsWith("kubelet-config.yaml") ? withDuplicateTaint(content) : content,
  ),
  /**
   * Linux workers ask for a label that NodeRestriction refuses; the kubelet itself looks at the same list first
   * (kubernetes: pkg/kubelet/apis/well_known_labels.go). Fails `nodes register`.
   */
  "refused-label": inFiles(
    ({ path, content }) =>
      path === "/etc/fenestra/kubelet.env"
        ? content.replace("--node-labels=", "--node-labels=node-restriction.kubernetes.io/team=a,")
        : content,
    isLinuxWorker,
  ),
  /** Linux workers trust another authority than the cluster's. Fails `nodes register`. */
  "wrong-ca": inFiles(
    ({ path, content }) =>
      path === "/etc/fenestra/bootstrap-kubelet.conf"
        ? content.replace("@CA_DATA@", Buffer.from(newAuthority("another cluster").certificate).toString("base64"))
        : content,
    isLinuxWorker,
  ),
  /** The scheduler serves at another port than the one at which kubeadm has the kubelet probe it. Fails `static pods`. */
  "probe-port": inFiles(({ path, content }) =>
    path === "/etc/fenestra/kubeadm.yaml" ? withSchedulerPort(content, "10260") : content,
  ),
  /** Every kubelet is given a field that it does not know, which a real one passes over with a warning. Fails `files: kubelet`. */
  "kubelet-unknown-field": inFiles(({ content }) =>
    content.replace(/^kind: KubeletConfiguration$/m, "$&\nmaximumPods: 50"),
  ),
  /** A key of containerd's registry settings is misspelt, which containerd only logs. Fails `files: containerd`. */
  "containerd-unknown-key": inFiles(({ path, content }) =>
    path.endsWith("config.toml") ? content.replace(/^config_path = /m, "confg_path = ") : content,
  ),
  /** Linux machines ask a host that is not the mirror, and do not mind that nobody answers. Fails `mirror: nothing else`. */
  "stray-request": inFiles(({ path, content }) =>
    path === "/opt/fenestra/bootstrap.sh"
      ? content.replace(/^set -euo pipefail$/m, "$&\ncurl --silent --noproxy '*' https://stray.example.org/ || true")
      : content,
  ),
  /** The controller-manager approves whatever a join secret asks for, as kubeadm has it. Fails `names of nodes`. */
  "approves-every-name": inFiles(({ path, content }) =>
    path === "/etc/fenestra/bindings.yaml"
      ? `${content}---\n${content
          .split("---\n")
          .at(-1)
          ?.replace("workers-ask", "workers-get")
          .replace("system:node-bootstrapper", "system:certificates.k8s.io:certificatesigningrequests:nodeclient")}`
      : content,
  ),
  /**
   * The approver takes the names of instances and not those that the cloud controller on AWS gives their nodes. Fails `serving certificates` on a
   * stack of AWS.
   */
  "approver-without-domain": inObject("Deployment", "kubelet-csr-approver", (text) =>
    text.replace(/\(\\\\\.[^)]+\)\?/, ""),
  ),
  /** metrics-server may not look for nodes and pods. Fails `add-ons: programs`, with what the program says. Needs `--real-add-ons`. */
  "add-on-without-right": inObject("ClusterRole", "fenestra:metrics-server", (text) =>
    text.replace('"resources":["pods","nodes"]', '"resources":["pods"]'),
  ),
  /** metrics-server is given a flag that it does not know. Fails `add-ons: programs`, with what the program says. Needs `--real-add-ons`. */
  "add-on-unknown-flag": inObject("Deployment", "metrics-server", (text) =>
    text.replace("--metric-resolution=15s", "--metric-resolutions=15s"),
  ),
  /** The mirror lacks crictl for Linux. The rehearsal breaks off with a MirrorLacksError. Needs a stack with a mirror. */
  "mirror-without-crictl": {
    mirror: (list) => ({ ...list, files: list.files.filter(({ url }) => !/crictl-.*linux-amd64/.test(url)) }),
  },
};
