import { key, type Rule } from "./rule.ts";

/** Rules on add-ons that need something which the stack file switches off or does not have. */
export const addOnRules: readonly Rule[] = [
  ({ spec: { addons } }) =>
    addons.metricsServer && !addons.csrApprover
      ? [
          {
            id: "metrics-without-approver",
            level: "warning",
            path: key("addons.csrApprover"),
            message: "Nothing approves the kubelets' serving certificates, which metrics-server requires.",
            remedy: "Leave csrApprover on, switch metricsServer off, or approve the requests by other means.",
          },
        ]
      : [],
  ({ spec: { addons } }) =>
    addons.cloudController
      ? []
      : [
          {
            id: "no-cloud-controller",
            level: "warning",
            path: key("addons.cloudController"),
            message:
              "Without a cloud controller, nodes keep the taint of uninitialized nodes, and no pod runs on them.",
            remedy: "Leave cloudController on, or deploy one of your own right after the first update.",
          },
        ],
  ({ spec: { addons, pools } }) =>
    addons.autoscaler && pools.every(({ autoscale }) => autoscale === undefined)
      ? [
          {
            id: "autoscaler-without-pool",
            level: "warning",
            path: key("addons.autoscaler"),
            message: "The autoscaler has no pool to size: none has bounds.",
            remedy: "Set autoscale on a pool, or leave the autoscaler out.",
          },
        ]
      : [],
  ({ spec: { addons } }) =>
    addons.serviceMonitors
      ? [
          {
            id: "service-monitor-definition",
            level: addons.exporters ? "note" : "warning",
            path: key("addons.serviceMonitors"),
            message: addons.exporters
              ? "ServiceMonitors need the Prometheus operator's definition, which no cluster has before its first update."
              : "There are no exporters for the ServiceMonitors to find.",
            remedy: addons.exporters
              ? "Switch serviceMonitors on when the operator is in the cluster."
              : "Switch exporters on too, or serviceMonitors off.",
          },
        ]
      : [],
];
