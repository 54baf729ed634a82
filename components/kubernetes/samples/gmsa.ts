import type { ClusterSpec } from "../../model/clusterSpec.ts";
import { ccgPluginLabel } from "../../model/pools.ts";
import { windowsImage } from "../../model/windowsImages.ts";
import { credentialSpecRole } from "../addOns/gmsa.ts";
import type { Manifest } from "../manifest.ts";
import { serviceAccount } from "../workload.ts";
import { samplesNamespace, windowsDeployment, yearOf } from "./sampleSite.ts";

/**
 * A pod per Windows build that acts in the domain as the first configured account, and says whether the domain answers. With an account that
 * the plug-in fetches, only where a pool has it.
 */
export function gmsaSampleManifests(spec: Pick<ClusterSpec, "addons" | "artifacts" | "pools" | "windows">): readonly Manifest[] {
  const [first] = spec.addons.gmsa?.credentialSpecs ?? [];
  if (first === undefined) return [];
  const needsPlugin = first.secret !== undefined;
  const builds = spec.windows.filter(
    ({ name }) => !needsPlugin || spec.pools.some((pool) => pool.os === "windows" && pool.ccgPlugin && pool.release.name === name),
  );
  const account = { name: "gmsa-user", namespace: samplesNamespace };
  return [
    serviceAccount(account),
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "RoleBinding",
      metadata: { name: account.name, namespace: samplesNamespace },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: credentialSpecRole(first.name) },
      subjects: [{ kind: "ServiceAccount", ...account }],
    },
    ...builds.map((os) =>
      windowsDeployment({
        name: `gmsa-${yearOf(os)}`,
        os,
        container: {
          name: "domain",
          image: windowsImage(spec.artifacts, "servercore", os),
          command: [
            "powershell.exe",
            "-NoProfile",
            "-NonInteractive",
            "-Command",
            `while ($true) { nltest.exe /sc_verify:${first.domain.dnsName}; Start-Sleep -Seconds 60 }`,
          ],
        },
        pod: {
          serviceAccountName: account.name,
          securityContext: { windowsOptions: { gmsaCredentialSpecName: first.name } },
          ...(needsPlugin ? { nodeSelector: { [ccgPluginLabel]: "true" } } : {}),
        },
      }),
    ),
  ];
}
