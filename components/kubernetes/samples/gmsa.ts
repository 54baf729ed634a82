import type { ClusterSpec } from "../../model/clusterSpec.ts";
import { windowsImage } from "../../model/windowsImages.ts";
import { credentialSpecRole } from "../gmsa.ts";
import type { Manifest } from "../manifest.ts";
import { windowsBuilds } from "../runtimeClasses.ts";
import { serviceAccount } from "../workload.ts";
import { sampleLabels, sampleResources, samplesNamespace, windowsPod, yearOf } from "./sampleSite.ts";

/** A pod per Windows build that acts in the domain as the first configured account, and says whether the domain answers. */
export function gmsaSampleManifests(spec: ClusterSpec): readonly Manifest[] {
  const [first] = spec.addons.gmsa?.credentialSpecs ?? [];
  if (first === undefined) return [];
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
    ...windowsBuilds(spec).map((os): Manifest => {
      const name = `gmsa-${yearOf(os)}`;
      const pod = windowsPod({
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
      });
      return {
        apiVersion: "apps/v1",
        kind: "Deployment",
        metadata: { name, namespace: samplesNamespace, labels: sampleLabels(name) },
        spec: {
          replicas: 1,
          selector: { matchLabels: sampleLabels(name) },
          template: {
            metadata: { labels: sampleLabels(name) },
            spec: {
              ...pod,
              serviceAccountName: account.name,
              securityContext: { windowsOptions: { gmsaCredentialSpecName: first.name } },
              containers: pod.containers.map((container) => ({ ...container, resources: sampleResources })),
            },
          },
        },
      };
    }),
  ];
}
