import { namespaceLabels } from "../guardRails/namespaces.ts";
import { type ImageSource, image } from "../images.ts";
import type { Manifest } from "../manifest.ts";
import { namespace, small } from "../workload.ts";
import { sampleLabels } from "./sampleSite.ts";

/** Namespace of the HostProcess sample: only a privileged one with our label may have such pods. */
const hostSamplesNamespace = "fenestra-samples-host";

/** A HostProcess container per Windows node that lists the node's services once a minute. One image for every build. */
export function hostProcessManifests(spec: ImageSource): readonly Manifest[] {
  const name = "host-process";
  const labels = sampleLabels(name);
  const list = "while ($true) { Get-Service -Name containerd, kubelet | Format-Table -AutoSize; Start-Sleep -Seconds 60 }";
  return [
    namespace(hostSamplesNamespace, "privileged", { [namespaceLabels.hostProcess]: "allowed" }),
    {
      apiVersion: "apps/v1",
      kind: "DaemonSet",
      metadata: { name, namespace: hostSamplesNamespace, labels },
      spec: {
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: {
            os: { name: "windows" },
            hostNetwork: true,
            nodeSelector: { "kubernetes.io/os": "windows" },
            tolerations: [{ key: "os", operator: "Equal", value: "windows", effect: "NoSchedule" }],
            securityContext: { windowsOptions: { hostProcess: true, runAsUserName: "NT AUTHORITY\\Local service" } },
            automountServiceAccountToken: false,
            containers: [
              {
                name: "services",
                image: image(spec, "mcr.microsoft.com/oss/kubernetes/windows-host-process-containers-base-image", "windows"),
                command: ["powershell.exe", "-NoProfile", "-NonInteractive", "-Command", list],
                resources: small("10m", "64Mi", "256Mi"),
              },
            ],
          },
        },
      },
    },
  ];
}
