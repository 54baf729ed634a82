import type { ClusterSpec } from "../../components/model/clusterSpec.ts";
import { isFirstKeyAlone } from "../../components/model/secretsEncryption.ts";

/** What a stack file chooses beyond nodes and network, a line each; what it leaves at its default is left out. Pure. */
export function choicesInWords(spec: ClusterSpec): readonly string[] {
  const { apiNames, apiDns, signIn, workloadIdentity, certificateAuthorities, httpProxy, controlPlane, pools } = spec;
  const { extraArgs, auditPolicy, admission = [], osDisk, etcdDisk } = controlPlane;
  const flags = Object.entries(extraArgs).flatMap(([program, own]) => Object.keys(own ?? {}).map((flag) => `${program} --${flag}`));
  const own = (of: readonly unknown[]): boolean => of.some((value) => Object.keys(value ?? {}).length > 0);
  const named = (choose: (pool: ClusterSpec["pools"][number]) => readonly unknown[]): readonly string[] =>
    pools.filter((pool) => own(choose(pool))).map(({ name }) => name);
  const lines: readonly (readonly [string, readonly string[]])[] = [
    ["the API is known as", [...(apiDns === undefined ? [] : [apiDns.name]), ...apiNames]],
    ["its record is made in", apiDns?.zone === undefined ? [] : [apiDns.zone]],
    ["people sign in by", signIn.map(({ name, issuer }) => `${name} (${issuer})`)],
    ["rights in the cloud for pods of", (workloadIdentity?.serviceAccounts ?? []).map(({ namespace, name }) => `${namespace}/${name}`)],
    ["Secrets in etcd have the keys", isFirstKeyAlone(spec.secretsEncryption) ? [] : spec.secretsEncryption.keys],
    ["images by the nodes' identity from", spec.registryAccess?.resources ?? []],
    ["machines trust", certificateAuthorities.length === 0 ? [] : [`authorities of yours: ${certificateAuthorities.length}`]],
    ["downloads by", httpProxy === undefined ? [] : [httpProxy]],
    ["flags of yours", flags],
    ["files of yours", [...(auditPolicy === undefined ? [] : ["audit policy"]), ...admission.map(({ name }) => name)]],
    ["disks of yours for", [...(own([osDisk, etcdDisk]) ? ["control plane"] : []), ...named(({ disk }) => [disk])]],
    ["settings of yours for the kubelets of", named(({ kubelet }) => [kubelet])],
    ["scripts of yours on", named(({ beforeJoin, afterJoin }) => [beforeJoin, afterJoin])],
  ];
  return lines.filter(([, of]) => of.length > 0).map(([what, of]) => `${what} ${of.join(", ")}`);
}
