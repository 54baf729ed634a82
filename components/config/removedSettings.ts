/** What to do instead of a setting that an earlier release or a known tool has, by its path without positions in lists. */
export const removedSettings: Readonly<Record<string, string>> = {
  "secretsEncryption.kms":
    "move the Secrets to a key of the secret store with the release that you run, then remove it: docs/limits.md says why it went",
  "secretsEncryption.plugin": "remove it: Fenestra starts no plug-in of a key service any more",
  "network.azureCni.plugin": "remove it: the lock file has the plug-in for both systems with its digest",
  "addons.logs.windowsCollector": "remove it: the lock file has the collector for Windows with its digest",
  "addons.gmsa.plugin": "remove it: the lock file has Azure's plug-in; on AWS pin an image that has it",
  "registryAccess.plugin": "remove it: the lock file has the plug-ins with their digests",
  "addons.csrApprover": "remove it: the node controller on the control plane gives kubelets their serving certificates",
  "network.vpc": "a network that is there goes to network.existing, with its id and subnets",
  nodePools: "name them in pools",
  nodeGroups: "name them in pools",
  "pools.min": "autoscale has min and max",
  "pools.max": "autoscale has min and max",
  "pools.diskSize": "it is diskGb, without a unit",
  "pools.instanceType": "it is size",
};
