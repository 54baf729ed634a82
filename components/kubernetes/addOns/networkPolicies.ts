import type { AddOnEntry } from "../addOnEntry.ts";
import { type ImageSource, image } from "../images.ts";
import type { Manifest } from "../manifest.ts";
import { type Account, clusterRights, rule, serviceAccount } from "../rights.ts";
import { daemonSet, everyTaint, hostPath, linuxOnly, nodeName, small } from "../workload.ts";
import { networking } from "./networking.ts";

const account: Account = { name: "kube-network-policies", namespace: "kube-system" };

/** NetworkPolicies for the pods of Linux nodes, by the agent that flannel's chart runs too. */
export const networkPolicies: AddOnEntry = {
  name: "network-policies",
  after: [networking],
  manifests: (spec) => (spec.kubernetes.networkPolicies === "linux" ? manifests(spec) : []),
};

function manifests(spec: ImageSource): readonly Manifest[] {
  return [
    serviceAccount(account),
    ...clusterRights(account, "fenestra:kube-network-policies", [
      rule("", ["pods", "namespaces"], ["list", "watch"]),
      rule("networking.k8s.io", ["networkpolicies"], ["list", "watch"]),
    ]),
    daemonSet(account, {
      nodeSelector: linuxOnly,
      tolerations: everyTaint,
      hostNetwork: true,
      priorityClassName: "system-node-critical",
      container: {
        image: image(spec, "registry.k8s.io/networking/kube-network-policies"),
        command: ["/bin/netpol"],
        // By default its metrics are open on every address of the node.
        args: ["--hostname-override=$(NODE_NAME)", "--metrics-bind-address=127.0.0.1:10263", "--v=1"],
        env: [nodeName],
        resources: small("100m", "50Mi", "512Mi"),
        securityContext: { privileged: true },
        // The runtime tells the address of a pod before its containers start, the API only afterwards.
        volumeMounts: [
          { name: "nri", mountPath: "/var/run/nri" },
          { name: "netns", mountPath: "/var/run/netns", mountPropagation: "HostToContainer" },
        ],
      },
      volumes: [
        hostPath("nri", "/var/run/nri", "DirectoryOrCreate"),
        hostPath("netns", "/var/run/netns", "DirectoryOrCreate"),
      ],
    }),
  ];
}
