import { readScript } from "../../machine/script.ts";
import { requireArtifact } from "../../model/artifacts.ts";
import type { ClusterSpec } from "../../model/clusterSpec.ts";
import { otherReleases } from "../../model/releases.ts";
import { windowsImage } from "../../model/windowsImages.ts";
import { sampleAccount } from "../../model/workloadIdentity.ts";
import type { Manifest, PodSpec, Text } from "../manifest.ts";
import { linuxOnly, small } from "../workload.ts";
import { sampleLabels, samplesNamespace, windowsPod, yearOf } from "./sampleSite.ts";

const configMap = "read-object";
const own = (file: string): string => readScript(new URL(file, import.meta.url));

/** Windows PowerShell cannot sign requests to S3 by itself; the machines' scripts can. */
const signer = readScript(new URL("../../machine/windows/scripts/sigv4.ps1", import.meta.url));

/**
 * A job on Linux and one per Windows build that reads an object of the cloud by the identity of its service account, and shows it. A job, since
 * a pod that came before the policy was in force has no token, and its next one has.
 */
export function readObjectManifests(spec: Pick<ClusterSpec, "artifacts" | "cloud" | "windows">, objectUrl: Text): readonly Manifest[] {
  const { cloud } = spec;
  const env = [{ name: "OBJECT_URL", value: objectUrl }];
  const volumes = [{ name: "script", configMap: { name: configMap } }];
  const pod = { serviceAccountName: sampleAccount.name, restartPolicy: "Never" } as const;
  const { recent: version } = otherReleases.agnhost;
  const linux: PodSpec = {
    ...pod,
    nodeSelector: linuxOnly,
    automountServiceAccountToken: false,
    volumes,
    containers: [
      {
        name: "read",
        image: requireArtifact(spec.artifacts, {
          name: "registry.k8s.io/e2e-test-images/agnhost",
          version,
          os: "linux",
        }).url,
        command: ["sh", "/script/read.sh"],
        env,
        volumeMounts: [{ name: "script", mountPath: "/script", readOnly: true }],
        resources: small("10m", "32Mi", "128Mi"),
      },
    ],
  };
  return [
    {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { name: sampleAccount.name, namespace: samplesNamespace },
      automountServiceAccountToken: false,
    },
    {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: configMap, namespace: samplesNamespace },
      data: {
        "read.sh": own(`readObject.${cloud}.sh`),
        "read.ps1": `${cloud === "aws" ? signer : ""}${own(`readObject.${cloud}.ps1`)}`,
      },
    },
    job("read-object-linux", linux),
    ...spec.windows.map((os) =>
      job(
        `read-object-${yearOf(os)}`,
        windowsPod({
          os,
          pod,
          volumes,
          container: {
            name: "read",
            image: windowsImage(spec.artifacts, "servercore", os),
            command: ["powershell.exe", "-NoProfile", "-ExecutionPolicy", "Bypass", "-File", "C:\\script\\read.ps1"],
            env,
            volumeMounts: [{ name: "script", mountPath: "C:\\script", readOnly: true }],
          },
        }),
      ),
    ),
  ];
}

function job(name: string, spec: PodSpec): Manifest {
  const labels = sampleLabels(name);
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name, namespace: samplesNamespace, labels },
    // The first token of a new identity may be refused for some minutes; pauses grow from ten seconds to six minutes.
    spec: { backoffLimit: 8, template: { metadata: { labels }, spec } },
  };
}
