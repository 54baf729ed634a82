import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { parse } from "yaml";
import { z } from "zod";
import { type KubeletConfiguration, kubeletConfiguration } from "../../components/machine/kubeletConfig.ts";
import { patchesFolder } from "../../components/machine/linux/staticPodPatches.ts";
import { runOrFail } from "../../rehearsal/testkit/machines.ts";
import { obtainPrograms } from "../../rehearsal/testkit/programs.ts";
import { exampleControlPlane, fileOf } from "../machine/examples.ts";
import { specOf } from "../support/mocks.ts";
import { obtainOrSkip } from "../support/skip.ts";
import { suiteFolder } from "../support/temporary.ts";
import { readDocument } from "./documents.ts";

const podSchema = z.object({ spec: z.object({ containers: z.tuple([z.object({ command: z.array(z.string()) })]) }) });

/** The items of a cell such as `1.1.1 to 1.1.3, 1.1.5`; beyond one section (`5.4.1 to 5.6.4`) the two ends. */
function numbers(cell: string): readonly string[] {
  return cell.split(", ").flatMap((part) => {
    const [first = "", last = first] = part.split(" to ");
    const stem = first.slice(0, first.lastIndexOf(".") + 1);
    if (!last.startsWith(stem)) return [first, last];
    const [from, to] = [first, last].map((item) => Number(item.slice(stem.length)));
    return Array.from({ length: (to ?? 0) - (from ?? 0) + 1 }, (_, index) => `${stem}${(from ?? 0) + index}`);
  });
}

describe("the table of the CIS benchmark", () => {
  const folder = suiteFolder();
  const spec = specOf("aws-prod");
  const payload = exampleControlPlane(spec);
  const worker = spec.pools.find(({ os }) => os === "linux");
  assert.ok(worker !== undefined);
  const kubelets = [kubeletConfiguration({ spec }), kubeletConfiguration({ spec, pool: worker })];
  const [admission, audit, encryption] = ["admission", "audit-policy", "encryption"].map((name) =>
    fileOf(payload, `/etc/fenestra/${name}.yaml`),
  );
  let manifests: readonly string[];
  let commands: readonly (readonly string[])[];

  before(async function () {
    const { kubeadm } = await obtainOrSkip(this, (progress) => obtainPrograms({ progress }));
    const config = path.join(folder, "kubeadm.yaml");
    const text = fileOf(payload, "/etc/fenestra/kubeadm.yaml")
      .replace(patchesFolder, folder)
      .replaceAll(/@([A-Z_]+)@/g, "name");
    writeFileSync(config, text);
    const phases = ["etcd local", "control-plane all"].map((phase) => ["init", "phase", ...phase.split(" ")]);
    for (const phase of phases)
      await runOrFail([
        "env",
        `KUBEADM_INIT_DRYRUN_DIR=${folder}`,
        kubeadm.path,
        ...phase,
        "--dry-run",
        "--config",
        config,
      ]);
    manifests = readdirSync(folder)
      .filter((name) => name.endsWith(".yaml") && name !== "kubeadm.yaml")
      .map((name) => path.join(folder, name));
    commands = manifests.map((file) => podSchema.parse(parse(readFileSync(file, "utf8"))).spec.containers[0].command);
  });

  /** Value of a flag in the manifest that kubeadm writes; `undefined` when it is not there. */
  const flag = (program: string, name: string): string | undefined =>
    commands
      .find(([first]) => first === program)
      ?.find((argument) => argument.startsWith(`--${name}=`))
      ?.slice(name.length + 3);
  const api = (name: string): string | undefined => flag("kube-apiserver", name);
  const manager = (name: string): string | undefined => flag("kube-controller-manager", name);
  const etcd = (name: string): string | undefined => flag("etcd", name);
  const apiHas = (...names: readonly string[]): boolean => names.every(api);
  const onNodes = (holds: (config: KubeletConfiguration) => boolean): boolean => kubelets.every(holds);

  /** What shows in the files of machines that a row of the table is right. The others are judgements. */
  const shown: Readonly<Record<string, () => boolean>> = {
    "1.1.1 to 1.1.8": () =>
      manifests.length === 4 &&
      manifests.map((file) => statSync(file)).every(({ mode, uid }) => (mode & 0o777) === 0o600 && uid === 0),
    "1.2.1": () => api("anonymous-auth") === undefined && apiHas("authentication-config"),
    "1.2.2": () => api("token-auth-file") === undefined,
    "1.2.4, 1.2.5": () => apiHas("kubelet-client-certificate", "kubelet-client-key", "kubelet-certificate-authority"),
    "1.2.6 to 1.2.8": () => api("authorization-mode") === "Node,RBAC",
    "1.2.9": () => admission?.includes("EventRateLimit") === false,
    "1.2.10, 1.2.12 to 1.2.14": () =>
      api("enable-admission-plugins") === "NodeRestriction" && api("disable-admission-plugins") === undefined,
    "1.2.15, 1.3.2, 1.4.1": () =>
      ["kube-apiserver", "kube-controller-manager", "kube-scheduler"].every(
        (program) => flag(program, "profiling") === "false",
      ),
    "1.2.16 to 1.2.19": () =>
      apiHas("audit-log-path") &&
      Number(api("audit-log-maxage")) >= 30 &&
      Number(api("audit-log-maxbackup")) >= 10 &&
      Number(api("audit-log-maxsize")) >= 100,
    "1.2.20, 1.2.21": () => api("request-timeout") === undefined && api("service-account-lookup") === undefined,
    "1.2.22 to 1.2.26": () =>
      apiHas("service-account-key-file", "etcd-certfile", "etcd-keyfile", "etcd-cafile") &&
      apiHas("tls-cert-file", "tls-private-key-file", "client-ca-file"),
    "1.2.27, 1.2.28": () => apiHas("encryption-provider-config") && encryption?.includes("secretbox") === true,
    "1.2.29, 4.2.12": () =>
      api("tls-min-version") === "VersionTLS12" && onNodes((config) => config.tlsMinVersion === "VersionTLS12"),
    "1.2.30": () => api("service-account-extend-token-expiration") === "false",
    "1.3.3 to 1.3.5": () =>
      ["use-service-account-credentials", "service-account-private-key-file", "root-ca-file"].every(manager),
    "1.3.6, 4.2.10, 4.2.11": () =>
      onNodes((config) => config.rotateCertificates === true && config.serverTLSBootstrap === true),
    "1.3.7, 1.4.2": () =>
      [manager("bind-address"), flag("kube-scheduler", "bind-address")].every((address) => address === "127.0.0.1"),
    "2.1 to 2.7": () =>
      ["cert-file", "key-file", "peer-cert-file", "peer-key-file", "trusted-ca-file"].every((name) =>
        etcd(name)?.startsWith("/etc/kubernetes/pki/etcd/"),
      ) &&
      ["client-cert-auth", "peer-client-cert-auth"].every((name) => etcd(name) === "true") &&
      ["auto-tls", "peer-auto-tls"].every((name) => etcd(name) === undefined),
    "3.2.1, 3.2.2": () => /secrets/.test(audit ?? "") && /tokenreviews|serviceaccounts\/token/.test(audit ?? ""),
    "4.1.1, 4.1.2": () => payload.files.find((file) => file.path.endsWith("/kubelet.service"))?.mode === "0600",
    "4.1.9, 4.1.10": () =>
      / 0600 \/var\/lib\/kubelet\/config\.yaml/.test(fileOf(payload, "/opt/fenestra/stages/kubelet.sh")),
    "4.2.1 to 4.2.3": () =>
      onNodes(({ authentication, authorization }) =>
        /"enabled":false.*clientCAFile.*"mode":"Webhook"/.test(JSON.stringify([authentication, authorization])),
      ),
    "4.2.4 to 4.2.6, 4.2.8": () =>
      onNodes((config) =>
        ["readOnlyPort", "streamingConnectionIdleTimeout", "makeIPTablesUtilChains", "eventRecordQPS"].every(
          (name) => config[name] === undefined,
        ),
      ),
    "4.2.13": () => onNodes((config) => Number(config.podPidsLimit) > 0),
    "4.2.14": () => onNodes((config) => config.seccompDefault === true),
    "5.1.7": () =>
      /^rm -f \/etc\/kubernetes\/super-admin\.conf$/m.test(fileOf(payload, "/opt/fenestra/stages/cluster.sh")),
    "5.2.1 to 5.2.5, 5.2.9 to 5.2.12": () => /enforce: baseline/.test(admission ?? ""),
  };

  it("says of every item what the files say that the machines are started with", () => {
    assert.equal(api("secure-port"), "6443");
    assert.deepEqual(
      Object.entries(shown).flatMap(([items, holds]) => (holds() ? [] : [items])),
      [],
    );
    const [, table = ""] = readDocument("docs/security.md").text.split("## The benchmark of the CIS");
    const told = [...table.matchAll(/^\| (\d[^|]*) \|/gm)].flatMap(([, items = ""]) => numbers(items));
    assert.deepEqual(told, [...new Set(told)]);
  });
});
